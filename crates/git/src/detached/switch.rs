//! Moves a detached worktree to a commit: what does not belong there goes, what is missing is written in this process, and git
//! writes what it might convert.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use git2::Oid;
use rustix::fs::Stat;

use super::bin::Bin;
use super::clear::Clearing;
use super::conversions::Reconverted;
use super::filled::FilledSubmodules;
use super::known::Known;
use super::{DetachedWorktree, UntrackedFiles};
use crate::checkout::{CheckoutPlan, check_settings, leave_what_is_converted, write_entries};
use crate::contents::{Written, write_missing_of_head};
use crate::index_file::{FileStat, IndexFile, NewIndex, settle};
use crate::refs::set_head;
use crate::{Error, Git, ObjectId, Repository};
use branchyard_model::CommitId;
use branchyard_runtime::disk::{Trash, if_there};

/// How long may be looked for what is in the way.
const PATIENCE: Duration = Duration::from_secs(60);

/// Has the files and the index be those of `commit`. Returns whether that was all of them; the rest is for git to write.
pub(super) fn write_files(
    this: &DetachedWorktree,
    (mut bin, trash): (Bin, &Trash),
    commit: &CommitId,
    (untracked, filled): (UntrackedFiles, &FilledSubmodules),
) -> Result<bool, Error> {
    let failed = || Error::io("move a detached worktree");
    trash.check(this.path()).map_err(failed())?;
    let known = Known::load(this.admin());
    let is_vouched_for = known.is_some();
    if untracked == UntrackedFiles::Spare && !(is_vouched_for && is_plain(this, commit)?) {
        return Err(failed()(io::Error::other(
            "nothing tells what is tracked there",
        )));
    }
    Known::forget(this.admin()).map_err(failed())?;
    this.clean_registration(&mut bin, filled)
        .map_err(failed())?;
    let index = this.admin().join("index");
    let before = match known {
        Some(_) => IndexFile::read(&index).map_err(failed())?,
        None => None,
    };
    if_there(fs::remove_file(&index)).map_err(failed())?;
    set_head(this.admin(), &format!("{commit}\n"))?;

    let store = this.open_store()?;
    let planned = SwitchPlan::of(&store, commit, before.as_ref(), this.path());
    let mut plan = planned.unwrap_or_else(|why| {
        tracing::debug!(path = %this.path().display(), %why, "left to git");
        SwitchPlan::default()
    });
    let untracked = match plan.checkout {
        Some(_) => untracked,
        None => UntrackedFiles::Discard,
    };
    let entries = plan
        .checkout
        .as_mut()
        .map(|checkout| &mut *checkout.entries);
    let entries = entries.unwrap_or_default();
    let known = (before.as_ref(), &plan.reconverted);
    let root = bin.open(this.path()).map_err(failed())?;
    let kept = Clearing::new(entries, known, (untracked, filled), &mut bin).clear(&root);
    let kept = kept.map_err(failed())?;
    bin.empty(trash).map_err(failed())?;
    for (entry, kept) in entries.iter_mut().zip(&kept) {
        let is_left = entry.is_left() || kept.is_some();
        entry.leave_if(is_left);
    }
    let Some(checkout) = plan.checkout else {
        return Ok(false);
    };
    let written = write_entries(&checkout.entries, this.path(), store.path())
        .map_err(Error::io("write files"))?;
    let stats: Vec<Option<Stat>> = kept
        .into_iter()
        .zip(written)
        .map(|(kept, written)| kept.or(written))
        .collect();
    write_index(&index, &checkout, &stats)
}

/// Whether the index tells which files were tracked, and there is nothing about the commit that only git knows how to treat.
pub(super) fn is_plain(this: &DetachedWorktree, commit: &CommitId) -> Result<bool, Error> {
    let index = IndexFile::read(&this.admin().join("index"));
    let index = if_there(index)
        .map_err(Error::io("read the index"))?
        .flatten();
    let store = this.open_store()?;
    Ok(index.is_some() && SwitchPlan::of(&store, commit, index.as_ref(), this.path()).is_ok())
}

