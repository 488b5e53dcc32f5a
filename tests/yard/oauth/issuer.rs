//! A small issuer on loopback: metadata and keys, which a test can change, and a list of what was asked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub const METADATA: &str = "/.well-known/oauth-authorization-server";
pub const KEYS: &str = "/keys";

pub struct TestIssuer {
    pub url: String,
    pub address: SocketAddr,
    state: Arc<IssuerState>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct IssuerState {
    answers: Mutex<BTreeMap<String, Answer>>,
    asked: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct Answer {
    status: u16,
    location: Option<String>,
    body: String,
}

impl TestIssuer {
    /// One that answers nothing yet.
    pub async fn silent() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(IssuerState::default());
        let at = state.clone();
        let router = Router::new().fallback(move |uri: Uri| {
            let state = at.clone();
            async move { state.answer(&uri) }
        });
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let url = format!("http://{address}");
        Self {
            url,
            address,
            state,
            serving,
        }
    }

    /// One with metadata and these keys.
    pub async fn new(keys: &[Value]) -> Self {
        let issuer = Self::silent().await;
        let jwks_uri = format!("{}{KEYS}", issuer.url);
        issuer.says(
            METADATA,
            &json!({ "issuer": issuer.url, "jwks_uri": jwks_uri }),
        );
        issuer.publishes(keys);
        issuer
    }

    pub fn publishes(&self, keys: &[Value]) {
        self.says(KEYS, &json!({ "keys": keys }));
    }

    pub fn says(&self, path: &str, body: &(impl ToString + ?Sized)) {
        self.answers(path, 200, None, body.to_string());
    }

    pub fn fails(&self, path: &str) {
        self.answers(path, 503, None, "busy".to_owned());
    }

    pub fn sends_elsewhere(&self, path: &str, to: &str) {
        self.answers(path, 302, Some(to.to_owned()), String::new());
    }

    fn answers(&self, path: &str, status: u16, location: Option<String>, body: String) {
        let answer = Answer {
            status,
            location,
            body,
        };
        let mut answers = self.state.answers.lock().unwrap();
        answers.insert(path.to_owned(), answer);
    }

    /// Every path that anybody asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().clone()
    }

    pub fn times_asked(&self, path: &str) -> usize {
        self.asked().iter().filter(|asked| *asked == path).count()
    }
}

impl Drop for TestIssuer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl IssuerState {
    fn answer(&self, uri: &Uri) -> impl IntoResponse + use<> {
        self.asked.lock().unwrap().push(uri.path().to_owned());
        let answers = self.answers.lock().unwrap();
        let unknown = Answer {
            status: 404,
            location: None,
            body: String::new(),
        };
        let answer = answers.get(uri.path()).cloned().unwrap_or(unknown);
        let status = StatusCode::from_u16(answer.status).unwrap();
        let location = answer.location.map(|to| [("location", to)]);
        match location {
            Some(location) => (status, location, answer.body).into_response(),
            None => (status, answer.body).into_response(),
        }
    }
}
