//! Groups: one command on many branches, each in a run of its own. A group has a journal like a run,
//! in which its runs start and end, and its record names them before the first of them starts; so a
//! daemon that dies in between leaves nothing out and starts nothing twice.

mod disk;
mod follow;
mod select;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use dashmap::DashMap;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{OwnedMutexGuard, watch};
use tokio_util::sync::CancellationToken;

use super::drive::RunJob;
use super::idempotency::{self, Claim, Claimed};
use super::open::{Runs, draining};
use super::request::{RunBody, RunRequest};
use super::start::not_recorded;
use super::view::View;
use super::viewers::Viewers;
use super::{spec, stop_note};
use crate::{coalesce, launch, meter};
use branchyard_auth::Principal;
use branchyard_config::crash_point;
use branchyard_journal::{Extent, Writer};
use branchyard_model::{
    BranchName, ErrorKind, Event, GroupId, GroupRecord, GroupState, Idempotency, Member,
    OnDisconnect, Problem, RepoName, RunId, RunRecord,
};
use disk::{Disk, Saved};
use follow::Told;

#[derive(Debug)]
pub(super) struct Groups {
    disk: Disk,
    live: DashMap<GroupId, Arc<LiveGroup>>,
}

/// A group that has not ended.
#[derive(Debug)]
pub struct LiveGroup {
    viewers: Viewers,
    record: watch::Sender<GroupRecord>,
    extent: watch::Receiver<Extent>,
    leaving: CancellationToken,
}

impl LiveGroup {
    /// Returns when it has ended, or when the daemon leaves.
    pub async fn ended(&self) {
        let mut record = self.record.subscribe();
        tokio::select! {
            // The sender is our own, so it cannot go while we wait.
            _ = record.wait_for(|record| record.state != GroupState::Running) => {}
            () = self.leaving.cancelled() => {}
        }
    }

    pub fn viewers(&self) -> &Viewers {
        &self.viewers
    }
}

impl Groups {
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        Ok(Self {
            disk: Disk::open(state)?,
            live: DashMap::new(),
        })
    }

    /// Idempotency keys of groups.
    pub(super) fn keys(&self) -> Vec<(String, Idempotency, GroupId)> {
        let since = idempotency::horizon();
        self.disk
            .ids()
            .into_iter()
            .filter(|id| id.made_at() >= since)
            .filter_map(|id| self.disk.load(id))
            .filter_map(|saved| {
                let record = saved.record;
                Some((record.principal, record.idempotency?, record.group_id))
            })
            .collect()
    }

    /// One that has not ended, if there is any.
    pub(super) fn any_live(&self) -> Option<Arc<LiveGroup>> {
        self.live.iter().next().map(|live| live.clone())
    }

    /// Lets go of groups that ended longer ago than `age`.
    pub(super) fn expire(&self, age: std::time::Duration, now: Timestamp) {
        let Some(horizon) = SignedDuration::try_from(age)
            .ok()
            .and_then(|age| now.checked_sub(age).ok())
        else {
            return;
        };
        for id in self.disk.ids() {
            if id.made_at() >= horizon || self.live.contains_key(&id) {
                continue;
            }
            match self.disk.remove(id) {
                Ok(()) => tracing::info!(group = %id, "an old group was let go of"),
                Err(error) => tracing::warn!(group = %id, %error, "failed to remove a group"),
            }
        }
    }
}

/// Starts one run for each branch that `request.branches` names.
pub async fn start_group(
    runs: &Runs,
    repo: &RepoName,
    request: RunBody,
    unwatched: bool,
    principal: &Principal,
    key: Option<&str>,
) -> Result<GroupId, Problem> {
    let Some(key) = key else {
        return start_new_group(runs, repo, request, unwatched, None, principal).await;
    };
    idempotency::check_key(key)?;
    let digest = idempotency::digest(&runs.inner().reuse_key, &(repo, &request));
    let claim = runs.inner().keys.claim(principal.name(), key).await;
    if let Some(known) = &*claim {
        return match known.of {
            Claimed::Group(group) if known.request == digest => Ok(group),
            _ => Err(known.reused(key)),
        };
    }
    let idempotency = Idempotency {
        key: key.to_owned(),
        request: digest,
    };
    let claimed = Some((claim, idempotency));
    start_new_group(runs, repo, request, unwatched, claimed, principal).await
}

