//! Events one at a time, by the library: what the encoder's bytes have to be.

use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use branchyard::http::Format;
use branchyard_journal::{Cursor, Eol, LineItem, Splitter};
use serde_json::Value;

use crate::script::{Step, frame};

pub fn rendered(steps: &[Step], format: Format) -> String {
    let (mut splitter, mut start) = (Splitter::default(), Cursor::START.frame);
    let mut plain = String::new();
    for step in steps {
        match step {
            Step::Frame(kind, payload) => {
                let (frame, end) = frame(start, *kind, payload);
                splitter.frame(&frame, 0, write(format, &mut plain));
                start = end;
            }
            Step::Flush => drop(splitter.flush(write(format, &mut plain))),
            Step::KeepAlive => plain.push_str(match format {
                Format::Sse => ":\n\n",
                _ => "\n",
            }),
            Step::Take => {}
        }
    }
    let _ = splitter.flush_all(&mut write(format, &mut plain));
    plain
}

fn write(
    format: Format,
    plain: &mut String,
) -> impl FnMut(LineItem<'_>, Cursor) -> ControlFlow<()> + '_ {
    move |item, cursor| {
        plain.push_str(&event(format, item, cursor));
        ControlFlow::Continue(())
    }
}

fn event(format: Format, item: LineItem<'_>, cursor: Cursor) -> String {
    let (kind, fields) = match item {
        LineItem::Event { json } => {
            let value: Value = serde_json::from_slice(json).unwrap();
            let fields = std::str::from_utf8(&json[1..]).unwrap().to_owned();
            (value["type"].as_str().unwrap().to_owned(), fields)
        }
        LineItem::Output { stream, bytes, eol } => {
            let said = match std::str::from_utf8(bytes) {
                Ok(text) => format!("\"line\":{}", serde_json::to_string(text).unwrap()),
                Err(_) => format!("\"b64\":\"{}\"", STANDARD.encode(bytes)),
            };
            let eol = match eol {
                Eol::Lf => "",
                Eol::CrLf => ",\"eol\":\"\\r\\n\"",
                Eol::None => ",\"eol\":\"\"",
            };
            let kind = stream.as_str();
            let fields = format!("\"type\":\"{kind}\",{said}{eol}}}");
            (kind.to_owned(), fields)
        }
    };
    match format {
        Format::Sse => format!("id: {cursor}\nevent: {kind}\ndata: {{{fields}\n\n"),
        _ => format!("{{\"id\":\"{cursor}\",{fields}\n"),
    }
}
