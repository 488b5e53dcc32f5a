//! A server that takes whatever is sent, in the place of a forge or of a webhook's receiver, and a yard that tells it.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::remotes::{Auth, HttpRemote};
use super::{Options, Yard};

/// What came to it.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

impl Received {
    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub struct Receiver {
    pub url: String,
    inner: Arc<Mutex<ReceiverState>>,
    serving: JoinHandle<()>,
}

struct ReceiverState {
    status: u16,
    received: Vec<Received>,
}

impl Receiver {
    pub async fn start() -> Self {
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

    /// Answers with this status from now on.
    pub fn answer(&self, status: u16) {
        self.inner.lock().unwrap().status = status;
    }

    pub fn received(&self) -> Vec<Received> {
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
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, &'static str) {
    let mut inner = inner.lock().unwrap();
    inner.received.push(Received {
        method,
        path: uri.path().to_owned(),
        headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    });
    (StatusCode::from_u16(inner.status).unwrap(), "so it is")
}

/// A yard without a daemon yet, whose repo is `team/origin` of a forge of this `kind`, which `api` takes the place of.
pub async fn yard_of_forge(kind: &str, api: &Receiver, more: Options) -> (Yard, HttpRemote) {
    let mut yard = Yard::asleep(Options::default());
    let remote = HttpRemote::start(&yard.origin, Auth::Anyone).await;
    let root = yard.origin.bare.parent().unwrap();
    symlink(root, root.join("team")).unwrap();
    let token = secret_file(&yard, "forge-token", "a-token-of-the-forge");
    let forge = format!(
        "[forges.\"127.0.0.1\"]\nkind = {kind:?}\napi = {:?}\ntoken_file = {token:?}\n",
        api.url
    );
    yard.configure(Options {
        top: "public_url = \"https://yard.example.org\"".to_owned(),
        url: Some(format!("http://{}/team/origin.git", remote.address)),
        tables: format!("{forge}{}", more.tables),
        repo: more.repo,
        ..remote.options("")
    });
    (yard, remote)
}

/// A file that the daemon takes a secret from.
pub fn secret_file(yard: &Yard, name: &str, content: &str) -> PathBuf {
    let file = yard.dir.path().join(name);
    std::fs::write(&file, format!("{content}\n")).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    file
}
