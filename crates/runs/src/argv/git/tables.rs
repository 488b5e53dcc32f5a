//! All verbs, of all tables.

use super::verb::Verb;
use super::{network, reads, writes};

pub(super) fn find(name: &str) -> Option<&'static Verb> {
    all().find(|verb| verb.name == name)
}

pub(super) fn all() -> impl Iterator<Item = &'static Verb> {
    [reads::VERBS, writes::VERBS, network::VERBS]
        .into_iter()
        .flatten()
}
