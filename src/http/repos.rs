//! Repositories: list, register, show, forget, clone, maintain.

use axum::Json;

use super::audit::Noted;
use super::extract::{At, Body, RepoAt};
use super::listed::Listed;
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, With, does, reads};
use crate::app::{AuthorizedApp, RepoSummary, branches, inconsistencies, repos};
use branchyard_model::Scope;
use branchyard_workspace::repos::{Maintained, Registration};

pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("listRepos", "List repositories")
            .gives("Those that one may see.")
            .get("/api/repos", Needs(Scope::RepoRead), list),
        does("repo.register", "registerRepo", "Register a repository")
            .says("Nothing is cloned yet; the first use does. It is kept across restarts.")
            .gives("The repository.")
            .post("/api/repos", Needs(Scope::Admin), register),
        reads("showRepo", "Show a repository")
            .gives("The repository.")
            .get("/api/repos/{repo}", Needs(Scope::RepoRead), show),
        does("repo.remove", "removeRepo", "Forget a repository")
            .says("Refused while it has workspaces, or branches that may not be on the remote.")
            .gives("It is forgotten.")
            .delete("/api/repos/{repo}", Needs(Scope::Admin), remove),
        does("repo.clone", "cloneRepo", "Clone a repository now")
            .says("The first use of a branch does it otherwise. Nothing is done if it is cloned.")
            .gives("The repository.")
            .post("/api/repos/{repo}/clone", Needs(Scope::Ops), clone),
        does(
            "repo.maintain",
            "maintainRepo",
            "Pack a repository's objects now",
        )
        .gives("How they were kept before, and are now.")
        .post("/api/repos/{repo}/maintain", Needs(Scope::Ops), maintain),
    ]
}

async fn list(app: AuthorizedApp) -> Json<Listed<RepoSummary>> {
    let repos = app.repos();
    let items = repos.iter().map(|repo| repos::repo_summary(&app, repo));
    Json(Listed::all(items.collect()))
}

async fn register(
    app: AuthorizedApp,
    noted: Noted,
    Body(registration): Body<Registration>,
) -> HttpResult<With<201, Json<RepoSummary>>> {
    noted.at(Some(&registration.name), None);
    let repo = branches::register(&app, &registration).await?;
    Ok(With(Json(repos::repo_summary(&app, &repo))))
}

async fn show(app: AuthorizedApp, At(name): RepoAt) -> HttpResult<Json<RepoSummary>> {
    let repo = app.repo(&name)?;
    Ok(Json(repos::repo_summary(&app, &repo)))
}

async fn remove(app: AuthorizedApp, At(name): RepoAt) -> HttpResult<With<204, ()>> {
    branches::remove_repo(&app, &name).await?;
    Ok(With(()))
}

async fn clone(app: AuthorizedApp, At(name): RepoAt) -> HttpResult<Json<RepoSummary>> {
    Ok(Json(repos::clone(&app, &name).await?))
}

async fn maintain(app: AuthorizedApp, At(repo): RepoAt) -> HttpResult<Json<Maintained>> {
    Ok(Json(inconsistencies::maintain(&app, &repo).await?))
}
