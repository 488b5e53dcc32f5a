//! Every operation, in tables by area: the ids and words of the document.

mod access;
mod branches;
mod daemon;
mod runs;
mod verbs;

use serde_json::{Value, json};

use super::operation::{Header, Operation};
use super::schemas::Schemas;

const DAEMON: &str = "Daemon";
const PAGE: &str = "Page";
const REPOS: &str = "Repositories";
const BRANCHES: &str = "Branches";
const FILES: &str = "Files";
const GIT: &str = "Git";
const SALVAGE: &str = "Salvage";
const RUNS: &str = "Runs";
const GROUPS: &str = "Groups";
const UPKEEP: &str = "Upkeep";
const ACCESS: &str = "Access";
const AGENTS: &str = "Agents";

const RANGE: Header = (
    "Range",
    "Those bytes alone: `bytes=0-99`, `bytes=100-` or `bytes=-100`.",
    text,
);
const IF_RANGE: Header = ("If-Range", "The `ETag` that a part is to be of.", text);

fn text() -> Value {
    json!({ "type": "string" })
}

pub(super) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    [
        daemon::operations(),
        branches::operations(),
        runs::operations(),
        access::operations(),
        verbs::operations(schemas),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(super) fn tags() -> Vec<Value> {
    [
        (
            DAEMON,
            "Is it alive, is it ready, how busy is it, and what changes in it.",
        ),
        (REPOS, "The repositories that branches are of."),
        (BRANCHES, "Branches and their workspaces."),
        (FILES, "Reads of a workspace. They never wait for a build."),
        (GIT, "Git verbs with typed fields and answers."),
        (
            SALVAGE,
            "Work that was saved before something would have discarded it.",
        ),
        (
            RUNS,
            "Commands in a workspace: make, git and declared tasks.",
        ),
        (GROUPS, "One command on many branches."),
        (
            UPKEEP,
            "Making room, and what is on disk against what should be.",
        ),
        (
            ACCESS,
            "Who one is, tokens, sessions of the page, and the audit.",
        ),
        (AGENTS, "For coding agents."),
        (PAGE, "The page for browsers."),
    ]
    .into_iter()
    .map(|(name, description)| json!({ "name": name, "description": description }))
    .collect()
}
