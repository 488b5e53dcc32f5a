//! The end of a run: its end state, its last record and its last event.

use std::fs;

use jiff::Timestamp;

use super::drive::Drive;
use super::history::History;
use crate::journal::Writer;
use crate::model::{
    Complete, EndState, ErrorKind, Event, Problem, RunId, RunRecord, RunState, Warning,
};
use crate::process::{Exit, Outcome, Stop, end_processes_of};

pub(super) enum Ending {
    Exited(Exit),
    /// Refused or failed before its command ran.
    Refused(Problem),
    CancelledBeforeStart,
}

impl Drive {
    /// Records the end, then tells it: whoever sees the last event finds the record to match.
    pub(super) fn finish(&self, ending: Ending) {
        let reason = self.live.cancel_reason.get().cloned();
        if let Ending::Exited(exit) = &ending {
            self.tell_of_irregularities(exit);
        }
        let mut record = self.live.record();
        let event = close(&mut record, ending, reason);
        let history = &self.shared.history;
        if let Err(error) = history.save(&record) {
            tracing::error!(run = %self.live.id, %error, "failed to record the end of a run");
        }
        let state = record.state.as_str();
        tracing::info!(run = %self.live.id, repo = %record.spec.repo, branch = %record.spec.branch, state, "run ended");
        metrics::counter!("branchyard_runs_ended_total", "state" => state).increment(1);
        self.live.record.send_replace(record);
        self.tell_last(&event);
        let (shared, run) = (self.shared.clone(), self.live.id);
        self.shared
            .tasks
            .spawn_blocking(move || remove_tmp(&shared.history, run));
    }

    fn tell_of_irregularities(&self, exit: &Exit) {
        if exit.leaked {
            self.tell(&Event::Warning(Warning::new(
                "output_held_open",
                "something that the command left behind kept its output open and was ended",
            )));
        }
        if let Some(error) = &exit.unwritten {
            self.tell(&Event::Warning(Warning::new(
                "output_lost",
                format!("part of the output could not be written: {error}"),
            )));
        }
    }
}

/// Gives the record its end and returns the event that tells it.
fn close(record: &mut RunRecord, ending: Ending, cancel_reason: Option<String>) -> Event {
    let ended = Timestamp::now();
    record.ended_at = Some(ended);
    let duration = ended.duration_since(record.created_at);
    let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(0);
    record.duration_ms = Some(duration_ms);
    let (state, reason) = match ending {
        Ending::Refused(problem) => {
            if problem.kind == ErrorKind::Internal {
                tracing::error!(run = %record.run_id, code = problem.code, error = problem.detail, "a run failed inside");
            }
            let problem = problem.outward();
            record.state = RunState::Ended(EndState::Rejected);
            record.error = Some(problem.clone());
            return Event::Error(problem);
        }
        Ending::CancelledBeforeStart => (EndState::Cancelled, cancel_reason),
        Ending::Exited(exit) => {
            match exit.outcome {
                Outcome::Code(code) => record.exit_code = Some(code),
                Outcome::Signal(signal) => record.signal = Some(signal),
            }
            match (exit.stopped, exit.outcome) {
                (Some(Stop::Asked), _) => (EndState::Cancelled, cancel_reason),
                (Some(Stop::TimedOut), _) => {
                    let limit = humantime::format_duration(record.spec.timeout);
                    (
                        EndState::TimedOut,
                        Some(format!("it ran longer than {limit}")),
                    )
                }
                (None, Outcome::Code(0)) => (EndState::Succeeded, None),
                (None, Outcome::Code(_)) => (EndState::Failed, None),
                (None, Outcome::Signal(_)) => (EndState::Signalled, None),
            }
        }
    };
    record.state = RunState::Ended(state);
    complete(record, state, reason)
}

fn complete(record: &RunRecord, state: EndState, reason: Option<String>) -> Event {
    Event::Complete(Complete {
        state,
        exit_code: record.exit_code,
        signal: record.signal,
        commit: record.about.as_ref().map(|about| about.commit.clone()),
        duration_ms: record.duration_ms.unwrap_or(0),
        reason,
    })
}

fn remove_tmp(history: &History, run: RunId) {
    match fs::remove_dir_all(history.tmp(run)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%run, %error, "failed to remove a run's temporary files");
        }
        _ => {}
    }
}

/// Gives every run that an earlier daemon left without an end the state `lost`.
pub(super) fn bury_the_lost(history: &History) {
    for id in history.ids() {
        let Some(mut record) = history.load(id).filter(|record| !record.state.is_ended()) else {
            continue;
        };
        let ended = end_processes_of(id);
        tracing::warn!(run = %id, processes_ended = ended, "the daemon went while this run was under way: lost");
        record.state = RunState::Ended(EndState::Lost);
        record.ended_at = Some(Timestamp::now());
        let event = complete(
            &record,
            EndState::Lost,
            Some("the daemon ended while it was under way".to_owned()),
        );
        // The record first: what is recorded as lost is not told a second time at the next start.
        let told = history.save(&record).and_then(|()| {
            let (mut journal, _) = Writer::reopen(&history.journal(id))?;
            journal.event(&event)
        });
        if let Err(error) = told {
            tracing::error!(run = %id, %error, "failed to record a lost run");
        }
        remove_tmp(history, id);
    }
}
