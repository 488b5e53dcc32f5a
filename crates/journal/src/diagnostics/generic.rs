//! Complaints that begin with a place, whoever writes them: compilers, linters, interpreters. And
//! those of programs that nobody knows.

use super::found::{Complaint, Weight};
use super::place::{self, SourcePlace};
use super::severity::severity;
use super::{javac, tsc};
use branchyard_model::Severity;

/// Go's tools, which say no more than a place and a message.
pub(super) const GO: &str = "go";

/// Said about a place in a source, these words are complaints without any severity.
const TROUBLE: &[&str] = &[
    "undefined",
    "undeclared",
    "not defined",
    "not found",
    "syntax error",
    "unexpected ",
    "expected ",
    "cannot ",
];

/// What compilers add to a complaint, in the same form.
const ADDED: &[&str] = &[
    "note:",
    "info:",
    "help:",
    "hint:",
    "remark:",
    "debug:",
    " ",
    "required ",
];

/// A complaint that begins with a place.
pub(super) fn placed(line: &str) -> Option<Complaint> {
    let (place, said) = place::split(line)?;
    if ADDED.iter().any(|added| said.starts_with(added)) {
        return None;
    }
    if let Some((severity, message)) = severity(said) {
        let known = match place.column {
            Some(_) => place.could_be_file(),
            None => place.is_source() || place.file.starts_with(['/', '.']),
        };
        let tool = tool_of(&place, said);
        return known.then(|| Complaint::new(tool, severity, Some(place), &message));
    }
    // Without a severity, only a column tells a compiler from a logger.
    if place.column.is_none() || !place.is_source() {
        return None;
    }
    let severity = match place.ending() {
        // The compiler gives up.
        Some("go") if said == "too many errors" => return None,
        Some("go") => Severity::Error,
        Some("py") => code_of_linter(said)?,
        _ if TROUBLE.iter().any(|word| said.contains(word)) => Severity::Error,
        _ => return None,
    };
    let tool = match place.ending() {
        Some("go") => GO,
        _ => "generic",
    };
    Some(Complaint::new(tool, severity, Some(place), said))
}

/// A complaint of an unknown program about nowhere: `frobnicate: error: …`, `Error: …`. (`error: …` is Rust's.)
/// It may be about anything, so it counts only where nobody is more exact.
pub(super) fn unplaced(line: &str) -> Option<Complaint> {
    if let Some(complaint) = shell(line) {
        return Some(complaint);
    }
    let (head, rest) = line.split_once(": ")?;
    if matches!(head, "Error" | "ERROR" | "fatal" | "FATAL") {
        return Some(Complaint::new("generic", Weight::Hint, None, rest));
    }
    let program = !matches!(head, "error" | "warning")
        && !head.contains(|c: char| c.is_whitespace() || matches!(c, ':' | '[' | '"'))
        && head.contains(|c: char| c.is_ascii_alphabetic());
    if !program || !rest.starts_with(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    let (severity, message) = severity(rest)?;
    let weight = match severity {
        Severity::Error => Weight::Hint,
        Severity::Warning => Weight::Warning,
    };
    Some(Complaint::new("generic", weight, None, &message))
}

/// `/bin/sh: 1: frobnicate: not found` and `bash: line 1: frobnicate: command not found`.
fn shell(line: &str) -> Option<Complaint> {
    let (program, rest) = line.split_once(": ")?;
    let shell = matches!(program.rsplit('/').next()?, "sh" | "bash" | "dash" | "zsh");
    let (at, said) = rest.split_once(": ")?;
    let numbered = place::number(at.strip_prefix("line ").unwrap_or(at)).is_some();
    let trouble =
        said.ends_with("not found") || said.to_ascii_lowercase().starts_with("syntax error");
    (shell && numbered && trouble).then(|| Complaint::new("generic", Weight::Hint, None, said))
}

/// `E501 line too long` (flake8, ruff) and `C0114: Missing …` (pylint).
fn code_of_linter(said: &str) -> Option<Severity> {
    let code = said.split([' ', ':']).next()?;
    let letters = code.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = place::number(&code[letters..]).is_some();
    ((1..=4).contains(&letters) && digits).then(|| match code.as_bytes()[0] {
        b'E' | b'F' => Severity::Error,
        _ => Severity::Warning,
    })
}

/// Who writes like this about such a file.
fn tool_of(place: &SourcePlace, said: &str) -> &'static str {
    if place.is_makefile() {
        return "make";
    }
    if tsc::says(said) {
        return tsc::TOOL;
    }
    match place.ending() {
        Some("rs") => "rustc",
        Some("go") => GO,
        Some("java") => javac::TOOL,
        Some("py") if said.starts_with(|c: char| c.is_ascii_uppercase()) => "python",
        // The C++ library's headers have no ending.
        None
        | Some(
            "c" | "cc" | "cpp" | "cxx" | "c++" | "C" | "h" | "hh" | "hpp" | "hxx" | "inl" | "ipp"
            | "tcc" | "m" | "mm" | "s" | "S" | "cu" | "cuh" | "i" | "ii" | "inc" | "def",
        ) => "gcc",
        Some(_) => "generic",
    }
}
