//! Requests to the daemon. No proxy is used and no redirect followed, so that the key goes to the daemon and
//! to nobody else.

mod answer;
mod mend;
mod paths;
mod refusal;

use std::path::Path;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};

use super::endpoint::{Endpoint, Lookup};
use super::exit::Failure;
use super::subject::Subject;

pub(super) use answer::{Answer, lenient};
pub(super) use mend::help_of;
pub(super) use paths::{Query, branch_path, command_line, encode, repo_path};
use refusal::strange;
pub(super) use refusal::{ClientError, root_cause};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For what the daemon answers out of its head.
const QUICK: Duration = Duration::from_secs(30);
const KEEPALIVE: Duration = Duration::from_secs(15);
/// Shorter than a daemon keeps an idle connection, so that none is used that it is about to close.
const IDLE: Duration = Duration::from_secs(30);
const NDJSON: &str = "application/x-ndjson";

#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    endpoint: Endpoint,
    lookup: Lookup,
}

/// What a request has in its body.
pub(super) trait Asked: Serialize + Default {}

impl<T: Serialize + Default> Asked for T {}

/// A request to start something.
#[derive(Debug)]
pub(super) struct Start {
    pub path: String,
    pub body: Value,
    /// What makes it the same request when it is sent again.
    pub key: Option<String>,
}

impl Start {
    pub(super) fn new(path: String, body: &impl Asked, key: Option<&String>) -> Self {
        Self {
            path,
            body: said(body),
            key: key.cloned(),
        }
    }
}

impl Client {
    pub(super) fn find(lookup: Lookup) -> Result<Self, Failure> {
        let endpoint = lookup.find()?;
        Self::to(endpoint, lookup)
    }

    pub(super) fn to(endpoint: Endpoint, lookup: Lookup) -> Result<Self, Failure> {
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("branchyard/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE)
            .tcp_keepalive(KEEPALIVE);
        if let Some(socket) = &endpoint.socket {
            http = http.unix_socket(socket.clone());
        }
        if let Some(file) = &endpoint.ca_file {
            http = http.tls_certs_only(authorities(file)?);
        }
        let http = http.build().map_err(|error| {
            Failure::local(format!(
                "cannot make an HTTP client: {}",
                root_cause(&error)
            ))
        })?;
        Ok(Self {
            http,
            endpoint,
            lookup,
        })
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Looks for the daemon once more: one that was started anew has another key, and may have another
    /// address. `None` if it is found where it was.
    pub(super) fn elsewhere(&self) -> Option<Self> {
        let endpoint = self.lookup.find().ok()?;
        if endpoint == self.endpoint {
            return None;
        }
        Self::to(endpoint, self.lookup.clone()).ok()
    }

    /// Asks for what is at hand.
    pub(super) async fn get(&self, path: &str) -> Result<Answer, ClientError> {
        let request = self.request(Method::GET, path);
        self.answer(request.timeout(QUICK)).await
    }

    /// Asks for what may take its time, such as a first clone: there is no limit.
    pub(super) async fn get_slowly(&self, path: &str) -> Result<Answer, ClientError> {
        self.answer(self.request(Method::GET, path)).await
    }

    pub(super) async fn post(&self, path: &str, body: &impl Asked) -> Result<Answer, ClientError> {
        let request = self.request(Method::POST, path);
        self.answer(request.json(&said(body))).await
    }

    pub(super) async fn put(&self, path: &str, body: &impl Asked) -> Result<Answer, ClientError> {
        let request = self.request(Method::PUT, path);
        self.answer(request.json(&said(body))).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Answer, ClientError> {
        self.answer(self.request(Method::DELETE, path)).await
    }

    /// Starts a run and leaves it alone.
    pub(super) async fn start_detached(&self, start: &Start) -> Result<Answer, ClientError> {
        let request = self.starting(start).header("prefer", "respond-async");
        self.answer(request).await
    }

    /// Starts a run, or a group of them, and opens its stream.
    pub(super) async fn start(&self, start: &Start) -> Result<(Subject, Response), ClientError> {
        let response = self.stream(self.starting(start)).await?;
        let location = response.headers().get(LOCATION);
        let subject = location
            .and_then(|location| location.to_str().ok())
            .and_then(Subject::at)
            .ok_or_else(|| strange(&self.endpoint, "it does not say what it started"))?;
        Ok((subject, response))
    }

    /// Opens a stream after `from`: `None` when nothing is left of it.
    pub(super) async fn follow(
        &self,
        subject: Subject,
        from: Option<&str>,
        output: bool,
    ) -> Result<Option<Response>, ClientError> {
        let query = Query::default().with("from", from).flag("output", output);
        let path = query.after(&subject.stream_path());
        let response = self.stream(self.request(Method::GET, &path)).await?;
        Ok((response.status() != StatusCode::NO_CONTENT).then_some(response))
    }

    /// Opens what may be long.
    pub(super) async fn open(
        &self,
        path: &str,
        accept: &'static str,
    ) -> Result<Response, ClientError> {
        let accept = HeaderValue::from_static(accept);
        self.send_accepting(self.request(Method::GET, path), accept)
            .await
    }

    /// Opens what comes as lines of JSON.
    pub(super) async fn lines(&self, path: &str) -> Result<Response, ClientError> {
        self.stream(self.request(Method::GET, path)).await
    }

    pub(super) async fn cancel(
        &self,
        subject: Subject,
        force: bool,
    ) -> Result<Answer, ClientError> {
        let query = Query::default().flag("force", force);
        let path = query.after(&format!("{}/cancel", subject.path()));
        let request = self.request(Method::POST, &path);
        self.answer(request.timeout(QUICK)).await
    }

    fn starting(&self, start: &Start) -> RequestBuilder {
        let request = self.request(Method::POST, &start.path).json(&start.body);
        match &start.key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        }
    }

    /// A request with the key, for what has ways of its own to answer.
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.endpoint.base());
        let mut request = self
            .http
            .request(method, url)
            .header(ACCEPT, "application/json");
        if let Some(authorization) = &self.endpoint.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request
    }

