//! A run's stream: NDJSON put together from chunks, and taken up again after the last event seen
//! when the connection breaks, so that no byte is lost and none comes twice.

mod event;
mod lines;

use std::time::Duration;

use reqwest::Response;
use reqwest::header::LOCATION;
use serde::Deserialize;

use super::client::{Client, Error};
use super::exit::Failure;
use crate::model::RunId;

use event::{Cursor, parse};
use lines::Lines;

pub use event::{Channel, Complete, Ending, Event, Holder, RunError, Status};

/// How long to wait before each try to take up a broken stream.
const RETRY_AFTER: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_millis(800),
    Duration::from_secs(2),
    Duration::from_secs(3),
    Duration::from_secs(4),
];

/// What reading on brought.
#[derive(Debug, PartialEq, Eq)]
pub enum More {
    /// Lines may be whole now.
    Bytes,
    /// The connection is gone: [`RunStream::resume`] takes it up again.
    Broken(String),
    /// The run is over and everything of it was seen before.
    NothingLeft,
}

/// A run's events from wherever the reader stands.
#[derive(Debug)]
pub struct RunStream {
    client: Client,
    run: Option<RunId>,
    cursor: Option<String>,
    /// `None` when the daemon had nothing to give.
    response: Option<Response>,
    lines: Lines,
    tries: usize,
}

impl RunStream {
    /// The stream that a request to start a run was answered with.
    pub fn started(client: Client, response: Response) -> Self {
        let location = response.headers().get(LOCATION);
        let run = location
            .and_then(|location| location.to_str().ok())
            .and_then(|location| location.rsplit('/').next())
            .and_then(|id| RunId::parse(id).ok());
        Self::new(client, run, None, Some(response))
    }

    /// The stream of a run that somebody started, after `cursor`.
    pub async fn follow(
        client: Client,
        run: RunId,
        cursor: Option<String>,
    ) -> Result<Self, Failure> {
        let response = client.follow(run, cursor.as_deref()).await?;
        Ok(Self::new(client, Some(run), cursor, response))
    }

    /// Known from the first event at the latest.
    pub fn run(&self) -> Option<RunId> {
        self.run
    }

    /// Waits for more bytes.
    pub async fn more(&mut self) -> Result<More, Failure> {
        let Some(response) = &mut self.response else {
            return Ok(More::NothingLeft);
        };
        match response.chunk().await {
            Ok(Some(chunk)) => {
                self.lines.push(&chunk);
                Ok(More::Bytes)
            }
            // An end without a last event is no end.
            Ok(None) => Ok(More::Broken("it closed the connection".to_owned())),
            Err(error) => Ok(More::Broken(error.to_string())),
        }
    }

