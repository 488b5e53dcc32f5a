//! What a run complained about so far, while it goes on.

use std::fmt;
use std::io;
use std::path::Path;

use super::Output;
use super::diagnostics::{Collector, Diagnostics, Directories};
use super::each_line::LineReader;

/// Reads a journal that still grows: each look goes on where the one before ended.
pub struct RunningDiagnostics {
    output: Output,
    lines: LineReader,
    collector: Collector,
}

impl RunningDiagnostics {
    /// Of a run whose paths are told relative to `directories`.
    pub fn open(journal: &Path, directories: Directories) -> io::Result<Self> {
        Ok(Self {
            output: Output::open(journal, 0)?,
            lines: LineReader::default(),
            collector: Collector::new(directories),
        })
    }

    /// What the lines up to `end` complain about. A line that has no ending yet may still become another one.
    pub fn up_to(&mut self, end: u64) -> io::Result<Diagnostics> {
        let collector = &mut self.collector;
        self.output.grow(end);
        self.lines.read(&mut self.output, |number, line| {
            collector.line(number, line);
        })?;
        self.output.release();
        // What spans several lines is not taken to be at its end: reading goes on in the middle of it.
        Ok(Diagnostics {
            so_far: true,
            ..self.collector.clone().finish(false)
        })
    }
}

impl fmt::Debug for RunningDiagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningDiagnostics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FrameKind, Stream, Writer};
    use super::*;

    const LOG: &str = "\
cc -c a.c
a.c:3:5: error: 'x' undeclared
Traceback (most recent call last):
  File \"a.py\", line 1, in <module>
    f()
ValueError: no
error[E0308]: mismatched types
 --> src/lib.rs:4:5
b.c:1:1: warning: unused
make: *** [Makefile:2: all] Error 1
";

    #[test]
    fn it_finds_what_a_whole_look_at_the_same_lines_finds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut writer, extent) = Writer::create(&path).unwrap();
        let mut running = RunningDiagnostics::open(&path, Directories::default()).unwrap();
        for (at, byte) in LOG.bytes().enumerate() {
            let kind = FrameKind::Output(Stream::Stdout);
            writer.append(kind, &[byte]).unwrap();
            let so_far = running.up_to(extent.borrow().len).unwrap();
            let ended = LOG[..=at].rfind('\n').map_or(0, |newline| newline + 1);
            let mut whole = Collector::default();
            for (number, line) in (1..).zip(LOG[..ended].lines()) {
                whole.line(number, line.as_bytes());
            }
            let expected = Diagnostics {
                so_far: true,
                ..whole.finish(false)
            };
            assert_eq!(so_far, expected, "{:?}", &LOG[..=at]);
        }
        let found = running.up_to(extent.borrow().len).unwrap().summary;
        assert_eq!((found.errors, found.warnings), (3, 1));
    }
}
