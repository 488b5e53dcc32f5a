//! add, commit, reset, clean, stash, checkout: what happens within one workspace.

mod answers;

use super::verb::{At, Effect, Verb, VerbEntry, VerbOutput};
use crate::app::AuthorizedApp;
use crate::app::verbs::run_verb;
use branchyard_git::verbs::{add, checkout, clean, commit, reset, stash};
use branchyard_model::Problem;
use branchyard_workspace::{Files, verbs};

pub(super) use answers::saved;

pub(super) fn verbs() -> Vec<Verb> {
    vec![
        Verb::new(ADD, stage),
        Verb::new(COMMIT, commit),
        Verb::new(RESET, reset),
        Verb::new(CLEAN, clean),
        Verb::new(STASH, stash).looking(&["list", "show"]),
        Verb::new(CHECKOUT, checkout),
    ]
}

const ADD: VerbEntry = VerbEntry {
    name: "add",
    title: "Stage changes",
    description: "Stages files for the next commit: those in `paths`, `all` changes, or with `update` those of tracked files. Says what is staged then; ignored files are left out and told of, repositories within are refused. `all` leaves out new files that look like build output (`withheld`); name them in `paths` to stage them. git_commit commits what is staged.",
    effect: Effect {
        repeats: true,
        ..Effect::WRITES
    },
};

const COMMIT: VerbEntry = VerbEntry {
    name: "commit",
    title: "Commit",
    description: "Commits what is staged, after staging `paths` or, with `all`, every change to tracked files. No hooks run, and nothing is pushed.",
    effect: Effect::WRITES,
};

const RESET: VerbEntry = VerbEntry {
    name: "reset",
    title: "Reset",
    description: "Moves the branch to another commit (soft, mixed, hard), or takes `paths` out of the next commit. Mode hard discards changes and needs `confirm: true`; they are saved first, and the answer says how to have them back.",
    effect: Effect {
        repeats: true,
        ..Effect::DESTROYS
    },
};

const CLEAN: VerbEntry = VerbEntry {
    name: "clean",
    title: "Remove untracked files",
    description: "Lists untracked files; with `dry_run: false` and `confirm: true` they are removed. What somebody could miss is saved first, and the answer says how to have it back. Repositories within stay unless they are named.",
    effect: Effect {
        repeats: true,
        ..Effect::DESTROYS
    },
};

const STASH: VerbEntry = VerbEntry {
    name: "stash",
    title: "Put changes aside",
    description: "Puts changes aside (push) and brings them back (pop, apply); list, show and drop. Only stashes of this branch are seen, and each is taken by its id. Conflicts are listed in the answer, and the stash is kept then.",
    effect: Effect::DESTROYS,
};

const CHECKOUT: VerbEntry = VerbEntry {
    name: "checkout",
    title: "Bring files back",
    description: "Makes files what is staged, or what the commit in `from` has, or one side of a conflict. Files with changes are overwritten with `confirm: true` only, and saved first. The branch stays: another one has a workspace of its own.",
    effect: Effect {
        repeats: true,
        ..Effect::DESTROYS
    },
};

async fn stage(
    app: AuthorizedApp,
    at: At,
    request: add::Request,
) -> Result<VerbOutput<add::Added>, Problem> {
    request.check()?;
    run_verb::change(
        &app,
        &at,
        "git add",
        Files::Stay,
        move |workspace, _| async move { verbs::stage(&workspace, request).await },
    )
    .await
}

async fn commit(
    app: AuthorizedApp,
    at: At,
    request: commit::Request,
) -> Result<VerbOutput<commit::Committed>, Problem> {
    request.check()?;
    run_verb::change(
        &app,
        &at,
        "git commit",
        Files::Stay,
        move |workspace, report| async move { verbs::commit(&workspace, request, &report).await },
    )
    .await
}

async fn reset(
    app: AuthorizedApp,
    at: At,
    request: reset::Request,
) -> Result<VerbOutput<reset::Done>, Problem> {
    request.check()?;
    let by = app.by();
    run_verb::change(
        &app,
        &at,
        "git reset",
        Files::Move,
        move |workspace, report| async move {
            verbs::reset_head(&workspace, request, &by, &report).await
        },
    )
    .await
}

async fn clean(
    app: AuthorizedApp,
    at: At,
    request: clean::Request,
) -> Result<VerbOutput<clean::Cleaned>, Problem> {
    if request.dry_run {
        return run_verb::look(&app, &at, move |workspace, repo| {
            verbs::would_clean(workspace, repo, &request)
        })
        .await;
    }
    let by = app.by();
    let work = move |workspace, report| async move {
        verbs::clean_up(&workspace, request, &by, &report).await
    };
    run_verb::change(&app, &at, "git clean", Files::Move, work).await
}

async fn stash(
    app: AuthorizedApp,
    at: At,
    request: stash::Request,
) -> Result<VerbOutput<stash::Stashed>, Problem> {
    request.check()?;
    if matches!(request.action, stash::Action::List | stash::Action::Show) {
        return run_verb::look(&app, &at, move |workspace, repo| {
            verbs::look_at_stashes(workspace, repo, &request)
        })
        .await;
    }
    let by = app.by();
    run_verb::change(
        &app,
        &at,
        "git stash",
        Files::Move,
        move |workspace, report| async move {
            verbs::change_stashes(&workspace, request, &by, &report).await
        },
    )
    .await
}

async fn checkout(
    app: AuthorizedApp,
    at: At,
    request: checkout::Request,
) -> Result<VerbOutput<checkout::CheckedOut>, Problem> {
    request.check()?;
    let by = app.by();
    run_verb::change(
        &app,
        &at,
        "git checkout",
        Files::Move,
        move |workspace, report| async move {
            verbs::check_out(&workspace, request, &by, &report).await
        },
    )
    .await
}
