//! What a table says about a verb, and the words behind one, once they are read.

use super::GitAccess;
use branchyard_model::{ErrorKind, Problem};

/// A verb and all that may follow it.
pub(super) struct Verb {
    pub name: &'static str,
    pub access: GitAccess,
    /// Words that always follow the verb, whatever the caller says.
    pub always: &'static [&'static str],
    /// Tables of options as [`super::options`] reads them.
    pub options: &'static [&'static str],
    /// Options that git has and the yard keeps from callers.
    pub forbidden: &'static str,
    /// What to do instead.
    pub instead: &'static str,
    /// What holds for the words together; may put them into a form that has one reading.
    pub check: fn(&mut Parsed) -> Result<(), Problem>,
}

/// The words behind a verb, sorted by kind.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Canonical: one option a word, its value attached.
    pub options: Vec<String>,
    /// Names of the options given, as the table spells them.
    pub names: Vec<&'static str>,
    /// Revisions, paths and patterns before `--`.
    pub before: Vec<String>,
    /// Paths behind `--`, if there was one.
    pub after: Option<Vec<String>>,
}

impl Parsed {
    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        self.names.iter().any(|name| names.contains(name))
    }

    /// All words that are not options, on both sides of `--`.
    pub(super) fn operands(&self) -> impl Iterator<Item = &String> {
        self.before.iter().chain(self.after.iter().flatten())
    }
}

impl Verb {
    /// A verb of which only the name, the access and the options need saying.
    pub(super) const fn new(
        name: &'static str,
        access: GitAccess,
        options: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            access,
            always: &[],
            options,
            forbidden: "",
            instead: "",
            check: |_| Ok(()),
        }
    }

    pub(super) const fn always(mut self, words: &'static [&'static str]) -> Self {
        self.always = words;
        self
    }

    pub(super) const fn forbids(mut self, options: &'static str, instead: &'static str) -> Self {
        (self.forbidden, self.instead) = (options, instead);
        self
    }

    pub(super) const fn check(mut self, check: fn(&mut Parsed) -> Result<(), Problem>) -> Self {
        self.check = check;
        self
    }

    /// All options, as the tables have them.
    pub(super) fn words(&self) -> impl Iterator<Item = &'static str> {
        self.options.iter().copied().flat_map(str::split_whitespace)
    }
}

/// Refuses what git could do and the yard keeps from callers: 403 in HTTP.
pub(super) fn forbidden(field: &str, detail: impl Into<String>, help: &str) -> Problem {
    Problem::new(ErrorKind::Forbidden, "git_forbidden", detail)
        .field(field)
        .help(help)
}
