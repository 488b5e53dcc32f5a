//! Finding runs again: live or ended, one or many.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::edit_note;
use super::live::Live;
use super::open::Runs;
use super::request::RunRequest;
use super::stop_note;
use super::view::View;
use branchyard_db::run_index::Filter;
use branchyard_journal::RunningDiagnostics;
use branchyard_journal::diagnostics::{Diagnostics, Directories};
use branchyard_model::{
    BranchName, ErrorKind, Problem, RepoName, RunId, RunKind, RunRecord, RunSpec, RunState,
    TestReport,
};
use branchyard_workspace::Workspace;

impl Runs {
    pub fn live(&self, id: RunId) -> Option<Arc<Live>> {
        self.inner().live.get(&id).map(|live| live.clone())
    }

    /// Returns when the daemon leaves, and whoever watches has to look elsewhere.
    pub async fn left(&self) {
        self.inner().leaving.cancelled().await;
    }

    /// How many runs have not ended, and how many viewers they have.
    pub fn census(&self) -> (usize, usize) {
        let live = &self.inner().live;
        let viewers = live.iter().map(|live| live.viewers().viewers());
        (live.len(), viewers.sum())
    }

    /// How many runs of branches of which `is_seen` holds are at work, and how many wait.
    pub fn at_work(&self, is_seen: impl Fn(&RepoName, &BranchName) -> bool) -> (usize, usize) {
        let (mut running, mut waiting) = (0, 0);
        for live in &self.inner().live {
            let record = live.look();
            if is_seen(&record.spec.repo, &record.spec.branch) {
                match record.state {
                    RunState::Queued => waiting += 1,
                    RunState::Preparing | RunState::Running => running += 1,
                    RunState::Ended(_) => {}
                }
            }
        }
        (running, waiting)
    }

    /// The runs that wait, of branches of which `is_seen` holds, in the order of request; and how many come before each.
    pub fn waiting(
        &self,
        is_seen: impl Fn(&RepoName, &BranchName) -> bool,
    ) -> Vec<(RunRecord, usize)> {
        let is_waiting = |record: &RunRecord| {
            record.state == RunState::Queued && is_seen(&record.spec.repo, &record.spec.branch)
        };
        let mut found: Vec<_> = self
            .inner()
            .live
            .iter()
            .filter(|live| is_waiting(&live.look()))
            .map(|live| {
                let position = live.position().load(Ordering::Relaxed);
                (live.record().shown(), position)
            })
            .collect();
        found.sort_by_key(|(record, _)| record.run_id);
        found
    }

    /// The run as others may see it.
    pub fn record(&self, id: RunId) -> Result<RunRecord, Problem> {
        let live = self.live(id).map(|live| live.record());
        live.or_else(|| self.inner().history.load(id))
            .map(RunRecord::shown)
            .ok_or_else(|| run_not_found(id))
    }

    /// Errors and warnings in the output of a run; of one that goes on, in what it printed so far. Blocks.
    pub fn diagnostics(&self, id: RunId) -> Result<Diagnostics, Problem> {
        let history = &self.inner().history;
        let found = match self.live(id).filter(|live| !live.has_ended()) {
            Some(live) => live.diagnostics(|| {
                let directories = self.directories_of(&live.record().spec);
                RunningDiagnostics::open(&history.journal(id), directories)
            }),
            None => {
                self.record(id)?;
                history.diagnostics(id).map(Option::unwrap_or_default)
            }
        };
        found.map_err(|error| {
            let detail = format!("the diagnostics of the run cannot be read: {error}");
            Problem::new(ErrorKind::Internal, "diagnostics_unreadable", detail)
        })
    }

    /// Where the paths that a run prints may lie.
    fn directories_of(&self, spec: &RunSpec) -> Directories {
        match &spec.step {
            Some(step) => Directories::of(&step.directory),
            None => {
                let workspace = self.inner().workspace_of(spec);
                workspace.map_or_else(Directories::default, |workspace| {
                    Directories::of(workspace.path())
                })
            }
        }
    }

