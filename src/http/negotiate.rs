//! Which of the three stream formats a caller wants, and from where.

use axum::http::HeaderMap;

use branchyard_journal::Cursor;
use branchyard_model::Problem;

/// How a stream is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Sse,
    Ndjson,
    Text,
}

impl Format {
    /// The first format in `Accept` that is served here; server-sent events where none is named.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let known = accepted(headers).find_map(|kind| match kind {
            "text/event-stream" => Some(Self::Sse),
            "application/x-ndjson" => Some(Self::Ndjson),
            "text/plain" => Some(Self::Text),
            _ => None,
        });
        known.unwrap_or(Self::Sse)
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
            Self::Ndjson => "application/x-ndjson",
            Self::Text => "text/plain; charset=utf-8",
        }
    }
}

/// The content types that `Accept` names.
fn accepted(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    listed(headers, "accept").map(|part| part.split(';').next().unwrap_or_default().trim())
}

pub(super) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    accepted(headers).any(|accepted| accepted == kind)
}

/// What a header lists, with commas between, in however many lines.
fn listed<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// Where to resume: `Last-Event-ID`, which a browser sends by itself, or `?from=`.
pub(super) fn cursor(headers: &HeaderMap, from: Option<&str>) -> Result<Option<Cursor>, Problem> {
    let from = last_event_id(headers)?.or(from);
    from.map(Cursor::parse).transpose()
}

pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let id = headers.get("last-event-id").map(|value| value.to_str());
    id.transpose().map_err(|_| Cursor::refused("Last-Event-ID"))
}

/// Whether the caller wants an answer now instead of the stream.
pub(super) fn prefers_async(headers: &HeaderMap) -> bool {
    listed(headers, "prefer").any(|part| part.eq_ignore_ascii_case("respond-async"))
}

/// What makes a repeated request the same request.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut keys = headers.get_all("idempotency-key").iter();
    let (first, second) = (keys.next(), keys.next());
    let bad = |detail| Problem::bad("Idempotency-Key", detail);
    if second.is_some() {
        return Err(bad("it was sent twice"));
    }
    let key = first.map(|value| value.to_str()).transpose();
    key.map_err(|_| bad("it is not plain ASCII"))
}
