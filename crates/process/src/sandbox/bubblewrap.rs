//! bwrap, by its name, and what it says of itself.

use std::time::Duration;

use tokio::process::Command;

use crate::{Timeouts, capture};

pub(super) const BUBBLEWRAP: &str = "bwrap";

const PATIENCE: Duration = Duration::from_secs(10);
/// More than a trial has to say.
const LONGEST: usize = 4096;

/// What a command that bwrap starts has to say, or why it does not work.
pub(super) async fn on_trial(command: Command) -> Result<Vec<u8>, String> {
    let timeouts = Timeouts {
        total: Some(PATIENCE),
        stall: None,
    };
    let done = capture(command, timeouts, None, LONGEST, |_| {})
        .await
        .map_err(|error| format!("{BUBBLEWRAP}: {error}"))?;
    if !done.status.success() {
        let words = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{} ({})", words.trim(), done.status));
    }
    Ok(done.stdout)
}
