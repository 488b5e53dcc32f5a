//! The API as an OpenAPI document: every route with what it takes, answers and asks of its callers. The rows of
//! the routes say it, and the types that their handlers read and write.

pub(super) mod events;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::problem::Document;
use super::route::Access::Open;
use super::route::{JSON, PROBLEM, Route, Schemas, Section, is, of, reads, reference};
use super::tag;

/// The document as it is sent, and what it is known by.
static DOCUMENT: OnceLock<(Bytes, String)> = OnceLock::new();

pub(super) fn route(sections: fn() -> Vec<Section>) -> Route {
    let document = vec![(JSON, is(json!({ "type": "object" })))];
    reads("openapi", "This document")
        .answers(200, "The document.", document)
        .only(304, "It is the one that `If-None-Match` names.")
        .get("/openapi.json", Open, async move |headers: HeaderMap| {
            show(&headers, sections)
        })
}

fn show(headers: &HeaderMap, sections: fn() -> Vec<Section>) -> Response {
    let (document, tag) = DOCUMENT.get_or_init(|| {
        let text = document(sections()).to_string();
        let tag = tag::of_hash(&Sha256::digest(text.as_bytes()).into());
        (text.into(), tag)
    });
    let known_by = [
        (header::ETAG, tag.as_str()),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    if tag::is_known(tag, headers) {
        return (StatusCode::NOT_MODIFIED, known_by).into_response();
    }
    let kind = [(header::CONTENT_TYPE, JSON)];
    (known_by, kind, document.clone()).into_response()
}

fn document(sections: Vec<Section>) -> Value {
    let mut schemas = Schemas::new();
    let tags: Vec<_> = sections
        .iter()
        .map(|section| json!({ "name": section.tag, "description": section.about }))
        .collect();
    let paths = paths(sections, &mut schemas);
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
        "tags": tags,
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
fn paths(sections: Vec<Section>, schemas: &mut Schemas) -> Map<String, Value> {
    let mut paths = Map::new();
    for section in sections {
        for route in section.routes {
            let operation = route.operation;
            let written = operation.write(section.tag, &route.path, route.access, schemas);
            let path = paths.entry(template(&route.path)).or_insert(json!({}));
            path[route.method.as_str().to_ascii_lowercase()] = written;
        }
    }
    paths
}

/// `{*file}` of a route takes slashes too, of which OpenAPI knows nothing.
fn template(path: &str) -> String {
    path.replace("{*", "{")
}
