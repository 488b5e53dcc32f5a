//! One message of the agent: passed on byte for byte, and read only as far as its way needs it.

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::refusal::{INVALID_REQUEST, PARSE_ERROR, Refusal};
use super::session::{PROTOCOL_VERSION, Session};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Where a request of the newer protocol names its version.
const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";

#[derive(Debug)]
pub(super) struct Message {
    /// As it came.
    pub(super) line: Bytes,
    pub(super) kind: MessageKind,
    /// The version that it names itself, as messages of the newer protocol do.
    pub(super) version: Option<String>,
    /// What it is about, for whoever routes by header.
    pub(super) name: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum MessageKind {
    Request {
        id: Value,
        method: String,
    },
    Notification {
        method: String,
    },
    /// The agent wants no answer to this request any more.
    Cancel {
        id: Value,
    },
    /// Of the agent, to a request of the daemon.
    Response,
}

impl Message {
    /// Reads a line; one that holds no message is refused.
    pub(super) fn parse(line: Vec<u8>) -> Result<Self, Refusal> {
        let value: Value = serde_json::from_slice(&line).map_err(|error| {
            let why = format!("this line is not JSON: {error}");
            Refusal::new(Value::Null, PARSE_ERROR, why)
        })?;
        if value.is_array() {
            let why = "batches are not part of the protocol: send one message on each line";
            return Err(Refusal::new(Value::Null, INVALID_REQUEST, why));
        }
        let params = &value["params"];
        let method = value["method"].as_str().unwrap_or_default();
        let version = params["_meta"][VERSION_IN_META].as_str();
        Ok(Self {
            kind: kind(&value)?,
            version: version.map(str::to_owned),
            name: named_by(method).and_then(|field| Some(params[field].as_str()?.to_owned())),
            line: line.into(),
        })
    }

    /// Whether it is of the protocol that has no sessions.
    pub(super) fn is_newer(&self) -> bool {
        self.version.is_some()
    }

    pub(super) fn is_initialize(&self) -> bool {
        matches!(&self.kind, MessageKind::Request { method, .. } if method == "initialize")
    }

    pub(super) fn is_initialized(&self) -> bool {
        matches!(&self.kind, MessageKind::Notification { method } if method == "notifications/initialized")
    }

    /// The method of a request that names something, and what it names.
    pub(super) fn about(&self) -> Option<(&str, &str)> {
        match &self.kind {
            MessageKind::Request { method, .. } => Some((method, self.name.as_deref()?)),
            MessageKind::Notification { .. }
            | MessageKind::Cancel { .. }
            | MessageKind::Response => None,
        }
    }

    /// Whether it may be sent again though the daemon may have seen it: a tool may have started something.
    pub(super) fn may_be_repeated(&self) -> bool {
        !matches!(&self.kind, MessageKind::Request { method, .. } if method == "tools/call")
    }

    /// The headers that its protocol asks for.
    pub(super) fn headers(&self, session: Option<&Session>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut add = |name: HeaderName, text: &str| {
            // What no header can hold is missed by the daemon, who then says so.
            if let Ok(value) = HeaderValue::from_str(text) {
                headers.insert(name, value);
            }
        };
        if let Some(version) = &self.version {
            add(PROTOCOL_VERSION, version);
            if let MessageKind::Request { method, .. } | MessageKind::Notification { method } =
                &self.kind
            {
                add(METHOD, method);
            }
            if let Some(name) = &self.name {
                add(NAME, &spelt_for_a_header(name));
            }
        } else if let Some(session) = session.filter(|_| !self.is_initialize()) {
            headers.extend(session.headers());
        }
        headers
    }
}

fn kind(value: &Value) -> Result<MessageKind, Refusal> {
    let id = value.get("id");
    let method = value.get("method").and_then(Value::as_str);
    let is_id = |id: &Value| id.is_string() || id.is_number();
    match (method, id) {
        (Some(method), Some(id)) if is_id(id) => Ok(MessageKind::Request {
            id: id.clone(),
            method: method.to_owned(),
        }),
        (Some("notifications/cancelled"), None) if is_id(&value["params"]["requestId"]) => {
            Ok(MessageKind::Cancel {
                id: value["params"]["requestId"].clone(),
            })
        }
        (Some(method), None) => Ok(MessageKind::Notification {
            method: method.to_owned(),
        }),
        (None, Some(_)) if value.get("result").or(value.get("error")).is_some() => {
            Ok(MessageKind::Response)
        }
        (_, id) => {
            let why =
                "this is no message: a request has a method and an id that is a string or a number";
            let id = id.filter(|id| is_id(id)).cloned().unwrap_or_default();
            Err(Refusal::new(id, INVALID_REQUEST, why))
        }
    }
}

/// The parameter that says what a request is about.
fn named_by(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// As it is, or in base64 with marks around it where a header could not hold it as it is.
fn spelt_for_a_header(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim_ascii() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: &Value) -> Result<Message, Refusal> {
        Message::parse(value.to_string().into_bytes())
    }

    #[test]
    fn a_line_is_a_message_of_some_kind_or_refused_by_its_id() {
        let request = MessageKind::Request {
            id: json!("a"),
            method: "ping".to_owned(),
        };
        let cancel = MessageKind::Cancel { id: json!(7) };
        for (line, kind) in [
            (json!({"id": "a", "method": "ping"}), request),
            (
                json!({"method": "notifications/cancelled", "params": {"requestId": 7}}),
                cancel,
            ),
            (json!({"id": 1, "result": {}}), MessageKind::Response),
            (
                json!({"id": 1, "error": {"code": 1}}),
                MessageKind::Response,
            ),
        ] {
            assert_eq!(parse(&line).unwrap().kind, kind, "{line}");
        }
        for (line, id) in [
            (json!({"id": null, "method": "ping"}), json!(null)),
            (json!({"id": [1], "method": "ping"}), json!(null)),
            (json!({"id": 4}), json!(4)),
            (json!({}), json!(null)),
            (json!("ping"), json!(null)),
            (json!([{"id": 1, "method": "ping"}]), json!(null)),
        ] {
            let refusal: Value = serde_json::from_slice(&parse(&line).unwrap_err().line()).unwrap();
            assert_eq!(
                (&refusal["id"], &refusal["error"]["code"]),
                (&id, &json!(-32600))
            );
        }
        assert!(Message::parse(b"{".to_vec()).is_err());
    }

    #[test]
    fn the_newer_protocol_says_by_header_what_the_message_says() {
        let called = |name: &str| {
            let meta = json!({ VERSION_IN_META: "2026-07-28" });
            parse(&json!({
                "id": 1, "method": "tools/call", "params": { "name": name, "_meta": meta },
            }))
            .unwrap()
            .headers(None)
        };
        let headers = called("ls");
        assert_eq!(headers[&PROTOCOL_VERSION], "2026-07-28");
        assert_eq!(
            (&headers[&METHOD], &headers[&NAME]),
            (&"tools/call".parse().unwrap(), &"ls".parse().unwrap())
        );
        for (name, spelt) in [
            ("fé", "=?base64?ZsOp?="),
            (" x", "=?base64?IHg=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
            ("a b", "a b"),
        ] {
            assert_eq!(called(name)[&NAME], spelt);
        }
        let older = parse(&json!({"id": 1, "method": "tools/call", "params": {"name": "ls"}}));
        assert!(older.unwrap().headers(None).is_empty());
    }
}
