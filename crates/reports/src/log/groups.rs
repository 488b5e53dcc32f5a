//! Names that stand above tests, further out than these.

use crate::excerpt::name;

/// So many may be within each other.
const DEEPEST: usize = 100;

/// What `describe` named, by its indentation.
#[derive(Default)]
pub(super) struct Groups {
    open: Vec<(usize, String)>,
}

impl Groups {
    pub(super) fn open(&mut self, indent: usize, title: &str) {
        self.close(indent);
        if self.open.len() < DEEPEST {
            self.open.push((indent, name(title)));
        }
    }

    /// Ends those that are as far in. The name of the outermost of them.
    pub(super) fn close(&mut self, indent: usize) -> Option<String> {
        let at = self.open.iter().position(|(other, _)| *other >= indent)?;
        self.open.drain(at..).next().map(|(_, name)| name)
    }

    pub(super) fn has(&self, indent: usize, title: &str) -> bool {
        let mut open = self.open.iter();
        open.any(|(other, name)| *other == indent && name == title)
    }

    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// The names around something that is so far in.
    pub(super) fn around(&self, indent: usize) -> Vec<&str> {
        let outer = self.open.iter().filter(|(other, _)| *other < indent);
        outer.map(|(_, name)| name.as_str()).collect()
    }
}

/// How names of groups are written in one.
pub(super) fn joined(names: &[&str]) -> String {
    names.join(" › ")
}
