//! How a command ended, as its supervisor writes it down for whichever daemon comes to read it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::{Exceeded, descendants};
use branchyard_runtime::disk::read_json;

const FILE: &str = "exit.json";
const FRESH: &str = "exit.json.new";
/// More than a record takes, and one block of most disks.
const ROOM: usize = 4096;
/// Raised when a reader of the version before could misunderstand; new fields alone do not raise it.
const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Code(i32),
    Signal(i32),
    /// There never was a process.
    NotStarted(CommandError),
}

/// Why there never was a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandError {
    pub message: String,
    /// The program does not exist.
    pub missing: bool,
    /// It is the sandbox that could not be made.
    pub sandbox: bool,
}

/// Buries all children that have ended: how the `command` among them ended, and whether no child is left.
pub(super) fn reap(command: Pid) -> io::Result<(Option<Outcome>, bool)> {
    let mut outcome = None;
    let alone = descendants::reap(|pid, status| {
        if pid == command {
            let code = status.exit_status().map(Outcome::Code);
            outcome = code.or_else(|| status.terminating_signal().map(Outcome::Signal));
        }
    })?;
    Ok((outcome, alone))
}

impl From<&io::Error> for CommandError {
    fn from(error: &io::Error) -> Self {
        Self {
            message: error.to_string(),
            missing: error.kind() == io::ErrorKind::NotFound,
            sandbox: false,
        }
    }
}

/// Why a command was stopped before its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    Asked,
    TimedOut,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub outcome: Outcome,
    pub ended_at: Timestamp,
    pub stopped: Option<Stop>,
    /// Something kept the output open after the command's end and was cut off.
    #[serde(default)]
    pub leaked: bool,
    /// The limit that it ran into, where that could be seen.
    pub exceeded: Option<Exceeded>,
    /// Output that could not be written, and why. The command was not disturbed by it.
    pub unwritten: Option<String>,
    /// Bytes of output that are missing at the end of the journal.
    #[serde(default)]
    pub lost: u64,
    /// Bytes of output that the limit of a run's output left out.
    #[serde(default)]
    pub left_out: u64,
    /// Processor time that all of its processes took.
    #[serde(default)]
    pub cpu: Duration,
}

#[derive(Serialize, Deserialize)]
struct Record {
    version: u32,
    #[serde(flatten)]
    exit: Exit,
}

impl Exit {
    pub(super) fn not_started(error: CommandError) -> Self {
        Self {
            outcome: Outcome::NotStarted(error),
            ended_at: Timestamp::now(),
            stopped: None,
            leaked: false,
            exceeded: None,
            unwritten: None,
            lost: 0,
            left_out: 0,
            cpu: Duration::ZERO,
        }
    }

    /// Takes the room that the record needs, before the command starts: a disk that is full by the end
    /// must not keep the end from being told.
    pub(super) fn make_room(home: &Path) -> io::Result<()> {
        File::create(home.join(FRESH))?.write_all_at(&[b' '; ROOM], 0)
    }

    /// Written whole or not at all, into the room that was made for it.
    pub(super) fn save(&self, home: &Path) -> io::Result<()> {
        let record = Record {
            version: VERSION,
            exit: self.clone(),
        };
        let (fresh, json) = (home.join(FRESH), serde_json::to_vec(&record)?);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&fresh)?;
        file.write_all_at(&json, 0)?;
        file.set_len(json.len() as u64)?;
        fs::rename(&fresh, home.join(FILE))
    }

    /// Whether there is a record in a run's directory: by then its command has ended.
    pub fn is_in(home: &Path) -> bool {
        home.join(FILE).exists()
    }

    /// The record in a run's directory; `None` where none was written, or none that can be read here.
    pub fn load(home: &Path) -> Option<Self> {
        let record: Record = read_json(&home.join(FILE)).ok()??;
        (record.version == VERSION).then_some(record.exit)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn the_record_takes_the_room_that_was_made_for_it() {
        let dir = tempfile::tempdir().unwrap();
        Exit::make_room(dir.path()).unwrap();
        let room = fs::metadata(dir.path().join(FRESH)).unwrap();
        assert_eq!(room.len(), ROOM as u64);
        assert_eq!(Exit::load(dir.path()), None);
        let exit = Exit {
            outcome: Outcome::Code(3),
            ..Exit::not_started(CommandError::default())
        };
        exit.save(dir.path()).unwrap();
        assert_eq!(Exit::load(dir.path()), Some(exit));
        let record = fs::metadata(dir.path().join(FILE)).unwrap();
        assert_eq!(record.ino(), room.ino());
        assert!(!dir.path().join(FRESH).exists());
    }
}
