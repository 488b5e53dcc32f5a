//! JSON-RPC errors of our own: what became of a message that has no answer of the daemon.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::cli::exit::{Failure, with_help};
use branchyard::http::ProblemDocument;

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
const INTERNAL_ERROR: i64 = -32603;
/// No connection, or none any more.
const CONNECTION_CLOSED: i64 = -32000;
/// What is shown of an answer that is neither JSON-RPC nor a problem document.
const MOST_SHOWN: usize = 300;

#[derive(Debug)]
pub(super) struct Refusal {
    id: Value,
    error: Value,
}

impl Refusal {
    pub(super) fn new(id: Value, code: i64, message: impl Into<String>) -> Self {
        let error = json!({ "code": code, "message": message.into() });
        Self { id, error }
    }

    /// The daemon cannot be reached.
    pub(super) fn unreachable(id: Value, failure: &Failure) -> Self {
        let why = with_help(failure.detail.clone(), failure.help.as_ref());
        Self::new(id, CONNECTION_CLOSED, why)
    }

    /// The answer was cut off, and to ask again might do the thing twice.
    pub(super) fn cut_off(id: Value, failure: &Failure) -> Self {
        let why = format!(
            "the connection to the daemon broke while the answer was awaited ({failure}). The call was not \
             repeated, since it may have started something. A run that was started goes on: look for it \
             with `runs`, then wait for it with `run_wait`."
        );
        Self::new(id, CONNECTION_CLOSED, why)
    }

    /// What the daemon said instead of an answer.
    pub(super) fn said(id: Value, status: StatusCode, body: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        if value["error"]["message"].is_string() && value["error"]["code"].is_i64() {
            let error = value["error"].clone();
            return Self { id, error };
        }
        let code = match status.is_server_error() {
            true => INTERNAL_ERROR,
            false => INVALID_REQUEST,
        };
        Self::new(id, code, sentence(status, body))
    }

    pub(super) fn message(&self) -> &str {
        self.error["message"].as_str().unwrap_or_default()
    }

    pub(super) fn line(&self) -> Vec<u8> {
        json!({ "jsonrpc": "2.0", "id": self.id, "error": self.error })
            .to_string()
            .into_bytes()
    }
}

fn sentence(status: StatusCode, body: &[u8]) -> String {
    let problem: ProblemDocument = serde_json::from_slice(body).unwrap_or_default();
    if !problem.detail.is_empty() {
        return with_help(problem.detail, problem.help.as_ref());
    }
    let text = String::from_utf8_lossy(body);
    let text: String = text.trim().chars().take(MOST_SHOWN).collect();
    match text.is_empty() {
        true => format!("the daemon answered {status}"),
        false => format!("the daemon answered {status}: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_own_words_are_kept() {
        let said = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            Refusal::said(json!(1), status, body.as_bytes()).error
        };
        let rpc = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"no","data":1}}"#;
        assert_eq!(
            said(400, rpc),
            json!({"code": -32020, "message": "no", "data": 1})
        );
        let problem =
            r#"{"title":"Unauthorized","detail":"the key is wrong","help":"give another"}"#;
        let unauthorized = said(401, problem);
        assert_eq!(unauthorized["message"], "the key is wrong; give another");
        assert_eq!(unauthorized["code"], INVALID_REQUEST);
        assert_eq!(
            said(500, "")["message"],
            "the daemon answered 500 Internal Server Error"
        );
        assert_eq!(said(500, "")["code"], INTERNAL_ERROR);
        assert!(
            said(413, "too large")["message"]
                .as_str()
                .unwrap()
                .ends_with("too large")
        );
    }
}
