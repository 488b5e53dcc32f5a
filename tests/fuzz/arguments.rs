//! What callers may say to `make`, `git` and their environment: no option, path or variable passes that
//! is not on the list, and what passes says the same when it is read again.
//!
//! An input is words with a byte between them that is in no text; the first says who is to be told.

mod git;
mod make;

use std::collections::BTreeMap;

use branchyard_model::Problem;
use branchyard_runs::RunBody;
use branchyard_runs::argv::{Args, caller_env};

use crate::dice::Dice;
use crate::fuzzer::{LONG, SHORT, Target, time};

const TARGET: Target = Target {
    name: "arguments",
    words: WORDS,
    make: make_up,
};

const BETWEEN: u8 = 0xff;

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "make", "git", "env", "line", "body", "-f", "-C", "-j", "-j99", "-k", "-kj", "-E", "-I",
    "--eval=x", "--eval", "--file=", "--directory=..", "--", "-", "--jobs=4", "SHELL=x", "V=1",
    "V:=$(x)", "V!=id", "..", "../", "/etc", "~", "$", "a/b", "=", "log", "diff", "show", "status",
    "branch", "commit", "push", "pull", "fetch", "grep", "rebase", "checkout", "blame", "rm",
    "--output=x", "-o", "--no-index", "--exec=x", "--upload-pack=x", "-c", "-n", "-p", "-sb", "-5",
    "--format=%G?", "--format=%h", "-M90", "--abbrev=7", "--merged", "HEAD", "origin", "main",
    "HEAD:refs/heads/x", "+main", ":(exclude)..", ":/", "--hard", "--force", "-m", "-mx",
    "LD_PRELOAD", "PATH", "CI", "BRANCHYARD_X", "'", "\"", "\\", " ", "\n", "\0",
    "{\"args\":[\"x\"]}", "\"env\":{\"A\":\"b\"}", "é",
];

#[test]
fn fuzz_arguments() {
    TARGET.run(time(SHORT), check);
}

#[test]
#[ignore = "ten minutes: make soak"]
fn soak_fuzz_arguments() {
    TARGET.run(time(LONG), check);
}

fn make_up(dice: &mut Dice) -> Vec<u8> {
    let mut input = dice
        .pick(&["make", "git", "git", "env", "line", "body"])
        .as_bytes()
        .to_vec();
    for _ in 0..dice.below(7) {
        input.extend([BETWEEN]);
        for _ in 0..=dice.below(3) / 2 {
            match dice.below(8) {
                0 => input.extend(dice.letter().to_string().bytes()),
                _ => input.extend(dice.pick(WORDS).bytes()),
            }
        }
    }
    input
}

fn check(input: &[u8]) -> Result<Vec<String>, String> {
    let mut words = input
        .split(|byte| *byte == BETWEEN)
        .map(|word| String::from_utf8_lossy(word).into_owned());
    let to = words.next().unwrap_or_default();
    let words: Vec<_> = words.collect();
    let answer = match to.as_str() {
        "make" => make::check(words),
        "git" => git::check(words),
        "env" => to_env(&words),
        "line" => as_line(&words),
        _ => as_body(input),
    };
    match answer {
        // A few of each kind of word are enough to go on from.
        Ok(mut shapes) => {
            shapes.sort();
            shapes.dedup();
            shapes.truncate(3);
            Ok(shapes)
        }
        Err(problem) => {
            assert!(problem.field.is_some(), "{problem:?}");
            assert!(!problem.detail.contains(char::is_control), "{problem:?}");
            assert!(problem.detail.len() < 2_000, "{problem:?}");
            // What it quotes is different each time.
            let after_quotes = problem.detail.rsplit('"').next().unwrap_or_default();
            let rule = after_quotes.rsplit(": ").next().unwrap_or_default();
            Err(format!("{to} {rule}"))
        }
    }
}

fn to_env(words: &[String]) -> Result<Vec<String>, Problem> {
    let pairs = words
        .chunks(2)
        .map(|pair| (pair[0].clone(), pair.get(1).cloned().unwrap_or_default()));
    let env: BTreeMap<_, _> = pairs.collect();
    let passed = caller_env(env.clone(), &[])?;
    assert_eq!(passed, env);
    for (name, value) in &passed {
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        assert!(!name.is_empty() && name.bytes().all(word), "{name:?}");
        let kept = [
            "PATH",
            "HOME",
            "SHELL",
            "ENV",
            "IFS",
            "MAKEFLAGS",
            "BASH_ENV",
            "NODE_OPTIONS",
        ];
        let families = ["LD_", "GIT_", "BRANCHYARD_", "BASH_FUNC", "SSH_"];
        assert!(
            !kept.contains(&name.as_str())
                && !families.iter().any(|family| name.starts_with(family))
        );
        assert!(!value.contains('\0') && !value.contains("$("), "{value:?}");
    }
    Ok(vec!["env".to_owned(), passed.len().min(4).to_string()])
}

/// Words that are quoted for a shell and sent as one line come out as they went in.
fn as_line(words: &[String]) -> Result<Vec<String>, Problem> {
    let whole = Args::Line(words.join(" ")).into_words();
    if let Ok(line) = shlex::try_join(words.iter().map(String::as_str)) {
        let listed = Args::List(words.to_vec()).into_words();
        assert_eq!(Args::Line(line).into_words(), listed);
        assert!(listed.is_err() || listed == Ok(words.to_vec()));
    }
    Ok(vec!["line".to_owned(), whole?.len().min(8).to_string()])
}

/// A body is a request or is refused; a request that is written out is read as the same.
fn as_body(input: &[u8]) -> Result<Vec<String>, Problem> {
    let body = input
        .iter()
        .position(|byte| *byte == BETWEEN)
        .map_or(input, |at| &input[at + 1..]);
    let Ok(request) = serde_json::from_slice::<RunBody>(body) else {
        return Ok(vec!["no request".to_owned()]);
    };
    let json = serde_json::to_value(&request).unwrap();
    let again: RunBody = serde_json::from_value(json.clone()).expect("what was read can be read");
    assert_eq!(serde_json::to_value(&again).unwrap(), json);
    let kinds = [
        request.clone().make().is_ok(),
        request.clone().git().is_ok(),
        request.clone().task().is_ok(),
    ];
    let words = request.args.into_words()?;
    Ok(vec![format!("{kinds:?}"), words.len().min(4).to_string()])
}

/// What kind of word it is: one of each is enough to go on from.
fn shape_of(word: &str) -> String {
    let (letters, name) = match word.strip_prefix("--") {
        Some(_) => (24, word.split('=').next()),
        None if word.starts_with('-') => (2, Some(word)),
        None if word.contains('=') => (2, Some("v=")),
        None => (0, None),
    };
    name.unwrap_or_default().chars().take(letters).collect()
}
