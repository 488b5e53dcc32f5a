//! The shape of an answer: structured content, a short text copy, links; never more than [`MOST`] bytes.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::truncate::{TRUNCATED, truncated};
use super::{fit, mend};
use crate::app::verbs::{ErasedOutput, leave_out_nulls};
use branchyard_model::{ErrorKind, Problem, RunId};

/// What a whole result may take on the wire, its envelope included: agents pay for every byte.
const MOST: usize = 20_000;
/// What is left of that for the envelope of the message.
const ENVELOPE: usize = 1_000;
/// What is left of that for the content itself.
pub(super) const CONTENT: usize = MOST - ENVELOPE;
/// Below this nothing is worth saying.
const LEAST_ROOM: usize = 50;
/// The field that says what was left out of others.
const OMITTED: &str = "omitted";
const LONGEST_DETAIL: usize = 4_000;
const LONGEST_FIELD: usize = 100;
/// It may list what there is, such as tasks.
const LONGEST_HELP: usize = 2_000;

/// In which form an answer comes. Both say the same, and both count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Content {
    #[default]
    Both,
    Text,
    Structured,
}

pub(super) struct Reply {
    content: Content,
    structured: Value,
    text: String,
    links: Vec<Resource>,
    /// The run that this is about, which goes on.
    run: Option<RunId>,
    /// What tells the structured content in words again, once it was truncated.
    retell: Option<ErasedOutput>,
}

impl Reply {
    pub(super) fn new(
        content: Content,
        structured: &impl Serialize,
        text: impl Into<String>,
    ) -> Result<Self, Problem> {
        let mut structured =
            serde_json::to_value(structured).map_err(|error| unwritable(&error.to_string()))?;
        leave_out_nulls(&mut structured);
        Ok(Self {
            content,
            structured,
            text: text.into(),
            links: Vec::new(),
            run: None,
            retell: None,
        })
    }

    /// The same as the first answer about a run that goes on.
    #[must_use]
    pub(super) fn of_run(self, run: RunId) -> Self {
        let run = Some(run);
        Self { run, ..self }
    }

    /// The same of what a verb said.
    #[must_use]
    pub(super) fn of_verb(self, said: ErasedOutput) -> Self {
        let retell = Some(said);
        Self { retell, ..self }
    }

    pub(super) fn run(&self) -> Option<RunId> {
        self.run
    }

    #[must_use]
    pub(super) fn link(mut self, link: Resource) -> Self {
        self.links.push(link);
        self
    }

    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        self.structured.get(name)
    }

    pub(super) fn fits(&self) -> bool {
        let structured = (self.content != Content::Text).then_some(&self.structured);
        let text = (self.content != Content::Structured).then_some(&self.text);
        let written = serde_json::to_vec(&(structured, text, &self.links));
        written.is_ok_and(|bytes| bytes.len() <= MOST - ENVELOPE)
    }

    /// The answer truncated where it does not fit: with as much of each list and text as leaves room for the others. A
    /// tool whose answers come in pages sees to it that this is not needed.
    pub(super) fn bounded(mut self) -> Result<Self, Problem> {
        if self.fits() {
            return Ok(self);
        }
        let (whole, text) = (self.structured.clone(), std::mem::take(&mut self.text));
        let (mut fitting, mut beyond) = (0, MOST);
        while beyond - fitting > LEAST_ROOM {
            let share = usize::midpoint(fitting, beyond);
            self.truncate(&whole, &text, share)?;
            match self.fits() {
                true => fitting = share,
                false => beyond = share,
            }
        }
        self.truncate(&whole, &text, fitting)?;
        if self.fits() {
            return Ok(self);
        }
        let detail = "an answer does not fit, however short its words";
        Err(Problem::new(ErrorKind::Internal, "answer_too_long", detail))
    }

    fn truncate(&mut self, whole: &Value, text: &str, share: usize) -> Result<(), Problem> {
        let (mut left, omitted) = truncated(whole, share);
        if !omitted.is_empty()
            && let Value::Object(fields) = &mut left
        {
            fields.insert(TRUNCATED.to_owned(), true.into());
            fields.insert(OMITTED.to_owned(), json!(omitted));
        }
        self.text = match &self.retell {
            Some(said) => said.retold(&left)?,
            None => cut(text, share),
        };
        if !omitted.is_empty() {
            let parts = omitted.iter();
            let parts: Vec<_> = parts
                .map(|(field, count)| format!("{field} {count}"))
                .collect();
            self.text += &format!("\n(left out for lack of room: {})", parts.join(", "));
        }
        self.structured = left;
        Ok(())
    }

    pub(super) fn into_result(self) -> CallToolResult {
        let text = (self.content != Content::Structured).then_some(self.text);
        let mut blocks: Vec<_> = text.map(ContentBlock::text).into_iter().collect();
        blocks.extend(self.links.into_iter().map(ContentBlock::resource_link));
        let mut result = CallToolResult::success(blocks);
        result.structured_content = (self.content != Content::Text).then_some(self.structured);
        result
    }
}

pub(super) fn unwritable(why: &str) -> Problem {
    let detail = format!("an answer cannot be written: {why}");
    Problem::new(ErrorKind::Internal, "answer_unwritable", detail)
}

