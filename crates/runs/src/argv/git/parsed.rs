//! The words behind a git verb, once they are read.

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
