//! Requests into types: names out of the path, JSON out of the body, each refusal a problem document.

use axum::body::Bytes;
use axum::extract::path::ErrorKind as PathErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::problem::{HttpResult, ProblemResponse};
use crate::app::{App, AuthorizedApp};
use branchyard_auth::{Principal, unauthorized};
use branchyard_model::{
    BranchName, DeliveryId, ErrorKind, GroupId, PipelineId, Problem, RepoName, RunId, SalvageId,
};

/// The parts of the path that are in braces, in their order.
pub(super) struct At<T>(pub(super) T);

pub(super) type RepoAt = At<RepoName>;
pub(super) type BranchAt = At<(RepoName, BranchName)>;
pub(super) type RunAt = At<RunId>;
pub(super) type GroupAt = At<GroupId>;
pub(super) type PipelineAt = At<PipelineId>;
pub(super) type SalvageAt = At<SalvageId>;

/// A JSON body; an empty one is `{}`.
pub(super) struct Body<T>(pub(super) T);
/// The query string.
pub(super) struct Params<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for At<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let texts: Vec<(String, String)> = path(parts, state).await?;
        for (name, text) in &texts {
            check(name, text)?;
        }
        Ok(Self(path(parts, state).await?))
    }
}

/// What is wrong with a part of the path: of more than one, the first.
fn check(name: &str, text: &str) -> Result<(), Problem> {
    match name {
        "repo" => RepoName::parse(text).map(drop),
        "branch" => BranchName::parse(text).map(drop),
        "run" => RunId::parse(text).map(drop),
        "group" => GroupId::parse(text).map(drop),
        "pipeline" => PipelineId::parse(text).map(drop),
        "delivery" => DeliveryId::parse(text).map(drop),
        "salvage" => SalvageId::parse(text).map(drop),
        _ => Ok(()),
    }
}

async fn path<T, S>(parts: &mut Parts, state: &S) -> HttpResult<T>
where
    T: DeserializeOwned + Send,
    S: Send + Sync,
{
    let Path(value) = Path::<T>::from_request_parts(parts, state)
        .await
        .map_err(|rejection| Problem::bad(&parameter(&rejection), rejection.body_text()))?;
    Ok(value)
}

/// The part of the path that is at fault.
fn parameter(rejection: &PathRejection) -> String {
    if let PathRejection::FailedToDeserializePathParams(failed) = rejection
        && let PathErrorKind::InvalidUtf8InPathParam { key } = failed.kind()
    {
        return key.clone();
    }
    "path".to_owned()
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let Query(value) = Query::<T>::try_from_uri(&parts.uri)
            .map_err(|rejection| Problem::unprocessable("query", rejection.body_text()))?;
        Ok(Self(value))
    }
}

/// The authorized app of whoever asks, as the gate found out.
impl FromRequestParts<App> for AuthorizedApp {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let principal = parts.extensions.get::<Principal>();
        let principal = principal.ok_or_else(|| unauthorized("the request was not authorised"))?;
        Ok(app.for_principal(principal.clone()))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ProblemResponse;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let is_json = request
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| {
                let kind = value.split(';').next().unwrap_or_default().trim();
                kind.eq_ignore_ascii_case("application/json")
            });
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(|rejection| {
                let kind = match rejection.status().as_u16() {
                    413 => ErrorKind::TooLarge,
                    _ => ErrorKind::BadRequest,
                };
                Problem::new(kind, "bad_body", rejection.body_text()).field("body")
            })?;
        if bytes.is_empty() {
            return Ok(Self(parse(b"{}")?));
        }
        if !is_json {
            let detail = "the body must be sent as application/json";
            let problem = Problem::new(ErrorKind::UnsupportedMedia, "not_json", detail)
                .field("Content-Type")
                .help("with curl: --json '{…}'");
            return Err(problem.into());
        }
        Ok(Self(parse(&bytes)?))
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // Serde would also take an array, its items for the fields in their order.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(match serde_json::from_slice::<IgnoredAny>(bytes) {
            Ok(_) => Problem::unprocessable("body", "the body is not a JSON object"),
            Err(error) => Problem::bad("body", format!("the body is not JSON: {error}")),
        });
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        match error.classify() {
            serde_json::error::Category::Data => {
                let field = field_of(&path, &error.to_string());
                Problem::unprocessable(&field, format!("{field}: {error}"))
            }
            _ => Problem::bad("body", format!("the body is not JSON: {error}")),
        }
    })?;
    json.end().map_err(|error| {
        Problem::bad("body", format!("the body is not one JSON value: {error}"))
    })?;
    Ok(value)
}

/// The field at fault; for a missing or unknown one only the message names it.
fn field_of(path: &str, message: &str) -> String {
    if path != "." && !path.is_empty() {
        return path.to_owned();
    }
    message.split('`').nth(1).unwrap_or("body").to_owned()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shape {
        #[serde(default)]
        #[expect(dead_code, reason = "only its type matters")]
        count: u32,
    }

    #[test]
    fn what_is_wrong_with_a_body_is_named() {
        let kind = |text: &str| {
            parse::<Shape>(text.as_bytes())
                .map(|_| ())
                .map_err(|p| (p.kind, p.field))
        };
        let field = |name: &str| Some(Box::<str>::from(name));
        assert_eq!(kind("{\"count\":1}"), Ok(()));
        assert_eq!(
            kind("{\"count\":\"x\"}"),
            Err((ErrorKind::Unprocessable, field("count")))
        );
        assert_eq!(
            kind("{\"other\":1}"),
            Err((ErrorKind::Unprocessable, field("other")))
        );
        assert_eq!(
            kind("{\"count\":1} x"),
            Err((ErrorKind::BadRequest, field("body")))
        );
        assert_eq!(kind("{"), Err((ErrorKind::BadRequest, field("body"))));
        for deep in ["[", "{\"count\":[", "{\"a\":"].map(|open| open.repeat(100_000)) {
            let refused = kind(&deep).map_err(|e| e.0);
            assert!(
                matches!(
                    refused,
                    Err(ErrorKind::BadRequest | ErrorKind::Unprocessable)
                ),
                "{refused:?}"
            );
        }
        for other in ["[]", "[1]", "null", " 1", "\"x\""] {
            assert_eq!(
                kind(other),
                Err((ErrorKind::Unprocessable, field("body"))),
                "{other}"
            );
        }
    }
}