/// The answer in as much room as there is: `make` is told how many bytes it may show, `room` at first, and
/// asked again with fewer where escapes made more of them.
pub(super) fn fitted(
    mut room: usize,
    make: impl Fn(usize) -> Result<Reply, Problem>,
) -> Result<Reply, Problem> {
    loop {
        let reply = make(room)?;
        if reply.fits() || room < LEAST_ROOM {
            return Ok(reply);
        }
        room /= 2;
    }
}

/// The answer with as many of `items` as fit, at least one; the maker is told how many.
pub(super) fn fitted_items(
    count: usize,
    make: impl Fn(usize) -> Result<Reply, Problem>,
) -> Result<Reply, Problem> {
    let whole = make(count)?;
    if whole.fits() || count <= 1 {
        return Ok(whole);
    }
    let (mut fitting, mut beyond) = (1, count);
    while beyond - fitting > 1 {
        let middle = fitting + (beyond - fitting) / 2;
        match make(middle)?.fits() {
            true => fitting = middle,
            false => beyond = middle,
        }
    }
    make(fitting)
}

/// What a tool answers that refuses or fails: said to the agent, who can mend it.
pub(super) fn failed(problem: Problem) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(sentence(problem))])
}

/// What a resource, a prompt or a completion answers that refuses or fails: a tool's way of saying so is
/// not theirs.
pub(super) fn error(problem: Problem) -> ErrorData {
    use ErrorKind as K;
    let kind = problem.kind;
    let text = sentence(problem);
    match kind {
        K::Internal | K::Unavailable | K::StorageFull | K::Upstream | K::UpstreamTimeout => {
            ErrorData::internal_error(text, None)
        }
        K::BadRequest
        | K::Unprocessable
        | K::Unauthorized
        | K::Forbidden
        | K::NotFound
        | K::MethodNotAllowed
        | K::Conflict
        | K::TooLarge
        | K::UnsupportedMedia
        | K::TooMany
        | K::RangeNotSatisfiable => ErrorData::invalid_params(text, None),
    }
}

/// The problem in words; what went wrong inside is for the log alone.
pub(super) fn sentence(problem: Problem) -> String {
    if problem.kind == ErrorKind::Internal {
        tracing::error!(
            code = problem.code,
            error = problem.detail,
            "internal error"
        );
    }
    words(problem)
}

/// The problem in words, of one that was logged when it happened.
pub(super) fn words(problem: Problem) -> String {
    let problem = problem.outward();
    // It may name what the caller gave, however long that was.
    let detail = cut(&problem.detail, LONGEST_DETAIL);
    let mut text = format!("{}: {detail}", problem.code);
    if let Some(field) = problem.field {
        text.push_str(&format!("\nfield: {}", cut(&field, LONGEST_FIELD)));
    }
    let help = mend::by_tool(&problem.code).map(str::to_owned);
    if let Some(help) = help.or_else(|| mend::neutral(problem.help)) {
        text.push_str(&format!("\nhelp: {}", cut(&help, LONGEST_HELP)));
    }
    text
}

/// A refusal before the message is answered.
#[derive(Debug)]
pub(super) struct Rejection {
    status: StatusCode,
    /// As JSON-RPC has them.
    code: i32,
    id: Value,
    text: String,
}

impl Rejection {
    pub(super) fn new(code: i32, id: Value, text: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            code,
            id,
            text: text.into(),
        }
    }

    #[must_use]
    pub(super) fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> i32 {
        self.code
    }

    #[cfg(test)]
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl From<Problem> for Rejection {
    fn from(problem: Problem) -> Self {
        let status = match problem.kind {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
            ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::new(-32600, Value::Null, sentence(problem)).status(status)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let body = json!({
            "jsonrpc": "2.0",
            "id": self.id,
            "error": { "code": self.code, "message": self.text },
        });
        let json = [(header::CONTENT_TYPE, "application/json")];
        (self.status, json, body.to_string()).into_response()
    }
}

/// The beginning of a text, as much as takes about `most` bytes of an answer, and a mark where there was
/// more.
pub(super) fn cut(text: &str, most: usize) -> String {
    let head = fit::head(text, most);
    match head.len() < text.len() {
        true => format!("{head}…"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_fits_whatever_is_in_it_and_says_what_it_lost() {
        let cursor = "c".repeat(5_000);
        for (list, lost) in [
            (json!(vec!["a task"; 5_000]), "list"),
            (
                json!(vec![json!({ "why": "x".repeat(300), "n": 1 }); 500]),
                "list",
            ),
            (json!(["\u{1}".repeat(30_000)]), "list[]"),
        ] {
            let answer = json!({ "list": list, "next_cursor": cursor, "truncated": false });
            let reply = Reply::new(Content::Both, &answer, "t".repeat(30_000)).unwrap();
            let reply = reply.bounded().unwrap();
            assert!(reply.fits());
            assert_eq!(reply.structured["next_cursor"], cursor);
            assert_eq!(reply.structured["truncated"], true);
            assert!(reply.structured["omitted"][lost].is_u64());
            assert!(
                reply
                    .text
                    .contains(&format!("left out for lack of room: {lost}"))
            );
            assert_ne!(reply.structured["list"], json!([]));
        }
    }
}
