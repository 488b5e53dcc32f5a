//! The supervisor's side of a sandbox: what init reports from inside, and what it is told.

use std::io;
use std::os::fd::OwnedFd;

use super::orders::Report;
use crate::{CommandError, Outcome};

/// More than init ever has to say; a build that gets at its descriptor cannot fill our memory.
const LONGEST: usize = 64 * 1024;

/// The line to the init of one sandbox.
pub(crate) struct Link {
    report: Option<OwnedFd>,
    control: OwnedFd,
    /// bwrap's standard error, and init's: why there is no sandbox.
    words: OwnedFd,
    unread: Vec<u8>,
    started: bool,
    leaves: bool,
}

impl Link {
    pub(super) fn new(report: OwnedFd, control: OwnedFd, words: OwnedFd) -> io::Result<Self> {
        for fd in [&report, &control, &words] {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        Ok(Self {
            report: Some(report),
            control,
            words,
            unread: Vec::new(),
            started: false,
            leaves: false,
        })
    }

    /// Readable when init has said something; `None` once it is silent for good.
    pub(crate) fn report(&self) -> Option<&OwnedFd> {
        self.report.as_ref()
    }

    /// Takes in what init said. Returns how the command ended, once it did.
    pub(crate) fn hear(&mut self) -> Option<Outcome> {
        let mut buffer = [0; 4096];
        while let Some(report) = &self.report {
            match rustix::io::read(report, &mut buffer) {
                Ok(n) if n > 0 && self.unread.len() < LONGEST => {
                    self.unread.extend_from_slice(&buffer[..n]);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                Ok(_) | Err(_) => self.report = None,
            }
        }
        let mut outcome = None;
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Report::Started) => self.started = true,
                Ok(Report::NotStarted(error)) => outcome = Some(Outcome::NotStarted(error)),
                Ok(Report::Ended {
                    outcome: how,
                    alone,
                }) => {
                    outcome = Some(how);
                    self.leaves = alone;
                }
                // Not from init, then.
                Err(_) => {}
            }
        }
        outcome
    }

    /// Whether the command is there, or was.
    pub(crate) fn has_started(&self) -> bool {
        self.started
    }

    /// Whether the command was the last one inside, so that init and bwrap are about to end by themselves.
    pub(crate) fn leaves(&self) -> bool {
        self.leaves
    }

    /// TERM to everyone inside.
    pub(crate) fn terminate(&self) {
        // Where init is gone already, so is everyone.
        let _ = rustix::io::write(&self.control, b"t");
    }

    /// What it means that bwrap has ended before init said how the command did. `how` is its own end.
    pub(crate) fn silence(&self, how: &Outcome) -> Outcome {
        if self.started {
            // Init was killed, and with it everything inside.
            return Outcome::Signal(rustix::process::Signal::KILL.as_raw());
        }
        let mut words = vec![0; LONGEST];
        let said = rustix::io::read(&self.words, &mut words).unwrap_or(0);
        let words = String::from_utf8_lossy(&words[..said])
            .trim()
            .replace('\n', "; ");
        let message = match words.is_empty() {
            true => format!("bwrap ended without a word ({how:?})"),
            false => words,
        };
        Outcome::NotStarted(CommandError {
            message,
            sandbox: true,
            ..CommandError::default()
        })
    }
}
