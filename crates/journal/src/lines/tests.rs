use proptest::prelude::*;

use super::super::{Reader, Writer};
use super::*;

type Seen = Vec<(Stream, Vec<u8>, Cursor)>;

/// Reads `path` from `cursor`, a few events at a time. `moods` say after which frames the viewer lost
/// patience, and after which it forgot what it held back.
fn view(path: &std::path::Path, cursor: Cursor, len: u64, moods: &[Mood]) -> Seen {
    let mut reader = Reader::open(path).unwrap();
    reader.seek(cursor, len).unwrap().unwrap();
    let (mut splitter, mut seen) = (Splitter::default(), Seen::new());
    let mut take = |item: LineItem<'_>, cursor: Cursor| {
        if let LineItem::Output { stream, bytes, eol } = item {
            assert!(bytes.len() <= MAX_OUTPUT);
            let mut bytes = bytes.to_vec();
            bytes.extend_from_slice(match eol {
                Eol::Lf => b"\n",
                Eol::CrLf => b"\r\n",
                Eol::None => b"",
            });
            seen.push((stream, bytes, cursor));
        }
        match seen.len() % 3 {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let (mut moods, mut forgotten) = (moods.iter().cycle(), 0);
    while let Some((frame, skip)) = reader.next(len).unwrap() {
        let through = splitter.frame(&frame, skip, &mut take);
        if through < frame.payload.len() {
            let place = frame.cursor_at(through);
            reader.go_to(place);
        } else {
            match moods.next().unwrap() {
                Mood::Patient => {}
                Mood::Impatient => drop(splitter.flush(&mut take)),
                Mood::Forgetful if reader.position() > forgotten => {
                    forgotten = reader.position();
                    if let Some(place) = splitter.put_back() {
                        reader.go_to(place);
                    }
                }
                // It comes again with more of it, or else it would be put back for ever.
                Mood::Forgetful => {}
            }
        }
    }
    let _ = splitter.flush_all(&mut take);
    seen
}

#[derive(Debug, Clone, Copy)]
enum Mood {
    Patient,
    Impatient,
    Forgetful,
}

fn moods() -> impl Strategy<Value = Vec<Mood>> {
    let mood = prop_oneof![
        Just(Mood::Patient),
        Just(Mood::Impatient),
        Just(Mood::Forgetful)
    ];
    proptest::collection::vec(mood, 1..7)
}

fn joined(seen: &Seen, stream: Stream) -> Vec<u8> {
    seen.iter()
        .filter(|s| s.0 == stream)
        .flat_map(|s| s.1.clone())
        .collect()
}

fn chunk() -> impl Strategy<Value = (bool, Vec<u8>)> {
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 1..40),
        "[a\n\ré日\u{1f600}]{1,30}".prop_map(String::into_bytes),
        (1usize..MAX_OUTPUT).prop_map(|n| "日".repeat(n / 3 + 1).into_bytes()[..n].to_vec()),
    ];
    (any::<bool>(), bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_viewer_cut_off_anywhere_resumes_exactly(
        chunks in proptest::collection::vec(chunk(), 1..20),
        before in moods(),
        after in moods(),
        cut in any::<prop::sample::Index>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut writer, extent) = Writer::create(&path).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        for (to_out, bytes) in &chunks {
            let (stream, all) = if *to_out { (Stream::Stdout, &mut out) } else { (Stream::Stderr, &mut err) };
            all.extend_from_slice(bytes);
            writer.append(FrameKind::Output(stream), bytes).unwrap();
        }
        let len = extent.borrow().len;
        let mut seen = view(&path, Cursor::START, len, &before);
        prop_assert_eq!(&joined(&seen, Stream::Stdout), &out);
        prop_assert_eq!(&joined(&seen, Stream::Stderr), &err);

        seen.truncate(cut.index(seen.len()) + 1);
        let cursor = seen.last().unwrap().2;
        seen.extend(view(&path, cursor, len, &after));
        prop_assert_eq!(joined(&seen, Stream::Stdout), out);
        prop_assert_eq!(joined(&seen, Stream::Stderr), err);
    }
}

#[test]
fn text_is_not_cut_inside_a_character() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (mut writer, extent) = Writer::create(&path).unwrap();
    let text = "日".repeat(60_000).into_bytes();
    for part in text.chunks(MAX_OUTPUT) {
        writer
            .append(FrameKind::Output(Stream::Stdout), part)
            .unwrap();
    }
    let len = extent.borrow().len;
    let seen = view(&path, Cursor::START, len, &[Mood::Patient]);
    assert!(seen.iter().all(|s| std::str::from_utf8(&s.1).is_ok()));
}
