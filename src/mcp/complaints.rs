//! What a run complained about, with the lines of its log around each complaint.

use schemars::JsonSchema;
use serde::Serialize;

use super::reply::cut;
use super::window::Window;
use branchyard_model::{Diagnostic, Problem};
use branchyard_runs::View;

/// Lines of the log before and after the one that complains.
const BEFORE: u64 = 2;
const AFTER: u64 = 4;
/// What is shown of these lines, for each complaint.
const CONTEXT: usize = 700;
/// What is shown of a message and of a file's name.
const MESSAGE: usize = 300;
const FILE: usize = 300;

/// A complaint as agents see it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Complaint {
    /// `error` or `warning`.
    severity: &'static str,
    /// As the tool wrote it: relative to where it ran.
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    message: String,
    /// Who complained, such as gcc, pytest or tsc; else generic.
    tool: String,
    /// The line of the log that it stands on, for `run_log`.
    log_line: u64,
    /// The log around it.
    context: String,
}

impl Complaint {
    /// `src/a.c:3:5: error: message`, and the context below it, marked as what a program printed.
    pub(super) fn text(&self) -> String {
        let mut text = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            _ => String::new(),
        };
        let (severity, message, line) = (self.severity, &self.message, self.log_line);
        text.push_str(&format!("{severity}: {message} (log line {line})\n"));
        text.extend(self.context.lines().map(|line| format!("| {line}\n")));
        text
    }

    pub(super) fn size(&self) -> usize {
        self.message.len() + self.context.len() + 100
    }
}

/// Complaints with the log around each.
pub(super) async fn with_context(
    view: &View,
    items: &[Diagnostic],
) -> Result<Vec<Complaint>, Problem> {
    let mut complaints = Vec::with_capacity(items.len());
    for item in items {
        let first = item.log_line.saturating_sub(BEFORE).max(1);
        let lines = Window::lines(view, first, item.log_line - first + 1 + AFTER).await?;
        complaints.push(Complaint {
            severity: item.severity.as_str(),
            file: item.file.as_deref().map(|file| cut(file, FILE)),
            line: item.line,
            column: item.column,
            message: cut(&item.message, MESSAGE),
            tool: item.tool.clone(),
            log_line: item.log_line,
            context: lines.head(CONTEXT).text,
        });
    }
    Ok(complaints)
}
