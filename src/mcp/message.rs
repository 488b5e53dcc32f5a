//! What the transport has to know of a message before it is answered: whether it is one, and by which id its answer
//! is to be known.

use std::sync::Arc;

use axum::http::StatusCode;
use dashmap::DashSet;
use serde::Deserialize;
use serde_json::Value;

use super::reply::{Rejection, cut};

/// No client needs more, and both are sent back.
const LONGEST: usize = 200;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

/// A message that was read as far as its id and method.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    id: Value,
    method: Option<String>,
}

impl Message {
    pub(super) fn read(body: &[u8]) -> Result<Self, Rejection> {
        let refused = |code, why: &str| {
            let text = format!("the body is not a JSON-RPC message: {why}");
            Rejection::new(code, Value::Null, cut(&text, LONGEST))
        };
        let message: Self = serde_json::from_slice(body).map_err(|error| {
            let is_json = error.is_data();
            let code = if is_json {
                INVALID_REQUEST
            } else {
                PARSE_ERROR
            };
            refused(code, &error.to_string())
        })?;
        // An array could be read as the fields of one.
        if !body.trim_ascii_start().starts_with(b"{") {
            return Err(refused(INVALID_REQUEST, "it is no object"));
        }
        let is_id = match &message.id {
            Value::Null | Value::Number(_) => true,
            Value::String(text) => text.len() <= LONGEST,
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        };
        if !is_id {
            let text = format!("the id is neither a number nor a text of up to {LONGEST} bytes");
            return Err(Rejection::new(INVALID_REQUEST, Value::Null, text));
        }
        if let Some(method) = &message.method
            && method.len() > LONGEST
        {
            let text = format!("there is no method {}", cut(method, LONGEST));
            return Err(Rejection::new(METHOD_NOT_FOUND, message.id, text));
        }
        Ok(message)
    }

    /// That it is a message, and yet makes no sense.
    pub(super) fn senseless(&self) -> Rejection {
        let (code, text) = match &self.method {
            Some(method) => (
                INVALID_PARAMS,
                format!("the parameters of {method} cannot be read"),
            ),
            None => (
                INVALID_REQUEST,
                "the message is neither a request nor an answer".to_owned(),
            ),
        };
        Rejection::new(code, self.id.clone(), text)
    }
}

/// The body is longer than any message may be.
pub(super) fn too_large(most: usize) -> Rejection {
    let text = format!("a message has at most {most} bytes");
    Rejection::new(INVALID_REQUEST, Value::Null, text).status(StatusCode::PAYLOAD_TOO_LARGE)
}

/// The requests of all sessions that are not answered yet. A second one with the same id would take the answer of the
/// first.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight(Arc<DashSet<(String, String)>>);

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Answered {
    requests: InFlight,
    key: (String, String),
}

impl InFlight {
    /// Until what is returned is dropped, the session asks nothing else under this id.
    pub(super) fn begin(
        &self,
        session: &str,
        message: &Message,
    ) -> Result<Option<Answered>, Rejection> {
        if message.id.is_null() || message.method.is_none() {
            return Ok(None);
        }
        let key = (session.to_owned(), message.id.to_string());
        match self.0.insert(key.clone()) {
            true => Ok(Some(Answered {
                requests: self.clone(),
                key,
            })),
            false => {
                let text = "a request with this id is under way in this session";
                // Without the id: the answer with it is the other one's.
                Err(Rejection::new(INVALID_REQUEST, Value::Null, text))
            }
        }
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.requests.0.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_message_has_its_own_code() {
        let long = "x".repeat(1_000);
        for (body, code) in [
            ("{", PARSE_ERROR),
            ("", PARSE_ERROR),
            ("no JSON", PARSE_ERROR),
            ("[1]", INVALID_REQUEST),
            ("7", INVALID_REQUEST),
            (r#"{"id":1,"method":7}"#, INVALID_REQUEST),
            (r#"{"id":{},"method":"ping"}"#, INVALID_REQUEST),
            (
                &format!(r#"{{"id":"{long}","method":"ping"}}"#),
                INVALID_REQUEST,
            ),
            (
                &format!(r#"{{"id":1,"method":"{long}"}}"#),
                METHOD_NOT_FOUND,
            ),
        ] {
            let rejection = Message::read(body.as_bytes()).unwrap_err();
            assert_eq!(rejection.code(), code, "{body}");
            assert!(rejection.text().len() < 400, "{body}");
        }
        let call = Message::read(br#"{"id":1,"method":"tools/call","params":7}"#).unwrap();
        assert_eq!(call.senseless().code(), INVALID_PARAMS);
        assert!(Message::read(br#"{"id":1,"result":{}}"#).is_ok());
    }

    #[test]
    fn an_id_is_free_again_when_its_request_is_answered() {
        let (requests, call) = (InFlight::default(), br#"{"id":1,"method":"ping"}"#);
        let message = Message::read(call).unwrap();
        let first = requests.begin("a", &message).unwrap();
        assert!(requests.begin("a", &message).is_err());
        assert!(requests.begin("b", &message).is_ok());
        drop(first);
        assert!(requests.begin("a", &message).is_ok());
    }
}