async fn start_new_group(
    this: &Runs,
    repo: &RepoName,
    request: RunBody,
    unwatched: bool,
    claimed: Option<(OwnedMutexGuard<Option<Claim>>, Idempotency)>,
    principal: &Principal,
) -> Result<GroupId, Problem> {
    if this.is_draining() {
        return Err(draining());
    }
    let (patterns, request) = request.for_each_branch(repo)?;
    let mut each = request.clone().of_member()?;
    each.set_unwatched(unwatched);
    let repo = this.inner().repos.get(repo)?;
    let branches = {
        let sees = |branch: &BranchName| principal.sees(repo.name(), branch);
        select::select(&repo, &this.inner().workspaces, &patterns, sees).await?
    };
    // What is wrong with the request is wrong with all of it.
    for branch in &branches {
        spec::of(&this.inner().config, &repo, branch, &each, principal)?;
    }
    this.inner().margin.check()?;
    this.check_queue(principal, branches.len())?;
    for branch in &branches {
        let workspace = this.inner().workspaces.get(&repo, branch);
        meter::check_disk(this, &workspace, 0).await?;
    }
    let members = branches.into_iter().map(|branch| Member {
        branch,
        run_id: RunId::new(),
    });
    let (claim, idempotency) = claimed.unzip();
    let saved = Saved {
        record: GroupRecord {
            group_id: GroupId::new(),
            repo: repo.name().clone(),
            principal: principal.name().to_owned(),
            state: GroupState::Running,
            created_at: Timestamp::now(),
            ended_at: None,
            members: members.collect(),
            idempotency,
        },
        request,
    };
    // A task of its own, which has the key with it: who asked may go, and the group must not be left
    // half started by that, nor be started again by the key.
    let (runs, principal) = (this.clone(), principal.clone());
    let started = this.inner().tasks.spawn(async move {
        let known = saved.record.idempotency.clone();
        let members = saved.record.members.iter();
        let branches: Vec<_> = members.map(|member| member.branch.clone()).collect();
        let group = {
            // Of two at once, the second is to find the runs of the first counted.
            let _decided = runs.inner().joining.lock();
            meter::check_usage(&runs, principal.account(), &saved.record.repo, &branches)?;
            let opened = open_group(&runs, saved, &each, &principal);
            opened.map_err(|error| runs.inner().margin.judge(not_recorded(&error)))?
        };
        if let Some((mut claim, known)) = claim.zip(known) {
            *claim = Some(Claim {
                request: known.request,
                of: Claimed::Group(group),
            });
        }
        Ok(group)
    });
    let started = started.await;
    started.unwrap_or_else(|error| Err(not_recorded(&io::Error::other(error))))
}

fn open_group(
    runs: &Runs,
    saved: Saved,
    each: &RunRequest,
    principal: &Principal,
) -> io::Result<GroupId> {
    let (record, disk) = (&saved.record, &runs.inner().groups.disk);
    let id = record.group_id;
    disk.create(id)?;
    let begun = || {
        let (mut journal, extent) = Writer::create(&disk.journal(id))?;
        journal.event(&Event::Group(record.clone().shown()))?;
        disk.save(&saved)?;
        Ok((journal, extent))
    };
    let (journal, extent) = begun().inspect_err(|_: &io::Error| {
        if let Err(error) = disk.remove(id) {
            tracing::warn!(group = %id, %error, "a group that never was leaves its directory");
        }
    })?;
    crash_point("group-recorded");
    let (told, on_disconnect) = (Told::default(), each.on_disconnect());
    start_members(runs, record, each, &told, Some(principal));
    follow::follow_group(runs, saved, told, on_disconnect, (journal, extent));
    Ok(id)
}

