//! Commands that a push starts in the workspace of its branch, as the operator says.

use crate::reason::Reason;
use crate::repo_watch::RepoWatch;
use crate::seen::RefMove;
use branchyard_auth::Principal;
use branchyard_config::{BranchGlobs, MAKE, PushRule};
use branchyard_db::security_db::audit::{AuditOutcome, Call, End, Via};
use branchyard_model::{BranchName, OnDisconnect, Problem, sha256};
use branchyard_runs::{Args, RunBody};
use branchyard_workspace::repos::Repo;

/// Starts what the rules of the repo have for a push to a branch. All are tried; the error is the first.
pub(crate) async fn start(
    watch: &RepoWatch,
    repo: &Repo,
    pushed: (&BranchName, &RefMove),
) -> Result<(), Problem> {
    // However the push was heard of: a key is known only to whom it was given.
    let principal = Reason::Push.principal(repo.name());
    let mut result = Ok(());
    for (command, rule) in &repo.config().pipelines.on_push {
        let is_meant = |globs: &BranchGlobs| globs.matches(pushed.0);
        if rule.branches.as_ref().is_none_or(is_meant) {
            let started = start_one(watch, repo, (command.as_str(), rule), pushed, &principal);
            result = result.and(started.await);
        }
    }
    result
}

async fn start_one(
    watch: &RepoWatch,
    repo: &Repo,
    (command, rule): (&str, &PushRule),
    (branch, moved): (&BranchName, &RefMove),
    principal: &Principal,
) -> Result<(), Problem> {
    let body = RunBody {
        args: Args::List(rule.args.clone()),
        supersede: rule.supersede,
        on_disconnect: Some(OnDisconnect::Continue),
        ..RunBody::default()
    };
    let request = match command {
        MAKE => body.make(),
        task => RunBody {
            task: Some(task.to_owned()),
            ..body
        }
        .task(),
    }?;
    let (name, after) = (repo.name().as_str(), moved.after.as_str());
    let before = moved.before.as_ref().map_or("", |commit| commit.as_str());
    let nth = moved.nth.to_string();
    let parts = [name, &moved.git_ref, before, after, &nth, command];
    let key = sha256(parts.join("\0").as_bytes());
    let runs = watch.runs();
    let started = runs.start(repo.name(), branch, request, principal, Some(&key));
    let started = started.await?;
    // One that is found again was recorded when it was started.
    if started.is_new {
        let mut call = Call::new(Via::Daemon, if command == MAKE { MAKE } else { "task" });
        call.principal = Some(principal.name().to_owned());
        call.repo = Some(repo.name().clone());
        call.branch = Some(branch.clone());
        call.run = Some(started.id.to_string());
        let end = End::new(AuditOutcome::Allowed);
        watch.audit().record(call, end);
    }
    tracing::info!(repo = %repo.name(), %branch, run = %started.id, "a push started a run");
    Ok(())
}
