//! The end of a run: its end state, its last record and its last event.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::drive::{Drive, Held};
use super::edit_note;
use super::ending::Ending;
use super::exec;
use super::meter::users_of;
use super::open::RunsInner;
use crate::{artifacts, reuse, test_report};
use branchyard_config::{Limits, crash_point};
use branchyard_model::{
    DiagnosticsSummary, EndState, ErrorKind, Event, Gap, Problem, RunId, RunKind, RunRecord,
    RunState, SandboxProfile, Warning,
};
use branchyard_process::{
    Cgroup, CommandError, Exceeded, Exit, Limits as RunLimits, Outcome, Stop, end_processes_of,
};
use branchyard_runtime::disk::if_there;
use branchyard_runtime::yard_events::RepoChange;
use branchyard_workspace::{Workspace, files, files_since, standing, work};

/// So many files are named that a command wrote.
const MOST_WRITTEN: usize = 100;
/// How long after an end could not be written it is tried again.
pub(super) const TRY_AGAIN: Duration = Duration::from_secs(1);
/// How long after the disk had no room for it a journal is packed again.
const PACK_AGAIN: Duration = Duration::from_secs(30);

impl Drive {
    /// Records the end, then tells it: whoever sees the last event finds the record to match. Where the
    /// disk is full that is tried again and again, while the run shows its end and holds nobody up.
    /// Returns the lock that it had, where it was not given to the next in line meanwhile.
    pub(super) async fn finish(&self, ending: Ending, mut held: Option<Held>) -> Option<Held> {
        let id = self.live().id();
        match &ending {
            Ending::Exited(exit) => {
                self.tell_of_irregularities(exit);
                self.note_cpu(exit);
                self.note_head(held.as_ref()).await;
                self.note_output(exit, held.as_ref()).await;
                reuse::settle_reuse(self, exit, held.as_ref()).await;
                self.note_edits();
            }
            Ending::Lost | Ending::GivenUp(_) => {
                let cgroup = Cgroup::find(&self.shared().mechanisms, id);
                let ended = tokio::task::spawn_blocking(move || {
                    let inside = cgroup.kill();
                    let outside = end_processes_of(id);
                    cgroup.remove();
                    inside + outside
                })
                .await;
                tracing::warn!(run = %id, processes_ended = ?ended.ok(), "a run has no supervisor any more");
                warn_of_limit(self, self.journal().recover_tail());
            }
            Ending::Refused(_)
            | Ending::CancelledBeforeStart
            | Ending::NotSetUp(_)
            | Ending::Reused(_)
            | Ending::Copied => {}
        }
        test_report::note(self, &ending, held.as_ref()).await;
        artifacts::note(self, &ending, held.as_ref()).await;
        let mut record = self.live().record();
        if let Some(reason) = self.live().viewers().reason() {
            record.reason = Some(reason.clone());
        }
        let place = match &record.spec.step {
            Some(step) => Some(step.directory.clone()),
            None => held
                .as_ref()
                .map(|(_, workspace)| workspace.path().to_owned()),
        };
        record.diagnostics = self.diagnose(&ending, place).await;
        let limits = (&self.shared().config.limits, self.shared().run_limits());
        let is_of_this_yard = !matches!(ending, Ending::Copied);
        close(&mut record, ending, limits);
        let event = Event::of_end(&record);
        let history = &self.shared().history;
        while let Err(error) = self.shared().margin.spend(|| history.save(&record)) {
            tracing::error!(run = %id, %error, "failed to record the end of a run; it is tried again");
            self.live().change(|shown| *shown = record.clone());
            drop(held.take());
            if !self.may_try_again().await {
                return None;
            }
        }
        crash_point("end-recorded");
        if is_of_this_yard {
            // Before anyone is told: a daemon that is killed in between has it to do.
            let note = || self.shared().outbox.note_run(&record);
            let what = "failed to note which commands follow a run";
            if !surely(self, &mut held, what, note).await {
                return None;
            }
        }
        if is_given_secrets(&record)
            && let Err(error) = history.drop_env(id, &self.shared().reuse_key)
        {
            // It is tried again when the run is tidied up, and by the next daemon.
            tracing::warn!(run = %id, %error, "the variables of a run are not dropped yet");
        }
        let state = record.state.as_str();
        tracing::info!(run = %id, repo = %record.spec.repo, branch = %record.spec.branch, state, "run ended");
        metrics::counter!("branchyard_runs_ended_total", "state" => state).increment(1);
        self.shared().tell_news(&record);
        if record.spec.kind == RunKind::Git
            && record.spec.argv.get(1).is_some_and(|verb| verb == "push")
            && let Some((_, workspace)) = &held
        {
            // Whatever its end: some of it may have arrived.
            workspace.repo().tell(RepoChange::Pushed);
        }
        self.live().change(|shown| *shown = record);
        let tell = || self.journal().tell_last(&event);
        let what = "failed to tell the end of a run";
        if !surely(self, &mut held, what, tell).await {
            return None;
        }
        crash_point("end-told");
        tidy(self.shared(), id);
        held
    }

