//! Whether a workspace holds nothing but what the remote has and what declared commands made of it. A secret is
//! given to a command only there.
//!
//! A tree without any untracked file that is exactly its commit is untainted, whatever happened before. Where
//! there are untracked files, two things must hold. The record says that nothing tainted the workspace since it was
//! such a tree, and the notes on runs explain each of the files. The record says so only from the moment on at which
//! the tree was verified, and it is withdrawn before something is done that taints; so a crash leaves the workspace
//! tainted, and so does a record that was lost or that an earlier version wrote.

use std::path::Path;
use std::sync::Arc;

use super::made::Made;
use super::record::Record;
use super::{Error, Workspace};
use crate::git::{self, Stray, StrayKind};
use crate::model::CommitId;

impl Workspace {
    /// Why what lies here is more, or something else, than the commit `head` and what declared commands made of it;
    /// `None` where it is not. Then that is on record. The caller holds the turn and the floor.
    pub async fn taint(self: &Arc<Self>, head: CommitId) -> Result<Option<String>, Error> {
        self.blocking(move |this| {
            let taint = this.look_for_taint(&head)?;
            this.record_untainted(taint.is_none())?;
            Ok(taint)
        })
        .await
    }

    /// Takes note that something is about to be done here which is not known to leave only the remote's content.
    /// On an error it must not be done.
    pub fn note_taint(&self) -> Result<(), Error> {
        self.record_untainted(false)
    }

    fn record_untainted(&self, untainted: bool) -> Result<(), Error> {
        let known = Record::load(self.worktree.admin()).is_some_and(|record| record.untainted);
        match known == untainted {
            true => Ok(()),
            false => self.change_record(|record| record.untainted = untainted),
        }
    }

    fn look_for_taint(&self, expected: &CommitId) -> Result<Option<String>, Error> {
        let repo = self.worktree.open()?;
        let head = git::head(&repo)?;
        if head.commit.to_string() != expected.as_str() {
            return Ok(Some(format!(
                "it is at {}, and the remote has {expected}",
                head.commit
            )));
        }
        if let Some(operation) = head.operation {
            return Ok(Some(format!("a {operation} is under way")));
        }
        let looked = git::look(&repo)?;
        if looked.changed {
            return Ok(Some(
                "tracked files or the index differ from the commit".to_owned(),
            ));
        }
        let admin = self.worktree.admin();
        let Some(first) = looked.strays.first() else {
            return Ok(None);
        };
        if !Record::load(admin).is_some_and(|record| record.untainted) {
            return Ok(Some(format!(
                "untracked files may come from something other than a declared command: {}",
                first.path.display()
            )));
        }
        let made = Made::load(admin);
        for stray in &looked.strays {
            if let Some(path) = unexplained(&made, self.path(), stray)? {
                return Ok(Some(format!("no run made {path}, or it changed since")));
            }
        }
        Ok(None)
    }
}

/// The first path at or in `stray` that no run made, or that changed since. The globs of `build_output` are not
/// asked: a file that has such a name may come from anywhere.
fn unexplained(made: &Made, workdir: &Path, stray: &Stray) -> Result<Option<String>, Error> {
    if !made.explains_unchanged(&stray.path, &stray.meta) {
        return Ok(Some(stray.path.display().to_string()));
    }
    if stray.kind == StrayKind::File {
        return Ok(None);
    }
    for inside in git::strays_in(workdir, &stray.path)? {
        if let Some(path) = unexplained(made, workdir, &inside)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
