//! Requests to the daemon: paths spelt safely, answers taken apart, problem documents made into
//! [`Failure`]s. No proxy is used and no redirect followed, so that the key goes to the daemon and
//! to nobody else.

use std::fmt::Write as _;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::endpoint::{Endpoint, Lookup};
use super::exit::{self, Failure};
use crate::model::{BranchName, RepoName, RunId};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For what the daemon answers out of its head.
const QUICK: Duration = Duration::from_secs(30);
const KEEPALIVE: Duration = Duration::from_secs(15);
const NDJSON: &str = "application/x-ndjson";

#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    endpoint: Endpoint,
    lookup: Lookup,
}

/// What a request ended with instead of an answer.
#[derive(Debug)]
pub enum Error {
    /// The daemon said no.
    Refused {
        status: StatusCode,
        problem: ProblemDocument,
    },
    /// Nobody answered, or the answer broke off.
    Unreachable(Failure),
    /// Something answered that is no branchyard.
    Strange(Failure),
}

/// RFC 9457, as far as people want to know.
#[derive(Debug, Default, Deserialize)]
pub struct ProblemDocument {
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub detail: Option<String>,
    #[serde(default)]
    pub help: Option<String>,
}

/// A JSON answer, kept as it came for `--json`.
#[derive(Debug)]
pub struct Answer {
    pub body: Vec<u8>,
}

impl Client {
    pub fn find(lookup: Lookup) -> Result<Self, Failure> {
        let endpoint = lookup.find()?;
        Self::to(endpoint, lookup)
    }

    pub fn to(endpoint: Endpoint, lookup: Lookup) -> Result<Self, Failure> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("branchyard/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(KEEPALIVE)
            .build()
            .map_err(|error| Failure::local(format!("cannot make an HTTP client: {error}")))?;
        Ok(Self {
            http,
            endpoint,
            lookup,
        })
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Looks for the daemon once more: one that was started anew may have another address or key.
    pub fn find_again(&mut self) {
        if let Ok(endpoint) = self.lookup.find() {
            self.endpoint = endpoint;
        }
    }

    /// Asks for what is at hand.
    pub async fn get(&self, path: &str) -> Result<Answer, Error> {
        let request = self.request(Method::GET, path).timeout(QUICK);
        Answer::of(self.send(request).await?, &self.endpoint).await
    }

    /// Asks for what may take its time, such as a first clone: there is no limit.
    pub async fn get_slowly(&self, path: &str) -> Result<Answer, Error> {
        let request = self.request(Method::GET, path);
        Answer::of(self.send(request).await?, &self.endpoint).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer, Error> {
        let request = self.request(Method::POST, path).json(body);
        Answer::of(self.send(request).await?, &self.endpoint).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Result<Answer, Error> {
        let request = self.request(Method::PUT, path).json(body);
        Answer::of(self.send(request).await?, &self.endpoint).await
    }

    pub async fn delete(&self, path: &str) -> Result<Answer, Error> {
        let request = self.request(Method::DELETE, path);
        Answer::of(self.send(request).await?, &self.endpoint).await
    }

    /// Starts a run and leaves it alone.
    pub async fn start_detached(&self, path: &str, body: &Value) -> Result<Answer, Error> {
        let request = self.request(Method::POST, path);
        let request = request.header("prefer", "respond-async").json(body);
        Answer::of(self.send(request).await?, &self.endpoint).await
    }

    /// Starts a run and opens its stream.
    pub async fn start(&self, path: &str, body: &Value) -> Result<Response, Error> {
        self.stream(self.request(Method::POST, path).json(body))
            .await
    }

    /// Opens the stream of a run after `from`: `None` when nothing is left of it.
    pub async fn follow(&self, run: RunId, from: Option<&str>) -> Result<Option<Response>, Error> {
        let mut path = format!("/stream/runs/{run}");
        if let Some(cursor) = from {
            let _ = write!(path, "?from={}", encode(cursor));
        }
        let response = self.stream(self.request(Method::GET, &path)).await?;
        Ok((response.status() != StatusCode::NO_CONTENT).then_some(response))
    }

    pub async fn cancel(&self, run: RunId) -> Result<Answer, Error> {
        let path = format!("/api/runs/{run}/cancel");
        let request = self.request(Method::POST, &path).timeout(QUICK);
        Answer::of(self.send(request).await?, &self.endpoint).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.endpoint.url);
        let mut request = self
            .http
            .request(method, url)
            .header(ACCEPT, "application/json");
        if let Some(authorization) = &self.endpoint.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request
    }

    async fn stream(&self, request: RequestBuilder) -> Result<Response, Error> {
        let (client, request) = request.build_split();
        let mut request = request.map_err(|error| self.unreachable(&error))?;
        let accept = HeaderValue::from_static(NDJSON);
        request.headers_mut().insert(ACCEPT, accept);
        let response = self
            .send(RequestBuilder::from_parts(client, request))
            .await?;
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

    async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let response = request
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.unwrap_or_default();
        Err(Error::Refused {
            status,
            problem: serde_json::from_slice(&body).unwrap_or_default(),
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> Error {
        Error::Unreachable(self.endpoint.unreachable(&root_cause(error)))
    }
}

impl Error {
    /// Whether the same request may well succeed in a moment.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Refused { status, .. } => status.is_server_error(),
            Self::Unreachable(_) => true,
            Self::Strange(_) => false,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Unreachable(failure) | Error::Strange(failure) => failure,
            Error::Refused { status, problem } => {
                let detail = problem
                    .detail
                    .or(problem.title)
                    .unwrap_or_else(|| format!("the daemon answered {status}"));
                let help = problem.help.or_else(|| match status {
                    StatusCode::UNAUTHORIZED => {
                        Some("give the daemon's key with --key-file".to_owned())
                    }
                    _ => None,
                });
                Failure {
                    exit: exit::of_status(status),
                    detail,
                    help,
                }
            }
        }
    }
}

impl Answer {
    /// What the daemon has nothing to say about: a deletion, a check on this side.
    pub fn ours(value: &Value) -> Self {
        Self {
            body: value.to_string().into_bytes(),
        }
    }

    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Failure::daemon(format!("the daemon's answer makes no sense: {error}"))
                .help("compare `branchyard --version` with the daemon's: `branchyard doctor`")
        })
    }

