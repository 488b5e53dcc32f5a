//! A forge on this machine, which answers as it is told to.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What becomes of a request.
#[derive(Debug, Clone, Copy)]
pub(super) enum ForgeAnswer {
    /// This status, with this body.
    Status(u16, &'static str),
    /// The connection ends without an answer.
    HangUp,
}

/// A request that came.
#[derive(Debug, Clone)]
pub(super) struct StatusAttempt {
    pub(super) path: String,
    pub(super) body: Value,
    pub(super) was_taken: bool,
}

pub(super) struct LoopbackForge {
    pub(super) url: String,
    state: Arc<Mutex<ForgeState>>,
    serving: JoinHandle<()>,
}

struct ForgeState {
    answer: ForgeAnswer,
    attempts: Vec<StatusAttempt>,
}

impl LoopbackForge {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(ForgeState {
            answer: ForgeAnswer::Status(201, "{}"),
            attempts: Vec::new(),
        }));
        let shared = state.clone();
        let serving = tokio::spawn(async move {
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                serve(connection, &shared).await;
            }
        });
        Self {
            url,
            state,
            serving,
        }
    }

    /// Answers so from now on.
    pub(super) fn answer(&self, answer: ForgeAnswer) {
        self.state.lock().answer = answer;
    }

    pub(super) fn attempts(&self) -> Vec<StatusAttempt> {
        self.state.lock().attempts.clone()
    }
}

impl Drop for LoopbackForge {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// One request, and the end of its connection.
async fn serve(connection: TcpStream, state: &Mutex<ForgeState>) {
    let mut connection = BufReader::new(connection);
    let mut line = String::new();
    connection.read_line(&mut line).await.unwrap();
    let path = line.split(' ').nth(1).unwrap().to_owned();
    let mut length = 0;
    while line != "\r\n" {
        line.clear();
        connection.read_line(&mut line).await.unwrap();
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await.unwrap();
    let answer = {
        let mut state = state.lock();
        let answer = state.answer;
        state.attempts.push(StatusAttempt {
            path,
            body: serde_json::from_slice(&body).unwrap(),
            was_taken: matches!(answer, ForgeAnswer::Status(200..=299, _)),
        });
        answer
    };
    let ForgeAnswer::Status(status, text) = answer else {
        return;
    };
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status} so\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
    );
    connection.write_all(answer.as_bytes()).await.unwrap();
}