    /// Counts the processor time that the command took for those by whose limits it is bounded.
    fn note_cpu(&self, exit: &Exit) {
        let spec = self.live().record().spec;
        let taken = u64::try_from(exit.cpu.as_millis()).unwrap_or(u64::MAX);
        self.live().change(|record| record.cpu_ms = Some(taken));
        if spec.kind != RunKind::Git {
            let users = users_of(self.live().account(), &spec.repo, &spec.branch);
            let usage = &self.shared().usage;
            usage.count_end(self.live().id(), users, exit.cpu);
        }
    }

    /// Has the workspace know until when its files were the command's doing.
    async fn note_output(&self, exit: &Exit, held: Option<&Held>) {
        let spec = self.live().record().spec;
        // A run that ended without a daemon holds no lock, and no other run has it yet.
        let workspace = match held {
            Some((_, workspace)) => Some(workspace.clone()),
            None => self.shared().workspace_of(&spec),
        };
        let makes_output = spec.kind != RunKind::Git && !self.is_beside_others();
        let is_changed = |workspace: &Workspace| makes_output && workspace.exists();
        let Some(workspace) = workspace.filter(|workspace| is_changed(workspace)) else {
            return;
        };
        let (margin, at) = (self.shared().margin.clone(), exit.ended_at);
        let edits = edit_note::read(&self.shared().history.home(self.live().id()));
        let started = self.live().look().started_at;
        let started = started.filter(|_| spec.kind == RunKind::Exec);
        let noted = tokio::task::spawn_blocking(move || {
            let written = started.map(|since| files_since(&workspace, since, MOST_WRITTEN));
            // Of all commands, what the one made that filled the disk must not pass for work.
            margin.make_do();
            work::command_ended(&workspace, at);
            // What others wrote meanwhile is theirs, and not the command's output.
            files::keep_as_work(&workspace, &edits.into_paths());
            written
        })
        .await;
        match noted {
            Ok(Some(Ok(written))) => self.live().change(|record| record.files_written = written),
            Ok(None) => {}
            Ok(Some(Err(error))) => {
                tracing::warn!(run = %self.live().id(), %error, "what a command wrote is not known");
            }
            Err(error) => {
                tracing::error!(run = %self.live().id(), %error, "failed to note what a run made");
            }
        }
    }

    /// Waits a little; false if the daemon leaves: the next one does what is left.
    async fn may_try_again(&self) -> bool {
        tokio::select! {
            () = tokio::time::sleep(TRY_AGAIN) => true,
            () = self.live().leaving().cancelled() => false,
        }
    }

