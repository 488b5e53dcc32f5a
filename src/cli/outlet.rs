//! Output on its way to stdout and stderr: gathered, written in order, all of it and at once. A terminal is sent
//! what is harmless of it, a pipe or file every byte.

use std::io::{self, Write};

use super::exit::Failure;
use super::render::{Console, printable};
use super::stream::Channel;
use super::terminal::TerminalFilter;

/// Write on before the end of a batch when this much has gathered.
const ENOUGH: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Outlet {
    console: Console,
    /// Output that was not written yet, all for one channel, so that the order stays.
    pending: Vec<u8>,
    channel: Channel,
    /// Whether the last byte on a terminal was no line end.
    open_line: bool,
    /// What a terminal may be sent, of each channel for itself.
    to_stdout: TerminalFilter,
    to_stderr: TerminalFilter,
}

impl Outlet {
    pub(super) fn new(console: Console) -> Self {
        Self {
            console,
            pending: Vec::with_capacity(ENOUGH),
            channel: Channel::Stdout,
            open_line: false,
            to_stdout: TerminalFilter::default(),
            to_stderr: TerminalFilter::default(),
        }
    }

    pub(super) fn write(&mut self, channel: Channel, parts: &[&[u8]]) -> Result<(), Failure> {
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

    /// Writes a line of one among several, after its name. Half a line of one would become one with another's.
    pub(super) fn write_line_of(
        &mut self,
        channel: Channel,
        owner: Option<&str>,
        line: &[u8],
    ) -> Result<(), Failure> {
        let owner = printable(owner.unwrap_or_default());
        self.write(channel, &[owner.as_bytes(), b" | ", line, b"\n"])
    }

    /// Writes what has gathered.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        let (on_terminal, filter) = match self.channel {
            Channel::Stdout => (self.console.stdout_is_terminal, &mut self.to_stdout),
            Channel::Stderr => (self.console.stderr_is_terminal, &mut self.to_stderr),
        };
        if on_terminal {
            self.pending = filter.pass(&self.pending);
        }
        let Some(last) = self.pending.last() else {
            return Ok(());
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

    /// Forgets what could not be written.
    pub(super) fn discard(&mut self) {
        self.pending.clear();
    }

    /// Before words of our own: the cursor goes to a line's start.
    pub(super) fn end_line(&mut self) {
        if self.open_line && self.console.stderr_is_terminal {
            let _ = io::stderr().lock().write_all(b"\n");
            self.open_line = false;
        }
    }
}

fn put(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}
