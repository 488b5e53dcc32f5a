//! `GET /api/audit`: a page as JSON, or all of it as lines.

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_stream::StreamExt;

use crate::app::AuthorizedApp;
use crate::app::audit::{AuditFilter, AuditOutcome, AuditRecord};
use crate::http::extract::Params;
use crate::http::listed::{self, Listed};
use crate::http::negotiate::Format;
use crate::http::problem::HttpResult;
use crate::http::route::Access::Needs;
use crate::http::route::{JSON, NDJSON, Route, given, is, reads, text};
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, Scope, moment};

pub(in crate::http) fn routes() -> Vec<Route> {
    let page = given::<Listed<AuditRecord, i64>>();
    let says = "A page, the newest first; as NDJSON all of it, the oldest first, a record a line.";
    let row = reads("listAudit", "Who did what, and who was refused").answers(
        200,
        says,
        vec![(JSON, page), (NDJSON, is(text()))],
    );
    vec![row.get("/api/audit", Needs(Scope::Admin), list)]
}

const DEFAULT_PAGE: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditParams {
    /// Only calls of this principal.
    principal: Option<String>,
    /// Only calls that did this, such as `git.push`.
    action: Option<String>,
    /// Only calls about this repository.
    repo: Option<RepoName>,
    /// Only calls about this branch.
    branch: Option<BranchName>,
    /// The id of a run, group, salvage or token.
    run: Option<String>,
    /// Only calls that ended so.
    #[schemars(with = "Option<AuditOutcome>")]
    outcome: Option<String>,
    /// Only calls since: a time, or how long ago, such as `2h`.
    since: Option<String>,
    /// Only calls before: the same.
    until: Option<String>,
    /// Only records with a greater id, for whoever has all up to it.
    after: Option<i64>,
    /// The `next` of the page before.
    before: Option<i64>,
    /// How many at a time; 50 if left out, and never more than 500. Not with NDJSON, which gives all.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

async fn list(
    app: AuthorizedApp,
    Params(params): Params<AuditParams>,
    headers: HeaderMap,
) -> HttpResult {
    let limit = params.limit;
    let filter = params.filter()?;
    if Format::of(&headers) == Format::Ndjson {
        if limit.is_some() {
            let detail = "lines are all that fit the other filters; limit is for pages";
            return Err(Problem::unprocessable("limit", detail).into());
        }
        let parts = app.auditor().export(app.principal(), filter).await?;
        let lines = parts.map(|part| part.and_then(|records| lines(&records)));
        let kind = [(header::CONTENT_TYPE, Format::Ndjson.content_type())];
        return Ok((kind, Body::from_stream(lines)).into_response());
    }
    let limit = listed::limit(limit, DEFAULT_PAGE)?;
    let (items, more) = app.auditor().page(app.principal(), filter, limit).await?;
    let next = items.last().filter(|_| more).map(|record| record.id);
    Ok(Json(Listed::page(items, next)).into_response())
}

impl AuditParams {
    fn filter(self) -> Result<AuditFilter, Problem> {
        let outcome = self.outcome.as_deref().map(outcome).transpose()?;
        let time =
            |field, given: Option<String>| given.map(|text| moment(field, &text)).transpose();
        Ok(AuditFilter {
            principal: self.principal,
            action: self.action,
            repo: self.repo,
            branch: self.branch,
            run: self.run,
            outcome,
            since: time("since", self.since)?,
            until: time("until", self.until)?,
            after: self.after,
            before: self.before,
        })
    }
}

fn outcome(text: &str) -> Result<AuditOutcome, Problem> {
    AuditOutcome::parse(text).ok_or_else(|| {
        let known = AuditOutcome::ALL.map(AuditOutcome::as_str).join(", ");
        Problem::unprocessable("outcome", format!("{text:?} is not an outcome"))
            .help(format!("the outcomes are {known}"))
    })
}

fn lines(records: &[AuditRecord]) -> Result<Vec<u8>, Problem> {
    let mut lines = Vec::new();
    for record in records {
        serde_json::to_writer(&mut lines, record).map_err(|error| {
            Problem::new(ErrorKind::Internal, "answer_unwritable", error.to_string())
        })?;
        lines.push(b'\n');
    }
    Ok(lines)
}
