//! New files that "everything" does not cover.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many an answer lists.
const LISTED: usize = 100;

/// A file that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// Relative to the workspace. A directory ends in a slash, and stands for all that is in it.
    pub path: String,
    pub why: String,
}

/// As many as an answer lists, and where those are not all, how many there are.
pub fn listed(mut all: Vec<Withheld>) -> (Vec<Withheld>, Option<usize>) {
    let count = all.len();
    all.truncate(LISTED);
    (all, (count > LISTED).then_some(count))
}

/// A line for each.
pub fn lines(list: &[Withheld], in_all: Option<usize>) -> Vec<String> {
    let line = |withheld: &Withheld| format!("left out {}: {}", withheld.path, withheld.why);
    let more = in_all.map(|all| format!("left out {all} in all"));
    list.iter().map(line).chain(more).collect()
}
