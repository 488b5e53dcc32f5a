//! Finding out how the yard stands: what there is, how long it lay idle, how large it is, who is there.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Reaper;
use super::act::{IN_USE, kept_store};
use super::plan::{Facts, Limits, Plan, Pressure, ReapAction, ScratchFacts, StoreFacts, plan};
use crate::record::Record;
use crate::repos::Repo;
use crate::scratch::IdleScratch;
use crate::sizes::size_of;
use crate::{Workspace, parallel, sizes, work};
use branchyard_git::Worktree;
use branchyard_model::BranchName;
use branchyard_process::Presence;
use branchyard_runtime::disk::Room;

/// What was just thrown away is free space soon; so long is waited for that.
const TRASH_PATIENCE: Duration = Duration::from_secs(10);

const MOVING: &str = "its files are being made or moved";

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Age and number only: a workspace was made.
    Counts,
    /// Room as well; what has to be looked at for that is.
    Usual,
    /// Everything, for somebody who asks.
    Whole,
}

/// A workspace as it was found.
#[derive(Debug)]
pub(super) struct FoundWorkspace {
    pub(super) repo: Arc<Repo>,
    pub(super) record: Record,
    pub(super) facts: Facts,
}

/// A store as it was found.
#[derive(Debug)]
pub(super) struct FoundStore {
    pub(super) repo: Arc<Repo>,
    pub(super) facts: StoreFacts,
}

#[derive(Debug)]
pub(super) struct ReaperInput {
    pub(super) workspaces: Vec<FoundWorkspace>,
    pub(super) scratch: Vec<IdleScratch>,
    pub(super) stores: Vec<FoundStore>,
    pub(super) space: Option<Room>,
    pub(super) yard: u64,
    pub(super) plan: Plan,
}

impl Reaper {
    pub(super) async fn survey(&self, care: Care) -> ReaperInput {
        let mut workspaces = self.find().await;
        if care != Care::Counts {
            self.measure(&mut workspaces).await;
        }
        let scratch = self.find_scratch(care).await;
        let stores = match care {
            Care::Counts => Vec::new(),
            _ => self.find_stores(&workspaces).await,
        };
        let sizes = workspaces.iter().map(|found| found.facts.size);
        let yard = sizes.sum::<u64>()
            + scratch.iter().filter_map(|found| found.bytes).sum::<u64>()
            + stores.iter().map(|found| found.facts.size).sum::<u64>();
        let (space, pressure) = match care {
            Care::Counts => (None, None),
            _ => self.pressure(yard).await,
        };
        if care == Care::Whole {
            // To look at files that are being made would be to wait for them.
            let is_still = |at: &usize| workspaces[*at].facts.hands_off.as_deref() != Some(MOVING);
            let still: Vec<usize> = (0..workspaces.len()).filter(is_still).collect();
            self.look_for_work(&mut workspaces, &still).await;
        }
        let plan = self
            .decide(&mut workspaces, &scratch, &stores, pressure.as_ref())
            .await;
        ReaperInput {
            workspaces,
            scratch,
            stores,
            space,
            yard,
            plan,
        }
    }

