//! Problems on the wire: RFC 9457 `application/problem+json`. The one place that maps error kinds to
//! statuses.

use std::any::Any;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::challenge::Challenge;
use branchyard_model::{ErrorKind, Problem};

/// The stable word of the problem that a response tells.
#[derive(Debug, Clone)]
pub(super) struct ProblemCode(pub(super) String);

/// A refusal or a failure, as RFC 9457 has it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct Document<'a> {
    /// `urn:branchyard:problem:` and the code.
    r#type: String,
    /// What the status is called.
    title: &'a str,
    /// That of the answer.
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    /// A stable word for programs, such as `branch_not_found`.
    code: &'a str,
    /// One sentence for people.
    detail: &'a str,
    /// The field, argument or header that is at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    field: Option<&'a str>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    help: Option<&'a str>,
    /// After how many seconds the same may well succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    retry_after: Option<u64>,
}

#[derive(Debug)]
pub(super) struct ProblemResponse(pub(super) Problem);

impl From<Problem> for ProblemResponse {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

pub(super) fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::BadRequest => StatusCode::BAD_REQUEST,
        ErrorKind::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::UnsupportedMedia => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ErrorKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::RangeNotSatisfiable => StatusCode::RANGE_NOT_SATISFIABLE,
        ErrorKind::Upstream => StatusCode::BAD_GATEWAY,
        ErrorKind::UpstreamTimeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for ProblemResponse {
    fn into_response(self) -> Response {
        let problem = self.0;
        let status = status(problem.kind);
        if problem.kind == ErrorKind::Internal {
            tracing::error!(
                code = problem.code,
                error = problem.detail,
                "internal error"
            );
        }
        let problem = problem.outward();
        let document = Document {
            r#type: format!("urn:branchyard:problem:{}", problem.code),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            code: &problem.code,
            detail: &problem.detail,
            field: problem.field.as_deref(),
            help: problem.help.as_deref(),
            retry_after: problem.retry_after,
        };
        let mut response = (status, axum::Json(document)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(seconds) = problem.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(challenge) = Challenge::of(&problem) {
            response.extensions_mut().insert(challenge);
        }
        response.extensions_mut().insert(ProblemCode(problem.code));
        response
    }
}

/// The answer when a handler panicked.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that the layer asks for"
)]
pub(super) fn internal_panic(panic: Box<dyn Any + Send + 'static>) -> Response {
    ProblemResponse(Problem::of_panic("a handler", &*panic)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_statuses_that_clients_rely_on() {
        for (kind, code) in [
            (ErrorKind::BadRequest, 400),
            (ErrorKind::Unauthorized, 401),
            (ErrorKind::Forbidden, 403),
            (ErrorKind::NotFound, 404),
            (ErrorKind::MethodNotAllowed, 405),
            (ErrorKind::Conflict, 409),
            (ErrorKind::TooLarge, 413),
            (ErrorKind::UnsupportedMedia, 415),
            (ErrorKind::RangeNotSatisfiable, 416),
            (ErrorKind::Unprocessable, 422),
            (ErrorKind::TooMany, 429),
            (ErrorKind::Internal, 500),
            (ErrorKind::Upstream, 502),
            (ErrorKind::Unavailable, 503),
            (ErrorKind::UpstreamTimeout, 504),
            (ErrorKind::StorageFull, 507),
        ] {
            assert_eq!(status(kind).as_u16(), code);
        }
    }
}
