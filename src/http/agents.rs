//! Coding agents: MCP, and `git/clone` and `git/init`, which come before there is a branch to name.

use axum::Json;
use axum::routing::MethodRouter;
use serde_json::json;

use super::audit::Noted;
use super::extract::Body;
use super::problem::HttpResult;
use super::route::Access::{Known, Needs};
use super::route::{JSON, Operation, Route, SSE, TEXT, does, is, reads, text, text_of};
use crate::app::{App, AuthorizedApp, Begun, CloneRequest, InitRequest, agents};
use branchyard_model::Scope;

pub(super) fn routes(mcp: MethodRouter<App>) -> Vec<Route> {
    let message = || is(json!({ "type": "object" }));
    // The transport has words of its own for what it cannot read.
    let unheard = |operation: Operation| {
        let statuses = [400, 401, 404, 405, 406, 409, 415, 422].into_iter();
        statuses.fold(operation, |operation, status| {
            let media = vec![(JSON, message()), (TEXT, is(text()))];
            operation.answers(status, "It was not understood.", media)
        })
    };
    let answers = vec![(JSON, message()), (SSE, is(text_of(SSE)))];
    // Each tool, resource and prompt asks for its own right, and is recorded by itself.
    vec![
        unheard(reads("mcpPost", "A message of the Model Context Protocol"))
            .says(
                "The yard for coding agents, as tools, resources and prompts; each asks for its \
                 own right.",
            )
            .takes_content(message())
            .answers(200, "What it answers, at once or as a stream.", answers)
            .only(202, "It was heard, and needs no answer.")
            .post("/mcp", Known, mcp.clone()),
        unheard(reads(
            "mcpGet",
            "What the daemon says in a session of the older protocol",
        ))
        .writes(200, "The stream.", &[SSE])
        .get("/mcp", Known, mcp.clone()),
        unheard(reads("mcpDelete", "End a session of the older protocol"))
            .only(202, "It is ended.")
            .only(204, "It is ended.")
            .delete("/mcp", Known, mcp),
        does(
            "git.clone",
            "gitClone",
            "A branch and workspace for an agent's task",
        )
        .says("The same request again finds the same workspace.")
        .gives("The workspace.")
        .post("/api/git/clone", Needs(Scope::GitWrite), clone),
        does(
            "git.init",
            "gitInit",
            "A new repository that the yard keeps",
        )
        .gives("The workspace of its first branch.")
        .post("/api/git/init", Needs(Scope::Admin), init),
    ]
}

async fn clone(
    app: AuthorizedApp,
    noted: Noted,
    Body(request): Body<CloneRequest>,
) -> HttpResult<Json<Begun>> {
    noted.at(request.repo.as_ref(), None);
    let begun = agents::git_clone(&app, &request).await?;
    noted.at(Some(&begun.repo), Some(&begun.branch));
    Ok(Json(begun))
}

async fn init(
    app: AuthorizedApp,
    noted: Noted,
    Body(request): Body<InitRequest>,
) -> HttpResult<Json<Begun>> {
    noted.at(Some(&request.repo), request.default_branch.as_ref());
    Ok(Json(agents::git_init(&app, &request).await?))
}
