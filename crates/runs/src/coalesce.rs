//! Runs that concern each other: joining an equal one in place of a second, and ending an older one
//! in favour of a newer.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use super::edit_note;
use super::live::Live;
use super::open::Runs;
use branchyard_model::{OnDisconnect, RunId, RunSpec, RunState, SyncMode};
use branchyard_workspace::repos::Repo;
use branchyard_workspace::repos::remote;
use branchyard_workspace::{Workspace, standing, written_since};

impl Live {
    /// One of those who asked does not want it any more; the last one ends it. Returns how many are left.
    pub(super) fn withdraw(&self, reason: &str) -> usize {
        let left = self.company().leave();
        if left == 0 {
            self.viewers().stop(reason);
        }
        left
    }

    fn join(&self, only_if_open: bool, on_disconnect: OnDisconnect) -> bool {
        if self.has_ended() || self.viewers().is_stopped() {
            return false;
        }
        if !self.company().join(only_if_open) {
            return false;
        }
        if on_disconnect == OnDisconnect::Continue {
            self.viewers().keep_going();
        }
        true
    }
}

/// Whether one run does for both. With variables of the caller's it does only for the same principal: another would
/// learn from it whether they have the same values.
fn equal(a: &RunSpec, b: &RunSpec) -> bool {
    same_command(a, b)
        && a.env == b.env
        && (a.env.is_empty() || a.principal == b.principal)
        && a.sync == b.sync
        && a.clean == b.clean
        && a.cold == b.cold
        && a.without_setup == b.without_setup
        && a.stale == b.stale
        && a.reuse == b.reuse
        && a.test == b.test
}

fn same_command(a: &RunSpec, b: &RunSpec) -> bool {
    a.repo == b.repo
        && a.branch == b.branch
        && a.kind == b.kind
        && a.task == b.task
        && a.asked_argv() == b.asked_argv()
}

/// An equal run that is under way: one that has not looked at the remote yet, or one whose commit
/// is still the remote's. `judged` remembers those that were found to be too old.
pub(super) async fn join_equal(
    runs: &Runs,
    spec: &RunSpec,
    repo: &Arc<Repo>,
    judged: &mut HashSet<RunId>,
) -> Option<Arc<Live>> {
    while let Some(live) = find_equal(runs, spec, judged) {
        if live.join(true, spec.on_disconnect) {
            return Some(live);
        }
        judged.insert(live.id());
        // It is about to know its commit, or to end.
        let mut record = live.watch();
        let settled = record.wait_for(|run| run.state == RunState::Running || run.state.is_ended());
        let commit = match settled.await {
            Ok(run) => run.about.as_ref().map(|about| about.commit.clone()),
            Err(_) => None,
        };
        let asked = remote::ask(repo, &spec.branch, Instant::now()).await.ok();
        let current = asked.and_then(|asked| asked.head);
        if commit.is_some() && commit == current && live.join(false, spec.on_disconnect) {
            return Some(live);
        }
    }
    None
}

/// An equal run of the same principal, who most likely lost its answer: one that has not looked at the remote yet, or one
/// that would see the same if it began now. What was written since it began, in files, commits or on the remote, is meant
/// to be seen by another.
pub(super) async fn join_own(
    runs: &Runs,
    spec: &RunSpec,
    workspace: &Arc<Workspace>,
) -> Option<Arc<Live>> {
    let all = runs.inner().live.iter();
    let mut own: Vec<_> = all
        .filter(|live| {
            let known = &live.look().spec;
            let is_own = known.principal == spec.principal && known.timeout == spec.timeout;
            is_own && equal(known, spec) && !live.viewers().is_stopped()
        })
        .map(|live| live.clone())
        .collect();
    own.sort_by_key(|live| Reverse(live.id()));
    for live in own {
        let is_joined = live.join(true, spec.on_disconnect)
            || sees_what_is_there(&live, spec, workspace).await
                && live.join(false, spec.on_disconnect);
        if is_joined {
            // It is the same caller, who cancels once.
            live.company().leave();
            return Some(live);
        }
    }
    None
}

/// Whether a run whose command has started would find the same if it began now. In doubt it would not.
async fn sees_what_is_there(live: &Live, spec: &RunSpec, workspace: &Arc<Workspace>) -> bool {
    let record = live.record();
    let (Some(started), Some(about)) = (record.started_at, record.about) else {
        return false;
    };
    let is_current = match spec.sync {
        SyncMode::None => true,
        _ => {
            let asked = remote::ask(workspace.repo(), &spec.branch, Instant::now()).await;
            let known = standing::remote_tip(workspace).await;
            let (Ok(asked), Ok(known)) = (asked, known) else {
                return false;
            };
            asked.head == known && about.behind == 0
        }
    };
    is_current
        && standing::is_at(workspace, &about.commit)
            .await
            .unwrap_or(false)
        && written_since(workspace, started)
            .await
            .is_ok_and(|is_written| !is_written)
}

/// As [`join_equal`], without a question to anyone.
pub(super) fn join_open(runs: &Runs, spec: &RunSpec, judged: &HashSet<RunId>) -> Option<Arc<Live>> {
    find_equal(runs, spec, judged).filter(|live| live.join(true, spec.on_disconnect))
}

pub(super) fn find_equal(
    runs: &Runs,
    spec: &RunSpec,
    judged: &HashSet<RunId>,
) -> Option<Arc<Live>> {
    runs.inner()
        .live
        .iter()
        .find(|live| {
            let is_edited = || edit_note::read(&runs.inner().history.home(live.id())).is_any();
            !judged.contains(&live.id())
                && !live.viewers().is_stopped()
                && equal(&live.look().spec, spec)
                && !is_edited()
        })
        .map(|live| live.clone())
}

/// Ends the runs of the same branch and command that came before `newer`.
pub(super) fn supersede(runs: &Runs, newer: &Live) {
    let spec = newer.record().spec;
    for older in &runs.inner().live {
        if older.id() < newer.id() && same_command(&older.look().spec, &spec) {
            older
                .viewers()
                .stop(&format!("superseded by run {}", newer.id()));
        }
    }
}
