//! What the steps that use an action are given, and what they leave.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use branchyard_model::{Problem, Warning};

/// A cache that is to be saved when the job has succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingCache {
    pub(crate) key: String,
    pub(crate) paths: Vec<String>,
}

/// What a composite action is given by the step that uses it, as it was when the action began.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ActionScope {
    pub(crate) inputs: BTreeMap<String, String>,
    /// But for what has a secret in it, which is made anew for each step.
    pub(crate) env: BTreeMap<String, String>,
    /// How long all of it may take.
    pub(crate) seconds: Option<f64>,
}

/// What a built-in action did.
#[derive(Debug, Default)]
pub(crate) struct ActionDone {
    pub(crate) outputs: BTreeMap<String, String>,
    pub(crate) warnings: Vec<Warning>,
    /// The name of the artifact that it made.
    pub(crate) made: Option<String>,
    /// The digest of the cache that it restored, and the one that it wants saved.
    pub(crate) restored: Option<String>,
    pub(crate) pending: Option<PendingCache>,
}

/// What a step has in its `with`.
pub(crate) type With = BTreeMap<String, String>;

pub(crate) fn given<'w>(with: &'w With, name: &str) -> Option<&'w str> {
    with.get(name)
        .map(|value| value.trim())
        .filter(|value| !value.is_empty())
}

pub(crate) fn is_set(with: &With, name: &str) -> Result<bool, Problem> {
    match given(with, name) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => {
            let detail = format!("`{name}` is {other:?}; it is true or false");
            Err(Problem::unprocessable(name, detail))
        }
    }
}
