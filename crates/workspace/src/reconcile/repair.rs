//! Mending the differences, one by one. Whatever could be missed is set aside, kept under a ref, or
//! moved to the quarantine; only what a daemon that was killed never completed is thrown away.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::find::look_through;
use super::{Finding, Kind, RepairScope};
use crate::reconcile::find;
use crate::record::Record;
use crate::repos::Repo;
use crate::{Error, Workspace, Workspaces, guard, half_made, removal};
use branchyard_git::{self as git, Seen, Worktree, WorktreeDamage, mending};
use branchyard_model::{BranchName, RepoName};
use branchyard_process::is_in_use;

/// Mending a ref may show that another is gone, and so on; no damage goes deeper.
const ROUNDS: usize = 3;

/// How far mending goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zeal {
    /// On the way of a request: what it has met.
    Modest,
    /// At start, when nobody else is here: what is certain.
    Alone,
    /// Somebody asked for it: also what has to be moved out of the way.
    Thorough,
}

/// A finding, and what was done about it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Mended {
    #[serde(flatten)]
    pub finding: Finding,
    /// Nothing where it was left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
}

/// Mends what differs in `repo`, as far as that needs no remote. The caller holds the registry lock.
/// Blocks.
pub fn mend(
    workspaces: &Workspaces,
    repo: &Arc<Repo>,
    scope: &RepairScope,
    zeal: Zeal,
) -> Result<Vec<Mended>, Error> {
    let mender = Repairer {
        repo,
        zeal,
        workspace: &|branch| workspaces.look_at(repo, branch),
    };
    mender.mend_all(|| find::look(workspaces, repo, scope))
}

/// Mends what a request for this workspace can meet, as far as that needs no remote. The caller holds
/// the registry lock and shares the files.
pub(crate) fn mend_around(this: &Arc<Workspace>) -> Result<Vec<Mended>, Error> {
    let mender = Repairer {
        repo: this.repo(),
        zeal: Zeal::Modest,
        workspace: &|_| this.clone(),
    };
    let scope = RepairScope::of(this.branch());
    mender.mend_all(|| look_through(this.repo(), &scope, |_| false))
}

struct Repairer<'a> {
    repo: &'a Arc<Repo>,
    zeal: Zeal,
    workspace: &'a dyn Fn(&BranchName) -> Arc<Workspace>,
}

impl Repairer<'_> {
    fn mend_all(
        &self,
        look: impl Fn() -> Result<Vec<Finding>, Error>,
    ) -> Result<Vec<Mended>, Error> {
        let mut all: Vec<Mended> = Vec::new();
        for _ in 0..ROUNDS {
            let mut progress = false;
            for finding in look()? {
                if all.iter().any(|known| is_same(&known.finding, &finding)) {
                    continue;
                }
                let done = match self.mend_one(&finding) {
                    Ok(done) => done,
                    // One that cannot be mended must not keep the others from it.
                    Err(error) => {
                        tracing::error!(repo = %self.repo.name(), code = &*finding.code, path = %finding.path.display(), %error, "cannot be mended");
                        None
                    }
                };
                log(&finding, done.as_deref());
                progress |= done.is_some();
                all.push(Mended { finding, done });
            }
            if !progress {
                break;
            }
        }
        Ok(all)
    }

    /// What was done, if anything was.
    fn mend_one(&self, finding: &Finding) -> Result<Option<String>, Error> {
        match &finding.kind {
            Kind::Ref(broken) => Ok(Some(git::mend_ref(self.repo.store(), broken)?)),
            Kind::Lock(lock) => {
                // In a daemon that serves, a young one may be our own.
                if self.zeal != Zeal::Alone && lock.is_young() {
                    return Ok(None);
                }
                lock.remove(self.repo.git())?;
                Ok(Some("removed".to_owned()))
            }
            Kind::Unknown if self.zeal == Zeal::Thorough => self.quarantine(&finding.path),
            Kind::ObjectsGone | Kind::StoreGone => {
                self.repo.suspect();
                Ok(None)
            }
            Kind::Unknown | Kind::LeftAlone => Ok(None),
            Kind::HalfMade
            | Kind::Removing
            | Kind::DirectoryGone
            | Kind::Unregistered
            | Kind::Damaged(_)
            | Kind::RecordGone => match &finding.branch {
                Some(branch) => self.mend_workspace(&(self.workspace)(branch), &finding.kind),
                None => Ok(None),
            },
        }
    }

    fn mend_workspace(
        &self,
        workspace: &Arc<Workspace>,
        kind: &Kind,
    ) -> Result<Option<String>, Error> {
        let said = |text: &str| Ok(Some(text.to_owned()));
        let store = self.repo.store();
        // Directories come and go only where nobody is at them; a request has ways of its own.
        let alone = match self.zeal {
            Zeal::Modest => None,
            Zeal::Alone | Zeal::Thorough => workspace.files().try_lock(),
        };
        match kind {
            Kind::HalfMade if alone.is_some() => take_away_half_made(workspace),
            Kind::Removing if alone.is_some() => {
                removal::converge(workspace)?;
                said("completed, or called off")
            }
            Kind::DirectoryGone if alone.is_some() => {
                workspace.worktree().set_aside(&self.repo.open_store()?)?;
                said("registration set aside")
            }
            Kind::Unregistered => {
                register_again(workspace)?;
                said("registered again")
            }
            Kind::Damaged(WorktreeDamage::Link(_)) => {
                let restored = guard::mend_links(workspace)?;
                Ok(Some(format!("put back: {}", restored.join(", "))))
            }
            Kind::Damaged(WorktreeDamage::Head(_)) => {
                Ok(Some(mending::mend_head(workspace.worktree(), store)?))
            }
            Kind::Damaged(WorktreeDamage::Index(_)) => {
                guard::mend_links(workspace)?;
                Ok(Some(rebuild_index(workspace.worktree(), self.repo)?))
            }
            Kind::RecordGone => {
                write_record(workspace)?;
                said("written anew")
            }
            _ => Ok(None),
        }
    }

    /// Moves a directory that nobody knows the branch of out of the way.
    fn quarantine(&self, path: &Path) -> Result<Option<String>, Error> {
        let repo = self.repo;
        if is_in_use(path) {
            return Ok(None);
        }
        let dir = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{}-{dir}", repo.name().dir());
        let why = "a workspace that git does not know any more, and nobody its branch";
        let moved = repo
            .quarantine()
            .take(path, &name, why)
            .map_err(Error::io("move a directory to the quarantine"))?;
        Ok(Some(format!("moved to {}", moved.display())))
    }
}