    /// The tests of an ended run, those that failed first. Blocks.
    pub fn tests(&self, id: RunId) -> Result<TestReport, Problem> {
        let record = self.record(id)?;
        if record.spec.test.is_none() {
            let detail = "this run was not asked for its tests";
            return Err(Problem::new(ErrorKind::Conflict, "no_tests", detail)
                .help("start it with `test`, or with `tests: true`"));
        }
        check_ended(&record)?;
        let found = self.inner().history.tests(id).map_err(|error| {
            let detail = format!("the tests of the run cannot be read: {error}");
            Problem::new(ErrorKind::Internal, "tests_unreadable", detail)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// What a run was asked for with, to be asked for again by `principal`. The values of variables stay with the principal that set
    /// them, and are dropped when the run ends; after that, and for others, they are those of `env`.
    pub fn asked_for(
        &self,
        id: RunId,
        principal: &str,
        env: BTreeMap<String, String>,
    ) -> Result<(RepoName, BranchName, RunRequest), Problem> {
        let record = self.record(id)?;
        let spec = record.spec;
        let asked = self.inner().history.asked(id).ok_or_else(|| {
            let detail = "what this run was asked for with was not kept";
            Problem::new(ErrorKind::Conflict, "request_not_kept", detail)
        })?;
        let mut written = asked.written;
        let is_over = record.state.is_ended() || !asked.dropped_env.is_empty();
        if is_over || spec.principal != principal || !env.is_empty() {
            let set = written.request.env.keys();
            let missing: Vec<_> = set
                .chain(asked.dropped_env.keys())
                .filter(|name| !env.contains_key(*name))
                .cloned()
                .collect();
            if !missing.is_empty() {
                return Err(env_gone(&missing));
            }
            written.request.env = env;
        }
        let has_input = asked.dropped_stdin || written.request.stdin.is_some();
        if has_input && (is_over || spec.principal != principal) {
            let detail = "the run was given an input by its caller, and such is not kept for others or after its end";
            return Err(Problem::new(ErrorKind::Conflict, "stdin_gone", detail)
                .help("ask for it anew, with `stdin`"));
        }
        Ok((spec.repo, spec.branch, written.try_into()?))
    }

    /// The run's journal, live or ended.
    pub fn view(&self, id: RunId) -> Result<View, Problem> {
        let journal = self.inner().history.journal(id);
        match self.live(id) {
            Some(live) => Ok(View::of_live(journal, live.extent(), live.viewers())),
            None => self.record(id).and_then(|_| View::of_ended(journal)),
        }
    }

    /// Runs by `filter` of branches of which `is_seen` holds, newest first, at most `limit`; and whether
    /// there are more. Blocks.
    pub fn list(
        &self,
        filter: &Filter,
        limit: usize,
        is_seen: impl Fn(&RepoName, &BranchName) -> bool,
    ) -> Result<(Vec<RunRecord>, bool), Problem> {
        let store = self.inner().history.store();
        let found = store.list(filter, limit + 1, is_seen);
        let mut seen = found.map_err(|error| history_unreadable(&error))?;
        let more = seen.len() > limit;
        seen.truncate(limit);
        Ok((seen.into_iter().map(RunRecord::shown).collect(), more))
    }

    /// The newest run of each of these branches that has one. A step of a job is none of them: it is at work in
    /// a scratch worktree, and not in the workspace. Blocks.
    pub fn newest_of_branches(
        &self,
        repo: &RepoName,
        branches: &[BranchName],
    ) -> Result<Vec<RunRecord>, Problem> {
        let store = self.inner().history.store();
        let found = store.newest_of_branches(repo, branches, RunKind::Step);
        let found = found.map_err(|error| history_unreadable(&error))?;
        Ok(found.into_iter().map(RunRecord::shown).collect())
    }

    /// Notes that these files of a workspace change beneath the run whose command is under way there, if one is.
    pub fn note_edits(&self, workspace: &Workspace, paths: &[&Path]) -> io::Result<()> {
        let holder = workspace.queue().holder().and_then(|holder| holder.run_id);
        let live = holder.and_then(|id| self.live(id));
        match live.filter(|live| live.look().state == RunState::Running) {
            Some(live) => edit_note::add(&self.inner().history.home(live.id()), paths),
            None => Ok(()),
        }
    }

    /// Stops a run that has not ended; an ended one stays as it is. Where several asked for it, each
    /// call takes one of them out, and the last one ends it, unless `force` ends it for all. Returns
    /// also how many still want it.
    pub fn cancel(
        &self,
        id: RunId,
        principal: &str,
        force: bool,
    ) -> Result<(RunRecord, usize), Problem> {
        let reason = format!("cancelled by {principal}");
        let Some(live) = self.live(id) else {
            return Ok((self.record(id)?, 0));
        };
        if force {
            live.viewers().stop(&reason);
        }
        let left = if force { 0 } else { live.withdraw(&reason) };
        // A daemon that is killed now must not let the next one forget what was promised.
        if left == 0
            && !live.has_ended()
            && let Err(error) = stop_note::write(&self.inner().history.home(id), &reason)
        {
            return Err(Problem::unwritten(
                "cancel_not_recorded",
                "the run is told to stop, but should the daemon end now, the next one would not know of it",
                &error,
            ));
        }
        Ok((self.record(id)?, left))
    }
}

fn env_gone(names: &[String]) -> Problem {
    let names = names.join(", ");
    let detail = format!(
        "the run was given {names} by its caller, and such values are not kept for others or after its end"
    );
    Problem::new(ErrorKind::Conflict, "env_gone", detail)
        .field("env")
        .help(format!(
            "send `env` with {names} (`branchyard rerun RUN --env NAME=VALUE`)"
        ))
}

/// The answer to an id that is nobody's, or not one's own.
pub fn run_not_found(id: RunId) -> Problem {
    Problem::new(
        ErrorKind::NotFound,
        "run_not_found",
        format!("there is no run {id}"),
    )
    .field("run_id")
    .help("GET /api/runs or `branchyard runs` lists them")
}

fn history_unreadable(error: &dyn std::error::Error) -> Problem {
    Problem::new(
        ErrorKind::Internal,
        "history_unreadable",
        format!("the history of runs cannot be read: {error}"),
    )
}

fn check_ended(record: &RunRecord) -> Result<(), Problem> {
    if record.state.is_ended() {
        return Ok(());
    }
    let detail = "the run has not ended; its output is looked through then";
    Err(Problem::new(ErrorKind::Conflict, "not_ended", detail)
        .help("wait for it with GET /api/runs/{run_id}?wait=50s"))
}