    /// Looks through the output for errors and warnings, and keeps them beside it.
    async fn diagnose(
        &self,
        ending: &Ending,
        workspace: Option<PathBuf>,
    ) -> Option<DiagnosticsSummary> {
        use Ending::{
            CancelledBeforeStart, Copied, Exited, GivenUp, Lost, NotSetUp, Refused, Reused,
        };
        let is_stopped = match ending {
            Exited(exit) => exit.stopped.is_some(),
            GivenUp(_) => true,
            Lost | Reused(_) | NotSetUp(_) => false,
            Refused(_) | CancelledBeforeStart | Copied => return None,
        };
        let stopped_at = self.stopped_at().get().copied();
        let (shared, id) = (self.shared().clone(), self.live().id());
        let look = move || {
            let (history, place) = (&shared.history, workspace.as_deref());
            let diagnose = || history.diagnose(id, place, is_stopped, stopped_at);
            shared.margin.spend(diagnose)
        };
        let found = tokio::task::spawn_blocking(look).await;
        let found = found.map_err(io::Error::other).flatten();
        found.unwrap_or_else(|error| {
            tracing::error!(run = %id, %error, "failed to look through the output of a run");
            None
        })
    }

    /// Notes whether the branch is where it was when the command started. If not, no later run is answered by this one.
    async fn note_head(&self, held: Option<&Held>) {
        let Some((_, workspace)) = held else {
            return;
        };
        let record = self.live().record();
        if record.spec.kind == RunKind::Git {
            return;
        }
        let Some(before) = record.about.map(|about| about.commit) else {
            return;
        };
        let is_there = standing::is_at(workspace, &before).await;
        if is_there.is_ok_and(|is_there| !is_there) {
            self.live().change(|record| {
                record.head_moved = true;
                record.reusable = None;
            });
        }
    }

    /// Notes which files were changed beneath the command. If some were, no later run is answered by this one.
    fn note_edits(&self) {
        let edits = edit_note::read(&self.shared().history.home(self.live().id()));
        if edits.is_any() {
            self.live().change(|record| {
                record.edited_meanwhile = edits.into_paths();
                record.reusable = None;
            });
        }
    }

    fn tell_of_irregularities(&self, exit: &Exit) {
        let mut left_out = exit.left_out;
        if let Some(error) = &exit.unwritten {
            let tail = self.journal().bring_tail();
            left_out += tail.left_out;
            let lost = exit.lost + tail.lost;
            if lost > 0 {
                self.journal().tell_surely(&Event::Gap(Gap { bytes: lost }));
            }
            let message = format!("part of the output could not be written: {error}");
            let warning = Warning::new("output_lost", message);
            self.journal().tell_surely(&Event::Warning(warning.clone()));
            self.live().change(|record| record.warnings.push(warning));
        }
        warn_of_limit(self, left_out);
        if exit.leaked {
            self.warn(Warning::new(
                "output_held_open",
                "something that the command left behind kept its output open and was ended",
            ));
        }
        warn_of_full_disk(self, exit);
    }
}

/// Writes what a run is not over without, again and again where the disk refuses it. Meanwhile others may have the lock.
/// False if the daemon leaves first.
async fn surely(
    drive: &Drive,
    held: &mut Option<Held>,
    what: &str,
    write: impl Fn() -> io::Result<()>,
) -> bool {
    while let Err(error) = drive.shared().margin.spend(&write) {
        tracing::error!(run = %drive.live().id(), %error, "{what}; it is tried again");
        drop(held.take());
        if !drive.may_try_again().await {
            return false;
        }
    }
    true
}

/// A command need not say that it failed for want of room, so a failure beside a full disk does.
fn warn_of_full_disk(drive: &Drive, exit: &Exit) {
    let failed = match exit.outcome {
        Outcome::Code(code) => code != 0,
        Outcome::Signal(_) => true,
        Outcome::NotStarted(_) => false,
    };
    // One that was stopped says why.
    if !failed || exit.stopped.is_some() {
        return;
    }
    if let Some(shortage) = drive.shared().margin.shortage() {
        let message = format!(
            "the disk is full or nearly so, which may be why the command failed: {shortage}"
        );
        // The reserve is for the end: what this took of it another command would eat.
        drive.warn(Warning::new("disk_full", message));
    }
}

