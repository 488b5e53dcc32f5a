//! Opening `trust.db`: the tokens and the audit. Where tokens were lost with it, whoever starts the daemon is told.

use std::path::Path;

use anyhow::Context;

use crate::background::Loops;
use crate::config::Config;
use crate::disk::Margin;
use crate::trust::audit::{Audit, Retention};
use crate::trust::{Found, Opened, Trust};

/// To be done before anything else is made there: what there is says whether the yard is a new one.
pub(super) fn open(state: &Path, loops: &Loops, margin: &Margin) -> anyhow::Result<Trust> {
    let is_new = !["runs", "yard.db"]
        .iter()
        .any(|part| state.join(part).exists());
    let (path, reserve) = (state.join("trust.db"), margin.clone());
    let Opened { trust, found } = Trust::open(&path, loops, move || reserve.make_room())
        .context("failed to open the tokens and the audit")?;
    match found {
        Found::Sound => {}
        Found::Fresh if is_new => tracing::info!("trust.db is made: there are no tokens yet"),
        Found::Fresh => tracing::warn!(
            path = %path.display(),
            "trust.db is gone: if there were tokens, they are not known any more, nor is the audit of before; only the session key opens the daemon until new tokens are made"
        ),
        Found::Damaged { aside, why } => tracing::error!(
            aside = %aside.display(), why,
            "trust.db was damaged and is kept aside: no token and no audit of before is known any more; only the session key opens the daemon until new tokens are made"
        ),
    }
    Ok(trust)
}

/// The audit in the same file.
pub(super) fn audit(
    trust: &Trust,
    config: &Config,
    loops: &Loops,
    margin: &Margin,
) -> anyhow::Result<Audit> {
    let retention = Retention {
        age: config.audit.keep,
        count: config.audit.max_records,
    };
    let reserve = margin.clone();
    Audit::open(trust, retention, loops, move || reserve.make_room())
        .context("failed to open the audit")
}
