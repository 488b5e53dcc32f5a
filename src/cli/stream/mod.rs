//! The stream of a run, a group or a pipeline: NDJSON put together from chunks, and taken up again after the
//! last event seen when the connection breaks, so that no byte is lost and none comes twice.

mod event;
mod lines;

use std::time::Duration;

use reqwest::Response;
use tokio::time::Instant;

use super::client::{Client, ClientError};
use super::exit::Failure;
use super::subject::Subject;

use branchyard_model::{Event as RunEvent, RunRecord};
use event::parse;

pub(super) use event::{Channel, Ending, Event};
pub(super) use lines::Lines;

/// A daemon that is being started anew is back within this, or it is not coming.
const PATIENCE: Duration = Duration::from_secs(60);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const SLOWEST_RETRY: Duration = Duration::from_secs(3);

/// What reading on brought.
#[derive(Debug, PartialEq)]
pub(super) enum More {
    /// Lines may be whole now.
    Bytes,
    /// The connection is gone: [`EventStream::resume`] takes it up again.
    Broken(String),
    /// It is over and everything of it was seen before.
    NothingLeft,
    /// It ended like this, and all output has come.
    Ended(Box<Ending>),
}

/// Events from wherever the reader stands.
#[derive(Debug)]
pub(super) struct EventStream {
    client: Client,
    subject: Subject,
    /// Whether the output of a group's runs, or of a pipeline's steps, is wanted too.
    output: bool,
    cursor: Option<String>,
    /// `None` when the daemon had nothing to give.
    response: Option<Response>,
    lines: Lines,
    /// Since when no event has come, once the connection broke, and how long to wait before the next try.
    broken: Option<(Instant, Duration)>,
    /// The last event, as far as it may not be the last: output of a group's runs may still be on its way, and a
    /// pipeline that ended may have been retried.
    ending: Option<Ending>,
}

impl EventStream {
    /// The stream of something that was started before, after `cursor`.
    pub(super) async fn follow(
        client: Client,
        subject: Subject,
        cursor: Option<String>,
        output: bool,
    ) -> Result<Self, ClientError> {
        let response = client.follow(subject, cursor.as_deref(), output).await?;
        Ok(Self::new(client, subject, cursor, response, output))
    }

    /// The stream whose `response` goes on after `cursor`, such as that to a request to start something.
    pub(super) fn new(
        client: Client,
        subject: Subject,
        cursor: Option<String>,
        response: Option<Response>,
        output: bool,
    ) -> Self {
        Self {
            client,
            subject,
            output,
            cursor,
            response,
            lines: Lines::default(),
            broken: None,
            ending: None,
        }
    }

    pub(super) fn subject(&self) -> Subject {
        self.subject
    }

    /// Waits for more bytes.
    pub(super) async fn more(&mut self) -> More {
        let Some(response) = &mut self.response else {
            return More::NothingLeft;
        };
        let chunk = response.chunk().await;
        // Output of another run may still come after the last event.
        if !matches!(chunk, Ok(Some(_)))
            && let Some(ending) = self.ending.take()
        {
            return More::Ended(Box::new(ending));
        }
        match chunk {
            Ok(Some(chunk)) => {
                self.lines.push(&chunk);
                More::Bytes
            }
            // An end without a last event is no end.
            Ok(None) => More::Broken("it closed the connection".to_owned()),
            Err(error) => More::Broken(error.to_string()),
        }
    }

