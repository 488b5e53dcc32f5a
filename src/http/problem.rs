//! Problems on the wire: RFC 9457 `application/problem+json`. The one place that maps error kinds to
//! statuses.

use std::any::Any;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::audit::ProblemCode;
use super::challenge::Challenge;
use crate::model::{ErrorKind, Problem};

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
        let mut body = json!({
            "type": format!("urn:branchyard:problem:{}", problem.code),
            "title": status.canonical_reason().unwrap_or("Error"),
            "status": status.as_u16(),
            "code": problem.code,
            "detail": problem.detail,
        });
        if let Some(field) = &problem.field {
            body["field"] = field.as_str().into();
        }
        if let Some(help) = &problem.help {
            body["help"] = help.as_str().into();
        }
        if let Some(seconds) = problem.retry_after {
            body["retry_after"] = seconds.into();
        }
        let mut response = (status, body.to_string()).into_response();
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
