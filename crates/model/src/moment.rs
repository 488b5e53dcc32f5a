//! Points in time as callers write them.

use jiff::{SignedDuration, Timestamp};

use super::Problem;

/// A point in time, as such or as the time that has passed since; `field` is what it was given as.
pub fn moment(field: &str, text: &str) -> Result<Timestamp, Problem> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let ago = humantime::parse_duration(text)
        .ok()
        .and_then(|ago| SignedDuration::try_from(ago).ok())
        .and_then(|ago| Timestamp::now().checked_sub(ago).ok());
    ago.ok_or_else(|| {
        let detail = format!("{text:?} is neither a time nor a duration");
        Problem::unprocessable(field, detail).help("write it like 2026-11-15T08:00:00Z or 2h")
    })
}
