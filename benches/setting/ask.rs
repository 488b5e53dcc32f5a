//! What a day with a daemon is made of, one request at a time.

use reqwest::Method;
use serde_json::json;

use super::Asker;

#[derive(Clone, Copy)]
pub enum Ask {
    /// A `make` that does nothing, followed to its end.
    Run,
    /// A workspace that is up to date is made ready.
    Prepare,
    /// A file is read.
    Read,
}

impl Ask {
    pub const ALL: [Self; 3] = [Self::Run, Self::Prepare, Self::Read];

    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "starting a run",
            Self::Prepare => "preparing",
            Self::Read => "a read",
        }
    }

    /// Asks for it; how long the answer took.
    pub async fn once(self, asker: &Asker) -> f64 {
        match self {
            Self::Run => asker.make("main", &["who"], "none").await,
            Self::Prepare => asker.prepare("main").await,
            Self::Read => {
                let path = "/api/repos/demo/branches/main/read_file";
                let body = json!({ "path": "Makefile" });
                asker.timed(Method::POST, path, Some(&body)).await.0
            }
        }
    }
}
