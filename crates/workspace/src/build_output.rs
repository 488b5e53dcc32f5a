//! What runs left behind. A file or directory beside the tracked ones that was born while a command ran
//! here is that command's output, and nobody's work; unless somebody wrote to it after.
//!
//! Nothing is looked at when a run starts: its begin and end are noted, and the file system knows
//! when a file was born. A clock that was set in between makes earlier notes void, and what they would
//! have explained counts as work.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

use branchyard_git as git;

/// A line of JSON for each note, so that taking one costs a single write.
pub(super) const FILE: &str = "branchyard.made";
/// Beyond so many bytes the notes are replaced by what they explain.
const MANY: u64 = 64 * 1024;
/// What is settled comes to more, but not to that.
const MAX_SIZE: u64 = 256 << 20;
/// Clocks that are kept right by small steps differ by less.
const STEP: i64 = 2_000_000_000;

/// No clock of a file system stands still for so many of these.
const TICKS: usize = 50;
const TICK: Duration = Duration::from_millis(1);

/// Nanoseconds since 1970.
type Nanos = i64;

/// When commands were at work in a workspace.
#[derive(Debug)]
pub(super) struct BuildOutputNotes {
    /// When each began, and when it ended.
    spells: Vec<(Nanos, Moment)>,
    settled: Settled,
    now: Clock,
}

/// Output that is known by name, with its birth and its last change.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Settled {
    named: BTreeMap<String, (Nanos, Nanos)>,
    /// What lies in a directory of these and did not change after this moment is output like it.
    until: Option<Moment>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Note {
    Began(Moment),
    Ended(Moment),
    Settled(Settled),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Moment {
    at: Nanos,
    #[serde(flatten)]
    clock: Clock,
}

/// What the wall clock said when the machine was started, and which start that was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Clock {
    boot: String,
    started: Nanos,
}

/// Whether commands were ever at work.
pub(super) fn is_noted(admin: &Path) -> bool {
    admin.join(FILE).is_file()
}

/// Notes in `admin` that a command starts.
pub(super) fn note_begin(admin: &Path) -> io::Result<()> {
    let file = open(admin)?;
    let before = stamp(&file)?;
    let at = stamp_after(&file, before)?;
    let clock = Clock::now();
    append(admin, &Note::Began(Moment { at, clock }))
}

/// Notes in `admin` that the command ended at `at`. Returns whether there are many notes by now.
pub(super) fn note_end(admin: &Path, at: jiff::Timestamp) -> io::Result<bool> {
    let at = Nanos::try_from(at.as_nanosecond()).unwrap_or(0);
    let clock = Clock::now();
    append(admin, &Note::Ended(Moment { at, clock }))?;
    stamp_after(&open(admin)?, at)?;
    Ok(fs::metadata(admin.join(FILE))?.len() > MANY)
}

fn append(admin: &Path, note: &Note) -> io::Result<()> {
    let line = line(note)?;
    open(admin)?.write_all(&line)
}

fn line(note: &Note) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(note)?;
    line.push(b'\n');
    Ok(line)
}

fn open(admin: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(admin.join(FILE))
}

/// The time that the file system gives to what changes now.
fn stamp(file: &File) -> io::Result<Nanos> {
    file.set_modified(SystemTime::now())?;
    Ok(changed(&file.metadata()?))
}

/// Waits until the file system gives a later time than `before`, and returns it: what was changed
/// earlier can be told from what will be. File systems stamp by a clock of their own, which stands still
/// for some milliseconds at a time; newer ones give the exact time to what was looked at since its last change, as
/// after the first attempt, and nothing that changes later an earlier one.
fn stamp_after(file: &File, before: Nanos) -> io::Result<Nanos> {
    for attempt in 0..TICKS {
        let now = stamp(file)?;
        if now > before {
            return Ok(now);
        }
        if attempt > 0 {
            thread::sleep(TICK);
        }
    }
    // The clock was set back; `Clock` tells that.
    stamp(file)
}

