//! What cargo reports with `--message-format=json`: one object in a line, with all that rustc knows. The
//! text for people is in it as well (`rendered`), and left there.

use std::borrow::Cow;

use serde::Deserialize;

use super::found::{Complaint, Weight};
use super::place::SourcePlace;
use super::rust::{self, TOOL};
use branchyard_model::Severity;

/// What is longer is not read: rustc's explanations and suggestions come to some 10 KiB.
pub(super) const LONGEST: usize = 1 << 20;

#[derive(Deserialize)]
struct CargoReport<'a> {
    #[serde(borrow)]
    reason: Cow<'a, str>,
    #[serde(borrow)]
    message: Option<RustcMessage<'a>>,
    success: Option<bool>,
}

#[derive(Deserialize)]
struct RustcMessage<'a> {
    #[serde(borrow)]
    level: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
    #[serde(borrow)]
    code: Option<RustcCode<'a>>,
    #[serde(borrow, default)]
    spans: Vec<RustcSpan<'a>>,
    #[serde(borrow, default)]
    children: Vec<RustcChild<'a>>,
}

#[derive(Deserialize)]
struct RustcCode<'a> {
    #[serde(borrow)]
    code: Cow<'a, str>,
}

#[derive(Deserialize)]
struct RustcSpan<'a> {
    #[serde(borrow)]
    file_name: Cow<'a, str>,
    line_start: u32,
    column_start: u32,
    is_primary: bool,
}

#[derive(Deserialize)]
struct RustcChild<'a> {
    #[serde(borrow)]
    level: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
}

/// Whether a line is a report of cargo, whatever it reports.
pub(super) fn is_report(line: &[u8]) -> bool {
    // Asked of every line, and almost none begins like this.
    line.first() == Some(&b'{') && line.starts_with(br#"{"reason":""#)
}

pub(super) fn parse(line: &[u8]) -> Option<Complaint> {
    if line.len() > LONGEST {
        return None;
    }
    let report: CargoReport = serde_json::from_slice(line).ok()?;
    match (&*report.reason, report.message, report.success) {
        ("compiler-message", Some(message), _) => message.complaint(),
        ("build-finished", _, Some(false)) => Some(Complaint::new(
            TOOL,
            Weight::Consequence,
            None,
            "build failed",
        )),
        _ => None,
    }
}

impl RustcMessage<'_> {
    fn complaint(&self) -> Option<Complaint> {
        let severity = match &*self.level {
            "error" | "error: internal compiler error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => return None,
        };
        let weight = rust::weigh(severity, &self.message)?;
        let place = self.spans.iter().find(|span| span.is_primary);
        let place = place.and_then(|span| {
            SourcePlace::new(
                &span.file_name,
                Some(span.line_start),
                Some(span.column_start),
            )
        });
        let mut message = self.message.to_string();
        if let Some(RustcCode { code }) = &self.code {
            message = format!("{message} [{code}]");
        }
        if let Some(help) = self.children.iter().find(|child| child.level == "help") {
            message = format!("{message}, help: {}", help.message);
        }
        Some(Complaint::new(TOOL, weight, place, &message))
    }
}
