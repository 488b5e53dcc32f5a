//! What a day with a daemon is made of, one request at a time.

use reqwest::Method;
use serde_json::{Value, json};

use super::Asker;

#[derive(Clone, Copy)]
pub enum Ask {
    /// A `make` that does nothing, followed to its end.
    Run,
    /// A workspace that is up to date is made ready.
    Prepare,
    /// A file is read.
    Read,
    Status,
    Log,
    Diff,
}

impl Ask {
    pub const ALL: [Self; 6] = [
        Self::Run,
        Self::Prepare,
        Self::Read,
        Self::Status,
        Self::Log,
        Self::Diff,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "starting a run",
            Self::Prepare => "preparing",
            Self::Read => "a read",
            Self::Status => "git/status",
            Self::Log => "git/log",
            Self::Diff => "git/diff",
        }
    }

    /// Asks for it; how long the answer took.
    pub async fn once(self, asker: &Asker) -> f64 {
        match self {
            Self::Run => asker.make("main", &["who"], "none").await,
            Self::Prepare => asker.prepare("main").await,
            Self::Read => post(asker, "read_file", &json!({ "path": "Makefile" })).await,
            Self::Status | Self::Log | Self::Diff => post(asker, self.name(), &json!({})).await,
        }
    }
}

async fn post(asker: &Asker, what: &str, body: &Value) -> f64 {
    let path = format!("/api/repos/demo/branches/main/{what}");
    asker.timed(Method::POST, &path, Some(body)).await.0
}