    /// Hands out the events that are whole, each with its line; gives back the last event of all.
    pub fn drain(
        &mut self,
        mut each: impl FnMut(&[u8], Event<'_>) -> Result<(), Failure>,
    ) -> Result<Option<Ending>, Failure> {
        while let Some(line) = self.lines.line()? {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let (event, cursor) = parse(line)?;
            let ending = match &event {
                Event::Ended(ending) => Some(ending.clone()),
                Event::Status(status) => {
                    self.run = self.run.or(status.run_id);
                    None
                }
                _ => None,
            };
            each(line, event)?;
            if let Some(Cursor(cursor)) = cursor {
                self.cursor = Some(cursor);
                self.tries = 0;
            }
            if ending.is_some() {
                return Ok(ending);
            }
        }
        Ok(None)
    }

    /// Opens the stream anew after the last event seen, with patience: a daemon may be starting.
    pub async fn resume(&mut self, cause: &str) -> Result<(), Failure> {
        let Some(run) = self.run else {
            return Err(Failure::daemon(format!(
                "the daemon was lost before it named the run: {cause}"
            ))
            .help("see what became of it with `branchyard runs`"));
        };
        // Half a line comes again whole.
        self.lines = Lines::default();
        let mut last = Failure::daemon(cause);
        while let Some(delay) = RETRY_AFTER.get(self.tries) {
            self.tries += 1;
            tokio::time::sleep(*delay).await;
            self.client.find_again();
            match self.client.follow(run, self.cursor.as_deref()).await {
                Ok(response) => {
                    self.response = response;
                    return Ok(());
                }
                Err(error) if error.may_pass() => last = error.into(),
                Err(error) => return Err(self.given_up(run, error)),
            }
        }
        Err(self.given_up(run, Error::Unreachable(last)))
    }

    /// How the run ended, by its record: for when the stream has nothing more to say.
    pub async fn recorded_ending(&self) -> Result<Ending, Failure> {
        let Some(run) = self.run else {
            return Err(Failure::daemon("the daemon did not say which run this is"));
        };
        let answer = self.client.get(&format!("/api/runs/{run}")).await?;
        let record: Record = answer.parse()?;
        Ok(match record.error {
            Some(error) => Ending::Error(error),
            None => Ending::Complete(Complete {
                commit: record.about.map(|about| about.commit),
                ..record.complete
            }),
        })
    }

    fn new(
        client: Client,
        run: Option<RunId>,
        cursor: Option<String>,
        response: Option<Response>,
    ) -> Self {
        Self {
            client,
            run,
            cursor,
            response,
            lines: Lines::default(),
            tries: 0,
        }
    }

    fn given_up(&self, run: RunId, error: Error) -> Failure {
        let failure = Failure::from(error);
        let from = match &self.cursor {
            Some(cursor) => format!(" --from {cursor}"),
            None => String::new(),
        };
        Failure::daemon(format!("lost the run's stream: {failure}")).help(format!(
            "the run may still go on; see the rest with `branchyard follow {run}{from}`"
        ))
    }
}

/// What `GET /api/runs/{id}` says about an end.
#[derive(Deserialize)]
struct Record {
    #[serde(flatten)]
    complete: Complete,
    #[serde(default)]
    about: Option<About>,
    #[serde(default)]
    error: Option<RunError>,
}

#[derive(Deserialize)]
struct About {
    commit: String,
}

#[cfg(test)]
mod tests {
    use super::super::endpoint::{Endpoint, Lookup, Surroundings};
    use super::*;
    use axum::Router;
    use axum::body::{Body, Bytes};
    use axum::extract::RawQuery;
    use axum::http::{StatusCode, header};
    use axum::response::IntoResponse;
    use axum::routing::{get, post};
    use std::sync::{Arc, Mutex};

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    /// Serves on a port of its own until the test ends, and gives a client for it.
    async fn client_of(router: Router) -> Client {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let endpoint = Endpoint {
            url: format!("http://{address}"),
            authorization: None,
            workspaces: None,
            source: "the test".to_owned(),
        };
        Client::to(endpoint, Lookup::nowhere(Surroundings::default())).unwrap()
    }

    fn ndjson(location: bool, body: Body) -> impl IntoResponse {
        let location = location.then(|| [(header::LOCATION, format!("/api/runs/{RUN}"))]);
        (
            location,
            [(header::CONTENT_TYPE, "application/x-ndjson")],
            body,
        )
    }

    /// A body that breaks off after `text`, as when the daemon is killed.
    fn broken(text: &'static str) -> Body {
        Body::from_stream(async_stream::stream! {
            yield Ok(Bytes::from_static(text.as_bytes()));
            tokio::task::yield_now().await;
            yield Err(std::io::Error::other("killed"));
        })
    }

    /// Reads to the end: all output bytes in order, and how it ended.
    async fn read(stream: &mut RunStream) -> Result<(Vec<u8>, Option<Ending>), Failure> {
        let mut output = Vec::new();
        loop {
            match stream.more().await? {
                More::Bytes => {}
                More::Broken(cause) => stream.resume(&cause).await?,
                More::NothingLeft => return Ok((output, None)),
            }
            let ending = stream.drain(|_, event| {
                if let Event::Output { bytes, eol, .. } = event {
                    output.extend_from_slice(&bytes);
                    output.extend_from_slice(eol.as_bytes());
                }
                Ok(())
            })?;
            if ending.is_some() {
                return Ok((output, ending));
            }
        }
    }

