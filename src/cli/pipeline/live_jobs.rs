//! The lines on stderr that move while a pipeline runs: one for each job, with its step and its time. Only on a terminal.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use indicatif::ProgressBar;

use super::words;
use crate::cli::live_lines::{LiveLines, spin, style};
use crate::cli::render::{Console, human_duration, printable};
use crate::cli::signals::Clear;
use branchyard_model::{JobRecord, JobState, PipelineRecord};

/// With more jobs than this, only those under way have a line.
const MANY: usize = 20;
/// No name makes the lines wider than this.
const WIDEST_NAME: usize = 40;

#[derive(Debug)]
pub(super) struct LiveJobs {
    lines: LiveLines,
    total: ProgressBar,
    width: usize,
    is_large: bool,
    bars: HashMap<String, ProgressBar>,
    ended: HashSet<String>,
}

impl LiveJobs {
    pub(super) fn new(console: &Console, wanted: bool) -> Self {
        Self {
            lines: LiveLines::new(console, wanted),
            total: ProgressBar::hidden(),
            width: 0,
            is_large: false,
            bars: HashMap::new(),
            ended: HashSet::new(),
        }
    }

    pub(super) fn are_shown(&self) -> bool {
        self.lines.are_shown()
    }

    /// Which jobs there are now.
    pub(super) fn name(&mut self, record: &PipelineRecord) {
        self.clear();
        let names = record.jobs.iter().map(|job| job.name.chars().count());
        self.width = names.max().unwrap_or(0).min(WIDEST_NAME);
        self.is_large = record.jobs.len() > MANY;
        self.total = self.lines.add(ProgressBar::new(record.jobs.len() as u64));
        self.total
            .set_style(style("{pos} of {len} jobs ended, {elapsed}"));
        spin(&self.total);
        for job in &record.jobs {
            self.update(job);
        }
    }

    pub(super) fn update(&mut self, job: &JobRecord) {
        if !self.are_shown() {
            return;
        }
        match job.state.is_ended() {
            true => self.ended.insert(job.job.clone()),
            false => self.ended.remove(&job.job),
        };
        self.total.set_position(self.ended.len() as u64);
        if self.is_large && job.state != JobState::Running {
            if let Some(bar) = self.bars.remove(&job.job) {
                self.lines.remove(&bar);
            }
            return;
        }
        let (lines, total) = (&self.lines, &self.total);
        let bar = self.bars.entry(job.job.clone());
        let bar = bar.or_insert_with(|| lines.insert_before(total));
        let width = self.width;
        bar.set_prefix(format!("{:width$}", printable(&job.name)));
        show(bar, job);
    }

    /// Says something else meanwhile.
    pub(super) fn aside(&self, say: impl FnOnce()) {
        self.lines.aside(say);
    }

    pub(super) fn clear(&mut self) {
        for (_, bar) in self.bars.drain() {
            self.lines.remove(&bar);
        }
        self.ended.clear();
        self.lines.remove(&self.total);
    }

    pub(super) fn clearing(&self) -> Clear {
        self.lines.clearing()
    }
}

fn show(bar: &ProgressBar, job: &JobRecord) {
    let message = match job.state {
        JobState::Running => {
            let step = words::current_step(job);
            step.map_or_else(|| "running".to_owned(), |step| words::step_of(job, step))
        }
        JobState::Blocked if !job.needs.is_empty() => format!("after {}", job.needs.join(", ")),
        state => {
            let took = words::took(job).filter(|_| state.is_ended());
            let took = took.map(|took| format!(" in {}", human_duration(took)));
            let why = words::because(job).map(|why| format!(": {why}"));
            let (took, why) = (took.unwrap_or_default(), why.unwrap_or_default());
            format!("{}{took}{why}", state.as_str())
        }
    };
    match job.state {
        JobState::Running => {
            bar.set_style(style("{spinner} {prefix} {elapsed} {wide_msg}"));
            bar.set_elapsed(Duration::from_millis(words::took(job).unwrap_or(0)));
            spin(bar);
        }
        state => {
            bar.disable_steady_tick();
            let mark = words::mark(state);
            bar.set_style(style(&format!("{mark} {{prefix}} {{wide_msg}}")));
        }
    }
    bar.set_message(printable(&message));
    bar.tick();
}
