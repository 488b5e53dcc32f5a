//! What is done to the yard, by the names that the audit has for it. Both faces use the same, so that one
//! can ask who removed a branch without knowing by which way.

use crate::app::verbs::{Verb, VerbFamily};
use branchyard_db::security_db::audit::{EXPIRED, MISSING};

/// Besides [`of_verb`]; looks have none, for only the refused ones are recorded.
pub const ACTIONS: [&str; 40] = [
    "make",
    "task",
    "test",
    // A command or code of the caller's own.
    "exec",
    // As a run; the verbs that are answered at once are `git.…`.
    "git",
    "group.start",
    "group.cancel",
    "pipeline.start",
    "pipeline.cancel",
    "pipeline.retry",
    "delivery.redeliver",
    "bisect",
    "run.rerun",
    "run.cancel",
    "branch.prepare",
    "branch.remove",
    "branch.pin",
    "branch.unpin",
    "git.clone",
    "git.init",
    "repo.register",
    "repo.remove",
    "repo.clone",
    "repo.maintain",
    "findings.mend",
    "salvage.restore",
    "salvage.drop",
    "session.open",
    "session.close",
    "session.ticket",
    "token.create",
    "token.revoke",
    "reap",
    // By the daemon's own rules, or in the course of a `reap`.
    "reap.workspace",
    "reap.build_output",
    "reap.clone",
    "reap.branch",
    "salvage.expire",
    EXPIRED,
    MISSING,
];

/// The action of a verb.
pub fn of_verb(verb: &Verb) -> String {
    match verb.family() {
        VerbFamily::Git => format!("git.{}", verb.entry().name),
        VerbFamily::Files => format!("code.{}", verb.entry().name),
    }
}
