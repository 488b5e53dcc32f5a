//! Webhooks of forges: open to all, and good for nothing without a signature.

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use tokio::time::timeout;

use super::extract::{At, RepoAt};
use super::limits;
use super::problem::HttpResult;
use super::route::Access::Open;
use super::route::{Route, With, reads};
use crate::app::{App, hooks};
use branchyard_auth::Peer;
use branchyard_model::{ErrorKind, Problem};

/// Forges send less.
const MAX_BODY: usize = 5 << 20;
/// How long one may take to come in.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("receiveHook", "Hear from a forge that something is new")
            .says(
                "A webhook of GitHub, GitLab, Gitea or Forgejo, signed with the secret of the repository \
                 (`webhook_secret_file`). It is a hint: the remote is asked what is new, and that starts what workflow files \
                 have for it, where `auto` of the repository says so. Anything else that is signed so is taken, and \
                 means nothing.",
            )
            .gives("It was heard.")
            .post("/hooks/{repo}", Open, receive),
    ]
}

async fn receive(
    State(app): State<App>,
    At(repo): RepoAt,
    request: Request,
) -> HttpResult<With<202, ()>> {
    let peer = request
        .extensions()
        .get::<Peer>()
        .copied()
        .unwrap_or_default();
    let _place = app.limiter().admit_hook(peer)?;
    let (parts, body) = request.into_parts();
    let body = timeout(PATIENCE, to_bytes(body, MAX_BODY)).await;
    let body = body
        .map_err(|_| late())
        .and_then(|read| read.map_err(|_| too_large()));
    let body = body.map_err(|problem| limits::failed(&app, peer, problem))?;
    let header = |name: &str| one(&parts.headers, name);
    match hooks::receive(&app, &repo, header, &body) {
        Ok(()) => Ok(With(())),
        Err(problem) if problem.kind == ErrorKind::Unauthorized => {
            // Who tries many secrets is to be slowed down.
            Err(limits::failed(&app, peer, problem).into())
        }
        Err(problem) => Err(problem.into()),
    }
}

/// The value of a header; of one that is there twice, neither.
fn one<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn late() -> Problem {
    let detail = format!("the body did not come within {} s", PATIENCE.as_secs());
    Problem::new(ErrorKind::BadRequest, "body_late", detail)
}

fn too_large() -> Problem {
    let detail = format!("a webhook has at most {MAX_BODY} bytes");
    Problem::new(ErrorKind::TooLarge, "hook_too_large", detail)
}
