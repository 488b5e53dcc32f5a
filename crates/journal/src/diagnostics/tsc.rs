//! TypeScript's compiler. What it says about a place has the form of [`super::generic`], and only its
//! codes tell it from others that write so.

use super::found::{Complaint, Weight};
use super::severity::severity;

pub(super) const TOOL: &str = "tsc";

/// Whether this is `error TS2304: …`, with or without a place before it.
pub(super) fn says(said: &str) -> bool {
    let code = said
        .strip_prefix("error TS")
        .and_then(|rest| rest.split_once(':'));
    code.is_some_and(|(code, _)| !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `error TS5023: Unknown compiler option '--x'.`
pub(super) fn unplaced(line: &str) -> Option<Complaint> {
    let (_, message) = says(line).then(|| severity(line))??;
    Some(Complaint::new(TOOL, Weight::Error, None, &message))
}
