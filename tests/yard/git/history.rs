//! log, blame, reflog, changelog, describe, merge_preview.

mod blame;
mod changelog;
mod compared;
mod describe;
mod log;
mod merge_preview;
mod reflog;
mod tangle;

use serde_json::Value;

/// One field of each item of a list, as text.
fn each<'a>(items: &'a Value, field: &str) -> Vec<&'a str> {
    let items = items.as_array().unwrap();
    items
        .iter()
        .map(|item| item[field].as_str().unwrap())
        .collect()
}
