//! One value of a list: for people and for programs.

use std::collections::HashMap;
use std::fmt::Display;

use jiff::Timestamp;
use serde::Serialize;

use super::columns::{Cut, letters};
use super::human::{human_age, human_size, printable, short_commit};

/// So many letters of a text, a name and a sentence are seen at least, where it has so many.
const OF_TEXT: usize = 12;
const OF_NAME: usize = 18;
const OF_SENTENCE: usize = 30;
/// So many digits of an id at least.
const OF_ID: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Good,
    Warn,
    Bad,
    Faint,
}

/// How much of a value has to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Room {
    #[default]
    Some,
    Name,
    Sentence,
    All,
}

/// One value in a list: for people and for programs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    human: String,
    plain: String,
    tone: Tone,
    right: bool,
    room: Room,
    cut: Cut,
    is_id: bool,
}

impl Cell {
    pub(crate) fn text(text: impl Display) -> Self {
        let text = printable(&text.to_string());
        Self {
            human: text.clone(),
            plain: text,
            ..Self::default()
        }
    }

    /// Unknown is empty.
    pub(crate) fn maybe(text: Option<impl Display>) -> Self {
        text.map_or_else(Self::default, Self::text)
    }

    /// A word of the daemon's, as the wire spells it.
    pub(crate) fn word(word: impl Serialize) -> Self {
        let word = serde_json::json!(word);
        Self::maybe(word.as_str())
    }

    /// What programs see.
    pub(crate) fn plain(&self) -> &str {
        &self.plain
    }

    /// What people see instead; programs go on seeing the value.
    #[must_use]
    pub(crate) fn shown_as(mut self, human: impl Into<String>) -> Self {
        self.human = printable(&human.into());
        self
    }

    #[must_use]
    pub(crate) fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    /// A value that stands to the right, under others of its kind.
    pub(crate) fn number(number: Option<impl Display>) -> Self {
        Self {
            right: true,
            room: Room::All,
            ..Self::maybe(number)
        }
    }

    /// A word that is of no use in part, such as a state: it is cut last.
    pub(crate) fn whole(text: impl Display) -> Self {
        Self {
            room: Room::All,
            ..Self::text(text)
        }
    }

    /// An id: people see so much of its end as tells it from the others of its column. Commands take that for it.
    pub(crate) fn id(id: impl Display) -> Self {
        Self {
            is_id: true,
            ..Self::whole(id)
        }
    }

    /// The name of a branch: the start and the end of a long one tell it from others.
    pub(crate) fn branch(name: impl Display) -> Self {
        Self {
            room: Room::Name,
            cut: Cut::Middle,
            ..Self::text(name)
        }
    }

    /// What is read, such as the first error: a few words of it say nothing.
    pub(crate) fn sentence(text: Option<impl Display>) -> Self {
        Self {
            room: Room::Sentence,
            ..Self::maybe(text)
        }
    }

    /// Where something is; the end of it matters most.
    pub(crate) fn path(text: impl Display) -> Self {
        Self {
            cut: Cut::Start,
            ..Self::text(text)
        }
    }

    /// A number of bytes; unknown is empty.
    pub(crate) fn size(bytes: Option<u64>) -> Self {
        Self::number(bytes).shown_as(bytes.map(human_size).unwrap_or_default())
    }

    /// A moment: its age for people, RFC 3339 for programs; unknown is empty.
    pub(crate) fn moment(moment: Option<Timestamp>) -> Self {
        let age = moment.map(|moment| human_age(moment, Timestamp::now()));
        let shown = Self::maybe(moment).shown_as(age.unwrap_or_default());
        Self {
            room: Room::All,
            ..shown
        }
    }

    /// A commit: its first digits for people.
    pub(crate) fn commit(commit: Option<&str>) -> Self {
        let commit = commit.unwrap_or_default();
        Self::whole(commit).shown_as(short_commit(commit))
    }

    /// What people see.
    pub(super) fn human(&self) -> &str {
        &self.human
    }

    pub(super) fn how(&self) -> (Tone, bool, Cut) {
        (self.tone, self.right, self.cut)
    }

    /// How wide it is, and how narrow it may get.
    pub(super) fn widths(&self) -> (usize, usize) {
        let natural = letters(&self.human);
        let least = match self.room {
            Room::Some => OF_TEXT,
            Room::Name => OF_NAME,
            Room::Sentence => OF_SENTENCE,
            Room::All => natural,
        };
        (natural, natural.min(least))
    }
}

/// Has the ids of a column shown by their ends: as much as tells each from all others.
pub(super) fn shorten_ids<'c>(column: impl Iterator<Item = &'c mut Cell>) {
    let mut ids: Vec<&mut Cell> = column.filter(|cell| cell.is_id).collect();
    let longest = ids.iter().map(|cell| cell.plain.len()).max().unwrap_or(0);
    let are_told_apart = |digits: usize| {
        let ends = ids
            .iter()
            .map(|cell| (end(&cell.plain, digits), &cell.plain));
        let ends: HashMap<_, _> = ends.clone().collect();
        ids.iter()
            .all(|cell| ends[end(&cell.plain, digits)] == &cell.plain)
    };
    let digits = (OF_ID..longest).find(|digits| are_told_apart(*digits));
    for cell in &mut ids {
        cell.human = end(&cell.plain, digits.unwrap_or(longest)).to_owned();
    }
}

fn end(id: &str, digits: usize) -> &str {
    id.get(id.len().saturating_sub(digits)..).unwrap_or(id)
}
