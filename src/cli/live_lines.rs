//! Lines on stderr that move while something goes on, each redrawn in its place. Only on a terminal.

use std::sync::Arc;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::render::{Console, printable};
use super::signals::Clear;

const TICK: Duration = Duration::from_millis(120);

#[derive(Debug)]
pub(super) struct LiveLines {
    /// `None` where nothing may move.
    lines: Option<MultiProgress>,
}

impl LiveLines {
    pub(super) fn new(console: &Console, wanted: bool) -> Self {
        let shown = wanted && console.stderr_is_terminal && !console.quiet && !console.json;
        Self {
            lines: shown.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr())),
        }
    }

    pub(super) fn are_shown(&self) -> bool {
        self.lines.is_some()
    }

    /// A line below all others.
    pub(super) fn add(&self, bar: ProgressBar) -> ProgressBar {
        match &self.lines {
            Some(lines) => lines.add(bar),
            None => ProgressBar::hidden(),
        }
    }

    /// A line above another.
    pub(super) fn insert_before(&self, below: &ProgressBar) -> ProgressBar {
        match &self.lines {
            Some(lines) => lines.insert_before(below, ProgressBar::new_spinner()),
            None => ProgressBar::hidden(),
        }
    }

    pub(super) fn remove(&self, bar: &ProgressBar) {
        bar.finish_and_clear();
        if let Some(lines) = &self.lines {
            lines.remove(bar);
        }
    }

    /// Says something that stays, above the lines.
    pub(super) fn print(&self, text: &str) {
        if let Some(lines) = &self.lines {
            // A terminal that is gone is told nothing.
            let _ = lines.println(printable(text));
        }
    }

    /// Says something else meanwhile.
    pub(super) fn aside(&self, say: impl FnOnce()) {
        match &self.lines {
            Some(lines) => lines.suspend(say),
            None => say(),
        }
    }

    /// Takes all of it off the terminal, for whoever must leave in a hurry.
    pub(super) fn clearing(&self) -> Clear {
        let lines = self.lines.clone();
        Arc::new(move || {
            if let Some(lines) = &lines {
                // A terminal that is gone needs no clearing.
                let _ = lines.clear();
            }
        })
    }
}

/// Has a line turn by itself, so that it is seen to be alive.
pub(super) fn spin(bar: &ProgressBar) {
    // A ticker is a thread.
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
}

pub(super) fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
