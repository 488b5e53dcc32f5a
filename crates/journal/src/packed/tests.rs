use super::super::{Cursor, FrameKind, Reader, Stream, Writer, valid_length};
use super::*;

const OUT: FrameKind = FrameKind::Output(Stream::Stdout);

fn journal(dir: &Path, frames: usize) -> PathBuf {
    let path = dir.join("journal");
    let (mut writer, _) = Writer::create(&path).unwrap();
    for n in 0..frames {
        let line = format!("cc -c file{n}.c -o file{n}.o\n").repeat(n % 40 + 1);
        writer.append(OUT, line.as_bytes()).unwrap();
    }
    path
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("journal"))
        .collect();
    names.sort();
    names
}

/// Every frame's place and output.
fn frames(reader: &mut Reader, len: u64) -> Vec<(u64, Vec<u8>)> {
    let mut frames = Vec::new();
    while let Some((frame, skip)) = reader.next(len).unwrap() {
        frames.push((frame.start, frame.payload[skip..].to_vec()));
    }
    frames
}

#[test]
fn packed_and_plain_read_alike_from_every_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = journal(dir.path(), 2000);
    let len = length(&path).unwrap();
    assert!(len > 1 << 20);
    let mut before = Reader::open(&path).unwrap();
    let all = frames(&mut Reader::open(&path).unwrap(), len);
    pack(&path).unwrap();
    assert_eq!(names(dir.path()), ["journal.zst"]);
    let small = fs::metadata(dir.path().join("journal.zst")).unwrap().len();
    assert!(small < len / 4, "{small} of {len}");

    assert_eq!(length(&path).unwrap(), len);
    assert_eq!(valid_length(&path).unwrap(), len);
    assert!(frames(&mut Reader::open(&path).unwrap(), len) == all);
    assert!(
        frames(&mut before, len) == all,
        "a viewer goes on with the plain file"
    );
    for (n, (frame, bytes)) in all.iter().enumerate().step_by(97) {
        let cursor = Cursor {
            frame: *frame,
            within: 5,
        };
        let mut reader = Reader::open(&path).unwrap();
        reader.seek(cursor, len).unwrap().unwrap();
        let rest = frames(&mut reader, len);
        assert_eq!(rest[0].1, bytes[5..]);
        assert!(rest[1..] == all[n + 1..]);
    }
}

#[test]
fn packing_cut_off_anywhere_is_done_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = journal(dir.path(), 400);
    let plain = fs::read(&path).unwrap();
    let len = plain.len() as u64;
    let all = frames(&mut Reader::open(&path).unwrap(), len);
    // While it was written, and between the rename and the removal.
    fs::write(dir.path().join("journal.zst.new"), "half").unwrap();
    fs::write(dir.path().join("journal.zst"), "not what counts").unwrap();
    assert!(frames(&mut Reader::open(&path).unwrap(), len) == all);
    for _ in 0..2 {
        pack(&path).unwrap();
        assert_eq!(names(dir.path()), ["journal.zst"]);
        assert!(frames(&mut Reader::open(&path).unwrap(), len) == all);
    }
    fs::write(dir.path().join("journal.zst.new"), "half").unwrap();
    pack(&path).unwrap();
    assert_eq!(names(dir.path()), ["journal.zst"]);
}

#[test]
fn a_small_journal_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = journal(dir.path(), 5);
    pack(&path).unwrap();
    assert_eq!(names(dir.path()), ["journal"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(pack(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_damaged_packed_journal_is_an_error_and_no_output() {
    let dir = tempfile::tempdir().unwrap();
    let path = journal(dir.path(), 400);
    pack(&path).unwrap();
    let packed = dir.path().join("journal.zst");
    let good = fs::read(&packed).unwrap();
    for at in [100, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0xff;
        fs::write(&packed, &bad[..]).unwrap();
        let read = valid_length(&path);
        assert!(
            read.as_ref()
                .map_or(true, |end| *end < length(&path).unwrap()),
            "{at}: {read:?}"
        );
    }
    for cut in [0, 10, good.len() - 1] {
        fs::write(&packed, &good[..cut]).unwrap();
        assert!(length(&path).is_err(), "{cut}");
    }
}
