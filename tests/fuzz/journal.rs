//! Journals: any file may lie where one should, and any part of one may be damaged. What is read is
//! what was written, or nothing: never other bytes, and never a panic.

mod damage;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use branchyard_journal::{
    Cursor, FrameKind, Frontier, Output, Reader, Writer, last_event, length, pack, recover_tail,
    valid_length,
};
use tempfile::TempDir;

use self::damage::Damage;
use crate::dice::Dice;
use crate::fuzzer::{LONG, SHORT, Target, time};
use crate::script::{self, Script, Step};

const TARGET: Target = Target {
    name: "journal",
    words: &[
        "BYJOURN\x01",
        "BYINDEX\x01",
        "(\u{b5}/\u{fd}",
        "^*M\x18",
        "\x01\0\0\0\x01",
        "\0\0\0\0\x03",
    ],
    make,
};

#[test]
fn fuzz_journal() {
    run(time(SHORT));
}

#[test]
#[ignore = "ten minutes: make soak"]
fn soak_fuzz_journal() {
    run(time(LONG));
}

fn run(time: std::time::Duration) {
    let dir = TempDir::new().unwrap();
    TARGET.run(time, |input| check(dir.path(), input));
}

/// Which file is made up, or damaged.
const KINDS: u8 = 5;
const MADE_UP: u8 = 0;
const PLAIN: u8 = 1;
const INDEX: u8 = 2;
const PACKED: u8 = 3;
const TAIL: u8 = 4;

fn make(dice: &mut Dice) -> Vec<u8> {
    // The packed ones take a hundred times as long as the others.
    let kind = match dice.below(16) {
        0 => PACKED,
        1 => MADE_UP,
        2..4 => INDEX,
        4 => TAIL,
        _ => PLAIN,
    };
    let mut input = vec![
        kind,
        dice.byte(),
        dice.byte(),
        dice.byte() & 3,
        dice.byte(),
        dice.byte() % 4,
    ];
    for _ in 0..input[5] {
        input.extend([dice.byte(), dice.byte() & 15, dice.byte(), dice.byte()]);
    }
    input.extend(script::make(dice));
    input
}

/// A frame that was written.
struct Written {
    start: u64,
    kind: FrameKind,
    payload: Vec<u8>,
}

fn check(dir: &Path, input: &[u8]) -> (u8, Option<io::ErrorKind>, usize, bool, bool) {
    let mut script = Script(input);
    let kind = script.byte() % KINDS;
    let place = (script.number() as u64) << 8 | u64::from(script.byte());
    let within = u32::from(script.byte());
    let path = dir.join("journal");
    clear(dir);
    let written = match kind {
        MADE_UP => {
            fs::write(&path, script.0).unwrap();
            Vec::new()
        }
        _ => {
            let damage = Damage::read(&mut script);
            let written = write(&path, &script.steps(), kind == PACKED);
            damage.happen(&file_of(kind, &path));
            written
        }
    };
    let unharmed = kind == INDEX || kind == TAIL;
    let read = read(&path, &written);
    if unharmed {
        assert_eq!(read.as_ref().ok(), Some(&written.len()));
        output(&path, &written, place);
    } else if let Ok(len) = length(&path) {
        // Whatever it says, it comes to an end.
        let _ = Output::open(&path, len).and_then(|mut output| output.totals());
        let _ = Output::open(&path, len).and_then(|mut output| output.seek_line(place));
        let _ = Output::open(&path, len).and_then(|mut output| output.seek_byte(place));
    }
    let sought = seek(
        &path,
        &written,
        Cursor {
            frame: place,
            within,
        },
    );
    let _ = last_event(&path);
    let went_on = path.exists() && goes_on(dir, &path, read.as_ref().ok().copied(), kind == TAIL);
    let error = read.as_ref().err().map(io::Error::kind);
    (kind, error, read.unwrap_or(0).min(8), sought, went_on)
}

fn clear(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
}

fn file_of(kind: u8, journal: &Path) -> PathBuf {
    match kind {
        INDEX => journal.with_file_name("index"),
        PACKED => journal.with_file_name("journal.zst"),
        TAIL => journal.with_file_name("tail.0"),
        _ => journal.to_owned(),
    }
}

/// Writes the frames of a script, at least as many bytes as are worth packing if it is to be.
fn write(path: &Path, steps: &[Step], packed: bool) -> Vec<Written> {
    let (mut writer, extent) = Writer::create(path).unwrap();
    let mut written = Vec::new();
    let mut append = |kind: FrameKind, payload: &[u8]| {
        let start = extent.borrow().len;
        writer.append(kind, payload).unwrap();
        let payload = payload.to_vec();
        written.push(Written {
            start,
            kind,
            payload,
        });
    };
    for step in steps {
        if let Step::Frame(kind, payload) = step {
            append(*kind, payload);
        }
    }
    if packed {
        append(
            FrameKind::Output(branchyard_journal::Stream::Stdout),
            &[b'x'; 17 * 1024],
        );
        pack(path).unwrap();
    }
    written
}