    async fn find(&self) -> Vec<FoundWorkspace> {
        let (repos, ticks) = (self.repos.list(), self.workspaces.yard().ticks.clone());
        let root = self.root.clone();
        let read = move || {
            let present = Presence::below(&root);
            let mut found = Vec::new();
            for repo in repos {
                for record in Record::all_of(&repo) {
                    let path = repo.home().join(record.branch.dir().as_str());
                    // What is half-made or broken is not ours to judge.
                    if !Worktree::new(repo.store(), path.clone(), record.branch.clone()).is_ready()
                    {
                        continue;
                    }
                    found.push(FoundWorkspace {
                        facts: Facts {
                            repo: repo.name().clone(),
                            idle: ticks.since(record.used_tick),
                            size: record.size(),
                            droppable: record.sizes.map_or(0, |sizes| sizes.droppable),
                            hands_off: hands_off(&record, &path, &present),
                            pins: None,
                        },
                        record,
                        repo: repo.clone(),
                    });
                }
            }
            found
        };
        let mut found = tokio::task::spawn_blocking(read).await.unwrap_or_default();
        found.sort_by(|a, b| {
            let by_repo = a.repo.name().cmp(b.repo.name());
            by_repo.then_with(|| a.record.branch.cmp(&b.record.branch))
        });
        for found in &mut found {
            let workspace = self.workspaces.look_at(&found.repo, &found.record.branch);
            if let Some(holder) = workspace.queue().holder() {
                found.facts.hands_off = Some(format!("{} has its turn", holder.what));
            } else if workspace.files().try_share().is_none() {
                found.facts.hands_off = Some(MOVING.to_owned());
            }
        }
        found
    }

    /// Measures what was used since it was measured and is quiet now, one at a time.
    async fn measure(&self, workspaces: &mut [FoundWorkspace]) {
        for found in workspaces {
            let workspace = self.workspaces.look_at(&found.repo, &found.record.branch);
            if found.record.is_measured() || workspace.queue().holder().is_some() {
                continue;
            }
            match sizes::measure(&workspace).await {
                Ok(None) => {}
                Ok(Some(sizes)) => {
                    found.record.sizes = Some(sizes);
                    found.facts.size = sizes.total();
                    found.facts.droppable = sizes.droppable;
                }
                Err(error) => {
                    tracing::warn!(repo = %found.repo.name(), branch = %found.record.branch, %error, "a workspace cannot be measured");
                }
            }
        }
    }

    /// The scratch worktrees that are idle, and how large they are unless only age counts.
    async fn find_scratch(&self, care: Care) -> Vec<IdleScratch> {
        let (repos, pool) = (self.repos.list(), self.workspaces.scratch().clone());
        let find = move || {
            let repos = repos.iter().filter(|repo| repo.is_cloned());
            let found = repos.flat_map(|repo| match care {
                Care::Counts => pool.idle(repo),
                _ => pool.measured(repo),
            });
            found.collect()
        };
        tokio::task::spawn_blocking(find).await.unwrap_or_default()
    }

    async fn find_stores(&self, workspaces: &[FoundWorkspace]) -> Vec<FoundStore> {
        let (repos, ticks) = (self.repos.list(), &self.workspaces.yard().ticks);
        let mut stores = Vec::new();
        for repo in repos.into_iter().filter(|repo| repo.is_cloned()) {
            let own = workspaces.iter();
            let own = own.filter(|found| found.repo.name() == repo.name());
            let used = own.clone().filter_map(|found| found.record.used_tick).max();
            let (idle, count) = (ticks.store_idle(repo.name(), used), own.count());
            let (all, looked_at) = (self.workspaces.clone(), repo.clone());
            let look = move || {
                let size = size_of(looked_at.store().path());
                let kept_for = match count {
                    0 => kept_store(&all, &looked_at),
                    1 => Some("it has a workspace".to_owned()),
                    _ => Some(format!("it has {count} workspaces")),
                };
                (size, kept_for)
            };
            let Ok((size, kept_for)) = tokio::task::spawn_blocking(look).await else {
                continue;
            };
            let facts = StoreFacts {
                idle,
                size,
                kept_for,
            };
            stores.push(FoundStore { repo, facts });
        }
        stores
    }