/// Notes in the record that the limit left out so much of the output. In the journal the supervisor said so, at the
/// place where it may have begun.
fn warn_of_limit(drive: &Drive, left_out: u64) {
    if left_out > 0 {
        let limit = drive.shared().config.limits.max_output;
        let message = format!(
            "the output is longer than what is kept of a run (limits.max_output is {limit}): {left_out} bytes \
             between its beginning and its end are left out"
        );
        let warning = Warning::new("output_limit", message);
        drive.live().change(|record| record.warnings.push(warning));
    }
}

/// Whether its caller gave it what may be secret: variables, or an input.
fn is_given_secrets(record: &RunRecord) -> bool {
    !record.spec.env.is_empty() || record.spec.kind == RunKind::Exec
}

/// Gives the record its end.
/// `limits` are those of the configuration, and what became of them on this machine.
fn close(record: &mut RunRecord, ending: Ending, limits: (&Limits, RunLimits)) {
    let ended = match &ending {
        Ending::Exited(exit) => exit.ended_at,
        _ => Timestamp::now(),
    };
    record.hide_env();
    record.ended_at = Some(ended);
    // Where it was to answer and could not, it is not its answer.
    record.cached = None;
    let duration = ended.duration_since(record.created_at);
    record.duration_ms = Some(u64::try_from(duration.as_millis()).unwrap_or(0));
    let state = match ending {
        Ending::Refused(problem) => return refuse(record, problem),
        Ending::Exited(Exit {
            outcome: Outcome::NotStarted(error),
            ..
        }) => {
            let problem = could_not_start(record, &error);
            return refuse(record, problem);
        }
        Ending::CancelledBeforeStart => EndState::Cancelled,
        Ending::Reused(earlier) => {
            record.cached = Some(earlier);
            record.exit_code = Some(0);
            record.reason = None;
            EndState::Succeeded
        }
        Ending::NotSetUp(setup) => return fail_like(record, *setup),
        Ending::Lost => {
            record.reason = Some(
                "its supervisor ended without a word: killed, or the machine went down".to_owned(),
            );
            EndState::Lost
        }
        Ending::GivenUp(why) => {
            let ended = "its supervisor did not answer and was ended with it";
            let (because, state) = match why {
                Stop::Asked => (record.reason.take(), EndState::Cancelled),
                Stop::TimedOut => (Some(too_long(record)), EndState::TimedOut),
            };
            let because = because.map_or(String::new(), |because| format!("{because}; "));
            record.reason = Some(format!("{because}{ended}"));
            state
        }
        Ending::Copied => {
            record.reason =
                Some("this yard is a copy, and the run was under way in the original".to_owned());
            EndState::Lost
        }
        Ending::Exited(exit) => match (exit.stopped, note_outcome(record, &exit.outcome)) {
            (Some(Stop::Asked), _) => {
                let unasked = "its supervisor was told to stop, not by this daemon";
                record.reason.get_or_insert_with(|| unasked.to_owned());
                EndState::Cancelled
            }
            (Some(Stop::TimedOut), _) => {
                let also = exit.exceeded.map(|limit| exceeded(limit, limits));
                let also = also.map_or(String::new(), |also| format!(", and {also}"));
                record.reason = Some(format!("{}{also}", too_long(record)));
                EndState::TimedOut
            }
            (None, state) => {
                // A cancel that came too late to stop anything explains nothing.
                record.reason = exit
                    .exceeded
                    .filter(|_| state != EndState::Succeeded)
                    .map(|limit| exceeded(limit, limits));
                state
            }
        },
    };
    record.state = RunState::Ended(state);
}

/// Ends a run as the set-up ended that it needed.
fn fail_like(record: &mut RunRecord, setup: RunRecord) {
    let (command, run) = (setup.spec.argv.join(" "), setup.run_id);
    let of_error = setup.error.as_ref().map(|error| error.detail.clone());
    let why = setup.reason.or(of_error);
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    record.reason = Some(format!(
        "the set-up of its workspace ended as {}: {command} (run {run}){why}",
        setup.state.as_str()
    ));
    (record.exit_code, record.signal) = (setup.exit_code, setup.signal);
    (record.state, record.error) = (setup.state, setup.error);
}

