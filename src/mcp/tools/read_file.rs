//! `read_file`: parts of files, one or several at once.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::excerpt::{ByteCursor, Excerpt, ExcerptSource};
use crate::app::inspect;
use crate::mcp::call::Call;
use crate::mcp::reply::{CONTENT, Reply, fitted_items};
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{About, BranchName, CommitId, Problem, RepoName, Scope};
use branchyard_workspace::{FilePart, ReadRequest};

/// So many files are read by one call.
const MOST_FILES: usize = 20;

pub(super) fn tool() -> Tool {
    let entry = ToolEntry {
        name: "read_file",
        title: "Read a file",
        description: "Reads a file of a branch's workspace, as it is there now, built or edited. A long one is cut \
                      by lines: go on with next_cursor, or find the place with `grep` first. `files` reads \
                      several files or ranges at once.",
        set: Toolset::Yard,
        right: Scope::RepoRead,
        effect: Effect::READS,
    };
    Tool::new::<ReadFile, FilesRead<'_>, _>(&entry, read_file)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    repo: RepoName,
    branch: BranchName,
    /// The file, relative to the workspace.
    path: Option<String>,
    /// The first line wanted, counted from 1.
    start_line: Option<usize>,
    /// The last line wanted.
    end_line: Option<usize>,
    /// In place of start_line: the first byte wanted, counted from 0. What is not UTF-8 then comes in base64.
    start_byte: Option<u64>,
    /// In place of end_line: the byte before which to stop.
    end_byte: Option<u64>,
    /// The next_cursor of the answer before, in place of the start.
    cursor: Option<String>,
    /// In place of path: up to 20 files or ranges of lines.
    #[serde(default)]
    #[schemars(length(max = MOST_FILES))]
    files: Vec<Span>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Span {
    path: String,
    start_line: Option<usize>,
    end_line: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FilesRead<'a> {
    repo: &'a RepoName,
    branch: &'a BranchName,
    commit: &'a CommitId,
    /// The one that `path` named.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    file: Option<PartRead<'a>>,
    /// Those that `files` named, in that order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<PartRead<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PartRead<'a> {
    path: &'a str,
    #[serde(flatten)]
    excerpt: Excerpt,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<usize>,
    /// Of the whole file, in bytes.
    size: u64,
    /// Of the whole file, for the `expected` of a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<&'a str>,
    /// The file differs from the commit, or is not in it.
    modified: bool,
}

async fn read_file(call: Call, asked: ReadFile) -> Result<Reply, Problem> {
    let ReadFile {
        repo,
        branch,
        path,
        files,
        ..
    } = &asked;
    match (path, files.is_empty()) {
        (Some(path), true) => {
            let (request, exact) = asked.single(path)?;
            let (about, part) = read(&call, (repo, branch), request).await?;
            show_part(&call, &part, exact, |file| FilesRead {
                repo,
                branch,
                commit: &about.commit,
                file: Some(file),
                files: Vec::new(),
            })
        }
        (None, false) => {
            let beside = [
                ("start_line", asked.start_line.is_some()),
                ("end_line", asked.end_line.is_some()),
                ("start_byte", asked.start_byte.is_some()),
                ("end_byte", asked.end_byte.is_some()),
                ("cursor", asked.cursor.is_some()),
            ];
            match beside.iter().find(|(_, is_given)| *is_given) {
                Some((field, _)) => {
                    let detail = format!("{field} goes with path; each of files has its own lines");
                    Err(Problem::unprocessable(field, detail))
                }
                None => several(&call, &asked).await,
            }
        }
        (Some(_), false) => Err(Problem::unprocessable("files", "give either path or files")),
        (None, true) => Err(Problem::unprocessable("path", "no file is named")
            .help("give path, or files with a path each")),
    }
}

/// As much of the part as fits; `answer` is made of it.
pub(super) fn show_part<'a, A: Serialize>(
    call: &Call,
    part: &'a FilePart,
    exact: bool,
    answer: impl Fn(PartRead<'a>) -> A,
) -> Result<Reply, Problem> {
    fitted_items(part.bytes.len().min(CONTENT), |most| {
        let part = PartRead::of(part, exact, most);
        let told = part.excerpt.told(call.is_text_alone());
        call.reply(&answer(part), told)
    })
}

/// Several files or ranges: short ones are shown whole, long ones as far as the same number of bytes goes.
async fn several(call: &Call, asked: &ReadFile) -> Result<Reply, Problem> {
    let (repo, branch) = (&asked.repo, &asked.branch);
    let count = asked.files.len();
    if count > MOST_FILES {
        let detail = format!("{count} files are more than the {MOST_FILES} of one call");
        return Err(Problem::unprocessable("files", detail));
    }
    let mut parts = Vec::with_capacity(count);
    for span in &asked.files {
        let request = ReadRequest {
            path: span.path.clone(),
            start_line: span.start_line,
            end_line: span.end_line,
            ..ReadRequest::default()
        };
        parts.push(read(call, (repo, branch), request).await?);
    }
    let Some((about, _)) = parts.first() else {
        return Err(Problem::unprocessable("files", "no file is named"));
    };
    let longest = parts.iter().map(|(_, part)| part.bytes.len()).max();
    fitted_items(longest.unwrap_or(0).min(CONTENT), |most| {
        let mut told = String::new();
        let files: Vec<_> = parts
            .iter()
            .map(|(_, part)| PartRead::of(part, false, most))
            .collect();
        for file in &files {
            let text = file.excerpt.told(call.is_text_alone());
            let ending = if text.ends_with('\n') { "" } else { "\n" };
            let _ = write!(told, "== {}\n{text}{ending}", file.path);
        }
        let answer = FilesRead {
            repo,
            branch,
            commit: &about.commit,
            file: None,
            files,
        };
        call.reply(&answer, told)
    })
}

async fn read(
    call: &Call,
    (repo, branch): (&RepoName, &BranchName),
    request: ReadRequest,
) -> Result<(About, FilePart), Problem> {
    let reading = inspect::read_file(call.app(), repo, branch, request);
    call.in_time(reading).await
}

impl ReadFile {
    /// What is read of a single file, and whether its bytes are wanted as they are.
    fn single(&self, path: &str) -> Result<(ReadRequest, bool), Problem> {
        let mut request = ReadRequest {
            path: path.to_owned(),
            start_line: self.start_line,
            end_line: self.end_line,
            start_byte: self.start_byte,
            end_byte: self.end_byte,
        };
        let exact = self.start_byte.is_some() || self.end_byte.is_some();
        let went_on = go_on(&mut request, self.cursor.as_deref())?;
        Ok((request, exact || went_on))
    }
}

/// Reads on where the answer before left off, if it is given as `cursor`; whether bytes are wanted as they are.
pub(super) fn go_on(request: &mut ReadRequest, cursor: Option<&str>) -> Result<bool, Problem> {
    let Some(cursor) = cursor.map(ByteCursor::read).transpose()? else {
        return Ok(false);
    };
    request.start_line = None;
    request.start_byte = Some(cursor.byte);
    Ok(cursor.exact)
}

impl<'a> PartRead<'a> {
    pub(super) fn next_cursor(&self) -> Option<&str> {
        self.excerpt.next_cursor()
    }

    fn of(part: &'a FilePart, exact: bool, most: usize) -> Self {
        let source = ExcerptSource {
            bytes: &part.bytes,
            start_byte: part.start_byte,
            first_line: part.lines.map(|lines| lines.first),
            more: part.truncated,
            exact,
        };
        Self {
            path: &part.path,
            excerpt: source.excerpt(most),
            total_lines: part.lines.map(|lines| lines.total),
            size: part.size,
            sha256: part.sha256.as_deref(),
            modified: part.modified,
        }
    }
}