impl BuildOutputNotes {
    /// What is noted in `admin`. A line that cannot be read explains nothing.
    pub(super) fn load(admin: &Path) -> Self {
        let mut made = Self {
            spells: Vec::new(),
            settled: Settled::default(),
            now: Clock::now(),
        };
        let mut under_way: Option<Moment> = None;
        let notes = git::read_plain(&admin.join(FILE), MAX_SIZE);
        let notes = notes.ok().flatten().unwrap_or_default();
        for line in notes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Note::Began(moment)) => under_way = Some(moment),
                Ok(Note::Ended(end)) => {
                    // Set in between, the clock says nothing about what was born when.
                    let begin = under_way.take();
                    let begin = begin.filter(|begin| begin.clock.agrees(&end.clock));
                    made.spells.extend(begin.map(|begin| (begin.at, end)));
                }
                Ok(Note::Settled(settled)) => made.settled = settled,
                Err(_) => {}
            }
        }
        made
    }

    /// Keeps output by name, in place of the notes that explain it.
    pub(super) fn settle<'a>(
        &self,
        admin: &Path,
        output: impl Iterator<Item = (&'a Path, &'a Metadata)>,
    ) -> io::Result<()> {
        let named = output
            .filter(|(path, meta)| self.explains(path, meta))
            .filter_map(|(path, meta)| {
                Some((path.to_str()?.to_owned(), (born(meta)?, changed(meta))))
            })
            .collect();
        let ends = self.spells.iter().map(|(_, end)| end);
        let last = ends.filter(|end| self.trusts(end)).max_by_key(|end| end.at);
        let until = last.or(self.settled.until.as_ref()).cloned();
        let line = line(&Note::Settled(Settled { named, until }))?;
        let fresh = admin.join(format!("{FILE}.new"));
        fs::write(&fresh, line)?;
        fs::rename(&fresh, admin.join(FILE))
    }

    /// Whether a run left this behind.
    pub(super) fn explains(&self, path: &Path, meta: &Metadata) -> bool {
        let Some(born) = born(meta) else {
            return false;
        };
        let settled = path.to_str().and_then(|path| self.settled.named.get(path));
        if self.is_settled_in(path, changed(meta)) {
            return true;
        }
        if settled.is_none_or(|(known, _)| *known != born) && !self.during(born) {
            return false;
        }
        // A directory changes with what is in it; a file only by somebody's hand.
        let changed = changed(meta);
        meta.is_dir() || settled.is_some_and(|(_, known)| *known == changed) || self.during(changed)
    }

    /// As [`BuildOutputNotes::explains`], and nothing went into or out of a directory after the runs either.
    pub(super) fn explains_unchanged(&self, path: &Path, meta: &Metadata) -> bool {
        let changed = changed(meta);
        let is_as_settled = || {
            let settled = path.to_str().and_then(|path| self.settled.named.get(path));
            settled.is_some_and(|(_, known)| *known == changed)
        };
        self.explains(path, meta)
            && (!meta.is_dir()
                || self.during(changed)
                || self.is_settled_in(path, changed)
                || is_as_settled())
    }

    /// Whether it was in a directory when that was settled as output, whole.
    fn is_settled_in(&self, path: &Path, changed: Nanos) -> bool {
        let Settled { named, until } = &self.settled;
        let mut dirs = path.ancestors().skip(1).filter_map(Path::to_str);
        let is_before = |until: &Moment| changed <= until.at && self.trusts(until);
        until.as_ref().is_some_and(is_before) && dirs.any(|dir| named.contains_key(dir))
    }

    fn during(&self, time: Nanos) -> bool {
        let mut spells = self.spells.iter();
        spells.any(|(begin, end)| (*begin..=end.at).contains(&time) && self.trusts(end))
    }

    fn trusts(&self, Moment { at, clock }: &Moment) -> bool {
        // Of an earlier start of the machine: the clock must have gone on since.
        clock.agrees(&self.now) || (clock.boot != self.now.boot && *at < self.now.started)
    }
}