/// Reads to the first place that is damaged: how many frames. Each of them is one that was written, and
/// the next is the one that followed on it.
fn read(path: &Path, written: &[Written]) -> io::Result<usize> {
    let len = length(path)?;
    let mut reader = Reader::open(path)?;
    let mut count = 0;
    while let Some((frame, skip)) = reader.next(len)? {
        let same = written.get(count).is_some_and(|written| {
            (written.start, written.kind, &written.payload[..])
                == (frame.start, frame.kind, frame.payload)
        });
        assert!(
            same && skip == 0,
            "frame {count} at {} was never written",
            frame.start
        );
        count += 1;
    }
    let readable = reader.position();
    assert!(readable <= len);
    assert_eq!(valid_length(path)?, readable);
    if path.exists() {
        assert!(Frontier::open(path, 0)?.advance()? >= readable);
    }
    Ok(count)
}

/// A cursor is refused, or leads to exactly what was written there.
fn seek(path: &Path, written: &[Written], cursor: Cursor) -> bool {
    let (Ok(mut reader), Ok(len)) = (Reader::open(path), length(path)) else {
        return false;
    };
    // Those that were given out are tried as well as any other.
    let cursor = match written.get(usize::try_from(cursor.frame).unwrap() % (written.len() + 4)) {
        Some(frame) => Cursor {
            frame: frame.start,
            ..cursor
        },
        None => cursor,
    };
    let Ok(Ok(())) = reader.seek(cursor, len) else {
        return false;
    };
    let Ok(Some((frame, skip))) = reader.next(len) else {
        assert_eq!((cursor.frame, cursor.within), (len, 0));
        return true;
    };
    assert_eq!((frame.start, skip), (cursor.frame, cursor.within as usize));
    let there = written.iter().find(|written| written.start == frame.start);
    assert_eq!(
        there.map(|written| &written.payload[..]),
        Some(frame.payload)
    );
    true
}

/// The index only saves time: with any index, output is found where it is.
fn output(path: &Path, written: &[Written], place: u64) {
    let mut all = Vec::new();
    for frame in written
        .iter()
        .filter(|frame| frame.kind != FrameKind::Event)
    {
        all.extend_from_slice(&frame.payload);
    }
    let open = || Output::open(path, length(path).unwrap()).unwrap();
    let rest = |output: &mut Output| {
        let mut rest = Vec::new();
        while let Some(bytes) = output.more().unwrap() {
            rest.extend_from_slice(bytes);
        }
        rest
    };
    let lines = all.split_inclusive(|byte| *byte == b'\n').count();
    let totals = open().totals().unwrap();
    assert_eq!(
        (totals.bytes, totals.lines),
        (all.len() as u64, lines as u64)
    );

    let byte = usize::try_from(place).unwrap() % (all.len() + 2);
    let mut output = open();
    output.seek_byte(byte as u64).unwrap();
    assert!(
        rest(&mut output) == all[byte.min(all.len())..],
        "from byte {byte}"
    );

    let line = usize::try_from(place).unwrap() % (lines + 2);
    let before = all
        .split_inclusive(|byte| *byte == b'\n')
        .take(line.saturating_sub(1));
    let first: usize = before.map(<[u8]>::len).sum();
    let mut output = open();
    assert_eq!(output.seek_line(line as u64).unwrap(), first as u64);
    assert!(rest(&mut output) == all[first..], "from line {line}");
}

/// The next writer keeps what can be read, and its own words follow on that.
fn goes_on(dir: &Path, path: &Path, readable: Option<usize>, with_tail: bool) -> bool {
    let Ok((mut writer, _)) = Writer::reopen(path) else {
        assert_eq!(readable, None, "what can be read can be gone on with");
        return false;
    };
    if with_tail && recover_tail(dir, &mut writer).is_err() {
        return false;
    }
    let own = b"what follows";
    writer
        .append(FrameKind::Output(branchyard_journal::Stream::Stderr), own)
        .unwrap();
    let (mut reader, len) = (Reader::open(path).unwrap(), length(path).unwrap());
    let (mut count, mut last) = (0, Vec::new());
    while let Some((frame, _)) = reader.next(len).unwrap() {
        count += 1;
        last = frame.payload.to_vec();
    }
    assert_eq!(last, own);
    assert_eq!(reader.position(), len);
    assert!(count > readable.unwrap_or(0));
    true
}
