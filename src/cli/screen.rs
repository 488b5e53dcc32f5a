//! What a run's events look like: output bytes go where they belong, exactly and at once; the rest
//! is for people and goes to stderr. With `--json` the events themselves are the output.

use std::io::{self, Write};

use super::exit::{self, Failure};
use super::progress::Progress;
use super::render::{Console, human_duration, short_commit};
use super::stream::{Channel, Complete, Ending, Event};

/// Write on before the end of a batch when this much has gathered.
const ENOUGH: usize = 64 * 1024;

#[derive(Debug)]
pub struct Screen {
    console: Console,
    progress: Progress,
    /// Output that was not written yet, all for one channel, so that the order stays.
    pending: Vec<u8>,
    channel: Channel,
    /// Whether the last byte on a terminal was no line end.
    open_line: bool,
    progress_shown: bool,
}

impl Screen {
    pub fn new(console: Console, progress: Progress) -> Self {
        Self {
            console,
            progress,
            pending: Vec::with_capacity(ENOUGH),
            channel: Channel::Stdout,
            open_line: false,
            progress_shown: false,
        }
    }

    /// Takes one event and its line. Output is on its way after [`Self::flush`].
    pub fn take(&mut self, line: &[u8], event: Event<'_>) -> Result<(), Failure> {
        if self.console.json {
            return self.write(Channel::Stdout, &[line, b"\n"]);
        }
        match event {
            Event::Output { to, bytes, eol } => {
                self.clear_progress();
                self.write(to, &[&bytes, eol.as_bytes()])
            }
            Event::Status(status) => {
                self.flush()?;
                self.progress_shown = true;
                self.progress.status(&status);
                Ok(())
            }
            Event::Warning(text) | Event::Gap(text) => {
                self.make_room()?;
                self.console.warning(&text);
                Ok(())
            }
            Event::Ended(_) | Event::Unknown => Ok(()),
        }
    }

    /// Writes what has gathered.
    pub fn flush(&mut self) -> Result<(), Failure> {
        let Some(last) = self.pending.last() else {
            return Ok(());
        };
        let on_terminal = match self.channel {
            Channel::Stdout => self.console.stdout_is_terminal,
            Channel::Stderr => self.console.stderr_is_terminal,
        };
        if on_terminal {
            self.open_line = *last != b'\n';
        }
        let written = match self.channel {
            Channel::Stdout => put(&mut io::stdout().lock(), &self.pending),
            Channel::Stderr => put(&mut io::stderr().lock(), &self.pending),
        };
        self.pending.clear();
        written.map_err(|error| Failure::writing(&error))
    }

    /// Leaves the terminal to an error that follows.
    pub fn clear(&mut self) {
        // What could not be written is part of that error, or came after it.
        self.pending.clear();
        let _ = self.make_room();
    }

    /// Something to know that is no event of the run.
    pub fn note(&mut self, text: &str) -> Result<(), Failure> {
        self.make_room()?;
        self.console.note(text);
        Ok(())
    }

    /// Says how the run ended, where nothing else does; gives our exit code for it.
    pub fn ended(&mut self, ending: &Ending) -> Result<u8, Failure> {
        self.make_room()?;
        match ending {
            Ending::Complete(complete) => {
                if !self.console.json {
                    self.sum_up(complete);
                }
                let Complete {
                    state,
                    exit_code,
                    signal,
                    ..
                } = complete;
                Ok(exit::of_run(state, *exit_code, *signal))
            }
            Ending::Error(_) if self.console.json => Ok(exit::DAEMON),
            Ending::Error(error) => Err(Failure {
                exit: exit::DAEMON,
                detail: error.detail.clone(),
                help: error.help.clone(),
            }),
        }
    }

    fn sum_up(&self, complete: &Complete) {
        let summary = summary(complete);
        match complete.state.as_str() {
            // The output tells; a person likes to see it said.
            "succeeded" | "failed" => {
                if self.console.stderr_is_terminal && !self.console.quiet {
                    self.console
                        .verdict(&summary, complete.state == "succeeded");
                }
            }
            // The command itself could not say these.
            "signalled" | "timed_out" | "cancelled" => {
                if !self.console.quiet {
                    self.console.verdict(&summary, false);
                }
            }
            _ => self.console.failure(&Failure::daemon(summary)),
        }
    }

    fn write(&mut self, channel: Channel, parts: &[&[u8]]) -> Result<(), Failure> {
        if channel != self.channel {
            self.flush()?;
            self.channel = channel;
        }
        for part in parts {
            self.pending.extend_from_slice(part);
        }
        if self.pending.len() >= ENOUGH {
            self.flush()?;
        }
        Ok(())
    }

    /// Before words of our own: all output is out, the progress line gone, the cursor at a line's start.
    fn make_room(&mut self) -> Result<(), Failure> {
        self.flush()?;
        self.clear_progress();
        if self.open_line && self.console.stderr_is_terminal {
            let _ = io::stderr().lock().write_all(b"\n");
            self.open_line = false;
        }
        Ok(())
    }

    fn clear_progress(&mut self) {
        if self.progress_shown {
            self.progress.clear();
            self.progress_shown = false;
        }
    }
}

fn put(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

/// `succeeded in 1.2s at 1a2b3c4d`
fn summary(complete: &Complete) -> String {
    let mut text = match complete.state.as_str() {
        "failed" => match complete.exit_code {
            Some(code) => format!("failed with exit code {code}"),
            None => "failed".to_owned(),
        },
        "signalled" => match complete.signal {
            Some(signal) => format!("ended by signal {signal}"),
            None => "ended by a signal".to_owned(),
        },
        "timed_out" => "timed out".to_owned(),
        "lost" => "the run was lost".to_owned(),
        "rejected" => "the run was rejected".to_owned(),
        other => other.to_owned(),
    };
    if let Some(millis) = complete.duration_ms {
        let word = match complete.state.as_str() {
            "succeeded" | "failed" => "in",
            _ => "after",
        };
        text.push_str(&format!(" {word} {}", human_duration(millis)));
    }
    if let Some(commit) = &complete.commit {
        text.push_str(&format!(" at {}", short_commit(commit)));
    }
    if let Some(reason) = &complete.reason {
        text.push_str(&format!(": {reason}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_how_it_ended_how_long_it_took_and_where() {
        for (json, text) in [
            (
                r#"{"state":"succeeded","exit_code":0,"duration_ms":1234,"commit":"1a2b3c4d5e6f"}"#,
                "succeeded in 1.2s at 1a2b3c4d",
            ),
            (
                r#"{"state":"failed","exit_code":2,"duration_ms":65000,"commit":"1a2b3c4d5e6f"}"#,
                "failed with exit code 2 in 1m05s at 1a2b3c4d",
            ),
            (r#"{"state":"signalled","signal":9}"#, "ended by signal 9"),
            (
                r#"{"state":"lost","commit":null,"reason":"its supervisor is gone"}"#,
                "the run was lost: its supervisor is gone",
            ),
            (
                r#"{"state":"timed_out","duration_ms":600000}"#,
                "timed out after 10m00s",
            ),
            (r#"{"state":"cancelled"}"#, "cancelled"),
        ] {
            assert_eq!(summary(&serde_json::from_str(json).unwrap()), text);
        }
    }
}