/// What is to be there, and what of that may be there otherwise. Without a plan all is left to git.
#[derive(Debug, Default)]
struct SwitchPlan {
    checkout: Option<CheckoutPlan>,
    reconverted: Reconverted,
}

impl SwitchPlan {
    /// An error if there is anything about it that only git knows how to treat.
    fn of(
        store: &Repository,
        commit: &CommitId,
        before: Option<&IndexFile>,
        root: &Path,
    ) -> Result<Self, Error> {
        check_settings(store)?;
        let tree = store.tree_of(Oid::from_str(commit.as_str())?)?;
        let mut checkout = CheckoutPlan::of(store, &tree, root)?;
        leave_what_is_converted(store, &mut checkout.entries)?;
        let reconverted = match before {
            Some(before) => Reconverted::between(store, before, &checkout.entries)?,
            None => Reconverted::default(),
        };
        Ok(Self {
            checkout: Some(checkout),
            reconverted,
        })
    }
}

fn write_index(path: &Path, plan: &CheckoutPlan, stats: &[Option<Stat>]) -> Result<bool, Error> {
    let mut index = NewIndex::new();
    for (entry, stat) in plan.entries.iter().zip(stats) {
        if let Some(stat) = stat {
            let stat = FileStat::of(stat);
            index.push(entry.path(), entry.kind().mode(), entry.id(), &stat);
        }
    }
    let is_whole = stats.iter().all(Option::is_some);
    // A cache of trees that counts entries which are missing would be a lie.
    let trees = is_whole.then_some(&plan.trees);
    let written = index.write(path, trees);
    written.map_err(Error::io("write the index"))?;
    Ok(is_whole)
}

/// Has git write what is missing, and makes sure that nothing is then.
pub(super) async fn have_git_write(
    this: &DetachedWorktree,
    git: &Git,
    commit: &CommitId,
) -> Result<(), Error> {
    if let Written::NotAll = write_missing_of_head(this.path(), git).await? {
        check_nothing_in_the_way(this, git).await?;
    }
    let (this, commit) = (this.clone(), commit.clone());
    tokio::task::spawn_blocking(move || check_index(&this, &commit)).await?
}

/// An error if a file is in the way. Filled submodules are not: the caller moves them next.
async fn check_nothing_in_the_way(this: &DetachedWorktree, git: &Git) -> Result<(), Error> {
    // Git wrote the files, but not the index.
    let refreshed = git
        .in_worktree(this.path())
        .args(["update-index", "-q", "--refresh", "--ignore-submodules"])
        .run()
        .await;
    match refreshed {
        // It says so of what differs, and that is asked for next.
        Ok(()) | Err(Error::Refused { code: Some(1), .. }) => {}
        Err(error) => return Err(error),
    }
    let differing = git
        .in_worktree(this.path())
        .args(["diff-files", "--name-only", "-z", "--ignore-submodules=all"])
        .read_only(PATIENCE)
        .output()
        .await?;
    match differing.split(|byte| *byte == 0).next() {
        None | Some([]) => Ok(()),
        Some(path) => {
            let path = String::from_utf8_lossy(path);
            let why = io::Error::other(format!("something is in the way of {path}"));
            Err(Error::io("check out files")(why))
        }
    }
}

/// An error unless the index is that of `commit`. Then it is later than all files that it tells of.
fn check_index(this: &DetachedWorktree, commit: &CommitId) -> Result<(), Error> {
    let failed = || Error::io("check the index");
    let path = this.admin().join("index");
    let index = IndexFile::read(&path).map_err(failed())?;
    let repo = Repository::open_bare(this.admin())?;
    let tree = repo.tree_of(Oid::from_str(commit.as_str())?)?.id();
    let is_whole = |index: &IndexFile| index.holds(&repo, ObjectId::of(tree));
    let index = match index {
        Some(index) if is_whole(&index)? => index,
        _ => {
            let why = io::Error::other("git did not check out all files");
            return Err(failed()(why));
        }
    };
    let entries = index.entries().iter();
    let newest = entries.map(|entry| index.stat(entry).modified()).max();
    settle(&path, newest.unwrap_or_default()).map_err(failed())
}
