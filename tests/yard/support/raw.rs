//! HTTP by hand, for what no decent client would send: paths that it would tidy up, foreign `Host`
//! headers, bodies that are never finished.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{PATIENCE, Yard};

/// A request as it goes over the wire. `Host` and `Connection` are sent unless `headers` has a `Host`.
#[derive(Debug, Clone)]
pub struct Raw<'a> {
    pub method: &'a str,
    pub target: &'a str,
    pub headers: Vec<(&'a str, String)>,
    pub body: Vec<u8>,
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl<'a> Raw<'a> {
    pub fn new(method: &'a str, target: &'a str) -> Self {
        Self {
            method,
            target,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// A request of `yard`'s owner with this JSON, which may be none.
    pub fn json(yard: &Yard, method: &'a str, target: &'a str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self::new(method, target)
            .header("Authorization", format!("Bearer {}", yard.key()))
            .header("Content-Type", "application/json")
            .header("Content-Length", body.len().to_string())
            .body(body)
    }

    pub fn header(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Sends it on a connection of its own and reads the answer to its end. A server may answer and
    /// close before it has read everything, so a failed write is no failure yet.
    pub async fn send(self, yard: &Yard) -> Answer {
        let address = yard.url.strip_prefix("http://").unwrap().to_owned();
        let mut request = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&format!("Host: {address}\r\n"));
        }
        for (name, value) in &self.headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("Connection: close\r\n\r\n");
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(&self.body);
        let (mut from, mut to) = TcpStream::connect(&address).await.unwrap().into_split();
        let sending = tokio::spawn(async move {
            let _ = to.write_all(&bytes).await;
            to
        });
        let mut answer = Vec::new();
        let read = async {
            let mut piece = [0; 4096];
            while let Ok(n) = from.read(&mut piece).await {
                if n == 0 {
                    break;
                }
                answer.extend_from_slice(&piece[..n]);
            }
        };
        tokio::time::timeout(PATIENCE, read)
            .await
            .unwrap_or_else(|_| panic!("no answer to {} {}", self.method, self.target));
        sending.abort();
        Answer::parse(&answer)
    }
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("not an answer: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    /// The problem document, which a refusal must be; `input` is what was refused.
    pub fn problem(&self, input: &str) -> Value {
        assert!(
            self.head.contains("content-type: application/problem+json"),
            "{input}: {self:?}"
        );
        let problem: Value = serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{input}: {error}: {self:?}"));
        assert_eq!(problem["status"], self.status, "{input}");
        problem
    }
}
