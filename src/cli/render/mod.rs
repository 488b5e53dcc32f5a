//! What people see: tables, colour, notes and errors. On a terminal a list is a table with human
//! sizes and ages; piped, it is one line per row with tabs between, exact numbers and no header.
//!
//! Names come from elsewhere: control characters in them never reach a terminal or break a line.

mod cell;
mod columns;
mod human;
mod listing;

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use clap::builder::styling::{AnsiColor, Style};

use super::client::Answer;
use super::endpoint::Surroundings;
use super::exit::Failure;
use super::terminal::TerminalFilter;
use super::{ColorChoice, Global};

pub(super) use cell::{Cell, Tone};
pub(super) use columns::{Cut, cut, letters};
pub(super) use human::{human_age, human_duration, human_size, printable, short_commit};
pub(super) use listing::Listing;

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// Where our words go, and how they may look there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Console {
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) stdout_is_terminal: bool,
    pub(super) stderr_is_terminal: bool,
    pub(super) color_stdout: bool,
    pub(super) color_stderr: bool,
}

impl Console {
    pub(super) fn new(global: &Global, surroundings: &Surroundings) -> Self {
        let stdout_is_terminal = io::stdout().is_terminal();
        let stderr_is_terminal = io::stderr().is_terminal();
        let color = |is_terminal: bool| match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !surroundings.no_color,
        };
        Self {
            json: global.json,
            quiet: global.quiet,
            stdout_is_terminal,
            stderr_is_terminal,
            color_stdout: color(stdout_is_terminal),
            color_stderr: color(stderr_is_terminal),
        }
    }

    /// What goes to stdout and was written by a build, a remote or the daemon: it comes in pieces, and a terminal is sent only what
    /// is harmless of it.
    pub(super) fn passage(self) -> Passage {
        Passage {
            console: self,
            filter: TerminalFilter::default(),
        }
    }

    /// Writes words of our own to stdout, all of it and at once.
    pub(super) fn print(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout
            .write_all(bytes)
            .and_then(|()| stdout.flush())
            .map_err(|error| Failure::writing(&error))
    }

    pub(super) fn print_line(&self, line: &str) -> Result<(), Failure> {
        self.passage().print(format!("{line}\n").as_bytes())
    }

    /// The daemon's JSON: as it came, or laid out where a person reads it.
    pub(super) fn print_json(&self, answer: &Answer) -> Result<(), Failure> {
        let mut body = answer.body.clone();
        if self.stdout_is_terminal
            && let Ok(value) = serde_json::from_slice::<serde_json::Value>(&body)
        {
            body = format!("{value:#}").into_bytes();
        }
        if body.last().is_some_and(|last| *last != b'\n') {
            body.push(b'\n');
        }
        self.passage().print(&body)
    }

    pub(super) fn print_listing(&self, listing: Listing) -> Result<(), Failure> {
        if self.stdout_is_terminal && !listing.is_empty() {
            let width = width_of(io::stdout());
            self.print(listing.table(width, self.color_stdout).as_bytes())
        } else {
            self.print(listing.plain().as_bytes())
        }
    }

    /// Something nice to know; on stderr, as all that follows.
    pub(super) fn note(&self, text: &str) {
        if !self.quiet {
            say(&format!("{}\n", lines_of(text)));
        }
    }

    /// A note that is worth its colour, such as how a run ended.
    pub(super) fn verdict(&self, text: &str, good: bool) {
        let style = if good { GREEN } else { RED };
        say(&format!("{}\n", self.styled(&printable(text), style)));
    }

    pub(super) fn warning(&self, text: &str) {
        let (mark, text) = (self.styled("warning:", YELLOW), lines_of(text));
        say(&format!("{mark} {text}\n"));
    }

    pub(super) fn failure(&self, failure: &Failure) {
        if failure.detail.is_empty() {
            return;
        }
        let (mark, detail) = (self.styled("error:", RED), lines_of(&failure.detail));
        let mut text = format!("{mark} {detail}\n");
        if let Some(help) = &failure.help {
            let (mark, help) = (self.styled("help:", CYAN), lines_of(help));
            text.push_str(&format!("  {mark} {help}\n"));
        }
        say(&text);
    }

    fn styled(&self, text: &str, style: Style) -> String {
        if self.color_stderr {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// See [`Console::passage`].
#[derive(Debug)]
pub(super) struct Passage {
    console: Console,
    filter: TerminalFilter,
}

impl Passage {
    /// Writes the next piece, all of it and at once.
    pub(super) fn print(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self.console.stdout_is_terminal {
            true => self.console.print(&self.filter.pass(bytes)),
            false => self.console.print(bytes),
        }
    }
}

/// How wide a terminal is, where it says.
pub(super) fn width_of(terminal: impl AsFd) -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}

/// Printable, but with its line breaks: an error may point into a file.
fn lines_of(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(printable).collect();
    lines.join("\n")
}

/// To stderr. That it cannot be written there is nothing that could be said anywhere.
fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
