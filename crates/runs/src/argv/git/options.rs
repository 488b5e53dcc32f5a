//! Reading the words behind a git verb by that verb's table.
//!
//! A table is a list of options with spaces between, each as it is written, and what follows it:
//!
//! | entry | meaning |
//! | --- | --- |
//! | `--all`, `-p` | nothing follows |
//! | `--skip=`, `-n=` | a value: `--skip=5`, `--skip 5`, `-n5`, `-n 5` |
//! | `--abbrev[=]`, `-M[=]` | a value if it is attached: `--abbrev=7`, `-M90` |
//! | `--merged=?` | a value, or `HEAD` where none follows |
//! | `--x=a\|b`, `--x[=a\|b]` | as above, but only one of these values |
//! | `-<n>` | a number by itself: `-20` |
//!
//! Short options may be run together (`-sb`); they come out apart. Only whole names count.

use std::collections::VecDeque;

use super::super::words::{refusal, shown, without_nul};
use super::verb::{Parsed, Verb, forbidden};
use branchyard_model::Problem;

/// What follows an option; the text is a list of the only values, or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Value(&'static str),
    Attached(&'static str),
    ValueOrHead,
}

pub(super) fn parse(verb: &Verb, args: Vec<String>) -> Result<Parsed, Problem> {
    let mut parsed = Parsed::default();
    let mut rest = VecDeque::from(args);
    while let Some(word) = rest.pop_front() {
        without_nul(&word)?;
        if word == "--" {
            rest.iter().try_for_each(|path| without_nul(path))?;
            parsed.after = Some(rest.into());
            break;
        } else if word.starts_with("--") {
            long(verb, &word, &mut rest, &mut parsed)?;
        } else if word == "-" {
            return Err(refusal(&word, "'-' names nothing here"));
        } else if word.starts_with('-') {
            short(verb, &word, &mut rest, &mut parsed)?;
        } else {
            parsed.before.push(word);
        }
    }
    Ok(parsed)
}

/// All options of a verb: the name with its dashes, and what follows.
pub(super) fn entries(verb: &Verb) -> impl Iterator<Item = (&'static str, Takes)> {
    verb.words().map(entry)
}

fn entry(entry: &'static str) -> (&'static str, Takes) {
    let Some((name, values)) = entry.split_once('=') else {
        return (entry, Takes::Nothing);
    };
    match (name.strip_suffix('['), values) {
        (Some(name), values) => (name, Takes::Attached(values.trim_end_matches(']'))),
        (None, "?") => (name, Takes::ValueOrHead),
        (None, values) => (name, Takes::Value(values)),
    }
}

/// Whether this is the entry of an option, without taking it apart.
fn is_of(entry: &str, name: &str) -> bool {
    let rest = entry.strip_prefix(name);
    rest.is_some_and(|rest| matches!(rest.bytes().next(), None | Some(b'=' | b'[')))
}

fn long(
    verb: &Verb,
    word: &str,
    rest: &mut VecDeque<String>,
    parsed: &mut Parsed,
) -> Result<(), Problem> {
    let (name, attached) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    let (name, takes) = find(verb, name, word)?;
    let value = match (takes, attached) {
        (Takes::Nothing, Some(_)) => return Err(refusal(word, "this option takes no value")),
        (_, Some(value)) => Some(value),
        (Takes::Nothing | Takes::Attached(_), None) => None,
        (Takes::Value(_), None) => Some(next_word(word, rest)?),
        (Takes::ValueOrHead, None) => {
            let next = rest.pop_front_if(|next| !next.starts_with('-'));
            next.or_else(|| Some("HEAD".to_owned()))
        }
    };
    push(parsed, name, takes, value, "=")
}

fn short(
    verb: &Verb,
    word: &str,
    rest: &mut VecDeque<String>,
    parsed: &mut Parsed,
) -> Result<(), Problem> {
    if word[1..].bytes().all(|b| b.is_ascii_digit()) {
        find(verb, "-<n>", word)?;
        parsed.options.push(word.to_owned());
        return Ok(());
    }
    for (at, letter) in word.char_indices().skip(1) {
        let (name, takes) = find(verb, &format!("-{letter}"), word)?;
        if takes == Takes::Nothing {
            push(parsed, name, takes, None, "")?;
            continue;
        }
        let attached = &word[at + letter.len_utf8()..];
        let value = match (takes, attached) {
            (Takes::Attached(_), "") => None,
            (_, "") => Some(next_word(word, rest)?),
            (_, attached) => Some(attached.to_owned()),
        };
        if value.as_deref() == Some("") {
            // Attached, an empty value is none, and git would take the next word.
            return Err(refusal(word, "the value of this option is empty"));
        }
        return push(parsed, name, takes, value, "");
    }
    Ok(())
}

fn next_word(word: &str, rest: &mut VecDeque<String>) -> Result<String, Problem> {
    let value = rest.pop_front();
    value.ok_or_else(|| refusal(word, "this option needs a value"))
}

fn push(
    parsed: &mut Parsed,
    name: &'static str,
    takes: Takes,
    value: Option<String>,
    between: &str,
) -> Result<(), Problem> {
    parsed.names.push(name);
    let Some(value) = value else {
        parsed.options.push(name.to_owned());
        return Ok(());
    };
    without_nul(&value)?;
    if let Takes::Value(values) | Takes::Attached(values) = takes
        && !values.is_empty()
        && !values.split('|').any(|known| known == value)
    {
        let rule = format!("{name} takes one of {}", values.replace('|', ", "));
        return Err(refusal(&value, &rule));
    }
    if asks_for_a_signature(name, &value) {
        return Err(refusal(&value, "git runs gpg to fill in a signature"));
    }
    parsed.options.push(format!("{name}{between}{value}"));
    Ok(())
}

/// `%G?` and its kin in a log, and the field `signature` where refs are listed.
fn asks_for_a_signature(name: &str, value: &str) -> bool {
    let in_log = |format: &str| {
        format.split('%').skip(1).any(|rest| {
            let placeholder = rest.trim_start_matches(['+', '-', ' ']);
            placeholder.starts_with('G')
        })
    };
    match name {
        "--format" | "--pretty" => {
            in_log(value) || value.contains("(signature") || value.contains("(*signature")
        }
        "--sort" => value.contains("signature"),
        _ => false,
    }
}

fn find(verb: &Verb, name: &str, word: &str) -> Result<(&'static str, Takes), Problem> {
    if let Some(found) = verb.words().find(|word| is_of(word, name)) {
        return Ok(entry(found));
    }
    let detail = format!("git {} does not take {} here", verb.name, shown(name));
    if verb.forbidden.split_whitespace().any(|word| word == name) {
        return Err(forbidden("args", detail, verb.instead));
    }
    let whole = entries(verb).find(|(known, _)| name.len() > 3 && known.starts_with(name));
    Err(refusal(word, &detail).help(match whole {
        Some((whole, _)) => format!("write options in full, such as {whole}"),
        None => "only whole options that neither run programs nor reach outside the workspace pass; put -- before paths".to_owned(),
    }))
}
