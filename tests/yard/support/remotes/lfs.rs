//! What a server of LFS contents does: the batch API, and contents by their hash. It keeps count, and fails as it is told to.

use std::collections::BTreeMap;
use std::sync::Mutex;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Where the server of a repository is, below it.
pub const PLACE: &str = "/info/lfs/";
const MEDIA: &str = "application/vnd.git-lfs+json";

/// What goes wrong where contents are given out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LfsFault {
    #[default]
    None,
    Status(u16),
    /// As long as it is to be, and something else.
    WrongContent,
    /// Half of it, and then the connection breaks.
    Cut,
    Hang,
}

#[derive(Debug, Default)]
pub struct LfsServer(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    contents: BTreeMap<String, Bytes>,
    /// How often each was given out.
    given: BTreeMap<String, usize>,
    taken: usize,
    fault: LfsFault,
}

/// The pointer of a content.
pub fn pointer(content: &[u8]) -> String {
    let (hash, size) = (hash_of(content), content.len());
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize {size}\n")
}

fn hash_of(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl LfsServer {
    /// Has it give out that content; its pointer.
    pub fn keep(&self, content: &[u8]) -> String {
        let bytes = Bytes::copy_from_slice(content);
        let mut inner = self.0.lock().unwrap();
        inner.contents.insert(hash_of(content), bytes);
        pointer(content)
    }

    pub fn has(&self, content: &[u8]) -> bool {
        self.0
            .lock()
            .unwrap()
            .contents
            .contains_key(&hash_of(content))
    }

    /// How often each content was given out.
    pub fn given(&self) -> Vec<usize> {
        self.0.lock().unwrap().given.values().copied().collect()
    }

    /// How many contents were uploaded.
    pub fn taken(&self) -> usize {
        self.0.lock().unwrap().taken
    }

    pub fn fail(&self, fault: LfsFault) {
        self.0.lock().unwrap().fault = fault;
    }

    pub async fn answer(&self, request: Request) -> Response {
        let uri = request.uri().clone();
        let host = request.headers()[header::HOST].to_str().unwrap().to_owned();
        let (base, asked) = uri.path().split_once(PLACE).unwrap();
        let base = format!("http://{host}{base}{PLACE}");
        match (request.method(), asked) {
            (&Method::POST, "objects/batch") => {
                let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
                self.batch(&base, &serde_json::from_slice(&body).unwrap())
            }
            (&Method::GET, hash) => self.give(hash).await,
            (&Method::PUT, hash) => {
                let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
                let mut inner = self.0.lock().unwrap();
                assert_eq!(hash_of(&body), hash);
                inner.contents.insert(hash.to_owned(), body);
                inner.taken += 1;
                StatusCode::OK.into_response()
            }
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    }

    fn batch(&self, base: &str, asked: &Value) -> Response {
        let inner = self.0.lock().unwrap();
        let operation = asked["operation"].as_str().unwrap();
        let objects = asked["objects"].as_array().unwrap().iter().map(|object| {
            let hash = object["oid"].as_str().unwrap();
            let mut told = json!({ "oid": hash, "size": object["size"] });
            let is_here = inner.contents.contains_key(hash);
            let href = json!({ operation: { "href": format!("{base}{hash}") } });
            match (operation, is_here) {
                ("download", true) | ("upload", false) => told["actions"] = href,
                ("download", false) => {
                    told["error"] = json!({ "code": 404, "message": "no such object" });
                }
                _ => {}
            }
            told
        });
        let objects: Vec<_> = objects.collect();
        let answer = json!({ "transfer": "basic", "objects": objects });
        ([(header::CONTENT_TYPE, MEDIA)], answer.to_string()).into_response()
    }

    async fn give(&self, hash: &str) -> Response {
        let (content, fault) = {
            let mut inner = self.0.lock().unwrap();
            *inner.given.entry(hash.to_owned()).or_default() += 1;
            (inner.contents.get(hash).cloned(), inner.fault.clone())
        };
        let Some(content) = content else {
            return StatusCode::NOT_FOUND.into_response();
        };
        match fault {
            LfsFault::None => content.into_response(),
            LfsFault::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
            LfsFault::WrongContent => vec![b'x'; content.len()].into_response(),
            LfsFault::Hang => std::future::pending().await,
            LfsFault::Cut => {
                let half = content.slice(..content.len() / 2);
                let body = Body::from_stream(async_stream::stream! {
                    yield Ok(half);
                    tokio::task::yield_now().await;
                    yield Err(std::io::Error::other("cut"));
                });
                ([(header::CONTENT_LENGTH, content.len())], body).into_response()
            }
        }
    }
}
