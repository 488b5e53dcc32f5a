//! What `git blame --porcelain` prints: of each group of lines where it is from, and of each commit, where
//! it is first met, who made it.

use std::collections::HashMap;

use git2::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quoted_path::unquoted;
use crate::verbs::Verbosity;
use crate::verbs::person::{Person, date, text};
use crate::verbs::room::written;

/// Lines that stand together and are from one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hunk {
    pub start_line: usize,
    pub end_line: usize,
    /// The commit; none of lines that are not committed.
    pub id: Option<String>,
    /// The lines are not committed.
    pub uncommitted: bool,
    pub author: Option<Person>,
    /// Not with `minimal`.
    pub subject: Option<String>,
    /// What the file was called in that commit; not with `minimal`.
    pub original_path: Option<String>,
    /// The number of the first line in that commit; not with `minimal`.
    pub original_line: Option<usize>,
    /// With `full`.
    pub committer: Option<Person>,
    /// The commit before it that changed the file; with `full`.
    pub previous: Option<String>,
    /// The lines themselves; not with `minimal`.
    pub text: Option<String>,
}

impl Hunk {
    pub(super) fn paragraph(&self) -> String {
        let mut text = format!("{}-{} ", self.start_line, self.end_line);
        match (&self.id, &self.author) {
            (Some(id), Some(author)) => {
                let (id, day) = (id.get(..8).unwrap_or(id), author.day());
                text.push_str(&format!("{id} {day} {}", author.name));
            }
            _ => text.push_str("not committed"),
        }
        if let Some(subject) = &self.subject {
            text.push_str(&format!(": {subject}"));
        }
        text.push('\n');
        text + self.text.as_deref().unwrap_or_default()
    }

    /// Leaves out the last lines that do not fit into `room`, but for the first; whether there were any.
    pub(super) fn keep_lines(&mut self, room: usize) -> bool {
        let Some(text) = &mut self.text else {
            return false;
        };
        let mut left = room;
        let lines = text.split_inclusive('\n').take_while(|line| {
            let less = left.checked_sub(written(line));
            left = less.unwrap_or_default();
            less.is_some()
        });
        let kept = lines.count().max(1);
        let end = self.end_line.min(self.start_line + kept - 1);
        let is_cut = end < self.end_line;
        let bytes = text.split_inclusive('\n').take(kept).map(str::len).sum();
        text.truncate(bytes);
        self.end_line = end;
        is_cut
    }
}

/// What is known of a commit so far.
#[derive(Debug, Default)]
struct KnownCommit {
    author: Who,
    committer: Who,
    subject: String,
    path: String,
    previous: Option<String>,
}

#[derive(Debug, Default)]
struct Who {
    name: String,
    email: String,
    seconds: i64,
    minutes: i32,
}

impl Who {
    fn person(&self) -> Person {
        Person {
            name: self.name.clone(),
            email: self.email.clone(),
            date: date(Time::new(self.seconds, self.minutes)),
        }
    }

    /// One field of the commit's, named without whom it is of.
    fn note(&mut self, field: &str, value: &[u8]) {
        match field {
            "" => self.name = text(value),
            "-mail" => {
                let email = text(value);
                self.email = email.trim_matches(['<', '>']).to_owned();
            }
            "-time" => self.seconds = text(value).parse().unwrap_or_default(),
            "-tz" => self.minutes = minutes(&text(value)),
            _ => {}
        }
    }
}

/// Of an offset such as `-0130`.
fn minutes(offset: &str) -> i32 {
    let digits: i32 = offset.parse().unwrap_or_default();
    digits / 100 * 60 + digits % 100
}

/// A group whose lines are still coming.
#[derive(Debug)]
struct LineGroup {
    id: String,
    original: usize,
    first: usize,
    last: usize,
    text: Vec<u8>,
}

#[derive(Debug)]
struct Reader {
    verbosity: Verbosity,
    known: HashMap<String, KnownCommit>,
    group: Option<LineGroup>,
    hunks: Vec<Hunk>,
}

pub(super) fn hunks(output: &[u8], verbosity: Verbosity) -> Vec<Hunk> {
    let mut reader = Reader {
        verbosity,
        known: HashMap::new(),
        group: None,
        hunks: Vec::new(),
    };
    for line in output.split(|byte| *byte == b'\n') {
        reader.read(line);
    }
    reader.close();
    reader.hunks
}

