use std::time::{SystemTime, UNIX_EPOCH};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const LIMIT: u64 = 4000;
const TAIL: usize = 1000;

/// A journal as a viewer would find it: output in order, with the places of gaps and warnings.
#[derive(Debug, Default, PartialEq)]
struct Found {
    output: Vec<u8>,
    frames: Vec<(Stream, u64, usize)>,
    gaps: Vec<(usize, u64)>,
    warnings: usize,
}

fn read(dir: &Path) -> Found {
    let path = dir.join("journal");
    let len = valid_length(&path).unwrap();
    assert_eq!(len, fs::metadata(&path).unwrap().len(), "no torn tail");
    let mut reader = Reader::open(&path).unwrap();
    let mut found = Found::default();
    while let Some((frame, _)) = reader.next(len).unwrap() {
        match frame.kind {
            FrameKind::Output(stream) => {
                found.output.extend_from_slice(frame.payload);
                found
                    .frames
                    .push((stream, frame.micros, frame.payload.len()));
            }
            FrameKind::Event => match serde_json::from_slice(frame.payload).unwrap() {
                Event::Gap(gap) => found.gaps.push((found.output.len(), gap.bytes)),
                Event::Warning(warning) => {
                    assert_eq!(warning.code, "output_limit");
                    found.warnings += 1;
                }
                other => panic!("{other:?}"),
            },
        }
    }
    found
}

fn recorder(dir: &TempDir, limit: u64) -> Recorder {
    let (writer, _) = Writer::create(&dir.path().join("journal")).unwrap();
    Recorder::new(writer, dir.path(), limit)
}

fn files(dir: &TempDir) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("tail"))
        .collect();
    names.sort();
    names
}

/// Bytes that tell their place.
fn output(len: usize) -> Vec<u8> {
    (0u8..251).flat_map(|n| [n; 7]).cycle().take(len).collect()
}

/// The output less what the gaps say is missing.
fn assert_exact(found: &Found, all: &[u8]) {
    let mut at = 0;
    let mut expected = Vec::new();
    let (mut kept, mut gaps) = (0, found.gaps.clone());
    gaps.push((found.output.len(), 0));
    for (place, missing) in gaps {
        expected.extend_from_slice(&all[at..at + place - kept]);
        at += place - kept + usize::try_from(missing).unwrap();
        kept = place;
    }
    assert_eq!(at, all.len(), "kept and missing make all of it");
    assert!(found.output == expected, "the right bytes are missing");
}

#[test]
fn below_the_limit_nothing_is_different() {
    let dir = tempfile::tempdir().unwrap();
    let mut recorder = recorder(&dir, LIMIT);
    let all = output(3000);
    recorder.output(Stream::Stdout, &all).unwrap();
    assert_eq!(files(&dir), Vec::<String>::new());
    recorder.finish().unwrap();
    let found = read(dir.path());
    assert_eq!((found.gaps.len(), found.warnings), (0, 0));
    assert!(found.output == all);
}

#[test]
fn between_head_and_rotation_nothing_is_lost_and_nobody_speaks_of_a_gap() {
    for len in [3001, 4000, 4001, 5000] {
        let dir = tempfile::tempdir().unwrap();
        let mut recorder = recorder(&dir, LIMIT);
        let all = output(len);
        for part in all.chunks(300) {
            recorder.output(Stream::Stderr, part).unwrap();
        }
        recorder.finish().unwrap();
        let found = read(dir.path());
        assert_eq!((found.gaps.len(), found.warnings), (0, 1), "{len}");
        assert!(found.output == all, "{len}");
        assert_eq!(files(&dir), Vec::<String>::new());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn head_gap_and_tail_make_the_whole(parts in proptest::collection::vec((any::<bool>(), 0usize..2500), 0..30)) {
        let dir = tempfile::tempdir().unwrap();
        let mut recorder = recorder(&dir, LIMIT);
        let all = output(parts.iter().map(|part| part.1).sum());
        let mut at = 0;
        for (to_out, len) in parts {
            let stream = if to_out { Stream::Stdout } else { Stream::Stderr };
            recorder.output(stream, &all[at..at + len]).unwrap();
            at += len;
        }
        recorder.finish().unwrap();
        let found = read(dir.path());
        assert_exact(&found, &all);
        prop_assert!(found.output.len() <= 3000 + 2 * TAIL);
        let after_gap = found.gaps.first().map_or(found.output.len(), |gap| found.output.len() - gap.0);
        prop_assert!(after_gap >= TAIL.min(all.len()), "{}", after_gap);
        prop_assert_eq!(recorder.left_out(), found.gaps.iter().map(|gap| gap.1).sum::<u64>());
        prop_assert!(found.frames.is_sorted_by_key(|frame| frame.1), "times are those of the output");
        prop_assert_eq!(files(&dir), Vec::<String>::new());
    }
}

/// A recorder that went when it had written `len` bytes; no `finish`.
fn crashed(len: usize) -> (TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let mut recorder = recorder(&dir, LIMIT);
    let all = output(len);
    for part in all.chunks(100) {
        recorder.output(Stream::Stdout, part).unwrap();
    }
    (dir, all)
}

fn micros(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_micros()).unwrap()
}