    async fn of(response: Response, endpoint: &Endpoint) -> Result<Self, Error> {
        let body = response
            .bytes()
            .await
            .map_err(|error| Error::Unreachable(endpoint.unreachable(&root_cause(&error))))?;
        Ok(Self {
            body: body.to_vec(),
        })
    }
}

/// `/api/repos/…` with what follows it.
pub fn repo_path(repo: &RepoName, rest: &str) -> String {
    format!("/api/repos/{}{rest}", encode(repo.as_str()))
}

/// `/api/repos/…/branches/…` with what follows it.
pub fn branch_path(repo: &RepoName, branch: &BranchName, rest: &str) -> String {
    let branch = encode(branch.as_str());
    repo_path(repo, &format!("/branches/{branch}{rest}"))
}

/// One segment or value of a URL: everything but unreserved characters is percent-encoded.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn strange(endpoint: &Endpoint, what: &str) -> Error {
    Error::Strange(
        Failure::daemon(format!(
            "what answers at {} is no branchyard daemon: {what}",
            endpoint.url
        ))
        .help("check the address: --url, BRANCHYARD_URL"),
    )
}

/// The innermost cause: "connection refused" rather than the layers around it.
fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment_whatever_it_holds() {
        let repo = RepoName::parse("my.app").unwrap();
        for (branch, segment) in [
            ("main", "main"),
            ("feature/login", "feature%2Flogin"),
            ("#42", "%2342"),
            ("100%", "100%25"),
            ("a&b=c+d", "a%26b%3Dc%2Bd"),
            ("ünï", "%C3%BCn%C3%AF"),
            ("A-b_c.d", "A-b_c.d"),
        ] {
            let branch = BranchName::parse(branch).unwrap();
            assert_eq!(
                branch_path(&repo, &branch, "/ls"),
                format!("/api/repos/my.app/branches/{segment}/ls")
            );
        }
        assert_eq!(encode("a b?~\n"), "a%20b%3F~%0A");
    }

    #[test]
    fn an_encoded_path_is_sent_as_it_is() {
        let sent = url::Url::parse("http://h/api/repos/a/branches/feature%2Fx%2542").unwrap();
        assert_eq!(sent.path(), "/api/repos/a/branches/feature%2Fx%2542");
    }

    #[test]
    fn a_refusal_says_what_the_daemon_said() {
        let problem = serde_json::from_str(
            r#"{"type":"about:blank","title":"Not Found","status":404,"detail":"there is no repo \"x\"",
                "code":"repo_not_found","help":"add it"}"#,
        )
        .unwrap();
        let failure = Failure::from(Error::Refused {
            status: StatusCode::NOT_FOUND,
            problem,
        });
        assert_eq!(failure.exit, 125);
        assert_eq!(failure.detail, "there is no repo \"x\"");
        assert_eq!(failure.help.as_deref(), Some("add it"));

        let failure = Failure::from(Error::Refused {
            status: StatusCode::UNAUTHORIZED,
            problem: ProblemDocument::default(),
        });
        assert_eq!(failure.detail, "the daemon answered 401 Unauthorized");
        assert!(failure.help.unwrap().contains("--key-file"));
    }
}
