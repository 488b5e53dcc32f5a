//! Webhooks of forges. What one says is only a hint: the remote itself is asked what is new.

use jiff::Timestamp;

use super::App;
use branchyard_forge::{HookNews, PullNews, is_authentic, read};
use branchyard_model::{BranchName, ErrorKind, NamedRef, Problem, RepoName};
use branchyard_triggers::{PullHint, Reason};

/// Stands in where there is no secret, so that it takes as long to refuse what no repo expects.
const NO_SECRET: &[u8] = b"no repository has this secret, whose length is that of a usual one";

/// Hears a webhook. One that is not of the repo's forge, and one for a repo that takes none or is not there, are refused
/// alike.
pub fn receive<'h>(
    app: &App,
    repo: &RepoName,
    header: impl Fn(&str) -> Option<&'h str> + Copy,
    body: &[u8],
) -> Result<(), Problem> {
    let secret = app.config().hooks.of(repo).unwrap_or_else(|why| {
        tracing::error!(%repo, why, "webhooks are refused: their secret cannot be read");
        None
    });
    let bytes = secret.as_ref().map(|secret| secret.expose().as_bytes());
    let now = Timestamp::now().as_second();
    let is_genuine = is_authentic(header, body, bytes.unwrap_or(NO_SECRET), now);
    if !is_genuine || secret.is_none() {
        return Err(refused());
    }
    let hook = read(header, body).map_err(|error| Problem::bad("body", error.to_string()))?;
    tracing::debug!(%repo, event = hook.event, "a forge tells of something");
    match hook.news {
        HookNews::Refs => app.0.triggers.ask(repo, Reason::Hook),
        HookNews::Pull(pull) if pull.is_open => hear_of_pull(app, repo, pull)?,
        HookNews::Pull(_) | HookNews::Nothing => {}
    }
    Ok(())
}

fn hear_of_pull(app: &App, repo: &RepoName, pull: PullNews) -> Result<(), Problem> {
    let url = app.0.repos.get(repo)?.config().url.to_string();
    if !pull.is_of(&url) {
        let of = pull.repo.unwrap_or_default();
        tracing::warn!(%repo, of, "a webhook tells of a pull request of another repository, and is passed over");
        return Ok(());
    }
    let named = NamedRef::of_full(&pull.git_ref)?;
    BranchName::parse(&pull.base)?;
    let hint = PullHint {
        number: pull.number,
        title: pull.title,
        base: pull.base,
        head: pull.head,
    };
    app.0.triggers.ask_of_pull(repo, &named, hint)
}

fn refused() -> Problem {
    let detail = "no repository here expects this with such a signature";
    Problem::new(ErrorKind::Unauthorized, "hook_refused", detail).help(
        "the forge and `webhook_secret_file` (of [repos.NAME], or of [forges.\"HOST\"]) need the same secret; the address is /hooks/NAME",
    )
}
