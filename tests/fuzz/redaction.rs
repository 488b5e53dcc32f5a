//! Secrets in output: however it is cut into pieces, what is given out is the same, and no secret is in it.

use branchyard_process::Redactor;

use crate::dice::Dice;
use crate::fuzzer::{LONG, SHORT, Target, time};
use crate::script::Script;

const TARGET: Target = Target {
    name: "redaction",
    words: &[
        "hunter2-hunter2",
        "c2VjcmV0",
        "%2F",
        "***",
        "\n",
        "hunter",
        "aaaaaaa",
        "abcabcabc",
        "\x1b[31m",
        "\x1b]0;x\x07",
        "\x1b",
    ],
    make,
};

#[test]
fn fuzz_redaction() {
    TARGET.run(time(SHORT), check);
}

#[test]
#[ignore = "ten minutes: make soak"]
fn soak_fuzz_redaction() {
    TARGET.run(time(LONG), check);
}

/// Few letters, so that secrets overlap, repeat themselves and begin in each other.
fn make(dice: &mut Dice) -> Vec<u8> {
    let mut input = vec![dice.byte() % 4, dice.byte()];
    for _ in 0..3 {
        let secret = dice.several(12, |dice| dice.pick(&["a", "b", "ab", "/", "é"]).to_owned());
        input.push(u8::try_from(secret.len()).expect("short"));
        input.extend(secret.bytes());
    }
    for _ in 0..dice.below(60) {
        input.extend(
            dice.pick(&[
                "a",
                "b",
                "ab",
                "aab",
                "/",
                "é",
                "\n",
                "YWJh",
                "%2F",
                "\x1b[31m",
                "\x1b[m\x1b[K",
                "\x1b]0;x\x07",
                "\x1b",
            ])
            .bytes(),
        );
    }
    input
}

fn check(input: &[u8]) -> (usize, usize, bool) {
    let mut script = Script(input);
    let (count, piece) = (script.byte() % 4, usize::from(script.byte()) % 16 + 1);
    let mut secrets = Vec::new();
    for _ in 0..count {
        let length = script.byte() % 64;
        secrets.push(String::from_utf8_lossy(script.take(usize::from(length))).into_owned());
    }
    let text = script.0;
    let Some(redactor) = Redactor::new(&secrets) else {
        return (0, 0, false);
    };
    let whole = redacted(redactor.clone(), &[text]);
    let pieces: Vec<_> = text.chunks(piece).collect();
    assert_eq!(
        redacted(redactor.clone(), &pieces),
        whole,
        "in pieces of {piece}"
    );
    for secret in &secrets {
        let secret = secret.trim();
        // What stands in a secret's place is no part of another, nor are the colours that are set before it.
        if secret.len() >= 6 && !secret.contains(['*', '\x1b']) {
            assert!(
                !contains(&whole, secret.as_bytes()),
                "{secret:?} is given out"
            );
            assert!(
                !contains(&paused(redactor.clone(), &pieces), secret.as_bytes()),
                "{secret:?} after pauses"
            );
        }
    }
    (
        secrets.len(),
        whole.iter().filter(|byte| **byte == b'*').count().min(30),
        whole.len() == text.len(),
    )
}

fn redacted(mut redactor: Redactor, pieces: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        redactor.feed(piece, &mut out);
    }
    redactor.finish(&mut out);
    out
}

fn paused(mut redactor: Redactor, pieces: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        redactor.feed(piece, &mut out);
        redactor.pause(&mut out);
    }
    redactor.finish(&mut out);
    out
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