    /// Hands out the events that are whole, each with its line; gives back the last event of all.
    pub(super) fn drain(
        &mut self,
        mut each: impl FnMut(&[u8], Event<'_>) -> Result<(), Failure>,
    ) -> Result<Option<Ending>, Failure> {
        while let Some(line) = self.lines.line()? {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let (event, cursor) = parse(line)?;
            let ending = match &event {
                Event::Ended(ending) => Some((**ending).clone()),
                Event::Pipeline(record) if record.state.is_ended() => {
                    Some(Ending::Pipeline(record.clone()))
                }
                Event::Pipeline(_) => {
                    self.ending = None;
                    None
                }
                _ => None,
            };
            each(line, event)?;
            if cursor.is_some() {
                self.cursor = cursor;
                self.broken = None;
            }
            match ending {
                Some(ending) if self.ends_with_connection() => self.ending = Some(ending),
                Some(ending) => return Ok(Some(ending)),
                None => {}
            }
        }
        Ok(None)
    }

    /// Opens the stream anew after the last event seen, with patience: a daemon may be starting, and
    /// may be at another address then.
    pub(super) async fn resume(&mut self, cause: &str) -> Result<(), Failure> {
        // Half a line comes again whole.
        self.lines = Lines::default();
        let mut last = Failure::daemon(cause);
        let (since, mut wait) = self.broken.unwrap_or((Instant::now(), FIRST_RETRY));
        let deadline = since + PATIENCE;
        while Instant::now() + wait < deadline {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(SLOWEST_RETRY);
            self.broken = Some((since, wait));
            match self.open(&self.client, deadline).await {
                Ok(response) => {
                    self.response = response;
                    return Ok(());
                }
                Err(error) if error.may_pass() => last = error.into(),
                Err(error) => return Err(self.given_up(error)),
            }
            // What is found elsewhere may be another daemon, which knows nothing of this.
            if let Some(client) = self.client.elsewhere()
                && let Ok(response) = self.open(&client, deadline).await
            {
                self.response = response;
                self.client = client;
                return Ok(());
            }
        }
        Err(self.given_up(ClientError::Unreachable(last)))
    }

    /// Whether only the end of the connection says that nothing more comes.
    fn ends_with_connection(&self) -> bool {
        self.output || matches!(self.subject, Subject::Pipeline(_))
    }

    async fn open(&self, at: &Client, deadline: Instant) -> Result<Option<Response>, ClientError> {
        let opening = at.follow(self.subject, self.cursor.as_deref(), self.output);
        let silent = |_| ClientError::Unreachable(Failure::daemon("it does not answer"));
        let opened = tokio::time::timeout_at(deadline, opening).await;
        opened.map_err(silent)?
    }

    /// How it ended, by its record: for when the stream has nothing more to say.
    pub(super) async fn recorded_ending(&self) -> Result<Ending, Failure> {
        let answer = self.client.get(&self.subject.path()).await?;
        match self.subject {
            Subject::Group(_) => return Ok(Ending::Summary(answer.parse()?)),
            Subject::Pipeline(_) => return Ok(Ending::Pipeline(answer.parse()?)),
            Subject::Run(_) => {}
        }
        match RunEvent::of_end(&answer.parse::<RunRecord>()?) {
            RunEvent::Complete(complete) => Ok(Ending::Complete(Box::new(complete))),
            RunEvent::Error(problem) => Ok(Ending::Error(problem)),
            _ => Err(Failure::daemon("the run's record does not tell its end")),
        }
    }

    fn given_up(&self, error: ClientError) -> Failure {
        let failure = Failure::from(error);
        let from = self
            .cursor
            .as_ref()
            .map(|cursor| format!(" --from {cursor}"));
        let from = from.unwrap_or_default();
        let (noun, command) = (self.subject.noun(), self.subject.follow_command());
        Failure::daemon(format!("lost the {noun}'s stream: {failure}")).help(format!(
            "the {noun} may still go on; see the rest with `{command}{from}`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::Start;
    use super::super::endpoint::{Endpoint, Lookup};
    use super::*;
    use axum::Router;
    use axum::body::{Body, Bytes};
    use axum::extract::RawQuery;
    use axum::http::{StatusCode, header};
    use axum::response::IntoResponse;
    use axum::routing::{get, post};
    use branchyard_model::RunId;
    use std::sync::{Arc, Mutex};

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    /// Serves on a port of its own until the test ends, and gives a client for it.
    async fn client_of(router: Router) -> Client {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let endpoint = Endpoint::at(&format!("http://{address}"), "the test").unwrap();
        Client::to(endpoint, Lookup::default()).unwrap()
    }

    fn start() -> Start {
        Start {
            path: "/start".to_owned(),
            body: serde_json::json!({}),
            key: None,
        }
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
    async fn read(stream: &mut EventStream) -> Result<(Vec<u8>, Option<Ending>), Failure> {
        let mut output = Vec::new();
        loop {
            match stream.more().await {
                More::Bytes => {}
                More::Broken(cause) => stream.resume(&cause).await?,
                More::NothingLeft => return Ok((output, None)),
                More::Ended(ending) => return Ok((output, Some(*ending))),
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
        let (subject, response) = client.start(&start()).await.unwrap();
        assert_eq!(subject, Subject::Run(RunId::parse(RUN).unwrap()));
        let mut stream = EventStream::new(client, subject, None, Some(response), false);
        let (output, ending) = read(&mut stream).await.unwrap();
        assert_eq!(String::from_utf8(output).unwrap(), "one\ntwo\n");
        let Some(Ending::Complete(complete)) = ending else {
            panic!("{ending:?}");
        };
        assert_eq!(
            (complete.end.state.as_str(), complete.end.exit_code),
            ("failed", Some(3))
        );
        assert_eq!(*asked.lock().unwrap(), ["from=2%200", "from=2%200"]);
    }

    #[tokio::test]
    async fn output_of_a_group_may_come_after_its_summary() {
        let is_read = Arc::new(tokio::sync::Notify::new());
        let gate = is_read.clone();
        let events = move || {
            let gate = gate.clone();
            let body = Body::from_stream(async_stream::stream! {
                let summary = "{\"type\":\"summary\",\"id\":\"9\",\"state\":\"succeeded\"}\n";
                yield Ok::<_, std::io::Error>(Bytes::from_static(summary.as_bytes()));
                gate.notified().await;
                let late = "{\"type\":\"stdout\",\"branch\":\"main\",\"line\":\"late\"}\n";
                yield Ok(Bytes::from_static(late.as_bytes()));
            });
            async move { ndjson(false, body) }
        };
        let router = Router::new().route("/stream/groups/{id}", get(events));
        let group = Subject::Group(branchyard_model::GroupId::parse(RUN).unwrap());
        let client = client_of(router).await;
        let mut stream = EventStream::follow(client, group, None, true)
            .await
            .unwrap();
        assert!(matches!(stream.more().await, More::Bytes));
        assert!(stream.drain(|_, _| Ok(())).unwrap().is_none());
        is_read.notify_one();
        let (output, ending) = read(&mut stream).await.unwrap();
        assert_eq!(output, b"late\n");
        assert!(matches!(ending, Some(Ending::Summary(_))), "{ending:?}");
    }

    #[tokio::test]
    async fn a_run_of_which_nothing_is_left_says_so() {
        let router = Router::new().route(
            "/stream/runs/{id}",
            get(|| async { StatusCode::NO_CONTENT }),
        );
        let run = Subject::Run(RunId::parse(RUN).unwrap());
        let client = client_of(router).await;
        let stream = EventStream::follow(client, run, Some("40".to_owned()), false).await;
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
        let (subject, response) = client.start(&start()).await.unwrap();
        let failure = read(&mut EventStream::new(
            client,
            subject,
            None,
            Some(response),
            false,
        ))
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
        let error = client.start(&start()).await.unwrap_err();
        assert!(Failure::from(error).detail.contains("no branchyard daemon"));
    }
}
