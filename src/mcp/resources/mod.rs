//! Resources: the yard, the logs of runs and the files of workspaces, to be read and watched by name.

mod list;
mod read;
mod updates;
mod uri;
mod watch;

use rmcp::ErrorData;
use serde_json::json;

use super::{fit, reply};
use branchyard_model::{ErrorKind, Problem};
use uri::LONGEST_URI;

pub(super) use list::{all, templates};
pub(super) use read::read;
pub(super) use updates::{Subscriptions, accepted, listen};

/// A refusal, as clients know it of resources.
pub(super) fn refused(problem: Problem, uri: &str) -> ErrorData {
    let is_missing = problem.kind == ErrorKind::NotFound;
    let mut error = reply::error(problem);
    if is_missing {
        error = ErrorData::resource_not_found(error.message, None);
    }
    error.data = Some(json!({ "uri": fit::head(uri, LONGEST_URI) }));
    error
}
