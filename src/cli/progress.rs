//! The one line on stderr that moves: what a run waits for, how far a clone is. Only on a terminal,
//! and gone before anything else is written.

use std::fmt::Write as _;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;

use super::render::{Console, human_age, printable};
use super::signals::Clear;
use branchyard_model::{Phase, Status};

const TICK: Duration = Duration::from_millis(120);
/// What is quicker than this needs no spinner.
const PATIENCE: Duration = Duration::from_millis(500);

/// Cheap to clone: all clones are the same line.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    line: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(console: &Console) -> Self {
        let shown = console.stderr_is_terminal && !console.quiet && !console.json;
        Self {
            line: shown
                .then(|| ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::stderr())),
        }
    }

    /// Shows where a run stands on its way to its command.
    pub(super) fn status(&self, status: &Status) {
        match status.state.as_str() {
            "queued" => self.spin(&waiting(status)),
            "preparing" => {
                let phase = doing(status.phase);
                match status.percent {
                    Some(percent) => {
                        let template = "{spinner} {msg} [{bar:30}] {pos:>3}%";
                        self.show(template, phase, Some(percent.min(100).into()));
                    }
                    None => self.spin(phase),
                }
            }
            _ => self.clear(),
        }
    }

    pub(super) fn spin(&self, message: &str) {
        self.show("{spinner} {msg}", message, None);
    }

    pub(super) fn clear(&self) {
        if let Some(line) = &self.line {
            line.disable_steady_tick();
            line.finish_and_clear();
        }
    }

    /// [`Self::clear`] for whoever must leave in a hurry.
    pub(super) fn clearing(&self) -> Clear {
        let progress = self.clone();
        Arc::new(move || progress.clear())
    }

    fn show(&self, template: &str, message: &str, position: Option<u64>) {
        let Some(line) = &self.line else { return };
        if line.is_finished() {
            line.reset();
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            line.set_style(style.progress_chars("=> "));
        }
        line.set_message(printable(message));
        if let Some(position) = position {
            line.set_position(position);
        }
        line.enable_steady_tick(TICK);
    }
}

/// Waits for `answer`, with a spinner if that takes a while.
pub(super) async fn patiently<T>(
    console: &Console,
    message: &str,
    answer: impl Future<Output = T>,
) -> T {
    let progress = Progress::new(console);
    tokio::pin!(answer);
    let value = match tokio::time::timeout(PATIENCE, &mut answer).await {
        Ok(value) => value,
        Err(_) => {
            progress.spin(message);
            answer.await
        }
    };
    progress.clear();
    value
}

fn doing(phase: Option<Phase>) -> &'static str {
    match phase {
        None => "preparing",
        Some(Phase::Clone) => "cloning",
        Some(Phase::Fetch) => "fetching",
        Some(Phase::Worktree) => "making the workspace",
        Some(Phase::Warm) => "copying what a sibling has built",
        Some(Phase::Checkout) => "checking out",
        Some(Phase::Setup) => "setting the workspace up",
        Some(Phase::Sync) => "bringing the workspace up to date",
    }
}

/// `queued, position 2, held by make test of ci, started 5m ago`
fn waiting(status: &Status) -> String {
    let mut text = "queued".to_owned();
    if let Some(position) = status.position {
        let _ = write!(text, ", position {position}");
    }
    if let Some(holder) = &status.holder {
        let _ = write!(text, ", held by {}", holder.what);
        if !holder.who.is_empty() {
            let _ = write!(text, " of {}", holder.who);
        }
        let age = human_age(holder.since, Timestamp::now());
        let _ = write!(text, ", started {age}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_names_the_place_and_the_holder() {
        let status: Status = serde_json::from_str(
            r#"{"state":"queued","position":2,"holder":{"what":"make test","who":"ci","since":"2024-05-06T07:08:09Z"}}"#,
        )
        .unwrap();
        let text = waiting(&status);
        assert!(
            text.starts_with("queued, position 2, held by make test of ci, started "),
            "{text}"
        );
        let status: Status = serde_json::from_str(r#"{"state":"queued"}"#).unwrap();
        assert_eq!(waiting(&status), "queued");
    }
}
