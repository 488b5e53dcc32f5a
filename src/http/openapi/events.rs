//! What streams are made of. OpenAPI 3.1 takes a stream for one text and has no place for its events; they stand beside that
//! text's schema as `x-item-schema`, after the `itemSchema` of its next version.

use serde_json::{Value, json};

use crate::app::Queue;
use crate::http::route::{Schemas, Shape, of};
use branchyard_model::{BranchName, Event, RunId};
use branchyard_runtime::yard_events::{
    MaintenanceEvent, PipelineEvent, Reaped, RepoEvent, RunEvent, SalvageEvent, WorkspaceEvent,
};

pub(in crate::http) fn of_runs(schemas: &mut Schemas) -> Value {
    let event = schemas.given(of::<Event>());
    let output = output(schemas);
    schemas.named("StreamEvent", json!({ "anyOf": [event, output] }))
}

/// It is encoded by hand (`sinks/encode.rs`), and so has no type to be described by.
fn output(schemas: &mut Schemas) -> Value {
    let output = json!({
        "type": "object",
        "description": "At most one line of output. The events of a stream put together are exactly its bytes.",
        "properties": {
            "type": { "enum": ["stdout", "stderr"] },
            "line": { "type": "string", "description": "The text, without the line's end." },
            "b64": { "type": "string", "contentEncoding": "base64", "description": "In place of `line` where it is not UTF-8." },
            "eol": { "enum": ["\r\n", ""], "description": "The line's end where it is not a newline; `\"\"` where it is not finished." },
            "run_id": schemas.given(of::<RunId>()),
            "branch": schemas.given(of::<BranchName>()),
            "job": { "type": "string", "description": "Of a step of a pipeline: its job." },
        },
        "required": ["type"],
        "oneOf": [{ "required": ["line"] }, { "required": ["b64"] }],
    });
    schemas.named("Output", output)
}

pub(in crate::http) fn of_the_yard(schemas: &mut Schemas) -> Value {
    let time = json!({ "type": "string", "format": "date-time" });
    let hello = json!({
        "type": "object",
        "description": "The first: who speaks, and what time it is there.",
        "properties": { "type": { "const": "hello" }, "version": { "type": "string" }, "at": time },
        "required": ["type", "version", "at"],
    });
    let reset = json!({
        "type": "object",
        "description": "What came in between is not known any more.",
        "properties": { "type": { "const": "reset" } },
        "required": ["type"],
    });
    let queue = json!({
        "allOf": [schemas.given(of::<Queue>())],
        "properties": { "type": { "const": "queue" } },
        "required": ["type"],
    });
    let changes: [(&str, Shape); 7] = [
        ("workspace", of::<WorkspaceEvent>()),
        ("run", of::<RunEvent>()),
        ("repo", of::<RepoEvent>()),
        ("salvage", of::<SalvageEvent>()),
        ("reap", of::<Reaped>()),
        ("maintenance", of::<MaintenanceEvent>()),
        ("pipeline", of::<PipelineEvent>()),
    ];
    let changes = changes.map(|(kind, news)| {
        json!({
            "allOf": [schemas.given(news)],
            "properties": { "type": { "const": kind }, "at": time },
            "required": ["type", "at"],
        })
    });
    let all: Vec<_> = [hello, reset, queue].into_iter().chain(changes).collect();
    schemas.named("YardEvent", json!({ "oneOf": all }))
}
