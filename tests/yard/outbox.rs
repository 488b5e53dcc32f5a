//! What others are told of pipelines: statuses of commits, and webhooks.

mod statuses;
mod webhooks;

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::remotes::{Auth, HttpRemote};
use crate::support::{Options, Yard};

const WORKFLOW: &str = "on: push\njobs: {test: {runs-on: linux, steps: [{run: make who}]}}\n";
const DELIVERIES: &str = "/api/repos/demo/deliveries";

/// What came to a server that takes whatever is sent.
#[derive(Debug, Clone)]
struct Received {
    path: String,
    headers: HeaderMap,
    body: String,
}

impl Received {
    fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A server that takes the place of a forge or of a webhook's receiver.
struct Receiver {
    url: String,
    inner: Arc<Mutex<ReceiverState>>,
    serving: JoinHandle<()>,
}

struct ReceiverState {
    status: u16,
    received: Vec<Received>,
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(Mutex::new(ReceiverState {
            status: 201,
            received: Vec::new(),
        }));
        let service = axum::Router::new().fallback(take).with_state(inner.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
        Self {
            url,
            inner,
            serving,
        }
    }

    fn answer(&self, status: u16) {
        self.inner.lock().unwrap().status = status;
    }

    fn received(&self) -> Vec<Received> {
        self.inner.lock().unwrap().received.clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn take(
    State(inner): State<Arc<Mutex<ReceiverState>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, &'static str) {
    let mut inner = inner.lock().unwrap();
    inner.received.push(Received {
        path: uri.path().to_owned(),
        headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    });
    (StatusCode::from_u16(inner.status).unwrap(), "so it is")
}

/// A yard whose repo is `team/origin` of a forge on this machine.
async fn told(forge: &str, tables: &str) -> (Yard, HttpRemote) {
    let mut yard = Yard::asleep(Options::default());
    let remote = HttpRemote::start(&yard.origin, Auth::Anyone).await;
    let root = yard.origin.bare.parent().unwrap();
    symlink(root, root.join("team")).unwrap();
    let token = secret_file(&yard, "forge-token", "a-token-of-the-forge");
    let options = remote.options(&format!(
        "[forges.\"127.0.0.1\"]\n{forge}\ntoken_file = {token:?}\n{tables}"
    ));
    yard.configure(Options {
        top: "public_url = \"https://yard.example.org\"".to_owned(),
        url: Some(format!("http://{}/team/origin.git", remote.address)),
        ..options
    });
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.start().await;
    (yard, remote)
}

fn secret_file(yard: &Yard, name: &str, content: &str) -> PathBuf {
    let file = yard.dir.path().join(name);
    std::fs::write(&file, format!("{content}\n")).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    file
}

impl Yard {
    /// Runs a pipeline for a push, to its end.
    async fn pushed(&self) -> Value {
        let started = self
            .post_json("/api/repos/demo/pipelines", json!({ "event": "push" }))
            .await;
        let id = started["pipeline_id"].as_str().unwrap();
        self.get_json(&format!("/api/pipelines/{id}?wait=100s"))
            .await
    }

    /// Waits until no message waits to be sent; all that there are, oldest first.
    async fn all_delivered(&self) -> Vec<Value> {
        let page = self
            .until_json(DELIVERIES, |page| {
                let mut items = page["items"].as_array().unwrap().iter();
                items.all(|item| item["state"] == "delivered")
            })
            .await;
        let mut items = page["items"].as_array().unwrap().clone();
        items.reverse();
        items
    }
}
