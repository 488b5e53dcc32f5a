//! branch, worktree, tag: the names of a repository, which all its workspaces share.

use super::run_verb::{At, VerbOutput};
use super::verb::Verb;
use crate::app::verbs::run_verb;
use crate::app::{AuthorizedApp, inspect};
use branchyard_git::verbs::{branch, tag, worktree};
use branchyard_model::Problem;
use branchyard_workspace::{Files, verbs};

pub(super) fn verbs() -> Vec<Verb> {
    vec![
        Verb::new(branch::VERB, super::branch::branch).looking(&["list", "show"]),
        Verb::new(worktree::VERB, worktrees),
        Verb::new(tag::VERB, tags).looking(&["list", "show", "verify"]),
    ]
}

async fn worktrees(
    app: AuthorizedApp,
    at: At,
    request: worktree::Request,
) -> Result<VerbOutput<worktree::Worktrees>, Problem> {
    let told = run_verb::look(&app, &at, |_, _| Ok(())).await?;
    let repo = app.repo(&at.repo)?;
    let (workspaces, on_disk) = (&app.yard().workspaces, app.branches_on_disk(&repo));
    let found = verbs::worktrees(workspaces, &repo, on_disk, (at.branch, request)).await?;
    Ok(told.with(found))
}

async fn tags(
    app: AuthorizedApp,
    at: At,
    request: tag::Request,
) -> Result<VerbOutput<tag::Tags>, Problem> {
    request.check()?;
    match request.action {
        tag::Action::List | tag::Action::Show => {
            run_verb::look(&app, &at, move |workspace, repo| {
                verbs::look_at_tags(workspace, repo, &request)
            })
            .await
        }
        tag::Action::Verify => {
            let told = run_verb::look(&app, &at, |_, _| Ok(())).await?;
            let tags = inspect::read(&app, &at.repo, &at.branch, move |workspace| {
                let request = request.clone();
                async move { verbs::verify_tag(&workspace, request).await }
            })
            .await?;
            Ok(told.with(tags))
        }
        tag::Action::Create | tag::Action::Delete => {
            // It is everybody's, whatever their branches.
            app.principal().require_all_branches()?;
            let files = (Files::Untouched, true);
            run_verb::change(&app, &at, tag::VERB, files, |it| async move {
                verbs::change_tag(&it.workspace, request, &it.report).await
            })
            .await
        }
    }
}
