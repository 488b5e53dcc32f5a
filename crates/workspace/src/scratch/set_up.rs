//! The set-up of a scratch worktree: its outputs are copied into it, or its commands are run in it by the job that has it, and
//! what they make is kept for others. Workspaces have theirs by the same rules of trust, and under keys of their own.

use std::sync::Arc;

use super::lease::ScratchLease;
use super::leased::LeasedWorktree;
use super::pool::ScratchPool;
use crate::blocking::blocking;
use crate::repos::Repo;
use crate::setup::{Keeping, KeptSetup, KeptSetups, Outputs, choose, digest};
use crate::{Error, record::MadeAt};
use branchyard_config::Setup;
use branchyard_git as git;
use branchyard_model::{BranchName, CommitId};
use branchyard_runtime::disk::Moment;

/// A set-up that a job needs.
#[derive(Debug, Clone)]
pub struct WantedSetup {
    pub setup: Setup,
    /// All that decides what it makes.
    pub key: String,
    pub branch: BranchName,
    pub commit: CommitId,
    /// Whether the commit is what the remote has on a protected branch. Then only what was made at such a commit is taken.
    pub is_protected: bool,
    /// Whether other jobs may have what its commands make.
    pub may_be_kept: bool,
}

/// What the commands of a set-up have made.
#[derive(Debug, Default)]
pub struct SetupMade {
    /// What stands for it in a digest of what the job saw; none if it is not kept.
    pub id: Option<String>,
    /// Why it is not kept, where the user should be warned.
    pub unkept: Option<String>,
}

impl SetupMade {
    fn unkept(why: impl Into<String>) -> Self {
        Self {
            id: None,
            unkept: Some(why.into()),
        }
    }
}

impl WantedSetup {
    fn choose(&self, kept: &KeptSetups, repo: &Repo) -> Result<Option<KeptSetup>, Error> {
        choose(kept, (repo, &self.branch), self.is_protected, &self.key)
    }

    /// Where what is made now may be used.
    fn made_at(&self) -> MadeAt {
        match self.is_protected {
            true => MadeAt::Commit(self.commit.clone()),
            false => MadeAt::OpenBranch,
        }
    }
}

impl ScratchPool {
    /// What stands for the outputs that a job would be given, where they are kept.
    pub async fn kept_setup(
        &self,
        repo: &Arc<Repo>,
        wanted: &WantedSetup,
    ) -> Result<Option<String>, Error> {
        let (pool, repo, wanted) = (self.clone(), repo.clone(), wanted.clone());
        let look = move || {
            let chosen = wanted.choose(pool.shared().setups(), &repo)?;
            Ok(chosen.map(|chosen| chosen.id))
        };
        blocking(look).await
    }
}

impl ScratchLease {
    /// Copies the outputs into the worktree, where they are kept. Returns what stands for them.
    pub async fn take_setup(&self, wanted: &WantedSetup) -> Result<Option<String>, Error> {
        let wanted = wanted.clone();
        self.alone(move |leased| {
            let kept = leased.pool().setups();
            let Some(chosen) = wanted.choose(kept, leased.repo())? else {
                return Ok(None);
            };
            let outputs = leased.clear(&wanted)?;
            let is_there = outputs.bring(kept, &chosen)?;
            Ok(is_there.then_some(chosen.id))
        })
        .await
    }

    /// Makes room for what the commands are about to make. Returns a digest of the inputs, for [`ScratchLease::keep_setup`].
    pub async fn begin_setup(&self, wanted: &WantedSetup) -> Result<String, Error> {
        let wanted = wanted.clone();
        self.alone(move |leased| {
            leased.clear(&wanted)?;
            leased.digest(&wanted.setup)
        })
        .await
    }

    /// Keeps what the commands have made; not if they changed what they made it of.
    pub async fn keep_setup(
        &self,
        wanted: &WantedSetup,
        inputs: String,
    ) -> Result<SetupMade, Error> {
        let wanted = wanted.clone();
        self.alone(move |leased| {
            let outputs = leased.outputs(&wanted);
            outputs.check_whole()?;
            if !wanted.may_be_kept {
                return Ok(SetupMade::default());
            }
            if leased.digest(&wanted.setup)? != inputs {
                return Ok(SetupMade::unkept("its commands changed its inputs"));
            }
            let keeping = outputs.keep(
                leased.pool().setups(),
                (leased.repo(), &wanted.branch),
                (&wanted.key, &wanted.made_at()),
            );
            Ok(match keeping {
                Keeping::Kept(id) => SetupMade {
                    id: Some(id),
                    unkept: None,
                },
                // Of two who made it at once, others get what the first made, which may differ from this.
                Keeping::Known => SetupMade::default(),
                Keeping::No(why) => SetupMade::unkept(why),
            })
        })
        .await
    }

    /// Does `work` on the worktree, to its end even if the caller goes.
    async fn alone<T: Send + 'static>(
        &self,
        work: impl FnOnce(&LeasedWorktree) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let leased = self.leased().clone();
        let done = leased.clone().pool().tasks().spawn(async move {
            let _alone = leased.moving().lock().await;
            // The semaphore is never closed.
            let _place = leased.pool().checkouts().acquire().await;
            let leased = leased.clone();
            blocking(move || work(&leased)).await
        });
        done.await.map_err(git::Error::from)?
    }
}

impl LeasedWorktree {
    fn outputs<'a>(&'a self, wanted: &'a WantedSetup) -> Outputs<'a> {
        Outputs {
            setup: &wanted.setup,
            root: self.worktree().path(),
            admin: self.worktree().admin(),
            trash: self.pool().trash(),
        }
    }

    /// Takes away what is at the outputs: an earlier job left it, since no person works in a scratch worktree.
    fn clear<'a>(&'a self, wanted: &'a WantedSetup) -> Result<Outputs<'a>, Error> {
        let (outputs, looked_at) = (self.outputs(wanted), Moment::now());
        outputs.check_untracked()?;
        outputs.discard(&outputs.there(), looked_at)?;
        Ok(outputs)
    }

    fn digest(&self, setup: &Setup) -> Result<String, Error> {
        let index = self.worktree().admin().join("index");
        digest(self.worktree().path(), &index, setup)
    }
}