    #[tokio::test]
    async fn a_broken_stream_goes_on_after_the_last_whole_event() {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let router = Router::new()
            .route(
                "/start",
                post(|| async {
                    // The second line is whole, the third is not: it comes again.
                    ndjson(true, broken(concat!(
                        "{\"type\":\"stdout\",\"id\":\"10\",\"line\":\"one\"}\n",
                        "{\"type\":\"stdout\",\"id\":\"2 0\",\"line\":\"tw\",\"eol\":\"\"}\n",
                        "{\"type\":\"stdout\",\"id\":\"30\",\"li",
                    )))
                }),
            )
            .route(
                "/stream/runs/{id}",
                get(move |RawQuery(query): RawQuery| async move {
                    let mut seen = seen.lock().unwrap();
                    seen.push(query.unwrap_or_default());
                    if seen.len() == 1 {
                        return StatusCode::SERVICE_UNAVAILABLE.into_response();
                    }
                    ndjson(false, Body::from(concat!(
                        "{\"type\":\"stdout\",\"id\":\"30\",\"line\":\"o\"}\n",
                        "{\"type\":\"complete\",\"id\":\"40\",\"state\":\"failed\",\"exit_code\":3}\n",
                    )))
                    .into_response()
                }),
            );
        let client = client_of(router).await;
        let response = client
            .start("/start", &serde_json::json!({}))
            .await
            .unwrap();
        let mut stream = RunStream::started(client, response);
        assert_eq!(stream.run().unwrap().to_string(), RUN);
        let (output, ending) = read(&mut stream).await.unwrap();
        assert_eq!(String::from_utf8(output).unwrap(), "one\ntwo\n");
        let Some(Ending::Complete(complete)) = ending else {
            panic!("{ending:?}");
        };
        assert_eq!(
            (complete.state.as_str(), complete.exit_code),
            ("failed", Some(3))
        );
        assert_eq!(*asked.lock().unwrap(), ["from=2%200", "from=2%200"]);
    }

    #[tokio::test]
    async fn a_run_of_which_nothing_is_left_says_so() {
        let router = Router::new().route(
            "/stream/runs/{id}",
            get(|| async { StatusCode::NO_CONTENT }),
        );
        let run = RunId::parse(RUN).unwrap();
        let client = client_of(router).await;
        let stream = RunStream::follow(client, run, Some("40".to_owned())).await;
        assert_eq!(read(&mut stream.unwrap()).await, Ok((Vec::new(), None)));
    }

    #[tokio::test]
    async fn a_run_that_is_gone_is_not_asked_for_again() {
        let router = Router::new().route(
            "/start",
            post(|| async {
                ndjson(
                    true,
                    broken("{\"type\":\"status\",\"state\":\"queued\",\"id\":\"1\"}\n"),
                )
            }),
        );
        let client = client_of(router).await;
        let response = client
            .start("/start", &serde_json::json!({}))
            .await
            .unwrap();
        let failure = read(&mut RunStream::started(client, response))
            .await
            .unwrap_err();
        assert_eq!(failure.exit, 125);
        let help = failure.help.unwrap();
        assert!(
            help.contains(&format!("branchyard follow {RUN} --from 1")),
            "{help}"
        );
    }

    #[tokio::test]
    async fn what_does_not_stream_is_no_daemon() {
        let router = Router::new().route("/start", post(|| async { "hello" }));
        let client = client_of(router).await;
        let error = client
            .start("/start", &serde_json::json!({}))
            .await
            .unwrap_err();
        assert!(Failure::from(error).detail.contains("no branchyard daemon"));
    }
}
