//! Starting runs. Every refusal comes from here, before anything was written.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::drive::RunJob;
use super::idempotency::{self, Claim, Claimed};
use super::live::Live;
use super::open::{Runs, draining};
use super::request::RunRequest;
use super::spec;
use super::written::Written;
use crate::{coalesce, helper, launch, meter};
use branchyard_auth::Principal;
use branchyard_model::{
    BranchName, ErrorKind, Idempotency, Problem, RepoName, RunId, RunKind, RunRecord, RunState,
};
use branchyard_workspace::repos::Repo;
use branchyard_workspace::{Workspace, prepare};

/// A remote that answers within this decides about an unknown branch before the stream opens.
const REMOTE_PATIENCE: Duration = Duration::from_secs(3);
/// After how many seconds there may be room in a full queue.
const QUEUE_MOVES: u64 = 10;

/// A run that was started, joined or found again.
#[derive(Debug)]
pub struct Started {
    pub id: RunId,
    /// Unless it has ended.
    pub live: Option<Arc<Live>>,
    /// Whether it was started now.
    pub is_new: bool,
}

impl Started {
    fn joined(live: Arc<Live>) -> Self {
        Self {
            id: live.id(),
            live: Some(live),
            is_new: false,
        }
    }
}

impl Runs {
    /// Checks everything that can be checked and starts the run's task. The same `key` sent again finds the
    /// same run.
    pub async fn start(
        &self,
        repo: &RepoName,
        branch: &BranchName,
        request: RunRequest,
        principal: &Principal,
        key: Option<&str>,
    ) -> Result<Started, Problem> {
        let Some(key) = key else {
            return self.start_new(repo, branch, request, None, principal).await;
        };
        idempotency::check_key(key)?;
        let asked = Written::from(request.clone());
        let digest = idempotency::digest(
            &self.inner().reuse_key,
            &(repo, branch, asked.action, asked.request),
        );
        let mut claim = self.inner().keys.claim(principal.name(), key).await;
        if let Some(known) = &*claim {
            return match known.of {
                Claimed::Run(id) if known.request == digest => Ok(Started {
                    id,
                    live: self.live(id),
                    is_new: false,
                }),
                _ => Err(known.reused(key)),
            };
        }
        let idempotency = Idempotency {
            key: key.to_owned(),
            request: digest.clone(),
        };
        let started = self
            .start_new(repo, branch, request, Some(idempotency), principal)
            .await?;
        *claim = Some(Claim {
            request: digest,
            of: Claimed::Run(started.id),
        });
        Ok(started)
    }

    async fn start_new(
        &self,
        repo: &RepoName,
        branch: &BranchName,
        request: RunRequest,
        idempotency: Option<Idempotency>,
        principal: &Principal,
    ) -> Result<Started, Problem> {
        let asked_at = Instant::now();
        if self.is_draining() {
            return Err(draining());
        }
        let repo = self.inner().repos.get(repo)?;
        let config = &self.inner().config;
        let (spec, checks) = spec::of(config, &repo, branch, &request, principal)?;
        let profile = self.inner().sandboxes.check(repo.config(), spec.kind)?;
        let workspace = self.inner().workspaces.get(&repo, branch);
        self.check_branch(&repo, &workspace, asked_at).await?;
        let is_counted = spec.kind != RunKind::Git;
        if is_counted {
            meter::check_disk(self, &workspace, 0).await?;
        }
        let (coalesce, supersede) = (request.body().coalesce, request.body().supersede);
        if request.joins_own()
            && let Some(live) = coalesce::join_own(self, &spec, &workspace).await
        {
            return Ok(Started::joined(live));
        }
        let mut judged = HashSet::new();
        loop {
            if coalesce
                && let Some(live) = coalesce::join_equal(self, &spec, &repo, &mut judged).await
            {
                return Ok(Started::joined(live));
            }
            let _decided = self.inner().joining.lock();
            if coalesce {
                if let Some(live) = coalesce::join_open(self, &spec, &judged) {
                    return Ok(Started::joined(live));
                }
                if coalesce::find_equal(self, &spec, &judged).is_some() {
                    // It came, and looked at the remote, since we last looked.
                    continue;
                }
            }
            self.inner().margin.check()?;
            self.check_queue(principal, 1)?;
            if is_counted {
                let branches = std::slice::from_ref(branch);
                meter::check_usage(self, principal.account(), repo.name(), branches)?;
            }
            if spec.background {
                helper::check_more(self, &spec, profile, principal)?;
            }
            let mut record = RunRecord::new(RunId::new(), spec);
            record.idempotency = idempotency;
            let job = RunJob {
                workspace,
                checks,
                asked_at,
                asker: Some(principal.clone()),
            };
            let live = launch::launch(self, record, request, principal.account(), job)
                .map_err(|error| self.inner().margin.judge(not_recorded(&error)))?;
            if supersede {
                coalesce::supersede(self, &live);
            }
            return Ok(Started {
                is_new: true,
                ..Started::joined(live)
            });
        }
    }

    /// Whether so many more runs of a principal may wait beside those that do already.
    pub(super) fn check_queue(&self, principal: &Principal, more: usize) -> Result<(), Problem> {
        let most = self.inner().config.limits.max_queued_runs_per_principal;
        let waits = |live: &Live| {
            let record = live.look();
            record.state == RunState::Queued && live.account() == principal.account()
        };
        let queued = self.inner().live.iter().filter(|live| waits(live)).count();
        if queued + more <= most {
            return Ok(());
        }
        let detail = format!(
            "{queued} runs of {} wait to be started; limits.max_queued_runs_per_principal is the limit ({most})",
            principal.account()
        );
        Err(Problem::new(ErrorKind::TooMany, "too_many_queued_runs", detail)
            .help("wait until some have ended, or cancel those that are not needed any more; the operator can raise the limit")
            .retry_after(QUEUE_MOVES))
    }

    /// A branch without a workspace is asked of the remote first, so that an unknown one is refused as
    /// such. A slow remote is left to the run itself.
    async fn check_branch(
        &self,
        repo: &Arc<Repo>,
        workspace: &Arc<Workspace>,
        asked_at: Instant,
    ) -> Result<(), Problem> {
        if workspace.exists() {
            return Ok(());
        }
        match tokio::time::timeout(REMOTE_PATIENCE, prepare::check_branch(workspace, asked_at))
            .await
        {
            Ok(outcome) => outcome.map_err(|error| self.inner().margin.judge(error.problem())),
            Err(_) => {
                tracing::debug!(repo = %repo.name(), "the remote is slow; the run will find out");
                Ok(())
            }
        }
    }
}

pub(super) fn not_recorded(error: &std::io::Error) -> Problem {
    Problem::unwritten("run_not_recorded", "the run could not be recorded", error)
}
