//! The stream of all changes in the yard, taken up again where it broke.

use std::time::Duration;

use serde_json::Value;

use crate::cli::client::{Client, Query};
use crate::cli::exit::Failure;
use crate::cli::stream::Lines;

const RETRY: Duration = Duration::from_secs(1);

pub(super) struct Changes {
    client: Client,
    lines: Lines,
    response: reqwest::Response,
    last: Option<String>,
}

/// What came of waiting.
pub(super) enum Happened {
    Changed(Value),
    Broken,
    Resumed,
}

impl Changes {
    pub(super) async fn open(client: &Client) -> Result<Self, Failure> {
        Ok(Self {
            response: client.lines("/stream/events").await?,
            client: client.clone(),
            lines: Lines::default(),
            last: None,
        })
    }

    /// The daemon as it was reached last.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The next change, and its line; `None` where the connection broke.
    pub(super) async fn next(&mut self) -> Result<Option<(Value, Vec<u8>)>, Failure> {
        loop {
            while let Some(line) = self.lines.line()? {
                let Ok(change) = serde_json::from_slice::<Value>(line) else {
                    continue;
                };
                self.last = change["id"].as_str().map(str::to_owned);
                let line = line.to_vec();
                return Ok(Some((change, line)));
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.lines.push(&chunk),
                Ok(None) | Err(_) => return Ok(None),
            }
        }
    }

    /// The next change; or, where the connection broke before, the connection taken up again.
    pub(super) async fn go_on(&mut self, is_broken: bool) -> Result<Happened, Failure> {
        if is_broken {
            return self.resume().await.map(|()| Happened::Resumed);
        }
        let next = self.next().await?;
        Ok(next.map_or(Happened::Broken, |(change, _)| Happened::Changed(change)))
    }

    pub(super) async fn resume(&mut self) -> Result<(), Failure> {
        self.lines = Lines::default();
        loop {
            tokio::time::sleep(RETRY).await;
            let query = Query::default().with("from", self.last.as_deref());
            match self.client.lines(&query.after("/stream/events")).await {
                Ok(response) => {
                    self.response = response;
                    return Ok(());
                }
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(client) = self.client.elsewhere() {
                self.client = client;
            }
        }
    }
}
