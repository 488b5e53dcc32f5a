//! The browser page: files that are part of the program. It is a face like any other and speaks the public API alone.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::health::welcome;
use super::{ProblemResponse, not_found, tag};

/// What a browser lets the page do: load what comes from here, ask here, and nothing else.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);

#[derive(RustEmbed)]
#[folder = "page/"]
struct Files;

/// The page for browsers; a few words for everybody else.
pub(super) async fn home(headers: HeaderMap) -> Response {
    let wants_page = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    let mut response = match Files::get("index.html") {
        Some(page) if wants_page => sent("index.html", &page, &headers),
        _ => welcome().await.into_response(),
    };
    let by_accept = HeaderValue::from_static("accept");
    response.headers_mut().insert(header::VARY, by_accept);
    response
}

/// A file of the page, by its path.
pub(super) async fn file(uri: Uri, request: Request) -> Response {
    let path = uri.path().trim_start_matches('/');
    match Files::get(path) {
        Some(file) => sent(path, &file, request.headers()),
        None => ProblemResponse(not_found()).into_response(),
    }
}

fn sent(path: &str, file: &EmbeddedFile, asked: &HeaderMap) -> Response {
    let tag = tag::of_hash(&file.metadata.sha256_hash());
    let mut response = match tag::is_known(&tag, asked) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => file.data.clone().into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(path)));
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("same-origin"),
    );
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
