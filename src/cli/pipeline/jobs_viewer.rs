//! What a pipeline looks like. On a terminal: a line for each job, which moves. Elsewhere: a line with tabs for each job
//! that ended. With `--output` it is the output that was asked for, each line after the name of its job, and the rest
//! goes to stderr.

use std::collections::HashMap;

use super::live_jobs::LiveJobs;
use super::words;
use crate::cli::exit::Failure;
use crate::cli::outlet::Outlet;
use crate::cli::render::{Cell, Console, Listing};
use crate::cli::signals::Clear;
use crate::cli::stream::{Channel, Ending, Event};
use crate::cli::watch::Viewer;
use branchyard_model::{JobRecord, JobState, PipelineRecord, PipelineState};

#[derive(Debug)]
pub(super) struct JobsViewer {
    console: Console,
    outlet: Outlet,
    live: LiveJobs,
    /// Whether output is shown, and not only how jobs end.
    output: bool,
    /// The attempt that is to be shown, until it begins.
    awaited: Option<u32>,
    /// The jobs as they were told of last.
    known: HashMap<String, JobRecord>,
}

impl JobsViewer {
    pub(super) fn new(console: Console, output: bool) -> Self {
        Self {
            console,
            outlet: Outlet::new(console),
            live: LiveJobs::new(&console, !output),
            output,
            awaited: None,
            known: HashMap::new(),
        }
    }

    /// Takes what moves off the terminal, for whoever must leave in a hurry.
    pub(super) fn clearing(&self) -> Clear {
        self.live.clearing()
    }

    /// Passes over what comes before this attempt.
    pub(super) fn wait_for(&mut self, attempt: u32) {
        self.awaited = Some(attempt);
    }

    /// What all is about, before anything comes.
    pub(super) fn announce(&mut self, title: &str) -> Result<(), Failure> {
        match self.console.json {
            true => Ok(()),
            false => self.say(title),
        }
    }

    /// All jobs as they are now.
    pub(super) fn show(&mut self, record: &PipelineRecord) -> Result<(), Failure> {
        self.live.name(record);
        record.jobs.iter().try_for_each(|job| self.job(job))
    }

    fn job(&mut self, job: &JobRecord) -> Result<(), Failure> {
        self.live.update(job);
        let before = self.known.insert(job.job.clone(), job.clone());
        let has_news = before.as_ref().is_none_or(|before| {
            let step = |job: &JobRecord| words::current_step(job).map(|step| step.number);
            before.state != job.state || step(before) != step(job)
        });
        match job.state {
            _ if !has_news => Ok(()),
            state if state.is_ended() => self.job_ended(job),
            JobState::Running => match words::current_step(job) {
                Some(step) => {
                    let step = words::step_of(job, step);
                    self.say_without_lines(&format!("{}: {step}", job.name))
                }
                None => Ok(()),
            },
            JobState::Waiting => self.say_without_lines(&words::sentence(job)),
            _ => Ok(()),
        }
    }

    fn job_ended(&mut self, job: &JobRecord) -> Result<(), Failure> {
        if self.output {
            return self.say(&words::sentence(job));
        }
        if self.live.are_shown() && self.console.stdout_is_terminal {
            return Ok(());
        }
        self.outlet.write(Channel::Stdout, &[row(job).as_bytes()])
    }

    /// Says what the lines show by themselves.
    fn say_without_lines(&mut self, text: &str) -> Result<(), Failure> {
        match self.live.are_shown() {
            true => Ok(()),
            false => self.say(text),
        }
    }

    /// Words of our own, in their place among the output.
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.outlet.flush()?;
        self.outlet.end_line();
        let console = self.console;
        self.live.aside(|| console.note(text));
        Ok(())
    }

    fn sum_up(&self, record: &PipelineRecord, had_lines: bool) {
        let (console, id) = (&self.console, record.pipeline_id);
        if console.quiet {
            return;
        }
        // The lines are gone; elsewhere each job has had its own.
        for job in record.jobs.iter().filter(|_| had_lines) {
            let mark = words::mark(job.state);
            console.note(&format!("{mark} {}", words::sentence(job)));
        }
        let artifacts = record.jobs.iter().flat_map(|job| &job.artifacts);
        for name in artifacts {
            let name = crate::cli::client::command_line(std::slice::from_ref(name));
            console.note(&format!("artifact: `branchyard artifact get {id} {name}`"));
        }
        if record.state == PipelineState::Failed {
            console.note(&format!(
                "what failed: `branchyard pipeline log {id} --failed`"
            ));
        }
        words::held(record).for_each(|text| console.note(&text));
        let is_good = record.state == PipelineState::Succeeded;
        console.verdict(&words::verdict(record), is_good);
    }
}

impl Viewer for JobsViewer {
    fn take(&mut self, line: &[u8], event: Event<'_>) -> Result<(), Failure> {
        if let Event::Pipeline(record) = &event {
            self.awaited = self.awaited.filter(|attempt| record.attempt < *attempt);
        }
        // Output is of the latest attempt alone, and has no place among the other events.
        let is_output = matches!(event, Event::Output { .. });
        if self.awaited.is_some() && !is_output {
            return Ok(());
        }
        if self.console.json {
            return self.outlet.write(Channel::Stdout, &[line, b"\n"]);
        }
        match event {
            Event::Output {
                owner, to, bytes, ..
            } => {
                let owner = owner.as_deref().unwrap_or_default();
                let known = self.known.get(owner).map(|job| job.name.as_str());
                self.outlet
                    .write_line_of(to, Some(known.unwrap_or(owner)), &bytes)
            }
            Event::Pipeline(record) => self.show(&record),
            Event::Job(job) => self.job(&job),
            Event::Warning(text) | Event::Gap(text) => {
                self.outlet.flush()?;
                let console = self.console;
                self.live.aside(|| console.warning(&text));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.outlet.flush()
    }

    fn note(&mut self, text: &str) -> Result<(), Failure> {
        match self.output {
            true => self.say(&format!(
                "{text}; `branchyard pipeline log` has the output that is missed meanwhile"
            )),
            false => self.say(text),
        }
    }

    fn clear(&mut self) {
        // What could not be written is part of the error, or came after it.
        self.outlet.discard();
        self.live.clear();
    }

    fn ended(&mut self, ending: &Ending) -> Result<u8, Failure> {
        self.outlet.flush()?;
        let had_lines = self.live.are_shown();
        self.live.clear();
        let Ending::Pipeline(record) = ending else {
            return Err(Failure::daemon(
                "the pipeline's stream ended like that of something else",
            ));
        };
        if !self.console.json {
            self.sum_up(record, had_lines);
        }
        Ok(words::exit_code(record))
    }
}

/// Job, state, milliseconds, and why, with tabs between.
fn row(job: &JobRecord) -> String {
    let mut listing = Listing::new("JOB, STATE, TOOK, WHY");
    listing.row(vec![
        Cell::text(&job.name),
        Cell::text(job.state.as_str()),
        Cell::maybe(words::took(job)),
        Cell::maybe(words::because(job)),
    ]);
    listing.plain()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_ended_is_one_line_whatever_is_in_its_name() {
        let job = serde_json::from_value(serde_json::json!({
            "job": "a", "name": "a\tb\u{1b}[31m", "state": "failed", "attempt": 1, "reason": "step 1 exited with 2",
            "started_at": "2024-05-06T07:08:09Z", "ended_at": "2024-05-06T07:08:10.5Z",
        }));
        assert_eq!(
            row(&job.unwrap()),
            "a\\tb\\u{1b}[31m\tfailed\t1500\tstep 1 exited with 2\n"
        );
    }
}
