//! The API as an OpenAPI document: every route with what it takes, answers and asks of its callers. What a
//! route asks is that of the route table, and schemas are those of the types that are read and written.

mod events;
mod operation;
mod operations;
mod schemas;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::problem::Document;
use super::routes::addresses;
use super::tag;
use operation::{JSON, PROBLEM};
use schemas::{Schemas, of, reference};

/// The document as it is sent, and what it is known by.
static DOCUMENT: LazyLock<(Bytes, String)> = LazyLock::new(|| {
    let text = document().to_string();
    let tag = tag::of_hash(&Sha256::digest(text.as_bytes()).into());
    (text.into(), tag)
});

pub(super) async fn show(headers: HeaderMap) -> Response {
    let (document, tag) = &*DOCUMENT;
    let known_by = [
        (header::ETAG, tag.as_str()),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    if tag::is_known(tag, &headers) {
        return (StatusCode::NOT_MODIFIED, known_by).into_response();
    }
    let kind = [(header::CONTENT_TYPE, JSON)];
    (known_by, kind, document.clone()).into_response()
}

fn document() -> Value {
    let mut schemas = Schemas::new();
    let paths = paths(&mut schemas);
    schemas.given(of::<Document>());
    let (taken, mut all) = schemas.into_parts();
    all.extend(taken);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Branchyard",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": env!("CARGO_PKG_DESCRIPTION"),
            "description": ABOUT,
            "license": { "name": env!("CARGO_PKG_LICENSE"), "identifier": env!("CARGO_PKG_LICENSE") },
        },
        "servers": [{ "url": "/", "description": "The daemon that serves this document." }],
        "tags": operations::tags(),
        "paths": paths,
        "components": {
            "schemas": all,
            "responses": { "Problem": {
                "description": "It was refused, or it failed.",
                "content": { PROBLEM: { "schema": reference("Problem") } },
            } },
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": BEARER },
                "session": { "type": "apiKey", "in": "cookie", "name": "branchyard", "description": SESSION },
            },
        },
    })
}

const ABOUT: &str = "`x-right` of an operation is the right that its caller needs, `a key` where any good credential \
    will do, or `open`. What a caller may not see is not there: 404. An empty body is `{}`; an unknown field or parameter \
    is refused. Beyond `limits` the answer is 429 with `Retry-After`.";
const BEARER: &str = "The session key of the daemon, a token of `POST /api/tokens`, or a JWT where the configuration \
    takes them.";
const SESSION: &str = "What `POST /api/session` sets; `branchyard-PORT` where the daemon's address has a port. With it, \
    whatever is not a GET has to have a header `branchyard-page`.";

/// Every route with its operation.
fn paths(schemas: &mut Schemas) -> Map<String, Value> {
    let mut operations = operations::all(schemas);
    let mut paths = Map::new();
    for address in addresses() {
        for method in &address.methods {
            let found = operations.iter().position(|operation| {
                operation.method() == *method && operation.path() == address.path
            });
            if let Some(found) = found {
                let written = operations.swap_remove(found).write(&address, schemas);
                let path = paths.entry(template(&address.path)).or_insert(json!({}));
                path[method.as_str().to_ascii_lowercase()] = written;
            }
        }
    }
    paths
}

/// `{*file}` of a route takes slashes too, of which OpenAPI knows nothing.
fn template(path: &str) -> String {
    path.replace("{*", "{")
}
