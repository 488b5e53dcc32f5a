//! A stand-in for the daemon whose answers are written down beforehand, so that what a command makes of them is the same
//! each time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio_stream::StreamExt as _;

type Answers = Arc<BTreeMap<&'static str, Value>>;

/// Answers by path, whatever the query, for as long as the runtime of the test goes on. Commands find it below `home`.
pub async fn answer_with(home: &Path, answers: BTreeMap<&'static str, Value>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(Arc::new(answers));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let state = home.join("build-workspaces/.branchyard");
    std::fs::create_dir_all(&state).unwrap();
    let auth_header = state.join("auth.header");
    std::fs::write(&auth_header, "Authorization: Bearer key\n").unwrap();
    let endpoint = json!({ "version": 1, "url": url, "auth_header": auth_header });
    std::fs::write(state.join("endpoint.json"), endpoint.to_string()).unwrap();
}

async fn answer(State(answers): State<Answers>, uri: Uri) -> Response {
    match answers.get(uri.path()) {
        // A stream begins with this and does not end.
        Some(first) if uri.path().starts_with("/stream/") => {
            let first = Ok::<_, std::io::Error>(format!("{first}\n"));
            let stream = tokio_stream::once(first).chain(tokio_stream::pending());
            let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
            (kind, Body::from_stream(stream)).into_response()
        }
        Some(answer) => axum::Json(answer.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
