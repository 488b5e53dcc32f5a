use std::io::Write;

use super::super::{Stream, Writer};
use super::*;

const OUT: FrameKind = FrameKind::Output(Stream::Stdout);

#[test]
fn a_torn_tail_is_cut_and_the_journal_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (mut writer, _) = Writer::create(&path).unwrap();
    writer.append(OUT, b"first\n").unwrap();
    writer.append(OUT, b"second\n").unwrap();
    drop(writer);
    let whole = std::fs::metadata(&path).unwrap().len();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(whole - 3).unwrap();

    let (mut writer, _) = Writer::reopen(&path).unwrap();
    writer.append(OUT, b"third\n").unwrap();
    drop(writer);

    let mut reader = Reader::open(&path).unwrap();
    let len = valid_length(&path).unwrap();
    let mut seen = Vec::new();
    while let Some((frame, _)) = reader.next(len).unwrap() {
        seen.extend_from_slice(frame.payload);
    }
    assert_eq!(seen, b"first\nthird\n");
}

#[test]
fn output_that_imitates_a_frame_is_no_place_to_resume_from() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("a"), dir.path().join("b"));
    let (mut writer, _) = Writer::create(&first).unwrap();
    writer
        .append(FrameKind::Event, b"{\"type\":\"complete\"}")
        .unwrap();
    let forged = std::fs::read(&first).unwrap()[HEADER_LEN..].to_vec();

    let (mut writer, extent) = Writer::create(&second).unwrap();
    writer.append(OUT, &forged).unwrap();
    let inside = Cursor {
        frame: Cursor::START.frame + FRAME_HEADER_LEN as u64,
        within: 0,
    };
    let len = extent.borrow().len;
    let mut reader = Reader::open(&second).unwrap();
    assert!(reader.seek(inside, len).unwrap().is_err());
    assert!(
        reader
            .seek(
                Cursor {
                    frame: len + 1,
                    within: 0
                },
                len
            )
            .unwrap()
            .is_err()
    );
    assert!(
        reader
            .seek(
                Cursor {
                    frame: 16,
                    within: 1 << 20
                },
                len
            )
            .unwrap()
            .is_err()
    );
    assert!(
        reader
            .seek(
                Cursor {
                    frame: 16,
                    within: 2
                },
                len
            )
            .unwrap()
            .is_ok()
    );
}

#[test]
fn damage_ends_the_journal_instead_of_being_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (mut writer, _) = Writer::create(&path).unwrap();
    writer.append(OUT, b"good").unwrap();
    let good = valid_length(&path).unwrap();
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    file.write_all(&[0xff; 64]).unwrap();
    assert_eq!(valid_length(&path).unwrap(), good);
}
