use super::*;

fn window(raw: &[u8]) -> Window {
    Window {
        start: 100,
        raw: raw.to_vec(),
        cut: false,
        total: Totals {
            bytes: 100 + raw.len() as u64,
            lines: 3,
        },
    }
}

#[test]
fn lines_are_shown_whole_from_either_end() {
    let window = window(b"one\ntwo\nthree\n");
    let shown = |shown: ShownLines| (shown.text, shown.from, shown.to);
    assert_eq!(shown(window.head(11)), ("one\ntwo\n".into(), 100, 108));
    assert_eq!(shown(window.tail(11)), ("three\n".into(), 108, 114));
    assert_eq!(
        shown(window.tail(100)),
        ("one\ntwo\nthree\n".into(), 100, 114)
    );
}

#[test]
fn a_line_that_is_too_long_is_cut_between_characters() {
    let long = window("ééééé".as_bytes());
    let head = long.head(5);
    assert_eq!((&*head.text, head.from, head.to), ("éé", 100, 104));
    let tail = long.tail(5);
    assert_eq!((&*tail.text, tail.from, tail.to), ("éé", 106, 110));
    assert!(head.cut && tail.cut && !long.head(10).cut);
    let bells = window(&[0x07; 60]);
    for shown in [bells.head(20), bells.tail(20)] {
        assert!(fit::length(&shown.text) <= 20 && !shown.text.is_empty());
    }
    let noise = window(&[0x80; 9]).head(3);
    assert!(noise.to > 100, "it goes on whatever the bytes are");
}

#[test]
fn reading_on_shows_every_line_once() {
    let text: String = (0..50)
        .map(|n| format!("\x1b[31mline {n}\x1b[0m\n"))
        .collect();
    let (mut all, mut from) = (String::new(), 0);
    while from < text.len() {
        let rest = Window {
            start: from as u64,
            raw: text.as_bytes()[from..].to_vec(),
            cut: false,
            total: Totals {
                bytes: text.len() as u64,
                lines: 50,
            },
        };
        let shown = rest.head(30);
        assert!(fit::length(&shown.text) <= 30);
        all.push_str(&shown.text);
        from = usize::try_from(shown.to).unwrap();
    }
    let plain: String = (0..50).map(|n| format!("line {n}\n")).collect();
    assert_eq!(all, plain);
}

#[test]
fn a_line_is_what_a_terminal_showed_last() {
    for (raw, text) in [
        (&b"10%\r50%\r100%\n"[..], "100%\n"),
        (b"a\r\n", "a\n"),
        (b"\x1b]52;c;AAAA\x07x\n", "x\n"),
        (b"\xff\n", "\u{fffd}\n"),
        (b"", ""),
    ] {
        assert_eq!(readable(raw), text);
    }
}
