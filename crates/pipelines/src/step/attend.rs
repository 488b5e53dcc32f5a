//! Steps that are under way, until they end, and what they leave for those after them.

use std::fs;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;

use super::{StepEnd, StepRunner, is_background, is_failure};
use crate::context;
use crate::env_files;
use branchyard_config::crash_point;
use branchyard_model::{EndState, RunRecord, RunState, StepState};
use branchyard_runs::Live;
use branchyard_runs::step::{self, StepRun};

/// As much as a step may write for people to read, which is what it may on GitHub.
const MAX_SUMMARY: usize = 1 << 20;

impl StepRunner<'_> {
    /// Waits for the end of a step's run, passing on what ends the job.
    pub(super) async fn attend(&mut self, at: usize, live: Arc<Live>) -> StepEnd {
        let ended = self.until_run_ended(at, live).await;
        self.settle(&ended)
    }

    pub(super) async fn until_run_ended(&mut self, at: usize, live: Arc<Live>) -> RunRecord {
        let stop = self.job.stop().clone();
        let mut is_told = self.attempt.steps[at].is_tidying;
        loop {
            tokio::select! {
                biased;
                () = live.ended() => break,
                () = stop.stopped(), if !is_told => {
                    is_told = true;
                    self.note_stop();
                    live.viewers().stop(&stop.reason().unwrap_or_default());
                }
                () = tokio::time::sleep_until(self.deadline), if !self.is_timed_out => {
                    self.is_timed_out = true;
                    live.viewers().stop("the job ran longer than its timeout-minutes");
                }
            }
        }
        if !live.has_ended() {
            // The daemon leaves, and the next one attends it.
            std::future::pending::<()>().await;
        }
        live.record()
    }

    /// How the step of a run that has ended has ended.
    pub(super) fn settle(&self, record: &RunRecord) -> StepEnd {
        let state = match record.state {
            RunState::Ended(EndState::Succeeded) => StepState::Succeeded,
            RunState::Ended(EndState::Failed | EndState::Signalled) => StepState::Failed,
            RunState::Ended(EndState::TimedOut) => StepState::TimedOut,
            RunState::Ended(EndState::Cancelled) if self.is_timed_out => StepState::TimedOut,
            RunState::Ended(EndState::Cancelled) => StepState::Cancelled,
            RunState::Ended(EndState::Rejected) => StepState::Rejected,
            // The others have not ended.
            _ => StepState::Lost,
        };
        let error = record.error.as_ref().map(|problem| problem.detail.clone());
        let signal = record
            .signal
            .map(|signal| format!("ended by signal {signal}"));
        StepEnd {
            state,
            exit_code: record.exit_code,
            reason: record.reason.clone().or(error).or(signal),
            ended_at: record.ended_at,
        }
    }

    /// Notes the end of a step, with what it wrote for those after it.
    pub(super) async fn end_step(&mut self, at: usize, mut end: StepEnd) {
        let has_run = self.attempt.steps[at].record.run_id.is_some();
        if has_run
            && end.state != StepState::Lost
            && let Err(why) = self.take_files(at)
        {
            // What was written is a part of what the step was to do.
            if end.state == StepState::Succeeded {
                end.state = StepState::Failed;
            }
            end.reason.get_or_insert(why);
        }
        let step = &mut self.attempt.steps[at].record;
        step.state = end.state;
        step.exit_code = end.exit_code;
        let reason = end.reason.map(|reason| self.secrets.hide_in(reason));
        step.reason = reason.as_deref().map(context::shown);
        let ended_at = end.ended_at.unwrap_or_else(Timestamp::now);
        step.ended_at = step.started_at.map(|_| ended_at);
        self.job.keep(self.attempt).await;
        crash_point("step-ended");
        self.show();
    }

    fn take_files(&mut self, at: usize) -> Result<(), String> {
        let number = self.attempt.steps[at].record.number;
        let of = |variable: &str| {
            let name = env_files::file_name(variable, number);
            let path = self.dirs.files_of(number).join(name);
            env_files::read(&path).map_err(|why| format!("{variable}: {why}"))
        };
        let entries = |variable: &str| {
            let found = env_files::entries(&of(variable)?);
            found.map_err(|why| format!("{variable}: {why}"))
        };
        let outputs = entries(env_files::OUTPUT)?;
        let variables = entries(env_files::ENV)?;
        let search = of(env_files::SEARCH)?;
        let summary = of(env_files::SUMMARY)?;
        if let Some(why) = variables
            .iter()
            .find_map(|(name, _)| env_files::refused_variable(name))
        {
            return Err(format!("{}: {why}", env_files::ENV));
        }
        let all = outputs.iter().chain(&variables);
        for (name, value) in all {
            self.secrets.check(name, value)?;
        }
        let added = search.lines().rev().filter(|line| !line.is_empty());
        let mut first: Vec<_> = added.map(str::to_owned).collect();
        first.append(&mut self.attempt.search);
        self.attempt.search = first;
        self.attempt.env.extend(variables);
        self.attempt.steps[at].outputs.extend(outputs);
        if !summary.is_empty() {
            let written = self.hide(&summary).and_then(|mut summary| {
                summary.truncate(MAX_SUMMARY);
                fs::write(self.dirs.summary(number), summary)
            });
            written.map_err(|error| format!("{}: {error}", env_files::SUMMARY))?;
        }
        Ok(())
    }

    /// What a step wrote for people, without what its output must not show.
    fn hide(&self, text: &str) -> io::Result<Vec<u8>> {
        let runs = &self.job.pipelines().inner().runs;
        let hidden = (&self.env, self.secrets.values());
        let redactor = step::step_redactor(runs, &self.repo, hidden, &self.dirs.masks())?;
        Ok(match redactor {
            None => text.as_bytes().to_vec(),
            Some(mut redactor) => redactor.whole(text.as_bytes()),
        })
    }

    /// Steps in the background that have not ended, by their ids.
    pub(super) fn in_background(&self, is_meant: impl Fn(&str) -> bool) -> Vec<(usize, Arc<Live>)> {
        let runs = &self.job.pipelines().inner().runs;
        let steps = self.job.job().steps.iter().enumerate();
        let meant = steps.filter(|(at, step)| {
            let is_running = self.attempt.steps[*at].record.state == StepState::Running;
            is_background(step) && is_running && is_meant(step.id.as_deref().unwrap_or_default())
        });
        meant
            .filter_map(|(at, _)| {
                let id = self.attempt.steps[at].minted?;
                Some((at, runs.live(id)?))
            })
            .collect()
    }

    /// Takes note of steps in the background that have ended by themselves.
    async fn note_ended(&mut self, is_meant: impl Fn(&str) -> bool) {
        for at in 0..self.attempt.steps.len() {
            let planned = &self.job.job().steps[at];
            let step = &self.attempt.steps[at];
            let is_meant = is_meant(planned.id.as_deref().unwrap_or_default());
            if !is_background(planned) || step.record.state != StepState::Running || !is_meant {
                continue;
            }
            let runs = &self.job.pipelines().inner().runs;
            let end = match step::step_run(runs, step.minted.unwrap_or_default()) {
                StepRun::Live(live) if !live.has_ended() => continue,
                StepRun::Live(live) => self.settle(&live.record()),
                StepRun::Ended(record) => self.settle(&record),
                StepRun::NeverStarted => {
                    let reason = "its run is gone".to_owned();
                    StepEnd::of(StepState::Lost, reason)
                }
            };
            self.end_step(at, end).await;
        }
    }

    pub(super) async fn wait_for(&mut self, is_meant: impl Fn(&str) -> bool) -> StepEnd {
        for (at, live) in self.in_background(&is_meant) {
            let ended = self.until_run_ended(at, live).await;
            let end = self.settle(&ended);
            self.end_step(at, end).await;
        }
        self.note_ended(&is_meant).await;
        let steps = self.attempt.steps.iter().zip(&self.job.job().steps);
        let mut waited = steps.filter(|(_, planned)| {
            is_background(planned) && is_meant(planned.id.as_deref().unwrap_or_default())
        });
        match waited.find(|(step, _)| is_failure(step)) {
            Some((step, _)) => {
                let reason = format!("{} has failed", step.record.name);
                StepEnd::of(StepState::Failed, reason)
            }
            None => StepEnd::of(StepState::Succeeded, None),
        }
    }

    /// Nothing of a job goes on after it. What is still at work is ended, which is no failure.
    pub(super) async fn end_background(&mut self) {
        self.note_ended(|_| true).await;
        for (at, live) in self.in_background(|_| true) {
            live.viewers().stop("the job has ended");
            let record = self.until_run_ended(at, live).await;
            let mut end = self.settle(&record);
            if end.state == StepState::Cancelled {
                end.state = StepState::Succeeded;
            }
            self.end_step(at, end).await;
        }
    }
}