/// Starts those of the members' runs that were never there: one that was told of and is not there
/// any more has ended and was let go of.
fn start_members(
    runs: &Runs,
    record: &GroupRecord,
    each: &RunRequest,
    told: &Told,
    asker: Option<&Principal>,
) {
    // What an earlier daemon's asker may do was looked at when it was asked for.
    let principal = match asker {
        Some(asker) => asker.clone(),
        None => Principal::of_build(&record.principal),
    };
    let Ok(repo) = runs.inner().repos.get(&record.repo) else {
        return;
    };
    let config = &runs.inner().config;
    for member in &record.members {
        if told.knows(member.run_id) || runs.inner().history.home(member.run_id).exists() {
            continue;
        }
        let started = spec::of(config, &repo, &member.branch, each, &principal)
            .map_err(io::Error::other)
            .and_then(|(mut spec, checks)| {
                spec.group = Some(record.group_id);
                // It is the group that is watched.
                spec.on_disconnect = OnDisconnect::Continue;
                let record = RunRecord::new(member.run_id, spec);
                let job = RunJob {
                    workspace: runs.inner().workspaces.get(&repo, &member.branch),
                    checks,
                    asked_at: Instant::now(),
                    asker: asker.cloned(),
                };
                launch::launch(runs, record, each.clone(), principal.account(), job)
            });
        match started {
            Ok(live) if each.body().supersede => coalesce::supersede(runs, &live),
            Ok(_) => {}
            Err(error) => {
                tracing::error!(run = %member.run_id, %error, "failed to start a run of a group");
            }
        }
    }
}

pub fn group(runs: &Runs, id: GroupId) -> Result<GroupRecord, Problem> {
    let live = live_group(runs, id).map(|live| live.record.borrow().clone());
    live.or_else(|| runs.inner().groups.disk.load(id).map(|saved| saved.record))
        .map(GroupRecord::shown)
        .ok_or_else(|| group_not_found(id))
}

pub fn live_group(runs: &Runs, id: GroupId) -> Option<Arc<LiveGroup>> {
    runs.inner().groups.live.get(&id).map(|live| live.clone())
}

/// The group's journal, live or ended.
pub fn group_view(runs: &Runs, id: GroupId) -> Result<View, Problem> {
    let journal = runs.inner().groups.disk.journal(id);
    match live_group(runs, id) {
        Some(live) => Ok(View::of_live(journal, &live.extent, &live.viewers)),
        None => group(runs, id).and_then(|_| View::of_ended(journal)),
    }
}

/// Stops all runs of a group that have not ended.
pub fn cancel_group(runs: &Runs, id: GroupId, principal: &str) -> Result<GroupRecord, Problem> {
    if let Some(live) = live_group(runs, id) {
        let reason = format!("cancelled by {principal}");
        live.viewers.stop(&reason);
        if let Err(error) = stop_note::write(&runs.inner().groups.disk.home(id), &reason) {
            let detail = "the group is told to stop, but should the daemon end now, the next one would not know of it";
            return Err(Problem::unwritten("cancel_not_recorded", detail, &error));
        }
    }
    group(runs, id)
}

/// Goes on with the groups that an earlier daemon left.
pub(super) fn adopt_groups(runs: &Runs) {
    for id in runs.inner().groups.disk.ids() {
        let disk = &runs.inner().groups.disk;
        let saved = disk.load(id).map(|mut saved| {
            let is_over = saved.record.state != GroupState::Running;
            if is_over && !saved.request.env.is_empty() {
                saved.request.env.clear();
                if let Err(error) = disk.save(&saved) {
                    tracing::warn!(group = %id, %error, "the variables of a group are not dropped");
                }
            }
            saved
        });
        if let Err(error) = disk.close_to_others(id) {
            tracing::warn!(group = %id, %error, "a group's directory is not closed to other users");
        }
        let Some(saved) = saved.filter(|saved| saved.record.state == GroupState::Running) else {
            continue;
        };
        let path = disk.journal(id);
        let opened = Writer::reopen(&path).and_then(|journal| {
            let each = saved.request.clone().of_member();
            let each = each.map_err(io::Error::other)?;
            Ok((each, Told::read(&path)?, journal))
        });
        match opened {
            Ok((each, told, journal)) => {
                start_members(runs, &saved.record, &each, &told, None);
                follow::follow_group(runs, saved, told, OnDisconnect::Continue, journal);
            }
            Err(error) => tracing::error!(group = %id, %error, "failed to go on with a group"),
        }
    }
}

/// The answer to an id that is nobody's, or not one's own.
pub fn group_not_found(id: GroupId) -> Problem {
    Problem::new(
        ErrorKind::NotFound,
        "group_not_found",
        format!("there is no group {id}"),
    )
    .field("group_id")
}
