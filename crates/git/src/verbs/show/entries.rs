//! A directory as it is in a revision.

use git2::{ObjectType, Tree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Request;
use crate::verbs::Verbosity;
use crate::verbs::person::text;
use crate::verbs::room::keep_fitting;
use crate::{Error, Repository};

const LINK: i32 = 0o120_000;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Entries {
    entries: Vec<Entry>,
    /// How many there are, shown or not.
    total: usize,
    /// There are more.
    truncated: bool,
    /// What `skip` is to be to go on, where there are more.
    next: Option<usize>,
    #[serde(skip)]
    skipped: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    pub name: String,
    pub kind: EntryKind,
    /// As git writes it, such as 100644; with `full` only.
    pub mode: Option<String>,
    /// With `full` only.
    pub id: Option<String>,
    /// Bytes of a file; with `full` only.
    pub size: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    File,
    Link,
    Directory,
    Submodule,
}

impl Entries {
    pub(super) fn of(repo: &Repository, tree: &Tree<'_>, request: &Request) -> Result<Self, Error> {
        let with_all = request.verbosity == Verbosity::Full;
        let odb = repo.git2().odb()?;
        let mut entries = Vec::new();
        for entry in tree.iter().skip(request.skip).take(request.limit) {
            let kind = match entry.kind() {
                Some(ObjectType::Tree) => EntryKind::Directory,
                Some(ObjectType::Commit) => EntryKind::Submodule,
                _ if entry.filemode() == LINK => EntryKind::Link,
                _ => EntryKind::File,
            };
            let size = match with_all && kind == EntryKind::File {
                true => Some(odb.read_header(entry.id())?.0),
                false => None,
            };
            entries.push(Entry {
                name: text(entry.name_bytes()),
                kind,
                mode: with_all.then(|| format!("{:06o}", entry.filemode())),
                id: with_all.then(|| entry.id().to_string()),
                size,
            });
        }
        let mut found = Self {
            entries,
            total: tree.len(),
            truncated: false,
            next: None,
            skipped: request.skip,
        };
        found.settle();
        Ok(found)
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let mark = match entry.kind {
                EntryKind::Directory => "/",
                EntryKind::Link => "@",
                EntryKind::Submodule => " (submodule)",
                EntryKind::File => "",
            };
            text += &format!("{}{mark}\n", entry.name);
        }
        if let Some(next) = self.next {
            text += &format!("{} in all, more with skip: {next}\n", self.total);
        }
        text
    }

    pub(super) fn cut(&mut self, room: usize) {
        keep_fitting(&mut self.entries, room);
        self.settle();
    }

    /// Says what is missing.
    fn settle(&mut self) {
        let shown = self.skipped + self.entries.len();
        self.next = (shown < self.total).then_some(shown);
        self.truncated = self.next.is_some();
    }
}
