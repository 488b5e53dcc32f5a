//! JUnit XML, in the dialects that producers write.

mod cases;
mod decode;
mod dialect;
mod entities;
mod input;

use std::io::BufRead;

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::excerpt::name;
use branchyard_model::TestReport;
use cases::Cases;
use input::Input;

/// No producer nests suites anywhere near as deep. The reader remembers each open element.
const DEEPEST: usize = 100;

/// Why some bytes are no JUnit report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a JUnit report: {reason} (at byte {position})")]
pub struct ReportError {
    pub position: u64,
    pub reason: String,
}

/// Reads a report of JUnit's format.
pub fn junit(input: impl BufRead) -> Result<TestReport, ReportError> {
    let mut reader = Reader::from_reader(Input::new(input));
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.expand_empty_elements = true;
    let (mut cases, mut buffer) = (Cases::new(), Vec::new());
    loop {
        buffer.clear();
        reader.get_mut().begin_event();
        let event = reader.read_event_into(&mut buffer);
        let took = match event {
            Ok(Event::Eof) => break,
            Ok(event) => take(&mut cases, &event),
            Err(error) => Err(error.to_string()),
        };
        took.map_err(|reason| at(&reader, &reason))?;
    }
    let position = reader.get_ref().position();
    match cases.open_elements() {
        0 => cases.finish().ok_or_else(|| ReportError {
            position,
            reason: "it has no element".to_owned(),
        }),
        open => Err(ReportError {
            position,
            reason: format!("it ends within {open} open elements"),
        }),
    }
}

fn take(cases: &mut Cases, event: &Event<'_>) -> Result<(), String> {
    match event {
        Event::Start(_) if cases.open_elements() >= DEEPEST => {
            return Err(format!("elements are nested more than {DEEPEST} deep"));
        }
        Event::Start(element) => cases.start(element)?,
        Event::End(_) => cases.end(),
        Event::Text(text) => cases.text(&text.xml10_content()),
        Event::CData(text) => cases.text(text),
        Event::GeneralRef(reference) => cases.text(&entities::resolved(reference)),
        // Nothing of a document type is read: there are no entities of its own.
        _ => {}
    }
    Ok(())
}

fn at<R: BufRead>(reader: &Reader<Input<R>>, reason: &str) -> ReportError {
    ReportError {
        position: reader.get_ref().position(),
        reason: name(reason),
    }
}