    async fn stream(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let accept = HeaderValue::from_static(NDJSON);
        let response = self.send_accepting(request, accept).await?;
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(NDJSON.as_bytes()));
        if is_stream || response.status() == StatusCode::NO_CONTENT {
            Ok(response)
        } else {
            Err(strange(&self.endpoint, "it does not stream"))
        }
    }

    async fn send_accepting(
        &self,
        request: RequestBuilder,
        accept: HeaderValue,
    ) -> Result<Response, ClientError> {
        let (client, request) = request.build_split();
        let mut request = request.map_err(|error| self.unreachable(&error))?;
        request.headers_mut().insert(ACCEPT, accept);
        self.send(RequestBuilder::from_parts(client, request)).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = request
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.unwrap_or_default();
        Err(ClientError::Refused {
            status,
            problem: serde_json::from_slice(&body).unwrap_or_default(),
        })
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Answer, ClientError> {
        let body = self.send(request).await?.bytes().await;
        let body = body.map_err(|error| self.unreachable(&error))?;
        Ok(Answer {
            body: body.to_vec(),
        })
    }

    /// What a broken connection was about, in words.
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> ClientError {
        ClientError::Unreachable(self.endpoint.unreachable(&root_cause(error)))
    }
}

/// Only what was said of a request: the defaults are the daemon's, which may be older than this command.
fn said<T: Asked>(request: &T) -> Value {
    let (mut body, defaults) = (json!(request), json!(T::default()));
    if let Value::Object(fields) = &mut body {
        fields.retain(|name, value| !value.is_null() && defaults.get(name) != Some(value));
    }
    body
}

/// The certificates in a file of `--ca-file`.
fn authorities(file: &Path) -> Result<Vec<reqwest::Certificate>, Failure> {
    let bad = |why: String| {
        Failure::usage(format!("{} cannot be used: {why}", file.display())).help(
            "--ca-file and BRANCHYARD_CA_FILE name a PEM file with certificates of authorities",
        )
    };
    let text = std::fs::read(file).map_err(|error| bad(error.to_string()))?;
    let found =
        reqwest::Certificate::from_pem_bundle(&text).map_err(|error| bad(root_cause(&error)))?;
    match found.is_empty() {
        true => Err(bad("there is no certificate in it".to_owned())),
        false => Ok(found),
    }
}
