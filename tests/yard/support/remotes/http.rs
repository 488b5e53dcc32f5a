//! Smart HTTP: git's own http-backend behind a small server, which asks for credentials and fails as it
//! is told to.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinHandle;

use super::lfs::{LfsServer, PLACE};
use crate::support::{Options, Origin};

/// Whom the server lets in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    Anyone,
    /// This user with this password.
    Basic(&'static str, &'static str),
    Bearer(&'static str),
    /// Nobody, whatever they show: 403, and the answer repeats what was shown.
    Nobody,
}

/// What goes wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    None,
    /// It gets this status.
    Status(u16),
    /// It gets half of its answer, and then the connection breaks.
    Cut,
    /// It waits for ever.
    Hang,
    /// It gets its answer in single bytes, with a pause before each.
    Trickle(Duration),
    /// It is sent to the same path there.
    Redirect(String),
    /// It gets this web page.
    Page(&'static str),
}

pub struct HttpRemote {
    pub address: SocketAddr,
    state: Arc<Served>,
    serving: JoinHandle<()>,
}

struct Served {
    root: PathBuf,
    lfs: LfsServer,
    inner: Mutex<Inner>,
}

struct Inner {
    auth: Auth,
    /// What goes wrong with the next requests, one each, and with all after them.
    next: VecDeque<Fault>,
    then: Fault,
    requests: usize,
    /// Every `Authorization` that was shown.
    shown: Vec<String>,
}

impl HttpRemote {
    /// Serves `origin` to those whom `auth` lets in, for reading and writing.
    pub async fn start(origin: &Origin, auth: Auth) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Served {
            root: origin.bare.parent().unwrap().to_owned(),
            lfs: LfsServer::default(),
            inner: Mutex::new(Inner {
                auth,
                next: VecDeque::new(),
                then: Fault::None,
                requests: 0,
                shown: Vec::new(),
            }),
        });
        let service = axum::Router::new()
            .fallback(answer)
            .with_state(state.clone());
        let serving = tokio::spawn(async move {
            axum::serve(listener, service).await.unwrap();
        });
        Self {
            address,
            state,
            serving,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}/origin.git", self.address)
    }

    /// The contents of its LFS files.
    pub fn lfs(&self) -> &LfsServer {
        &self.state.lfs
    }

    /// As credentials are configured for it.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// A yard that has its demo from here; `tables` are further ones of its configuration.
    pub fn options(&self, tables: &str) -> Options {
        Options {
            url: Some(self.url()),
            git: "allow_protocols = [\"http\", \"https\"]".to_owned(),
            tables: tables.to_owned(),
            ..Options::default()
        }
    }

    /// How many requests came, refused ones too.
    pub fn requests(&self) -> usize {
        self.state.inner.lock().unwrap().requests
    }

    /// What was shown to the server so far.
    pub fn shown(&self) -> Vec<String> {
        self.state.inner.lock().unwrap().shown.clone()
    }

    pub fn let_in(&self, auth: Auth) {
        self.state.inner.lock().unwrap().auth = auth;
    }

    /// Fails all requests from now on, or none.
    pub fn fail(&self, fault: Fault) {
        let mut inner = self.state.inner.lock().unwrap();
        inner.next.clear();
        inner.then = fault;
    }

    /// Fails the next requests, one each.
    pub fn fail_next(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state.inner.lock().unwrap().next.extend(faults);
    }
}

impl Drop for HttpRemote {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Inner {
    /// Takes note of a request; the refusal it gets, if any, and what goes wrong with it otherwise.
    fn admit(&mut self, request: &Request) -> (Option<Response>, Fault) {
        self.requests += 1;
        let shown = request.headers().get(header::AUTHORIZATION);
        let shown = shown.map(|value| value.to_str().unwrap().to_owned());
        self.shown.extend(shown.clone());
        let next = self.next.pop_front();
        let fault = next.unwrap_or_else(|| self.then.clone());
        let (wanted, challenge) = match &self.auth {
            Auth::Anyone => return (None, fault),
            Auth::Basic(user, password) => (
                format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))),
                "Basic realm=\"tests\"",
            ),
            Auth::Bearer(token) => (format!("Bearer {token}"), "Bearer"),
            Auth::Nobody if shown.is_some() => {
                let said = format!("you showed {}\n", shown.unwrap_or_default());
                let plain = [(header::CONTENT_TYPE, "text/plain")];
                let refusal = (StatusCode::FORBIDDEN, plain, said).into_response();
                return (Some(refusal), fault);
            }
            Auth::Nobody => (String::new(), "Basic realm=\"tests\""),
        };
        if shown.as_deref() == Some(&wanted) {
            return (None, fault);
        }
        let challenge = [(header::WWW_AUTHENTICATE, challenge)];
        let refusal = (StatusCode::UNAUTHORIZED, challenge).into_response();
        (Some(refusal), fault)
    }
}

async fn answer(State(served): State<Arc<Served>>, request: Request) -> Response {
    let (refusal, fault) = served.inner.lock().unwrap().admit(&request);
    match fault {
        Fault::Status(status) => return StatusCode::from_u16(status).unwrap().into_response(),
        Fault::Hang => std::future::pending().await,
        Fault::Page(text) => return axum::response::Html(text).into_response(),
        Fault::Redirect(to) => {
            let path = request.uri().path_and_query().unwrap();
            let location = [(header::LOCATION, format!("{to}{path}"))];
            return (StatusCode::FOUND, location).into_response();
        }
        _ => {}
    }
    if let Some(refusal) = refusal {
        return refusal;
    }
    if request.uri().path().contains(PLACE) {
        return served.lfs.answer(request).await;
    }
    let (status, headers, body) = backend(&served.root, request).await;
    let body = match fault {
        Fault::Cut => {
            let half = body.slice(..body.len() / 2);
            Body::from_stream(async_stream::stream! {
                yield Ok(half);
                // Lets it be sent: a client that heard nothing asks again by itself.
                tokio::task::yield_now().await;
                yield Err(std::io::Error::other("cut"));
            })
        }
        Fault::Trickle(pause) => Body::from_stream(async_stream::stream! {
            for byte in body {
                tokio::time::sleep(pause).await;
                yield Ok::<_, std::io::Error>(Bytes::from(vec![byte]));
            }
        }),
        _ => Body::from(body),
    };
    (status, headers, body).into_response()
}

/// What git's http-backend says, as CGI.
async fn backend(root: &std::path::Path, request: Request) -> (StatusCode, HeaderMap, Bytes) {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let text = |name: &str| {
        let value = parts.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap()).to_owned()
    };
    let mut child = Command::new("git")
        .arg("http-backend")
        .env_clear()
        .env("PATH", env!("PATH"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "somebody")
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("REQUEST_METHOD", parts.method.as_str())
        .env("PATH_INFO", parts.uri.path())
        .env("QUERY_STRING", parts.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", text("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", text("content-encoding"))
        .env("GIT_PROTOCOL", text("git-protocol"))
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feed = tokio::spawn(async move {
        // It may have heard enough before the end.
        let _ = stdin.write_all(&body).await;
    });
    let output = child.wait_with_output().await.unwrap();
    feed.await.unwrap();
    let said = Bytes::from(output.stdout);
    let end = said.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
    let (mut status, mut headers) = (StatusCode::OK, HeaderMap::new());
    for line in std::str::from_utf8(&said[..end]).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        if name == "Status" {
            status = value[..3].parse().unwrap();
        } else {
            let name = header::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.insert(name, value.parse().unwrap());
        }
    }
    (status, headers, said.slice(end + 4..))
}
