//! Opening the outbox, and starting the loop that sends, where there is a use for it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::outbox::Outbox;
use crate::sending::send_all;
use branchyard_config::Config;
use branchyard_runtime::background::Background;

/// What an outbox is made of.
#[derive(Debug)]
pub struct OutboxParts<'a> {
    pub config: Arc<Config>,
    /// Where the daemon keeps its files.
    pub state: &'a Path,
    pub background: Background,
    /// What waits to be sent is another yard's.
    pub is_copy: bool,
}

/// Goes on with what an earlier daemon left.
pub fn open(parts: OutboxParts<'_>) -> io::Result<Outbox> {
    let OutboxParts {
        config,
        state,
        background,
        is_copy,
    } = parts;
    let outbox = Outbox::load(config, state, is_copy)?;
    if outbox.is_in_use() {
        let (this, loops) = (outbox.clone(), background.loops);
        let sending = loops.keep("outbox", move || send_all(this.clone()));
        let leaving = outbox.leaving();
        background
            .tasks
            .spawn(leaving.run_until_cancelled_owned(sending));
    }
    Ok(outbox)
}
