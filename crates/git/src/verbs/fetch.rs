//! `fetch`: what the remote has, into the store. No workspace is moved by it.

use std::collections::BTreeMap;

use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verbosity;
use super::verb::{Effect, Render, VerbEntry};
use crate::remote::transfer;
use crate::{Error, Git, Repository, Store};
use branchyard_model::{BranchName, CommitId};

const TRACKING: &str = "refs/remotes/origin/";
const TAGS: &str = "refs/tags/";

pub const VERB: VerbEntry = VerbEntry {
    name: "fetch",
    title: "Fetch from the remote",
    description: "Fetches branches of the remote, so that origin/<branch> is what it has now; all of them with all. No file of a workspace changes.",
    effect: Effect::WRITES.repeatable().reaching_out(),
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The branches to fetch; the workspace's own if left out.
    pub branches: Vec<BranchName>,
    /// Fetch all branches and their tags, and forget those that are gone on the remote.
    pub all: bool,
    /// How much to tell.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Fetched {
    /// Branches and tags that are not as they were before.
    pub updated: Vec<Updated>,
    /// Branches that were asked for and that the remote does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<BranchName>,
}

/// A branch or tag of the remote that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Updated {
    /// Such as `origin/main`, or `v1.0` for a tag.
    pub name: String,
    /// What it was; nothing if it is new.
    pub old: Option<CommitId>,
    /// What it is; nothing if it is gone.
    pub new: Option<CommitId>,
}

/// What the store knows of the remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known(BTreeMap<String, Oid>);

impl Known {
    /// Blocks.
    pub fn read(store: &Repository) -> Result<Self, Error> {
        let mut known = BTreeMap::new();
        for prefix in [TRACKING, TAGS] {
            for reference in store.git2().references_glob(&format!("{prefix}*"))? {
                let reference = reference?;
                if let Some(target) = reference.target() {
                    let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
                    known.insert(name, target);
                }
            }
        }
        Ok(Self(known))
    }

    /// What is otherwise in `later`.
    pub fn changed_to(&self, later: &Self) -> Vec<Updated> {
        let id = |oid: &Oid| CommitId::parse(&oid.to_string()).ok();
        let names = self.0.keys().chain(later.0.keys());
        let names: std::collections::BTreeSet<_> = names.collect();
        names
            .into_iter()
            .map(|name| (name, self.0.get(name), later.0.get(name)))
            .filter(|(_, old, new)| old != new)
            .map(|(name, old, new)| Updated {
                name: shown(name),
                old: old.and_then(id),
                new: new.and_then(id),
            })
            .collect()
    }

    /// How many branches of the remote are known.
    pub fn branches(&self) -> usize {
        let names = self.0.keys();
        names.filter(|name| name.starts_with(TRACKING)).count()
    }
}

fn shown(name: &str) -> String {
    let name = name.strip_prefix("refs/remotes/").unwrap_or(name);
    name.strip_prefix(TAGS).unwrap_or(name).to_owned()
}

/// Fetches every branch, with the tags that lead to them, and drops what the remote dropped. Only our own
/// copies of the remote's branches are ever dropped. No other fetch of the store may be under way.
pub async fn fetch_all(
    git: &Git,
    store: &Store,
    on_percent: impl FnMut(u8) + Send,
) -> Result<(), Error> {
    let everything = "+refs/heads/*:refs/remotes/origin/*".to_owned();
    let options = ["--prune", "--refmap="];
    transfer(git, store.path(), &options, &[everything], on_percent).await
}

impl Render for Fetched {
    fn text(&self) -> String {
        let mut lines: Vec<_> = self
            .updated
            .iter()
            .map(|updated| match (&updated.old, &updated.new) {
                (None, Some(new)) => format!("{} is new, at {new}", updated.name),
                (Some(_), Some(new)) => format!("{} moved to {new}", updated.name),
                (_, None) => format!("{} is gone", updated.name),
            })
            .collect();
        if lines.is_empty() {
            lines.push("nothing changed on the remote".to_owned());
        }
        let missing = self.missing.iter();
        lines.extend(missing.map(|branch| format!("the remote has no branch {branch}")));
        lines.join("\n")
    }
}
