//! One pass: what was found and planned is done, told and reported.

use jiff::Timestamp;

use super::input::{Care, FoundStore, FoundWorkspace, ReaperInput};
use super::plan::{Decision, ReapAction, Rule};
use super::report::{Disk, Outcome, ReapItem, Reaped, Reaping, StoreItem, Totals};
use super::{REMEMBERED, Reaper};
use crate::reaper::act;
use crate::repos::Repo;
use crate::scratch::IdleScratch;
use branchyard_model::{BranchName, RepoName};
use branchyard_runtime::disk::Room;
use branchyard_runtime::yard_events::{self, YardChange};

impl Reaper {
    pub(super) async fn pass(&self, care: Care, dry_run: bool, only: Option<&RepoName>) -> Reaping {
        let _alone = self.one_at_a_time.lock().await;
        let moved = self.workspaces.check_place().err();
        if let Some(problem) = &moved {
            tracing::warn!(detail = problem.detail, "nothing is reaped");
        }
        let dry_run = dry_run || moved.is_some();
        let ReaperInput {
            workspaces,
            scratch,
            stores,
            space,
            yard,
            plan,
        } = self.survey(care).await;
        if care != Care::Counts {
            let pinned = workspaces
                .iter()
                .filter(|found| found.record.pinned.is_some());
            let sizes = stores
                .iter()
                .map(|found| (found.repo.name().clone(), found.facts.size));
            *self.stores.lock() = sizes.collect();
            gauge("branchyard_yard_bytes", yard);
            gauge("branchyard_workspaces_pinned", pinned.count() as u64);
        }
        let mut outcomes: Vec<Option<Outcome>> = vec![None; workspaces.len()];
        let is_wanted = |repo: &Repo| only.is_none_or(|only| *repo.name() == *only);
        if !dry_run {
            self.settle_marks(&workspaces);
            for at in &plan.order {
                let found = &workspaces[*at];
                if is_wanted(&found.repo) && !self.closing.is_cancelled() {
                    outcomes[*at] = Some(self.act(found, &plan.workspaces[*at]).await);
                }
            }
        }
        let marks = space.as_ref().map(|space| self.config.marks(space.total()));
        if care != Care::Counts && !dry_run {
            let free = space.as_ref().map(Room::free);
            self.prune_setups(free.zip(marks).is_some_and(|(free, (low, _))| free < low));
        }
        let mut totals = Totals::default();
        for (found, decision) in scratch.iter().zip(&plan.scratch) {
            if is_wanted(&found.repo) && decision.action == ReapAction::Remove {
                let is_gone = dry_run || self.remove_scratch(found, decision).await;
                totals.bytes += found.bytes.filter(|_| is_gone).unwrap_or(0);
            }
        }
        let mut items = Vec::new();
        let decided = workspaces.into_iter().zip(plan.workspaces).zip(outcomes);
        for ((found, decision), outcome) in decided {
            if is_wanted(&found.repo) {
                let item = item(found, decision, outcome);
                totals.count(item.action, item.outcome.as_ref(), item.freed());
                items.push(item);
            }
        }
        let mut store_items = Vec::new();
        for (found, decision) in stores.into_iter().zip(plan.stores) {
            if is_wanted(&found.repo) {
                let is_due = decision.action == ReapAction::DiscardStore
                    && !dry_run
                    && !self.closing.is_cancelled();
                let outcome = match is_due {
                    true => Some(self.act_on_store(&found, &decision).await),
                    false => None,
                };
                let item = store_item(&found, decision, outcome);
                totals.count(item.action, item.outcome.as_ref(), item.freed());
                store_items.push(item);
            }
        }
        Reaping {
            dry_run,
            items,
            stores: store_items,
            branches: Vec::new(),
            disk: Disk {
                free: space.as_ref().map(Room::free),
                total: space.as_ref().map(Room::total),
                low_water: marks.map(|(low, _)| low),
                high_water: marks.map(|(_, high)| high),
                yard,
                max_size: self.config.max_size.map(|size| size.as_u64()),
            },
            totals,
        }
    }

    /// Lets go of outputs of set-ups that nothing has used for long.
    fn prune_setups(&self, is_short: bool) {
        let yard = self.workspaces.yard();
        if let Err(error) = yard.setups.prune(&yard.trash, is_short) {
            tracing::warn!(%error, "outputs of set-ups that are not used stay");
        }
    }