fn is_same(a: &Finding, b: &Finding) -> bool {
    a.code == b.code && a.path == b.path && a.detail == b.detail
}

/// One line for each difference.
fn log(finding: &Finding, done: Option<&str>) {
    let Finding {
        repo,
        path,
        code,
        detail,
        ..
    } = finding;
    let (repo, path) = (repo.as_ref().map(RepoName::as_str), path.display());
    match done {
        Some(done) => tracing::warn!(repo, %code, %path, detail, done, "mended"),
        None => tracing::warn!(repo, %code, %path, detail, "found"),
    }
}

fn rebuild_index(worktree: &Worktree, repo: &Repo) -> Result<String, Error> {
    Ok(match mending::rebuild_index(worktree, repo.store())? {
        Some(kept) => format!("made anew from HEAD; the old one is {}", kept.display()),
        None => "made anew from HEAD".to_owned(),
    })
}

/// Registers a directory again whose registration is gone; not one of its files is touched, and
/// what is in them shows as changes. The caller holds the registry lock and the files.
pub(crate) fn register_again(workspace: &Workspace) -> Result<(), Error> {
    mending::reregister(workspace.worktree())?;
    write_record(workspace)?;
    guard::mend_links(workspace)?;
    mending::mend_head(workspace.worktree(), workspace.repo().store())?;
    mending::rebuild_index(workspace.worktree(), workspace.repo().store())?;
    tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), "a workspace that git did not know any more is registered again");
    Ok(())
}

fn write_record(workspace: &Workspace) -> Result<(), Error> {
    Record::new(workspace.branch().clone(), workspace.yard().ticks.now())
        .save(workspace.worktree().admin())
        .map_err(Error::io("record the workspace"))
}

/// Takes away what a daemon that was killed never completed. The branch goes with it unless it has
/// commits that the remote does not have. The caller holds the registry lock and the files.
fn take_away_half_made(workspace: &Workspace) -> Result<Option<String>, Error> {
    if is_in_use(workspace.path()) {
        return Ok(None);
    }
    half_made::take_half_made(workspace)?;
    workspace.worktree().forget()?;
    let store = workspace.repo().open_store()?;
    if git::unseen_commits(&store, workspace.branch())? == 0 {
        git::delete_ref(&store, &workspace.branch().local_ref())?;
        Seen(&workspace.branch().dir()).forget(&store)?;
    } else {
        Seen(&workspace.branch().dir()).abandon_move(&store)?;
    }
    Ok(Some("taken away".to_owned()))
}
