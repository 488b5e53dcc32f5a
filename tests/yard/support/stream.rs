//! Streams as a client reads them.

use base64::Engine;
use serde_json::Value;

/// One event of a stream, from either format.
#[derive(Debug, Clone)]
pub struct Event {
    pub id: String,
    pub kind: String,
    pub data: Value,
}

impl Event {
    /// The bytes of an output event, ending included; nothing for any other.
    pub fn bytes(&self) -> Vec<u8> {
        if self.kind != "stdout" && self.kind != "stderr" {
            return Vec::new();
        }
        let mut bytes = match (self.data["line"].as_str(), self.data["b64"].as_str()) {
            (Some(line), None) => line.as_bytes().to_vec(),
            (None, Some(b64)) => base64::engine::general_purpose::STANDARD
                .decode(b64)
                .unwrap(),
            _ => panic!("neither line nor b64: {}", self.data),
        };
        bytes.extend_from_slice(self.data["eol"].as_str().unwrap_or("\n").as_bytes());
        bytes
    }
}

/// Parses a whole body of server-sent events or NDJSON, by the letter of each format.
pub fn read_events(content_type: &str, body: &str) -> Vec<Event> {
    match content_type {
        "text/event-stream" => body.split("\n\n").filter_map(sse_event).collect(),
        "application/x-ndjson" => body
            .lines()
            .filter(|line| !line.is_empty())
            .map(ndjson_event)
            .collect(),
        other => panic!("not a stream of events: {other}"),
    }
}

fn sse_event(block: &str) -> Option<Event> {
    let (mut id, mut kind, mut data) = (String::new(), String::new(), Vec::new());
    for line in block.lines().filter(|line| !line.starts_with(':')) {
        let (field, value) = line.split_once(": ").unwrap();
        match field {
            "id" => id = value.to_owned(),
            "event" => kind = value.to_owned(),
            "data" => data.push(value),
            other => panic!("unknown field {other:?} in {block:?}"),
        }
    }
    if data.is_empty() {
        return None;
    }
    let data: Value = serde_json::from_str(&data.join("\n")).unwrap();
    assert_eq!(
        data["type"],
        kind.as_str(),
        "the type inside is the type outside"
    );
    Some(Event { id, kind, data })
}

fn ndjson_event(line: &str) -> Event {
    let data: Value = serde_json::from_str(line).unwrap();
    Event {
        id: data["id"].as_str().unwrap().to_owned(),
        kind: data["type"].as_str().unwrap().to_owned(),
        data,
    }
}