fn recover(dir: &TempDir) -> io::Result<u64> {
    let (mut writer, _) = Writer::reopen(&dir.path().join("journal"))?;
    recover_tail(dir.path(), &mut writer)
}

#[test]
fn another_process_brings_in_the_tail_of_one_that_went() {
    for (len, missing) in [(100, 0), (3500, 0), (4500, 0), (5500, 1000), (9900, 5000)] {
        let (dir, all) = crashed(len);
        let crashed_at = micros(SystemTime::now());
        assert_eq!(recover(&dir).unwrap(), missing);
        let found = read(dir.path());
        assert_exact(&found, &all);
        assert!(
            found.frames.iter().all(|frame| frame.1 <= crashed_at),
            "each has the time at which it was printed"
        );
        assert_eq!(found.gaps.iter().map(|g| g.1).sum::<u64>(), missing);
        recover(&dir).unwrap();
        assert_eq!(read(dir.path()), found, "once is enough");
        assert_eq!(files(&dir), Vec::<String>::new());
    }
}

#[test]
fn a_crash_between_dropping_one_segment_and_beginning_the_next_is_counted() {
    let (dir, all) = crashed(6000);
    // Segments 1 and 2 are there; 1 goes, and 3 is not begun or has no label yet.
    for torn in [
        &b""[..],
        b"BYJOURN",
        &[0; 100],
        b"BYJOURN\x01saltsalt\x20\0\0\0\x03",
    ] {
        fs::remove_file(dir.path().join("tail.1")).ok();
        if !torn.is_empty() {
            fs::write(dir.path().join("tail.1"), torn).unwrap();
        }
        let copy = tempfile::tempdir().unwrap();
        for name in ["journal", "tail.0", "tail.1"] {
            let _ = fs::copy(dir.path().join(name), copy.path().join(name));
        }
        recover(&copy).unwrap();
        let found = read(copy.path());
        assert_eq!(found.gaps, [(3000, 2000)]);
        assert_exact(&found, &all);
    }
}

#[test]
fn a_torn_segment_ends_at_its_last_whole_frame() {
    let (dir, all) = crashed(5500);
    let newest = dir.path().join("tail.0");
    let len = fs::metadata(&newest).unwrap().len();
    let file = fs::OpenOptions::new().write(true).open(newest).unwrap();
    file.set_len(len - 1).unwrap();
    recover(&dir).unwrap();
    assert_exact(&read(dir.path()), &all[..5400]);

    // Of one that was whole when the next was begun, it is known how much it held.
    let (dir, all) = crashed(5500);
    let older = dir.path().join("tail.1");
    let len = fs::metadata(&older).unwrap().len();
    let file = fs::OpenOptions::new().write(true).open(older).unwrap();
    file.set_len(len - 1).unwrap();
    recover(&dir).unwrap();
    let found = read(dir.path());
    assert_eq!(found.gaps, [(3000, 1000), (3900, 100)]);
    assert_exact(&found, &all);
}

#[test]
fn copying_that_was_cut_off_anywhere_is_taken_up_and_repeats_nothing() {
    let (dir, _) = crashed(5500);
    let before = fs::metadata(dir.path().join("journal")).unwrap().len();
    let segments = ["tail.0", "tail.1"].map(|name| fs::read(dir.path().join(name)).unwrap());
    recover(&dir).unwrap();
    let whole = fs::read(dir.path().join("journal")).unwrap();
    let from = usize::try_from(before).unwrap();
    for cut in (from..whole.len()).step_by(37) {
        fs::write(dir.path().join("journal"), &whole[..cut]).unwrap();
        for (name, bytes) in ["tail.0", "tail.1"].iter().zip(&segments) {
            fs::write(dir.path().join(name), bytes).unwrap();
        }
        let replay = serde_json::to_vec(&Replay { from: before }).unwrap();
        fs::write(dir.path().join("tail.replay"), replay).unwrap();
        recover(&dir).unwrap();
        assert!(
            fs::read(dir.path().join("journal")).unwrap() == whole,
            "{cut}"
        );
    }
    // And when all is copied but not all removed, what is left is only removed.
    fs::write(dir.path().join("tail.1"), &segments[1]).unwrap();
    fs::write(dir.path().join("tail.done"), "").unwrap();
    recover(&dir).unwrap();
    assert!(fs::read(dir.path().join("journal")).unwrap() == whole);
    assert_eq!(files(&dir), Vec::<String>::new());
}

