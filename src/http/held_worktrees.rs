//! Reads of a held worktree: that of a failed job, as it was left.

use std::sync::Arc;

use axum::Json;
use schemars::JsonSchema;
use serde::Serialize;

use super::extract::{At, Body};
use super::files::{LsBody, list_request};
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, reads};
use crate::app::{AuthorizedApp, pipelines};
use branchyard_model::{CommitId, PipelineId, Problem, Scope};
use branchyard_workspace::files::held;
use branchyard_workspace::{FileText, GrepRequest, HeldScratch, Listing, Matches, ReadRequest};

pub(super) fn routes() -> Vec<Route> {
    let at = |what| format!("/api/pipelines/{{pipeline}}/jobs/{{job}}/{what}");
    vec![
        reads("listHeldFiles", "List files of a job's held worktree")
            .says("Of a failed job whose `hold` keeps its worktree.")
            .gives("The entries of the directory, or the one file.")
            .post(at("ls"), Needs(Scope::RepoRead), ls),
        reads(
            "readHeldFile",
            "Read lines of a file in a job's held worktree",
        )
        .gives("The lines.")
        .post(at("read_file"), Needs(Scope::RepoRead), read_file),
        reads("searchHeldFiles", "Search files of a job's held worktree")
            .gives("The lines that match.")
            .post(at("grep"), Needs(Scope::RepoRead), grep),
    ]
}

type JobAt = At<(PipelineId, String)>;
type Answer<T> = HttpResult<Json<OfHeld<T>>>;

/// An answer and whose worktree it is about.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Held{T}Answer")]
struct OfHeld<T> {
    pipeline_id: PipelineId,
    job: String,
    /// The commit that the job began with.
    commit: CommitId,
    #[serde(flatten)]
    answer: T,
}

async fn ls(app: AuthorizedApp, At(at): JobAt, Body(body): Body<LsBody>) -> Answer<Listing> {
    let request = list_request(body)?;
    look(&app, at, async |held| Ok(held::list(&held, request).await?)).await
}

async fn read_file(
    app: AuthorizedApp,
    At(at): JobAt,
    Body(request): Body<ReadRequest>,
) -> Answer<FileText> {
    let max = pipelines::max_read(&app);
    look(&app, at, async |held| {
        Ok(held::read(&held, request, max).await?.into())
    })
    .await
}

async fn grep(
    app: AuthorizedApp,
    At(at): JobAt,
    Body(request): Body<GrepRequest>,
) -> Answer<Matches> {
    let grep = request.check()?;
    look(&app, at, async |held| Ok(held::grep(&held, grep).await?)).await
}

async fn look<T>(
    app: &AuthorizedApp,
    (pipeline_id, job): (PipelineId, String),
    look: impl AsyncFnOnce(Arc<HeldScratch>) -> Result<T, Problem>,
) -> Answer<T> {
    let (commit, held) = pipelines::held(app, pipeline_id, &job).await?;
    let answer = look(held).await?;
    Ok(Json(OfHeld {
        pipeline_id,
        job,
        commit,
        answer,
    }))
}