    async fn pressure(&self, yard: u64) -> (Option<Room>, Option<Pressure>) {
        let look = || {
            Room::of(&self.root)
                .inspect_err(|error| tracing::warn!(%error, "free space cannot be told"))
                .ok()
        };
        let is_low = |space: &Option<Room>| {
            space
                .as_ref()
                .is_some_and(|space| space.free() < self.config.marks(space.total()).0)
        };
        let mut space = look();
        let mut is_final = true;
        if is_low(&space) {
            let trash = self.workspaces.yard().trash.clone();
            let emptied = tokio::task::spawn_blocking(move || trash.wait(TRASH_PATIENCE));
            is_final = emptied.await.unwrap_or(false);
            space = look();
        }
        let (low, high) = match &space {
            // While the trash is emptied nobody knows how much there is going to be.
            Some(space) if is_final => self.config.marks(space.total()),
            _ => (0, 0),
        };
        let pressure = Pressure {
            free: space.as_ref().map_or(0, Room::free),
            low,
            high,
            yard,
            budget: self.config.max_size.map(|size| size.as_u64()),
        };
        (space, Some(pressure))
    }

    /// Plans, looks for work where the plan would remove something, and plans again with what was found.
    async fn decide(
        &self,
        workspaces: &mut [FoundWorkspace],
        scratch: &[IdleScratch],
        stores: &[FoundStore],
        pressure: Option<&Pressure>,
    ) -> Plan {
        let limits = Limits {
            per_repo: self.config.max_worktrees_per_repo,
            ttl: self.config.worktree_ttl,
        };
        let scratch = scratch.iter().map(|found| ScratchFacts {
            idle: found.idle,
            size: found.bytes.unwrap_or(0),
        });
        let scratch: Vec<ScratchFacts> = scratch.collect();
        let stores: Vec<StoreFacts> = stores.iter().map(|found| found.facts.clone()).collect();
        loop {
            let facts: Vec<Facts> = workspaces.iter().map(|found| found.facts.clone()).collect();
            let made = plan(&facts, &scratch, &stores, &limits, pressure);
            let unknown: Vec<usize> = made
                .order
                .iter()
                .copied()
                .filter(|at| made.workspaces[*at].action == ReapAction::Remove)
                .filter(|at| facts[*at].pins.is_none())
                .collect();
            if unknown.is_empty() {
                return made;
            }
            self.look_for_work(workspaces, &unknown).await;
        }
    }

    async fn look_for_work(&self, workspaces: &mut [FoundWorkspace], wanted: &[usize]) {
        let named: Vec<(Arc<Repo>, BranchName)> = wanted
            .iter()
            .map(|at| {
                let found = &workspaces[*at];
                (found.repo.clone(), found.record.branch.clone())
            })
            .collect();
        let all = self.workspaces.clone();
        let looked = parallel(named, move |(repo, branch)| {
            let workspace: Arc<Workspace> = all.get(&repo, &branch);
            async move { work::reasons_to_stay(&workspace).await }
        })
        .await;
        for (at, reasons) in wanted.iter().zip(looked) {
            let reasons = match reasons {
                Ok(Ok(reasons)) => reasons,
                // In doubt it is work.
                Ok(Err(error)) => vec![format!("it cannot be looked at: {error}")],
                Err(error) => vec![format!("it cannot be looked at: {error}")],
            };
            workspaces[*at].facts.pins = Some(reasons);
        }
    }

    /// Writes down that what has no mark of its last use, or one from the future, was used now; else it
    /// would never grow old.
    pub(super) fn settle_marks(&self, workspaces: &[FoundWorkspace]) {
        let ticks = &self.workspaces.yard().ticks;
        for found in workspaces {
            if ticks.is_known(found.record.used_tick) {
                continue;
            }
            let workspace = self.workspaces.look_at(&found.repo, &found.record.branch);
            let now = ticks.now();
            if let Err(error) = workspace.change_record(|record| record.used_tick = Some(now)) {
                tracing::warn!(repo = %found.repo.name(), branch = %found.record.branch, %error, "its last use cannot be written down");
            }
        }
    }
}

fn hands_off(record: &Record, path: &Path, present: &Presence) -> Option<String> {
    if let Some(pin) = &record.pinned {
        return Some(pin.says());
    }
    present.is_in(path).then(|| IN_USE.to_owned())
}
