//! The browser page: files that are part of the program. It is a face like any other and speaks the public API alone.

use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};
use tower_http::compression::CompressionLayer;

use super::health::welcome;
use super::negotiate::accepts;
use super::route::Access::Open;
use super::route::{Route, TEXT, reads};
use super::{ProblemResponse, not_found, tag};

pub(super) fn routes() -> Vec<Route> {
    let operation = |id, summary, kinds: &[&'static str]| {
        reads(id, summary)
            .writes(200, "The file.", kinds)
            .only(304, "It is the one that `If-None-Match` names.")
    };
    let summary = "The page for browsers; a few words for everybody else";
    let script = operation("pageScript", "A script of the page", &["text/javascript"]);
    let style = operation("pageStyle", "A style of the page", &["text/css"]);
    let mut routes = vec![
        operation("home", summary, &[TEXT, "text/html"]).get("/", Open, home),
        operation("apiPage", "The API for people", &["text/html"]).get("/api.html", Open, file),
        operation("icon", "The page's icon", &["image/svg+xml"]).get("/icon.svg", Open, file),
        script.get("/js/{*file}", Open, file),
        style.get("/style/{*file}", Open, file),
    ];
    for route in &mut routes {
        route.handler = std::mem::take(&mut route.handler).layer(CompressionLayer::new());
    }
    routes
}

/// What a browser lets the page do: load what comes from here, ask here, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

#[derive(RustEmbed)]
#[folder = "page/"]
struct Files;

/// The page for browsers; a few words for everybody else.
async fn home(headers: HeaderMap) -> Response {
    let response = match Files::get("index.html") {
        Some(page) if accepts(&headers, "text/html") => sent("index.html", &page, &headers),
        _ => welcome().into_response(),
    };
    ([(header::VARY, "accept")], response).into_response()
}

/// A file of the page, by its path.
async fn file(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    match Files::get(path) {
        Some(file) => sent(path, &file, &headers),
        None => ProblemResponse(not_found()).into_response(),
    }
}

fn sent(path: &str, file: &EmbeddedFile, asked: &HeaderMap) -> Response {
    // It stands for the file however it is compressed on the way.
    let tag = format!("W/{}", tag::of_hash(&file.metadata.sha256_hash()));
    let headers = [
        (header::CONTENT_TYPE, kind(path)),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-cache"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::ETAG, &tag),
    ];
    match tag::is_known(&tag, asked) {
        true => (headers, StatusCode::NOT_MODIFIED).into_response(),
        false => (headers, file.data.clone()).into_response(),
    }
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
