//! The headers of our own on `/mcp`, for both ends.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use branchyard_model::BranchName;

/// What the names of all of them begin with.
pub const PREFIX: &str = "branchyard-";
/// The repo that is meant where a call names none.
pub const REPO: &str = "branchyard-repo";
/// The branch, percent-encoded ([`branch_value`]).
pub const BRANCH: &str = "branchyard-branch";
/// Sets of tools with commas between them, or `all`.
pub const TOOLSETS: &str = "branchyard-toolsets";
/// Single tools with commas between them: beside the sets that are named, or alone.
pub const TOOLS: &str = "branchyard-tools";
/// Tools that are not wanted, with commas between them.
pub const EXCLUDE_TOOLS: &str = "branchyard-exclude-tools";
pub const ROLE: &str = "branchyard-role";
/// `true` or `false`.
pub const READ_ONLY: &str = "branchyard-read-only";
/// `text`, `structured` or `both`: in which form answers come.
pub const CONTENT: &str = "branchyard-content";
/// Of an answer: how many bytes a message to the daemon may have.
pub const MAX_BODY: &str = "branchyard-max-body";

/// What the other end would take for an escape, and what clients fill in in their configuration.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b'$').add(b'"').add(b'\\');

/// A header carries nothing beyond ASCII safely.
pub fn branch_value(branch: &BranchName) -> String {
    utf8_percent_encode(branch.as_str(), ESCAPED).to_string()
}
