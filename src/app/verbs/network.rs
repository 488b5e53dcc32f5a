//! fetch, pull, push, deliver, remote, and a merge that is only tried: what goes between the yard and the remote.

use super::any;
use super::run_verb::{self, At, VerbOutput};
use super::verb::Verb;
use crate::app::AuthorizedApp;
use branchyard_git::verbs::{Verbosity, deliver, fetch, merge_preview, pull, push, remote};
use branchyard_model::{Problem, Scope};
use branchyard_workspace::{Files, protected_branch, verbs};

const MOST_RETRIES: u32 = 10;

pub(super) fn verbs() -> Vec<Verb> {
    vec![
        Verb::new(fetch::VERB, fetch_verb),
        Verb::changes(pull::VERB, any, Files::Later, |it, request| async move {
            verbs::pull(&it.workspace, request, &it.report).await
        }),
        Verb::new(push::VERB, push_verb),
        Verb::new(deliver::VERB, deliver_verb),
        Verb::new(remote::VERB, remote_verb),
    ]
}

async fn fetch_verb(
    app: AuthorizedApp,
    at: At,
    request: fetch::Request,
) -> Result<VerbOutput<fetch::Fetched>, Problem> {
    if request.all && !request.branches.is_empty() {
        let detail = "give either all or branches";
        return Err(Problem::unprocessable("branches", detail));
    }
    // It waits for no lock: refs of the remote are nobody's work, and no file moves.
    app.yard().margin.check()?;
    let workspace = app.workspace(&at.repo, &at.branch)?;
    let fetched = verbs::fetch(&workspace, &request).await;
    let fetched = fetched.map_err(|error| app.judge(error))?;
    let told = run_verb::look(&app, &at, |_, _| Ok(())).await?;
    Ok(told.with(fetched))
}

async fn push_verb(
    app: AuthorizedApp,
    at: At,
    request: push::Request,
) -> Result<VerbOutput<push::Pushed>, Problem> {
    check_protected(&app, &at, "pushed to", request.allow_protected).await?;
    if !request.tags.is_empty() {
        // They are everybody's, whatever their branches.
        app.principal().require_all_branches()?;
    }
    if request.retries > MOST_RETRIES {
        let detail = format!("it is tried again {MOST_RETRIES} times at most");
        return Err(Problem::unprocessable("retries", detail));
    }
    let has_message = request.message.is_some();
    if has_message {
        request.commit().check()?;
    }
    for (field, is_given) in [
        ("paths", !request.paths.is_empty()),
        ("author", request.author.is_some()),
    ] {
        if is_given && !has_message {
            let detail = format!("{field} is for a commit, which needs a message");
            return Err(Problem::unprocessable(field, detail));
        }
    }
    let files = (Files::Later, true);
    run_verb::change(&app, &at, push::VERB, files, |it| async move {
        it.check_author(request.author.as_ref())?;
        verbs::push(&it.workspace, request, it.beside_run.is_some(), &it.report).await
    })
    .await
}

async fn deliver_verb(
    app: AuthorizedApp,
    at: At,
    request: deliver::Request,
) -> Result<VerbOutput<deliver::Delivered>, Problem> {
    request.check(&at.branch)?;
    app.check(&at.repo, &request.into)
        .map_err(|problem| problem.field("into"))?;
    let repo = app.repo(&at.repo)?;
    if app.is_protected(&repo, &request.into).await? {
        return Err(protected_branch(&request.into, "delivered to")
            .field("into")
            .help("deliver to a branch that is not protected, and have that merged"));
    }
    let files = (Files::Later, true);
    run_verb::change(&app, &at, deliver::VERB, files, |it| async move {
        verbs::deliver(&it.workspace, request, it.beside_run.is_some(), &it.report).await
    })
    .await
}

async fn remote_verb(
    app: AuthorizedApp,
    at: At,
    request: remote::Request,
) -> Result<VerbOutput<remote::Remote>, Problem> {
    let repo = app.repo(&at.repo)?;
    let known = run_verb::look(&app, &at, |_, repo| Ok(fetch::Known::read(repo)?)).await?;
    let mut answer = remote::Remote {
        name: "origin".to_owned(),
        url: repo.config().url.as_str().to_owned(),
        default_branch: repo.default_branch(),
        branches: known.answer.branches(),
        heads: None,
        protected: repo.protected_patterns(),
    };
    if request.ask {
        let heads = branchyard_workspace::repos::remote::remote_heads(&repo, Vec::new()).await?;
        answer.branches = heads.len();
        let head = |(name, at): (String, _)| remote::Head {
            name: name.trim_start_matches("refs/heads/").to_owned(),
            at,
        };
        let mut heads: Vec<_> = heads.into_iter().map(head).collect();
        heads.sort_by(|a, b| a.name.cmp(&b.name));
        answer.heads = (request.verbosity > Verbosity::Minimal).then_some(heads);
    }
    Ok(known.with(answer))
}

pub(super) async fn merge_preview(
    app: AuthorizedApp,
    at: At,
    request: merge_preview::Request,
) -> Result<VerbOutput<merge_preview::MergePreview>, Problem> {
    if request.fetch {
        app.yard().margin.check()?;
        let workspace = app.workspace(&at.repo, &at.branch)?;
        let brought = verbs::bring_for(&workspace, &request).await;
        brought.map_err(|error| app.judge(error))?;
    }
    run_verb::read(&app, &at, |workspace| {
        let request = request.clone();
        async move { verbs::merge_preview(&workspace, request).await }
    })
    .await
}

/// Refuses to have a protected branch `done` something to, unless that was said and may be said.
pub(super) async fn check_protected(
    app: &AuthorizedApp,
    at: &At,
    done: &str,
    allow_protected: bool,
) -> Result<(), Problem> {
    let repo = app.repo(&at.repo)?;
    if !app.is_protected(&repo, &at.branch).await? {
        return Ok(());
    }
    if allow_protected {
        return app.require(Scope::Admin);
    }
    Err(protected_branch(&at.branch, done))
}
