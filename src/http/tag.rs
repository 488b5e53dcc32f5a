//! Tags of what is given out (`ETag`): asked for again, it is only said that it is the same.

use axum::http::{HeaderMap, header};

use branchyard_workspace::Stamp;

const WEAK: &str = "W/";

/// Of content with this hash.
pub(super) fn of_hash(hash: &[u8; 32]) -> String {
    let digits: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

/// Of a file with this stamp; none for one that may change without another stamp.
pub(super) fn of_stamp(stamp: &Stamp) -> Option<String> {
    (!stamp.is_fresh()).then(|| format!("\"{stamp}\""))
}

/// Whether whoever asks has what this tag stands for.
pub(super) fn is_known(tag: &str, asked: &HeaderMap) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches(WEAK).to_owned();
    asked
        .get(header::IF_NONE_MATCH)
        .and_then(|known| known.to_str().ok())
        .is_some_and(|known| {
            known.trim() == "*" || known.split(',').any(|known| opaque(known) == opaque(tag))
        })
}

/// Whether a range may be given: not if the caller has a part of something else.
pub(super) fn allows_range(tag: Option<&str>, asked: &HeaderMap) -> bool {
    let condition = asked.get(header::IF_RANGE);
    condition.is_none_or(|known| tag.is_some_and(|tag| known.as_bytes() == tag.as_bytes()))
}
