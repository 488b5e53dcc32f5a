//! Problems on the wire: RFC 9457 `application/problem+json`. The one place that maps error kinds to
//! statuses.

use std::any::Any;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_model::{ErrorKind, Problem};

/// A refusal or a failure, as RFC 9457 has it.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Problem")]
pub struct Document {
    /// `urn:branchyard:problem:` and the code.
    pub r#type: String,
    /// What the status is called.
    pub title: String,
    /// That of the answer.
    #[schemars(range(min = 400, max = 599))]
    pub status: u16,
    /// A stable word for programs, such as `branch_not_found`.
    pub code: String,
    /// One sentence for people.
    pub detail: String,
    /// The field, argument or header that is at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub field: Option<Box<str>>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub help: Option<String>,
    /// After how many seconds the same may well succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub retry_after: Option<u64>,
}

#[derive(Debug)]
pub struct ProblemResponse(pub(super) Problem);

/// What a handler answers with.
pub(super) type HttpResult<T = Response> = Result<T, ProblemResponse>;

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
            let (code, error) = (&problem.code, &problem.detail);
            tracing::error!(code, error, "internal error");
        }
        let problem = problem.outward();
        let document = Document {
            r#type: format!("urn:branchyard:problem:{}", problem.code),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            code: problem.code.clone(),
            detail: problem.detail.clone(),
            field: problem.field.clone(),
            help: problem.help.clone(),
            retry_after: problem.retry_after,
        };
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        let retry_after = problem.retry_after;
        let retry_after = retry_after.map(|seconds| [(header::RETRY_AFTER, seconds)]);
        // For the audit, and for what a refused caller is told besides.
        let problem = Extension(problem);
        (status, kind, retry_after, problem, Json(document)).into_response()
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
    use std::collections::{BTreeMap, BTreeSet};

    use branchyard_reference::{Table, check, heading, literals_after, source};

    use super::*;

    const KINDS: [(ErrorKind, &str, u16); 16] = [
        (ErrorKind::BadRequest, "BadRequest", 400),
        (ErrorKind::Unauthorized, "Unauthorized", 401),
        (ErrorKind::Forbidden, "Forbidden", 403),
        (ErrorKind::NotFound, "NotFound", 404),
        (ErrorKind::MethodNotAllowed, "MethodNotAllowed", 405),
        (ErrorKind::Conflict, "Conflict", 409),
        (ErrorKind::TooLarge, "TooLarge", 413),
        (ErrorKind::UnsupportedMedia, "UnsupportedMedia", 415),
        (ErrorKind::RangeNotSatisfiable, "RangeNotSatisfiable", 416),
        (ErrorKind::Unprocessable, "Unprocessable", 422),
        (ErrorKind::TooMany, "TooMany", 429),
        (ErrorKind::Internal, "Internal", 500),
        (ErrorKind::Upstream, "Upstream", 502),
        (ErrorKind::Unavailable, "Unavailable", 503),
        (ErrorKind::UpstreamTimeout, "UpstreamTimeout", 504),
        (ErrorKind::StorageFull, "StorageFull", 507),
    ];

    #[test]
    fn kinds_have_the_statuses_that_clients_rely_on() {
        for (kind, _, code) in KINDS {
            assert_eq!(status(kind).as_u16(), code);
        }
    }

    /// Codes that are not a literal right beside their kind.
    const ELSEWHERE: [(&str, &str); 5] = [
        ("bad_body", "BadRequest"),
        ("bad_body", "TooLarge"),
        ("nothing_to_commit", "Conflict"),
        ("remote_timed_out", "UpstreamTimeout"),
        ("workspace_unresponsive", "Unavailable"),
    ];
    /// What makes a problem of one kind from a code, and the kind.
    const MAKERS: [(&str, &str); 4] = [
        ("conflict(", "Conflict"),
        ("unwritten(", "Internal"),
        ("refusal(", "TooMany"),
        ("=> ", "Upstream"),
    ];

    #[test]
    fn the_reference_page_of_errors_is_up_to_date() {
        // By kind: the codes, each with the sentence that stands beside it.
        let mut codes: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
        for (code, kind) in ELSEWHERE {
            codes
                .entry(kind)
                .or_default()
                .insert(code.to_owned(), String::new());
        }
        let mut found = BTreeSet::new();
        for text in source().values() {
            let of_kinds = KINDS.map(|(_, kind, _)| (format!("ErrorKind::{kind},"), kind));
            let makers = MAKERS.map(|(start, kind)| (start.to_owned(), kind));
            for (start, kind) in of_kinds.into_iter().chain(makers) {
                for (code, rest) in literals_after(text, &start) {
                    let is_code = code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                    let is_of_remote = code.starts_with("remote_") && code != "remote_timed_out";
                    if !is_code || (kind == "Upstream" && start == "=> " && !is_of_remote) {
                        continue;
                    }
                    found.insert(code.to_owned());
                    let said = codes
                        .entry(kind)
                        .or_default()
                        .entry(code.to_owned())
                        .or_default();
                    if said.is_empty() {
                        *said = sentence(text, rest);
                    }
                }
            }
        }
        assert!(found.len() > 150, "{found:?}");
        let mut page = heading("Error codes");
        page.push_str(
            "A refusal is a problem document with a `code`, which is for programs and stays.\n\
             [API.md](../API.md#problems) describes the document. A run that is rejected after it was queued\n\
             has the same codes in its `error` event. The sentence is an example of a `detail`, where the\n\
             source has it in one piece; `…` stands for a name or number.\n",
        );
        for (kind, name, status) in KINDS {
            let Some(codes) = codes.get(name) else {
                continue;
            };
            let title = super::status(kind);
            page.push_str(&format!(
                "\n## {status} {}\n\n",
                title.canonical_reason().unwrap_or_default()
            ));
            let mut table = Table::new(&["code", "sentence"]);
            for (code, said) in codes {
                table.row(&[format!("`{code}`"), said.clone()]);
            }
            page.push_str(&table.to_string());
        }
        check("docs/reference/errors.md", &page);
    }

    /// What `detail` is: the literal that comes next among the arguments, or the one that the variable is set to.
    fn sentence(text: &str, rest: &str) -> String {
        let rest = rest.trim_start_matches([',', ' ', '\n']);
        let before = &text[..text.len() - rest.len()];
        let function = before.rfind("fn ").map_or(before, |at| &before[at..]);
        let set = function
            .rfind("let detail = ")
            .map(|at| &function[at + 13..]);
        let said = match set {
            Some(set) if rest.starts_with("detail") => set,
            _ => rest,
        };
        let said = said.strip_prefix("format!(").unwrap_or(said).trim_start();
        let Some(said) = said.strip_prefix('"') else {
            return String::new();
        };
        let said = said.replace("\\\"", "\u{1}").replace("\\\n", "");
        let said = said
            .split('"')
            .next()
            .unwrap_or_default()
            .replace('\u{1}', "\"");
        let mut parts = said.split('{');
        let mut sentence = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            sentence.push('…');
            sentence.push_str(part.split_once('}').map_or(part, |(_, after)| after));
        }
        sentence
    }
}
