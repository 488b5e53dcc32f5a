//! What the daemon sends back: one message as JSON, or any number of them as events.

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::events::{Event, Events, MOST};
use crate::cli::client::root_cause;
use crate::cli::exit::Failure;

#[derive(Debug)]
pub(super) struct Answer {
    response: Response,
    /// `None` where the body is one message.
    events: Option<Events>,
}

impl Answer {
    pub(super) fn new(response: Response) -> Self {
        let kind = response.headers().get(CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        Self {
            response,
            events: is_stream.then(Events::new),
        }
    }

    pub(super) fn response(&self) -> &Response {
        &self.response
    }

    /// The next message; one without data says only where to go on. `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        let Some(events) = &mut self.events else {
            let data = whole(&mut self.response, MOST).await?;
            return Ok((!data.is_empty()).then(|| Event {
                data,
                ..Event::default()
            }));
        };
        loop {
            if let Some(event) = events.next()? {
                return Ok(Some(event));
            }
            match self.response.chunk().await.map_err(broken)? {
                Some(chunk) => events.push(&chunk),
                None => return Ok(None),
            }
        }
    }

    /// The answer to the request `id`, past everything else.
    pub(super) async fn to(&mut self, id: &Value) -> Result<Vec<u8>, Failure> {
        while let Some(event) = self.next().await? {
            if answers(&event.data, id) {
                return Ok(event.data);
            }
        }
        Err(ended())
    }
}

/// As much of a message as tells what it answers.
#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    id: Value,
    method: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
}

/// Whether a message is the answer to the request `id`.
pub(super) fn answers(message: &[u8], id: &Value) -> bool {
    serde_json::from_slice(message)
        .is_ok_and(|envelope: Envelope| envelope.method.is_none() && envelope.id == *id)
}

/// Whether an answer says what was asked for, and not what is wrong.
pub(super) fn is_result(answer: &[u8]) -> bool {
    serde_json::from_slice(answer).is_ok_and(|envelope: Envelope| envelope.result.is_some())
}

/// The rest of a body that may not be longer than `most`.
pub(super) async fn whole(response: &mut Response, most: usize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > most {
            return Err(Failure::daemon("the daemon sent an answer that never ends"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A stream that ended without the answer.
pub(super) fn ended() -> Failure {
    Failure::daemon("it closed the connection")
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err asks for"
)]
fn broken(error: reqwest::Error) -> Failure {
    Failure::daemon(root_cause(&error))
}
