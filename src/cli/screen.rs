//! What a run's events look like: output bytes go where they belong, exactly and at once; the rest
//! is for people and goes to stderr. With `--json` the events themselves are the output.

use super::client::help_of;
use super::exit::{self, Failure};
use super::outlet::Outlet;
use super::progress::Progress;
use super::render::Console;
use super::stream::{Channel, Ending, Event};
use super::verdict;
use super::watch::Viewer;
use branchyard_model::{Complete, EndState, RunId};

#[derive(Debug)]
pub(super) struct Screen {
    run: RunId,
    console: Console,
    progress: Progress,
    outlet: Outlet,
    progress_shown: bool,
}

impl Screen {
    pub(super) fn new(run: RunId, console: Console, progress: Progress) -> Self {
        Self {
            run,
            console,
            progress,
            outlet: Outlet::new(console),
            progress_shown: false,
        }
    }

    fn sum_up(&self, complete: &Complete) {
        let summary = verdict::words(complete);
        match complete.end.state {
            // The output tells; a person likes to see it said.
            EndState::Succeeded | EndState::Failed => {
                if self.console.stderr_is_terminal && !self.console.quiet {
                    self.console
                        .verdict(&summary, complete.end.state == EndState::Succeeded);
                    self.name_first_error(complete);
                }
            }
            // The command itself could not say these.
            EndState::Signalled | EndState::TimedOut | EndState::Cancelled => {
                if !self.console.quiet {
                    self.console.verdict(&summary, false);
                }
            }
            EndState::Lost | EndState::Rejected => {
                self.console.failure(&Failure::daemon(summary));
            }
        }
    }

    /// After pages of output: where to look first.
    fn name_first_error(&self, complete: &Complete) {
        if let Some(findings) = &complete.end.diagnostics
            && let Some(first) = findings.first_error()
        {
            let (more, run) = (findings.errors.saturating_sub(1), self.run);
            let more = match more {
                0 => String::new(),
                _ => format!("\n  and {more} more: `branchyard diagnostics {run}`"),
            };
            self.console.note(&format!("  {first}{more}"));
        }
    }

    /// Before words of our own: all output is out, the progress line gone, the cursor at a line's start.
    fn make_room(&mut self) -> Result<(), Failure> {
        self.flush()?;
        self.clear_progress();
        self.outlet.end_line();
        Ok(())
    }

    fn clear_progress(&mut self) {
        if self.progress_shown {
            self.progress.clear();
            self.progress_shown = false;
        }
    }
}

impl Viewer for Screen {
    fn take(&mut self, line: &[u8], event: Event<'_>) -> Result<(), Failure> {
        if self.console.json {
            return self.outlet.write(Channel::Stdout, &[line, b"\n"]);
        }
        match event {
            Event::Output { to, bytes, eol, .. } => {
                self.clear_progress();
                self.outlet.write(to, &[&bytes, eol.as_bytes()])
            }
            Event::Status(status) => {
                self.flush()?;
                if let Some(warm) = &status.warm {
                    self.note(&format!("warm start from {}", warm.branch))?;
                }
                self.progress_shown = true;
                self.progress.status(&status);
                Ok(())
            }
            Event::Warning(text) | Event::Gap(text) => {
                self.make_room()?;
                self.console.warning(&text);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.outlet.flush()
    }

    fn clear(&mut self) {
        // What could not be written is part of that error, or came after it.
        self.outlet.discard();
        let _ = self.make_room();
    }

    fn note(&mut self, text: &str) -> Result<(), Failure> {
        self.make_room()?;
        self.console.note(text);
        Ok(())
    }

    fn ended(&mut self, ending: &Ending) -> Result<u8, Failure> {
        self.make_room()?;
        match ending {
            Ending::Complete(complete) => {
                if !self.console.json {
                    self.sum_up(complete);
                }
                let (code, signal) = (complete.end.exit_code, complete.end.signal);
                Ok(exit::of_run(complete.end.state, code, signal))
            }
            Ending::Summary(_) | Ending::Pipeline(_) => Err(Failure::daemon(
                "the run's stream ended like that of something else",
            )),
            Ending::Error(_) if self.console.json => Ok(exit::DAEMON),
            Ending::Error(error) => Err(Failure {
                exit: exit::DAEMON,
                detail: error.detail.clone(),
                help: help_of(error),
            }),
        }
    }
}
