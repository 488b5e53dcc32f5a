//! Git verbs: one table, of which HTTP and MCP are two faces. Each file holds the verbs of one domain.

mod branch;
mod history;
mod integrate;
mod local;
mod look;
mod network;
mod refs;
pub(super) mod run_verb;
mod shorten;
mod verb;

use std::sync::LazyLock;

use branchyard_model::{ErrorKind, Problem};

pub use verb::{At, Common, Effect, ErasedOutput, Render, Verb, VerbEntry, VerbOutput};

/// The verb of this name.
pub fn verb(name: &str) -> Result<&'static Verb, Problem> {
    let found = verbs().iter().find(|verb| verb.entry().name == name);
    found.ok_or_else(|| {
        let detail = format!("there is no git verb named {name:?}");
        Problem::new(ErrorKind::NotFound, "no_such_verb", detail)
    })
}

/// Every verb, in the order in which they are listed.
pub fn verbs() -> &'static [Verb] {
    static VERBS: LazyLock<Vec<Verb>> = LazyLock::new(|| {
        [
            look::verbs(),
            history::verbs(),
            local::verbs(),
            refs::verbs(),
            integrate::verbs(),
            network::verbs(),
        ]
        .into_iter()
        .flatten()
        .collect()
    });
    &VERBS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_described_once_and_has_a_name_of_its_own() {
        let described = include_str!("../../../docs/GIT.md");
        let mut names: Vec<_> = verbs().iter().map(|verb| verb.entry().name).collect();
        for name in &names {
            let rows = described.lines().filter(|line| {
                let cells = line.strip_prefix("| ").and_then(|row| row.split_once(" |"));
                cells.is_some_and(|(first, _)| first.contains(&format!("`{name}`")))
            });
            assert_eq!(rows.count(), 1, "docs/GIT.md on {name}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), verbs().len());
    }
}