impl Reader {
    fn read(&mut self, line: &[u8]) {
        if let Some(content) = line.strip_prefix(b"\t") {
            if let Some(group) = &mut self.group {
                group.text.extend_from_slice(content);
                group.text.push(b'\n');
            }
            return;
        }
        match header(line) {
            // Only the first line of a group says how many there are.
            Some((id, numbers)) => {
                if let [original, first, count] = numbers[..] {
                    self.close();
                    self.group = Some(LineGroup {
                        id,
                        original,
                        first,
                        last: first + count.saturating_sub(1),
                        text: Vec::new(),
                    });
                }
            }
            None => {
                if let Some(group) = &self.group {
                    let known = self.known.entry(group.id.clone()).or_default();
                    note(known, line);
                }
            }
        }
    }

    /// Ends the group, whose commit is known by now.
    fn close(&mut self) {
        let Some(group) = self.group.take() else {
            return;
        };
        if let Some(known) = self.known.get(&group.id) {
            self.hunks.push(hunk(group, known, self.verbosity));
        }
    }
}

/// `<id> <line there> <line here> [<lines>]`
fn header(line: &[u8]) -> Option<(String, Vec<usize>)> {
    let line = std::str::from_utf8(line).ok()?;
    let (id, numbers) = line.split_once(' ')?;
    let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let numbers: Vec<usize> = numbers
        .split(' ')
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    is_id.then(|| (id.to_owned(), numbers))
}

/// One field of a commit.
fn note(known: &mut KnownCommit, line: &[u8]) {
    let space = line.iter().position(|byte| *byte == b' ');
    let (field, value) = line.split_at(space.unwrap_or(line.len()));
    let value = value.strip_prefix(b" ").unwrap_or_default();
    let field = text(field);
    if let Some(field) = field.strip_prefix("author") {
        known.author.note(field, value);
    } else if let Some(field) = field.strip_prefix("committer") {
        known.committer.note(field, value);
    } else {
        match &*field {
            "summary" => known.subject = text(value),
            "filename" => known.path = text(&unquoted(value)),
            "previous" => known.previous = text(value).split(' ').next().map(str::to_owned),
            _ => {}
        }
    }
}

fn hunk(group: LineGroup, known: &KnownCommit, verbosity: Verbosity) -> Hunk {
    let uncommitted = group.id.bytes().all(|byte| byte == b'0');
    let more = verbosity > Verbosity::Minimal;
    let full = verbosity == Verbosity::Full;
    Hunk {
        start_line: group.first,
        end_line: group.last,
        id: (!uncommitted).then_some(group.id),
        uncommitted,
        author: (!uncommitted).then(|| known.author.person()),
        subject: (more && !uncommitted).then(|| known.subject.clone()),
        original_path: (more && !uncommitted).then(|| known.path.clone()),
        original_line: (more && !uncommitted).then_some(group.original),
        committer: (full && !uncommitted).then(|| known.committer.person()),
        previous: known.previous.clone().filter(|_| full),
        text: more.then(|| text(&group.text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_looks_like_a_header_is_still_a_line() {
        let (one, none) = ("1".repeat(40), "0".repeat(40));
        let output = format!(
            "{one} 3 1 2\nauthor A B\nauthor-mail <a@b>\nauthor-time 60\nauthor-tz -0130\n\
             summary why\nfilename old\n\t{none} 9 9 9\n{one} 4 2\n\tauthor X\n\
             {none} 1 3 1\nauthor External\nfilename new\n\tlast\n"
        );
        let hunks = hunks(output.as_bytes(), Verbosity::Standard);
        assert_eq!(hunks.len(), 2);
        let author = hunks[0].author.as_ref().unwrap();
        assert_eq!((&*author.name, &*author.email), ("A B", "a@b"));
        assert_eq!(author.date, "1969-12-31T22:31:00-01:30");
        assert_eq!((hunks[0].start_line, hunks[0].end_line), (1, 2));
        let text = format!("{none} 9 9 9\nauthor X\n");
        assert_eq!(hunks[0].text.as_deref(), Some(&*text));
        assert_eq!(hunks[0].original_path.as_deref(), Some("old"));
        assert!(hunks[1].uncommitted && hunks[1].author.is_none());
    }
}
