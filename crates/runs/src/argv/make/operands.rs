//! The words of a make command line that are not options: variables and targets, and the paths
//! that options carry.

use super::super::words::refusal;
use branchyard_config::{is_own_variable, is_reserved_variable};
use branchyard_model::Problem;

/// Variables that make acts on by itself and that are no environment variables.
const MAKES_OWN: &[&str] = &[
    "CURDIR",
    "GPATH",
    "MAKECMDGOALS",
    "MAKEFILE_LIST",
    "MAKE_HOST",
    "MAKE_TERMERR",
    "MAKE_TERMOUT",
    "MAKE_VERSION",
    "VPATH",
];

/// A variable or a target. Make takes every word with an assignment in it for a variable.
pub(super) fn check(word: &str, allow: &[String]) -> Result<(), Problem> {
    match word.split_once('=') {
        Some((name, value)) => variable(word, name, value, allow),
        None => target(word),
    }
}

/// The rules for a path by its letters alone. Make itself expands a leading `~`, also `~user`.
pub(super) fn path(word: &str) -> Result<(), Problem> {
    let rule = if word.is_empty() {
        "a path is empty"
    } else if word.starts_with('/') {
        "a path is absolute; give it from the top of the workspace"
    } else if word.starts_with('~') {
        "a path starts with '~', which make expands to a home directory"
    } else if word.starts_with('-') {
        "a path starts with '-'; write ./- in front"
    } else if word.contains('$') {
        "'$' is make's own syntax"
    } else if word.contains(char::is_control) {
        "it holds a control character"
    } else {
        return Ok(());
    };
    Err(refusal(word, rule))
}

/// Whether a relative path, read from left to right, ever leaves the directory it starts in.
pub(super) fn escapes(path: &str) -> bool {
    let mut depth = 0usize;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

fn variable(word: &str, head: &str, value: &str, allow: &[String]) -> Result<(), Problem> {
    if head.ends_with('!') {
        return Err(refusal(word, "'!=' runs its value in a shell"));
    }
    let name = ["::", ":", "?", "+"]
        .iter()
        .find_map(|operator| head.strip_suffix(operator))
        .unwrap_or(head);
    // Stricter than make, which trims spaces and expands '$' in names: so there is one reading.
    let first = |b: u8| b.is_ascii_alphanumeric() || b"_.".contains(&b);
    let later = |b: u8| first(b) || b"-/".contains(&b);
    if !name.bytes().next().is_some_and(first) || !name.bytes().all(later) {
        return Err(
            refusal(word, "what stands before '=' is not the name of a variable")
                .help("write NAME=value; a target cannot hold '='"),
        );
    }
    let reserved = name.starts_with('.') || MAKES_OWN.contains(&name) || is_reserved_variable(name);
    let allowed = !is_own_variable(name)
        && allow
            .iter()
            .any(|entry| entry.strip_suffix('=') == Some(name));
    if reserved && !allowed {
        return Err(refusal(
            word,
            "a variable of this name changes how make, or a program that it starts, runs",
        )
        .help("set it in the makefile, or ask the operator to allow it for the repository"));
    }
    if value.contains('$') {
        return Err(refusal(
            word,
            "a value holds '$', and make runs functions in it",
        ));
    }
    if value.contains(|c: char| c.is_control() && c != '\t') {
        return Err(refusal(word, "a value holds a control character"));
    }
    Ok(())
}

fn target(word: &str) -> Result<(), Problem> {
    path(word)?;
    // In lib(member) the member is a file too, and a space splits words in most recipes.
    if word
        .split(|c: char| matches!(c, '/' | '(' | ')') || c.is_whitespace())
        .any(|part| part == "..")
    {
        return Err(refusal(word, "a target has '..' in it"));
    }
    Ok(())
}
