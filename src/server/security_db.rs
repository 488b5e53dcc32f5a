//! Opening `trust.db`: the tokens and the audit. Where tokens were lost with it, whoever starts the daemon is told.

use std::path::Path;

use anyhow::Context;

use branchyard_config::Config;
use branchyard_db::security_db::audit::{Audit, AuditOutcome, Call, End, MISSING, Retention, Via};
use branchyard_db::security_db::{Condition, Opened, SecurityDb};
use branchyard_runtime::background::Loops;
use branchyard_runtime::clock::SteadyClock;
use branchyard_runtime::disk::DiskGuard;

/// To be done before anything else is made there: what there is says whether the yard is a new one.
///
/// Returns also how many of its last changes the file lacks.
pub(super) fn open(
    state: &Path,
    loops: &Loops,
    margin: &DiskGuard,
) -> anyhow::Result<(SecurityDb, u64)> {
    let is_new = !["runs", "yard.db"]
        .iter()
        .any(|part| state.join(part).exists());
    let (path, reserve) = (state.join("trust.db"), margin.clone());
    let Opened {
        trust,
        found,
        missing,
    } = SecurityDb::open(&path, loops, move || reserve.make_room())
        .context("failed to open the tokens and the audit")?;
    match &found {
        Condition::Sound => {}
        Condition::Fresh if is_new => tracing::info!("trust.db is made: there are no tokens yet"),
        Condition::Fresh => tracing::warn!(
            path = %path.display(),
            "trust.db is gone: if there were tokens, they are not known any more, nor is the audit of before; only the session key opens the daemon until new tokens are made"
        ),
        Condition::Damaged { aside, why } => tracing::error!(
            aside = %aside.display(), why,
            "trust.db was damaged and is kept aside: no token and no audit of before is known any more; only the session key opens the daemon until new tokens are made"
        ),
    }
    let missing = match found {
        Condition::Sound => missing,
        // That all of it is gone was said.
        Condition::Fresh | Condition::Damaged { .. } => 0,
    };
    if missing > 0 {
        tracing::error!(
            path = %path.display(), missing,
            "trust.db lacks its last changes, as after its write-ahead log was deleted: tokens that were made last are not known, some that were revoked may count again, and records of the audit are missing; look through `branchyard token list`"
        );
    }
    Ok((trust, missing))
}

/// The audit in the same file.
pub(super) fn audit(
    (trust, missing): (&SecurityDb, u64),
    config: &Config,
    loops: &Loops,
    margin: &DiskGuard,
    clock: SteadyClock,
) -> anyhow::Result<Audit> {
    let retention = Retention {
        age: config.audit.keep,
        count: config.audit.max_records,
        clock,
    };
    let reserve = margin.clone();
    let audit = Audit::open(trust, retention, loops, move || reserve.make_room())
        .context("failed to open the audit")?;
    if missing > 0 {
        let end = End::new(AuditOutcome::Unknown).detail(format!(
            "{missing} changes of tokens and audit are not in trust.db any more"
        ));
        audit.record(Call::new(Via::Daemon, MISSING), end);
    }
    Ok(audit)
}
