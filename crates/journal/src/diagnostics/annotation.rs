//! Annotations of workflows: `::error file=src/a.c,line=3,col=7::message` and `::warning …::`.

use super::found::{Complaint, Weight};
use super::place::{self, SourcePlace};

const TOOL: &str = "annotation";

/// Whether the line is one; asked of every line.
pub(super) fn is_annotation(line: &[u8]) -> bool {
    line.starts_with(b"::error") || line.starts_with(b"::warning")
}

pub(super) fn parse(line: &str) -> Option<Complaint> {
    let (head, message) = line.strip_prefix("::")?.split_once("::")?;
    let (word, properties) = head.split_once(' ').unwrap_or((head, ""));
    let weight = match word {
        "error" => Weight::Error,
        "warning" => Weight::Warning,
        _ => return None,
    };
    let property = |name: &str| {
        let mut all = properties.split(',').filter_map(|it| it.split_once('='));
        let found = all.find(|(key, _)| key.trim() == name);
        found.map(|(_, value)| value.trim())
    };
    let file = property("file").filter(|file| !file.is_empty());
    let line = property("line").and_then(place::number);
    let column = property("col").and_then(place::number);
    let place = file.and_then(|file| SourcePlace::new(&unescaped(file), line, column));
    let message = unescaped(message);
    let message = match property("title") {
        Some(title) if !title.is_empty() => format!("{}: {message}", unescaped(title)),
        _ => message,
    };
    Some(Complaint::new(TOOL, weight, place, &message))
}

/// What cannot stand in one line, and in properties.
fn unescaped(text: &str) -> String {
    let escapes = [
        ("%0D", "\r"),
        ("%0A", "\n"),
        ("%3A", ":"),
        ("%2C", ","),
        ("%25", "%"),
    ];
    let mut text = text.to_owned();
    for (written, meant) in escapes {
        text = text.replace(written, meant);
    }
    text
}
