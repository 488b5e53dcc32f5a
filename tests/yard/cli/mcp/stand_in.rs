//! A stand-in for the daemon whose answers can be held back, cut off and counted.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::runtime::Runtime;

use super::{OLDER, bare};
use crate::support::until;

/// What got to the stand-in, in order.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    messages: Arc<Mutex<Vec<Value>>>,
    /// The requests whose connection was closed before they were answered.
    dropped: Arc<Mutex<Vec<Value>>>,
    key: Arc<Mutex<String>>,
}

pub struct StandIn {
    pub heard: Heard,
    /// Its own, so that all connections end with it.
    runtime: Runtime,
    header: PathBuf,
}

impl StandIn {
    /// Serves, and is found by commands that look below `home`.
    pub fn start(home: &Path) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Heard::default();
        let router = Router::new()
            .route("/mcp", post(answer).get(tell).delete(StatusCode::ACCEPTED))
            .with_state(heard.clone());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
        let state = home.join("build-workspaces/.branchyard");
        std::fs::create_dir_all(&state).unwrap();
        let header = state.join("auth.header");
        let endpoint = json!({ "version": 1, "url": url, "auth_header": header });
        std::fs::write(state.join("endpoint.json"), endpoint.to_string()).unwrap();
        let stand_in = Self {
            heard,
            runtime,
            header,
        };
        stand_in.take_key("first");
        stand_in.leave_key("first");
        stand_in
    }

    pub fn command(home: &Path) -> Command {
        bare(home, &["mcp"])
    }

    /// Takes this key from now on, and no other.
    pub fn take_key(&self, key: &str) {
        *self.heard.key.lock().unwrap() = format!("Bearer {key}");
    }

    /// Leaves this key to be found.
    pub fn leave_key(&self, key: &str) {
        std::fs::write(&self.header, key).unwrap();
    }

    /// Ends with everything that is connected.
    pub fn kill(self) {
        self.runtime.shutdown_background();
    }
}

impl Heard {
    pub fn count(&self, method: &str) -> usize {
        let messages = self.messages.lock().unwrap();
        messages
            .iter()
            .filter(|message| message["method"] == method)
            .count()
    }

    pub async fn until_heard(&self, method: &str) -> Value {
        until(method, || self.count(method) > 0).await;
        let messages = self.messages.lock().unwrap();
        let last = messages.iter().rfind(|message| message["method"] == method);
        last.unwrap().clone()
    }

    pub async fn until_dropped(&self, id: &Value) {
        until("it is dropped", || {
            self.dropped.lock().unwrap().contains(id)
        })
        .await;
    }

    pub fn was_dropped(&self, id: &Value) -> bool {
        self.dropped.lock().unwrap().contains(id)
    }
}

/// Tells when a request goes without an answer.
struct Unanswered(Heard, Value);

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.dropped.lock().unwrap().push(self.1.clone());
    }
}

async fn answer(State(heard): State<Heard>, headers: HeaderMap, body: String) -> Response {
    if headers["authorization"] != *heard.key.lock().unwrap() {
        let problem = json!({ "detail": "the key is another" }).to_string();
        return (StatusCode::UNAUTHORIZED, problem).into_response();
    }
    let message: Value = serde_json::from_str(&body).unwrap();
    heard.messages.lock().unwrap().push(message.clone());
    let id = &message["id"];
    let result =
        |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let json = [("content-type", "application/json")];
    match message["method"].as_str().unwrap() {
        "initialize" => {
            let welcome = result(json!({ "protocolVersion": OLDER }));
            (json, [("mcp-session-id", "s")], welcome).into_response()
        }
        "tell" => {
            let told = json!({ "jsonrpc": "2.0", "method": "notifications/told", "params": id });
            let events = format!("data: {told}\n\ndata: {}\n\n", result(json!({})));
            ([("content-type", "text/event-stream")], events).into_response()
        }
        "refused" => {
            let problem = json!({ "detail": "not for you", "help": "ask somebody else" });
            (StatusCode::FORBIDDEN, problem.to_string()).into_response()
        }
        "hang" | "tools/call" => {
            let unanswered = Unanswered(heard, id.clone());
            if headers.contains_key("mcp-session-id") {
                // The older era answers with a stream at once.
                let stream = async_stream::stream! {
                    let _unanswered = unanswered;
                    yield Ok::<_, std::io::Error>(": here\n\n");
                    std::future::pending::<()>().await;
                };
                let events = [("content-type", "text/event-stream")];
                return (events, axum::body::Body::from_stream(stream)).into_response();
            }
            std::future::pending::<()>().await;
            drop(unanswered);
            StatusCode::OK.into_response()
        }
        notification if notification.starts_with("notifications/") => {
            StatusCode::ACCEPTED.into_response()
        }
        _ => (json, result(json!({}))).into_response(),
    }
}

/// Says one thing and breaks off; goes on after it for whoever knows how far it was.
async fn tell(headers: HeaderMap) -> Response {
    let said = |id: u32| {
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/told", "params": id });
        format!("id: {id}\nretry: 5\ndata: {told}\n\n")
    };
    let stream = async_stream::stream! {
        if headers.get("last-event-id").is_none_or(|id| id != "1") {
            yield Ok::<_, std::io::Error>(said(1));
            return;
        }
        yield Ok(said(2));
        std::future::pending::<()>().await;
    };
    let events = [("content-type", "text/event-stream")];
    (events, axum::body::Body::from_stream(stream)).into_response()
}