impl Clock {
    fn now() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let started =
            nanos(clock_gettime(ClockId::Realtime)) - nanos(clock_gettime(ClockId::Boottime));
        Self {
            boot: boot.trim().to_owned(),
            started,
        }
    }

    fn agrees(&self, other: &Self) -> bool {
        self.boot == other.boot && (self.started - other.started).abs() <= STEP
    }
}

fn nanos(time: Timespec) -> Nanos {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// `None` where the file system does not know.
fn born(meta: &Metadata) -> Option<Nanos> {
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
    Nanos::try_from(since(meta.created().ok()?)?.as_nanos()).ok()
}

fn changed(meta: &Metadata) -> Nanos {
    meta.ctime() * 1_000_000_000 + meta.ctime_nsec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(dir: &Path, name: &str) -> Metadata {
        fs::symlink_metadata(dir.join(name)).unwrap()
    }

    #[test]
    fn what_was_born_during_a_run_is_its_output_until_somebody_writes_to_it() {
        let (dir, admin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let dir = dir.path();
        fs::write(dir.join("mine"), "before").unwrap();
        fs::create_dir(dir.join("my-dir")).unwrap();
        note_begin(admin.path()).unwrap();
        fs::write(dir.join("out"), "made").unwrap();
        fs::write(dir.join("edited"), "made").unwrap();
        fs::create_dir(dir.join("out-dir")).unwrap();
        fs::write(dir.join("out-dir/made"), "made").unwrap();
        fs::write(dir.join("mine"), "changed by the run").unwrap();
        fs::write(dir.join("my-dir/log"), "made").unwrap();
        note_end(admin.path(), jiff::Timestamp::now()).unwrap();
        fs::write(dir.join("later"), "mine").unwrap();
        fs::write(dir.join("edited"), "by hand").unwrap();
        fs::write(dir.join("out-dir/more"), "x").unwrap();
        let output = |made: &BuildOutputNotes| {
            let all = ["mine", "my-dir", "out", "edited", "out-dir", "later"];
            let inside = ["out-dir/made", "out-dir/more", "my-dir/log"];
            all.into_iter()
                .chain(inside)
                .filter(|name| made.explains(Path::new(name), &meta(dir, name)))
                .collect::<Vec<_>>()
        };
        let made = BuildOutputNotes::load(admin.path());
        let expected = ["out", "out-dir", "out-dir/made", "my-dir/log"];
        assert_eq!(output(&made), expected);

        let all: Vec<_> = ["mine", "out", "edited", "out-dir", "my-dir/log", "later"]
            .map(|name| (Path::new(name), meta(dir, name)))
            .into();
        made.settle(admin.path(), all.iter().map(|(path, meta)| (*path, meta)))
            .unwrap();
        let made = BuildOutputNotes::load(admin.path());
        assert_eq!(output(&made), expected);
        let now = open(admin.path()).unwrap();
        stamp_after(&now, stamp(&now).unwrap()).unwrap();
        fs::write(dir.join("out"), "by hand").unwrap();
        assert_eq!(output(&made), &expected[1..]);
    }

    #[test]
    fn a_clock_that_was_set_makes_earlier_notes_void() {
        let clock = |boot: &str, started| Clock {
            boot: boot.to_owned(),
            started: started * STEP,
        };
        let made = BuildOutputNotes {
            spells: Vec::new(),
            settled: Settled::default(),
            now: clock("b", 100),
        };
        let trusts = |boot, started, to: Nanos| {
            made.trusts(&Moment {
                at: to * STEP,
                clock: clock(boot, started),
            })
        };
        assert!(trusts("b", 100, 200));
        assert!(trusts("b", 101, 200));
        assert!(!trusts("b", 90, 200));
        assert!(!trusts("b", 110, 200));
        assert!(trusts("a", 7, 99));
        assert!(!trusts("a", 7, 101));
    }
}