fn too_long(record: &RunRecord) -> String {
    let limit = humantime::format_duration(record.spec.timeout);
    format!("it ran longer than {limit}")
}

/// Notes the exit code or signal; returns the state of a run that was not stopped.
fn note_outcome(record: &mut RunRecord, outcome: &Outcome) -> EndState {
    match outcome {
        Outcome::Code(code) => {
            record.exit_code = Some(*code);
            match code {
                0 => EndState::Succeeded,
                _ => EndState::Failed,
            }
        }
        Outcome::Signal(signal) => {
            record.signal = Some(*signal);
            EndState::Signalled
        }
        Outcome::NotStarted(_) => EndState::Rejected,
    }
}

fn exceeded(limit: Exceeded, (limits, of_run): (&Limits, RunLimits)) -> String {
    match (limit, limits.max_memory) {
        (Exceeded::Memory, Some(size)) => {
            format!("it used more memory than {size} (limits.max_memory)")
        }
        (Exceeded::Memory, None) => "the machine ran out of memory".to_owned(),
        (Exceeded::Processes, _) => format!(
            "it had more than {} processes (limits.max_processes)",
            of_run.processes.unwrap_or_default()
        ),
    }
}

fn refuse(record: &mut RunRecord, problem: Problem) {
    if problem.kind == ErrorKind::Internal {
        tracing::error!(run = %record.run_id, code = problem.code, error = problem.detail, "a run failed inside");
    }
    let problem = problem.outward();
    record.state = RunState::Ended(EndState::Rejected);
    record.reason = None;
    record.error = Some(problem);
}

fn could_not_start(record: &RunRecord, error: &CommandError) -> Problem {
    if error.sandbox {
        let detail = format!("the sandbox could not be made: {}", error.message);
        return Problem::new(ErrorKind::Unavailable, "sandbox_unavailable", detail)
            .help("`branchyard doctor` tells what the machine lacks; the operator mends that, or changes sandbox.profile");
    }
    let program = record.spec.argv.first().map_or("", String::as_str);
    let is_contained = !matches!(record.sandbox, None | Some(SandboxProfile::None));
    let problem = Problem::new(
        ErrorKind::Unprocessable,
        "command_not_started",
        format!("{program} could not be started: {}", error.message),
    );
    match (error.missing, is_contained) {
        (true, false) => problem.help(format!(
            "install {program} on the daemon's machine, or set [build] path"
        )),
        (true, true) => problem.help(format!(
            "install {program} on the daemon's machine; where it is outside of /usr and /opt, the operator \
             names its directory in sandbox.binds_read_only"
        )),
        (false, _) => problem,
    }
}

/// Sees to what can wait until everyone has been told. With its last step the run is settled; where the
/// disk has no room for that, it waits for some.
pub(super) fn tidy(shared: &Arc<RunsInner>, run: RunId) {
    let tidying = shared.clone();
    shared.tasks.spawn(async move {
        loop {
            let shared = tidying.clone();
            let packed = tokio::task::spawn_blocking(move || {
                if let Err(error) = if_there(fs::remove_dir_all(shared.history.tmp(run))) {
                    tracing::warn!(%run, %error, "failed to remove a run's temporary files");
                }
                let record = shared.history.load(run);
                if record.is_some_and(|record| is_given_secrets(&record)) {
                    shared.history.drop_env(run, &shared.reuse_key)?;
                }
                exec::discard(&shared.history.home(run))?;
                shared.history.pack(run)
            });
            let Err(error) = packed.await.map_err(io::Error::other).flatten() else {
                return;
            };
            tracing::warn!(%run, %error, "failed to pack a journal");
            if tidying.margin.shortage().is_none() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(PACK_AGAIN) => {}
                () = tidying.leaving.cancelled() => return,
            }
        }
    });
}
