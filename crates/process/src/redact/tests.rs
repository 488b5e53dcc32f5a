use std::time::Instant;

use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

use super::*;

const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n\
    MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n\
    shortend==\n\
    -----END PRIVATE KEY-----\n";

fn redactor(secrets: &[&str]) -> Redactor {
    let secrets: Vec<_> = secrets.iter().map(|s| (*s).to_owned()).collect();
    Redactor::new(&secrets).expect("there is something to hide")
}

fn redacted(secrets: &[&str], pieces: &[&str]) -> String {
    let (mut redactor, mut out) = (redactor(secrets), Vec::new());
    for piece in pieces {
        redactor.feed(piece.as_bytes(), &mut out);
    }
    redactor.finish(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn what_is_short_or_empty_is_not_a_secret() {
    for secrets in [&[][..], &[""], &["12345"], &["  dev\n"]] {
        let secrets: Vec<_> = secrets.iter().map(|s| (*s).to_owned()).collect();
        assert!(Redactor::new(&secrets).is_none(), "{secrets:?}");
    }
}

#[test]
fn a_secret_is_hidden_wherever_it_is_cut() {
    let text = "token=hunter2hunter2, again hunter2hunter2hunter2!";
    for cut in 0..text.len() {
        let (head, tail) = text.split_at(cut);
        assert_eq!(
            redacted(&["hunter2hunter2"], &[head, tail]),
            "token=***, again ***hunter2!"
        );
    }
}

#[test]
fn the_longer_of_two_secrets_is_hidden_as_one() {
    let secrets = ["abcdef", "abcdefghijkl"];
    assert_eq!(redacted(&secrets, &["abcdef", "ghi", "jkl;"]), "***;");
    assert_eq!(redacted(&secrets, &["abcdef", "ghi", "xyz;"]), "***ghixyz;");
}

#[test]
fn only_what_may_become_a_secret_is_held_back() {
    let (mut redactor, mut out) = (redactor(&["hunter2!"]), Vec::new());
    redactor.feed(b"the hunt is on; hun", &mut out);
    assert_eq!(out, b"the hunt is on; ");
    redactor.feed(b"gry", &mut out);
    assert_eq!(out, b"the hunt is on; hungry");
}

#[test]
fn a_pause_shows_the_first_bytes_and_hides_the_rest() {
    let (mut redactor, mut out) = (redactor(&["hunter2hunter2"]), Vec::new());
    redactor.feed(b"who? hun", &mut out);
    redactor.pause(&mut out);
    assert_eq!(out, b"who? hun");
    redactor.pause(&mut out);
    redactor.feed(b"ter2hun", &mut out);
    redactor.pause(&mut out);
    assert_eq!(out, b"who? hun", "half a secret is no ordinary output");
    redactor.feed(b"ter2 that", &mut out);
    assert_eq!(out, b"who? hun*** that");

    out.clear();
    redactor.feed(b"hun", &mut out);
    redactor.pause(&mut out);
    redactor.feed(b"dred", &mut out);
    redactor.finish(&mut out);
    assert_eq!(out, b"hundred");
}

#[test]
fn a_pause_does_not_show_a_secret_that_may_become_a_longer_one() {
    let longer = format!("abcdef{}", "x".repeat(60));
    let (mut redactor, mut out) = (redactor(&["abcdef", &longer]), Vec::new());
    redactor.feed(b"abcdef", &mut out);
    redactor.pause(&mut out);
    assert_eq!(out, b"");
    redactor.finish(&mut out);
    assert_eq!(out, b"***");
}

#[test]
fn a_stream_that_breaks_off_in_a_secret_does_not_give_it_away() {
    assert_eq!(redacted(&["hunter2hunter2"], &["x hunter2h"]), "x ***");
    assert_eq!(redacted(&["hunter2hunter2"], &["x hunter"]), "x hunter");
}

#[test]
fn encoded_secrets_are_hidden() {
    let secret = "p+ss?w/rd>>~~ü";
    for text in ["", "u", "us", "user:"].map(|user| format!("{user}{secret}")) {
        for encoded in [
            STANDARD.encode(&text),
            URL_SAFE.encode(&text),
            STANDARD.encode(format!("{text}@host")),
        ] {
            let shown = redacted(&[secret], &[&encoded]);
            assert!(shown.contains(REDACTED), "{encoded} became {shown}");
            assert!(shown.len() < encoded.len() / 2 + 6, "{shown}");
        }
    }
    let url = "https://u:p%2Bss%3Fw%2Frd%3E%3E~~%C3%BC@host";
    assert_eq!(redacted(&[secret], &[url]), "https://u:***@host");
}

#[test]
fn a_key_of_many_lines_is_hidden_whole_and_line_by_line() {
    assert_eq!(
        redacted(&[PEM], &["key:\n", PEM, "done"]),
        "key:\n***\ndone"
    );
    let line = PEM.lines().nth(2).unwrap();
    assert_eq!(redacted(&[PEM], &["> ", line, "\r\n"]), "> ***\r\n");
    let rule = "-----\n-----BEGIN CERTIFICATE-----\n";
    assert_eq!(redacted(&[PEM], &[rule]), rule);
}

#[test]
fn a_key_within_json_is_hidden_as_it_stands_and_as_it_is_read() {
    let json = serde_json::json!({ "type": "account", "private_key": PEM }).to_string();
    assert_eq!(redacted(&[&json], &[&json]), "***");
    let key = redacted(&[&json], &[PEM]);
    assert!(!key.contains("MIIEvQ") && !key.contains("MzEfYy"), "{key}");
    let quoted = serde_json::json!({ "DEPLOY_KEY": PEM.trim() }).to_string();
    assert_eq!(redacted(&[PEM], &[&quoted]), r#"{"DEPLOY_KEY":"***"}"#);
    let secret = r#"pa"ss\word""#;
    let quoted = serde_json::json!({ "TOKEN": secret }).to_string();
    assert_eq!(redacted(&[secret], &[&quoted]), r#"{"TOKEN":"***"}"#);
}

/// The shortest that `[secrets]` takes, whole and by its one longer line.
#[test]
fn what_is_configured_as_a_secret_is_hidden() {
    assert_eq!(redacted(&["hunter22"], &["<hunter22>"]), "<***>");
    let lines = "a\nsixteen-letters!";
    assert_eq!(redacted(&[lines], &["<sixteen-letters!>"]), "<***>");
}

#[test]
fn a_long_text_is_never_held_back() {
    let (mut redactor, mut out) = (redactor(&[PEM, "aaaaaaab"]), Vec::new());
    let piece = [b'a'; 1000];
    for _ in 0..100 {
        redactor.feed(&piece, &mut out);
        assert!(redactor.held.len() < redactor.longest);
    }
    assert_eq!(out.len() + redactor.held.len(), 100_000);
}

#[test]
fn many_secrets_are_hidden_like_few() {
    let secrets: Vec<_> = (0..200).map(|i| format!("secret-{i:03}!")).collect();
    let mut redactor = Redactor::new(&secrets).unwrap();
    assert!(redactor.glance.len() > 1);
    let mut out = Vec::new();
    for secret in &secrets {
        redactor.feed(b"plain text ", &mut out);
        redactor.feed(secret.as_bytes(), &mut out);
    }
    redactor.finish(&mut out);
    assert_eq!(out, b"plain text ***".repeat(200));
}

fn stripped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    AnsiFilter::default().pass(text, &mut out);
    out
}

#[test]
fn a_secret_with_terminal_escapes_in_it_is_hidden_wherever_it_is_cut() {
    for (text, expected) in [
        // As `grep --color=always` marks a part of it.
        (
            "x=hun\x1b[01;31m\x1b[Kter2\x1b[m\x1b[Khunter2;",
            "x=\x1b[m***;",
        ),
        ("\x1b[32mhunter2hunter2\x1b[0m.", "\x1b[32m***\x1b[0m."),
        ("hunter2\x1b[31mhunter2 on", "\x1b[31m*** on"),
        ("h\x1b[Ku\x1b(Bn\x1b=ter2hunter\x1b7\x1b[?25l2!", "***!"),
        (
            "hunter2\x1b]8;;http://x/\x1b\\hunter2\x1b]8;;\x07",
            "***\x1b]8;;\x07",
        ),
        ("hunter2\x1bP1$r0m\x1b\\hunter2", "***"),
        // Within a sequence, and where one would begin if it were none.
        ("\x1b]0;hunter2hunter2\x07", "\x1b]0;***\x07"),
        ("\x1bhunter2hunter2", "\x1b***"),
        // Neither is the secret.
        ("hunter2\x1b[31m-hunter2", "hunter2\x1b[31m-hunter2"),
        ("hunter2\x1b[31m\nhunter2", "hunter2\x1b[31m\nhunter2"),
        ("\x1b[31", "\x1b[31"),
    ] {
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let (head, tail) = text.split_at(cut);
            let shown = redacted(&["hunter2hunter2"], &[head, tail]);
            assert_eq!(shown, expected, "{head:?} {tail:?}");
        }
        let bytes: Vec<_> = text.chars().map(String::from).collect();
        let bytes: Vec<_> = bytes.iter().map(String::as_str).collect();
        assert_eq!(redacted(&["hunter2hunter2"], &bytes), expected, "{text:?}");
    }
}

#[test]
fn every_form_of_a_secret_is_found_among_escapes() {
    let secret = "p+ss?w/rd>>~~";
    let mark = |text: &str| {
        let (head, tail) = text.split_at(text.len() / 2);
        format!("{head}\x1b[01;31m\x1b[K{tail}\x1b[m")
    };
    for form in [
        secret.to_owned(),
        STANDARD.encode(secret),
        "p%2Bss%3Fw%2Frd%3E%3E~~".to_owned(),
    ] {
        let shown = redacted(&[secret], &[&mark(&form)]);
        assert!(shown.contains(REDACTED), "{form}: {shown}");
        assert!(stripped(shown.as_bytes()).len() < form.len() / 2, "{shown}");
    }
    let coloured: String = PEM.lines().map(|line| mark(line) + "\n").collect();
    let shown = stripped(redacted(&[PEM], &[&coloured]).as_bytes());
    let shown = String::from_utf8(shown).unwrap();
    assert!(
        !shown.contains("MIIEvQ") && !shown.contains("MzEfYy"),
        "{shown}"
    );
}

#[test]
fn escapes_without_end_are_not_held_back() {
    let (mut redactor, mut out) = (redactor(&["hunter2hunter2"]), Vec::new());
    redactor.feed(b"hunter2\x1b]0;", &mut out);
    for _ in 0..100 {
        redactor.feed(&[b'x'; 100], &mut out);
        assert!(redactor.held.len() < 400);
    }
    redactor.feed(b"\x07hunter2\x1b[1mhunter2", &mut out);
    redactor.finish(&mut out);
    let seen = stripped(&out);
    assert_eq!(String::from_utf8_lossy(&seen), "hunter2***");
}

#[test]
fn a_pause_does_not_show_half_a_secret_with_escapes_in_it() {
    let (mut redactor, mut out) = (redactor(&["hunter2hunter2"]), Vec::new());
    redactor.feed(b"who? \x1b[1mhu\x1b[0mn", &mut out);
    redactor.pause(&mut out);
    assert_eq!(out, b"who? \x1b[1mhu\x1b[0mn");
    redactor.feed(b"ter\x1b[1m2hun", &mut out);
    redactor.pause(&mut out);
    assert_eq!(out, b"who? \x1b[1mhu\x1b[0mn");
    redactor.feed(b"ter2 that", &mut out);
    assert_eq!(out, b"who? \x1b[1mhu\x1b[0mn\x1b[1m*** that");
}

/// By the definition: at each place the longest secret that stands there.
fn naive(secrets: &Redactor, text: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let rest = &text[at..];
        let longest = secrets.hidden.iter().filter(|s| rest.starts_with(s));
        let broken_off = secrets
            .hidden
            .iter()
            .any(|s| s.len() > rest.len() && s.starts_with(rest) && rest.len() > s.len() / 2);
        if broken_off {
            out.extend_from_slice(REDACTED.as_bytes());
            break;
        } else if let Some(found) = longest.max_by_key(|s| s.len()) {
            out.extend_from_slice(REDACTED.as_bytes());
            at += found.len();
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Few letters, so that secrets overlap, begin alike and stand in each other.
    #[test]
    fn pieces_are_redacted_like_the_whole(
        secrets in prop::collection::vec("[ab]{6,9}|[abc\n]{6,40}", 1..5),
        words in prop::collection::vec((any::<prop::sample::Index>(), "[abc\n]{0,9}", 0..9usize), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut text = String::new();
        for (which, between, less) in &words {
            let secret = which.get(&secrets);
            text += between;
            text += &secret[..secret.len().saturating_sub(*less).max(1)];
        }
        let Some(mut redactor) = Redactor::new(&secrets) else { return Ok(()) };
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut out = Vec::new();
        for piece in cuts.windows(2) {
            redactor.feed(&text.as_bytes()[piece[0]..piece[1]], &mut out);
        }
        redactor.finish(&mut out);
        prop_assert_eq!(&out, &naive(&redactor, text.as_bytes()));
        for secret in redactor.hidden.iter() {
            prop_assert!(!out.windows(secret.len()).any(|shown| shown == &secret[..]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The letters of the secrets are in no sequence.
    #[test]
    fn escapes_make_no_difference_to_what_is_seen(
        secrets in prop::collection::vec("[ab]{6,9}|[abc\n]{6,40}", 1..5),
        words in prop::collection::vec((any::<prop::sample::Index>(), "[abc\n]{0,9}", 0..9usize), 0..12),
        marks in prop::collection::vec((any::<prop::sample::Index>(), 0..6usize), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut plain = String::new();
        for (which, between, less) in &words {
            let secret = which.get(&secrets);
            plain += between;
            plain += &secret[..secret.len().saturating_sub(*less).max(1)];
        }
        let Some(mut redactor) = Redactor::new(&secrets) else { return Ok(()) };
        let mut marks: Vec<_> = marks.iter().map(|(at, which)| (at.index(plain.len() + 1), *which)).collect();
        marks.sort_unstable();
        let mut text = plain.clone();
        for (at, which) in marks.into_iter().rev() {
            let all = ["\x1b[31m", "\x1b[m\x1b[K", "\x1b]8;;http://x/\x07", "\x1b(B", "\x1b7", "\x1bP1$r0m\x1b\\"];
            text.insert_str(at, all[which]);
        }
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut out = Vec::new();
        for piece in cuts.windows(2) {
            redactor.feed(&text.as_bytes()[piece[0]..piece[1]], &mut out);
        }
        redactor.finish(&mut out);
        let mut whole = Vec::new();
        redactor.feed(text.as_bytes(), &mut whole);
        redactor.finish(&mut whole);
        prop_assert_eq!(&out, &whole);
        prop_assert_eq!(stripped(&out), naive(&redactor, plain.as_bytes()));
    }
}

#[test]
#[ignore = "a measurement; run it with --release"]
fn speed() {
    let line =
        b"[ 42%] Building CXX object src/CMakeFiles/yard.dir/parser_base64.cpp.o -O2 -Wall\n";
    let text: Vec<u8> = line.iter().copied().cycle().take(64 * 1024).collect();
    let few: Vec<_> = (0..4u32)
        .map(|i| {
            format!(
                "ghp_{}",
                STANDARD.encode(i.wrapping_mul(0x9e37_79b9).to_le_bytes().repeat(7))
            )
        })
        .collect();
    let many: Vec<_> = (0..20u32)
        .map(|i| STANDARD.encode(i.wrapping_mul(0x9e37_79b9).to_be_bytes().repeat(7)))
        .chain([PEM.to_owned()])
        .collect();
    let coloured = b"\x1b[0m[ 42%] \x1b[32mBuilding CXX object src/CMakeFiles/yard.dir/parser_base64.cpp.o\x1b[0m -O2\n";
    let coloured: Vec<u8> = coloured.iter().copied().cycle().take(64 * 1024).collect();
    for (name, secrets, text) in [
        ("one", &few[..1], &text),
        ("four", &few, &text),
        ("many", &many, &text),
        ("one, coloured", &few[..1], &coloured),
        ("four, coloured", &few, &coloured),
        ("many, coloured", &many, &coloured),
    ] {
        let mut redactor = Redactor::new(secrets).unwrap();
        let (mut out, rounds) = (Vec::new(), 4000);
        let start = Instant::now();
        for _ in 0..rounds {
            out.clear();
            redactor.feed(text, &mut out);
        }
        let gigabytes = f64::from(rounds) * 65536.0 / 1e9;
        println!(
            "{name}: {:.2} GB/s, {} patterns, {} KiB",
            gigabytes / start.elapsed().as_secs_f64(),
            redactor.hidden.len(),
            redactor.search.memory_usage() / 1024,
        );
    }
}
