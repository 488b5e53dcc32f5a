//! fetch, pull, push, deliver, remote: what goes between the yard and the remote.

mod answers;

use std::sync::Arc;

use super::verb::{At, Effect, Verb, VerbEntry, VerbOutput};
use crate::app::AuthorizedApp;
use crate::app::verbs::run_verb;
use branchyard_git::verbs::Verbosity;
use branchyard_git::verbs::{deliver, fetch, pull, push, remote};
use branchyard_model::{Problem, Scope};
use branchyard_workspace::{Files, Reporter, Workspace, protected_branch, verbs};

const MOST_RETRIES: u32 = 10;

const REACHES_OUT: Effect = Effect {
    reaches_out: true,
    ..Effect::WRITES
};

pub(super) fn verbs() -> Vec<Verb> {
    vec![
        Verb::new(
            VerbEntry {
                name: "fetch",
                title: "Fetch from the remote",
                description: "Fetches branches of the remote, so that origin/<branch> is what it has now; all of them \
                    with all. No file of a workspace changes. git_pull takes in what came.",
                effect: Effect {
                    repeats: true,
                    ..REACHES_OUT
                },
            },
            fetch_verb,
        ),
        Verb::new(
            VerbEntry {
                name: "pull",
                title: "Take in what the remote has",
                description: "Fetches a branch of the remote and rebases the workspace's own commits onto it (or merges \
                    it). With from another branch, such as main, it keeps up with its base. \
                    Conflicts are left to git_resolve, or with abort_on_conflict undone.",
                effect: REACHES_OUT,
            },
            pull_verb,
        ),
        Verb::new(
            VerbEntry {
                name: "push",
                title: "Push to the remote",
                description: "Commits (if a message is given), takes in what the remote has, pushes the branch, again when the \
                    remote moved meanwhile, and verifies that it has arrived. Conflicts are told and push nothing; what is \
                    committed stays. New files that look like secrets or build output are withheld unless paths names them.",
                effect: Effect {
                    repeats: true,
                    // On an agent's branch, or with force, it replaces what the remote has.
                    destroys: true,
                    ..REACHES_OUT
                },
            },
            push_verb,
        ),
        Verb::new(
            VerbEntry {
                name: "deliver",
                title: "Deliver to a shared branch",
                description: "Merges what is committed here into another branch of the remote, or rebases it onto that, pushes \
                    and verifies that it has arrived; done again when that branch moved meanwhile. A conflict pushes nothing \
                    and waits in this workspace: git_resolve, then git_merge or git_rebase with action continue, and deliver again.",
                effect: Effect {
                    repeats: true,
                    ..REACHES_OUT
                },
            },
            deliver_verb,
        ),
        Verb::new(
            VerbEntry {
                name: "remote",
                title: "Show the remote",
                description: "Tells where the repository comes from, its default branch, and which branches are protected. \
                    With ask, the remote itself is asked which branches it has.",
                effect: Effect {
                    reaches_out: true,
                    ..Effect::READS
                },
            },
            remote_verb,
        ),
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
    let fetched = fetched.map_err(|error| app.yard().margin.judge(error.problem()))?;
    let told = run_verb::look(&app, &at, |_, _| Ok(())).await?;
    Ok(VerbOutput {
        about: told.about,
        warnings: told.warnings,
        answer: fetched,
    })
}

async fn pull_verb(
    app: AuthorizedApp,
    at: At,
    request: pull::Request,
) -> Result<VerbOutput<pull::Pulled>, Problem> {
    run_verb::change(
        &app,
        &at,
        "git pull",
        Files::Later,
        move |workspace, report| async move { verbs::pull(&workspace, request, &report).await },
    )
    .await
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
    let work = move |workspace: Arc<Workspace>, report: Reporter, beside_run| async move {
        verbs::push(&workspace, request, beside_run, &report).await
    };
    run_verb::change_beside_run(&app, &at, "git push", work).await
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
    let work = move |workspace: Arc<Workspace>, report: Reporter, beside_run| async move {
        verbs::deliver(&workspace, request, beside_run, &report).await
    };
    run_verb::change_beside_run(&app, &at, "git deliver", work).await
}

async fn remote_verb(
    app: AuthorizedApp,
    at: At,
    request: remote::Request,
) -> Result<VerbOutput<remote::Remote>, Problem> {
    let repo = app.repo(&at.repo)?;
    let known = run_verb::look(&app, &at, |_, repo| Ok(fetch::Known::read(repo)?)).await?;
    let mut answer = remote::Remote {
        name: "origin",
        url: repo.config().url.as_str().to_owned(),
        default_branch: repo.default_branch(),
        branches: known.answer.branches(),
        heads: None,
        truncated: None,
        protected: repo.protected_patterns(),
    };
    if request.ask {
        let heads = branchyard_workspace::repos::remote::remote_heads(&repo, Vec::new()).await;
        let heads = heads.map_err(|error| error.problem())?;
        answer.branches = heads.len();
        let mut heads: Vec<_> = heads
            .into_iter()
            .map(|(name, at)| remote::Head {
                name: name.trim_start_matches("refs/heads/").to_owned(),
                at,
            })
            .collect();
        heads.sort_by(|a, b| a.name.cmp(&b.name));
        answer.heads = (request.verbosity > Verbosity::Minimal).then_some(heads);
    }
    Ok(VerbOutput {
        about: known.about,
        warnings: known.warnings,
        answer,
    })
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