    async fn act(&self, found: &FoundWorkspace, decision: &Decision) -> Outcome {
        let branch = &found.record.branch;
        let workspace = self.workspaces.look_at(&found.repo, branch);
        let outcome = match decision.action {
            ReapAction::Remove => act::reap(&workspace, &found.record).await,
            ReapAction::DropBuildOutput => act::reap_build_output(&workspace, &found.record).await,
            ReapAction::Keep | ReapAction::DiscardStore => return Outcome::Done { bytes: 0 },
        };
        self.tell(&found.repo, Some(branch), decision, &outcome);
        outcome
    }

    /// Removes a scratch worktree, and returns whether it is gone. It is no branch's, so nobody is told of it by name.
    async fn remove_scratch(&self, found: &IdleScratch, decision: &Decision) -> bool {
        if self.closing.is_cancelled() {
            return false;
        }
        let (repo, number) = (found.repo.name(), found.number);
        if let Err(why) = self.workspaces.scratch().remove_idle(found).await {
            tracing::info!(%repo, number, why, "a scratch worktree is not reaped");
            return false;
        }
        let bytes = found.bytes.unwrap_or(0);
        tracing::info!(%repo, number, why = decision.why, bytes, "a scratch worktree is reaped");
        let rule = decision.rule.map_or("", Rule::name);
        metrics::counter!("branchyard_reaped_total", "action" => "remove_scratch", "reason" => rule)
            .increment(1);
        metrics::counter!("branchyard_reaped_bytes_total").increment(bytes);
        true
    }

    async fn act_on_store(&self, found: &FoundStore, decision: &Decision) -> Outcome {
        let outcome = act::discard_store(self, &found.repo, found.facts.size).await;
        self.tell(&found.repo, None, decision, &outcome);
        outcome
    }

    fn tell(
        &self,
        repo: &Repo,
        branch: Option<&BranchName>,
        decision: &Decision,
        outcome: &Outcome,
    ) {
        let action = decision.action.name();
        let on = branch.map(BranchName::as_str).unwrap_or_default();
        let bytes = match outcome {
            Outcome::Kept { why } => {
                tracing::info!(repo = %repo.name(), branch = on, action, why, "not reaped");
                return;
            }
            Outcome::Done { bytes } => *bytes,
        };
        tracing::info!(repo = %repo.name(), branch = on, action, why = decision.why, bytes, "reaped");
        let rule = decision.rule.map_or("", Rule::name);
        metrics::counter!("branchyard_reaped_total", "action" => action, "reason" => rule)
            .increment(1);
        metrics::counter!("branchyard_reaped_bytes_total").increment(bytes);
        let recorded = match decision.action {
            ReapAction::Keep => None,
            ReapAction::DropBuildOutput => Some("reap.build_output"),
            ReapAction::Remove => Some("reap.workspace"),
            ReapAction::DiscardStore => Some("reap.clone"),
        };
        if let Some(recorded) = recorded {
            self.record(recorded, repo.name(), branch, 1);
        }
        let reaped = yard_events::Reaped {
            action,
            repo: repo.name().clone(),
            branch: branch.cloned(),
            why: decision.why.clone(),
            bytes,
        };
        repo.news().publish(YardChange::Reap(reaped));
        let mut recent = self.recent.lock();
        if recent.len() >= REMEMBERED {
            recent.pop_front();
        }
        recent.push_back(Reaped {
            at: Timestamp::now(),
            action: decision.action,
            repo: repo.name().clone(),
            branch: branch.cloned(),
            why: decision.why.clone(),
            bytes,
        });
    }
}

fn item(found: FoundWorkspace, decision: Decision, outcome: Option<Outcome>) -> ReapItem {
    ReapItem {
        repo: found.facts.repo,
        branch: found.record.branch,
        action: decision.action,
        why: decision.why,
        pins: found.facts.pins.unwrap_or_default(),
        sizes: found.record.sizes,
        idle: found.facts.idle,
        last_used: found.record.last_used,
        pinned: found.record.pinned,
        outcome,
    }
}

fn store_item(found: &FoundStore, decision: Decision, outcome: Option<Outcome>) -> StoreItem {
    StoreItem {
        repo: found.repo.name().clone(),
        action: decision.action,
        why: decision.why,
        size: found.facts.size,
        idle: found.facts.idle,
        outcome,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "gauges are floating-point by their format"
)]
fn gauge(name: &'static str, value: u64) {
    metrics::gauge!(name).set(value as f64);
}