#[test]
fn a_huge_line_and_endless_blank_ones_leave_little_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut recorder = recorder(&dir, 1 << 20);
    let piece = vec![b'x'; 64 * 1024];
    for _ in 0..512 {
        recorder.output(Stream::Stdout, &piece).unwrap();
    }
    let blank = vec![b'\n'; 1000];
    for _ in 0..1000 {
        recorder.output(Stream::Stdout, &blank).unwrap();
    }
    let aside: u64 = ["tail.0", "tail.1"]
        .map(|name| fs::metadata(dir.path().join(name)).unwrap().len())
        .iter()
        .sum();
    assert!(aside < (1 << 19) + (1 << 15), "{aside}");
    recorder.finish().unwrap();
    let found = read(dir.path());
    assert_eq!(
        found.output.len() as u64 + found.gaps[0].1,
        33_554_432 + 1_000_000
    );
    assert!(found.output.ends_with(&vec![b'\n'; 1 << 18]));
}

#[test]
fn what_was_lost_is_told_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let mut recorder = recorder(&dir, LIMIT);
    let all = output(5 * 1000);
    let pieces: Vec<_> = all.chunks(500).collect();
    for (n, piece) in pieces.iter().enumerate() {
        // Two in the head, one in the tail, and the last.
        match n {
            1 | 2 | 7 | 9 => recorder.lose(piece),
            _ => recorder.output(Stream::Stdout, piece).unwrap(),
        }
    }
    assert_eq!(recorder.lost(), 500);
    recorder.finish().unwrap();
    assert_eq!(recorder.lost(), 0);
    let found = read(dir.path());
    assert_eq!(found.gaps, [(500, 1000), (2500, 500), (3000, 500)]);
    assert_exact(&found, &all);
}

#[test]
fn a_segment_that_went_takes_with_it_what_it_said_was_lost() {
    let dir = tempfile::tempdir().unwrap();
    let mut recorder = recorder(&dir, LIMIT);
    let all = output(12 * 1000);
    for (n, piece) in all.chunks(500).enumerate() {
        match n {
            // Beyond the head, in a segment that is dropped, and in the last but one.
            8 | 19 => recorder.lose(piece),
            _ => recorder.output(Stream::Stdout, piece).unwrap(),
        }
    }
    recorder.finish().unwrap();
    let found = read(dir.path());
    assert_exact(&found, &all);
    assert!(found.output.ends_with(&all[all.len() - TAIL..]));
}

#[test]
fn a_tail_that_is_given_up_is_counted() {
    for copied in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut recorder = recorder(&dir, LIMIT);
        let all = output(9000);
        for piece in all.chunks(300) {
            recorder.output(Stream::Stdout, piece).unwrap();
        }
        drop(recorder);
        let journal = dir.path().join("journal");
        let (mut writer, _) = Writer::reopen(&journal).unwrap();
        if copied {
            // Cut off in the middle of it.
            let from = writer.len();
            let json = serde_json::to_vec(&Replay { from }).unwrap();
            fs::write(dir.path().join("tail.replay"), json).unwrap();
            let mut to = Copying {
                writer: &mut writer,
                at: from,
            };
            copy(found(dir.path()).unwrap(), &mut to).unwrap();
            let cut = writer.len() - 150;
            drop(writer);
            let file = fs::File::options().write(true).open(&journal).unwrap();
            file.set_len(cut).unwrap();
            writer = Writer::reopen(&journal).unwrap().0;
        }
        let bytes = give_up_tail(dir.path(), &journal).unwrap();
        writer.event(&Event::Gap(Gap { bytes })).unwrap();
        assert_exact(&read(dir.path()), &all);
        assert_eq!(files(&dir), Vec::<String>::new());
        assert_eq!(give_up_tail(dir.path(), &journal).unwrap(), 0);
    }
}
