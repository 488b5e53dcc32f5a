//! Tags of what changes only with the program (`ETag`): asked for again, it is only said that it is the same.

use axum::http::{HeaderMap, header};

/// Of content with this hash.
pub(super) fn of_hash(hash: &[u8; 32]) -> String {
    let digits: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

/// Whether whoever asks has what this tag stands for.
pub(super) fn is_known(tag: &str, asked: &HeaderMap) -> bool {
    asked
        .get(header::IF_NONE_MATCH)
        .and_then(|known| known.to_str().ok())
        .is_some_and(|known| known.split(',').any(|known| known.trim() == tag))
}
