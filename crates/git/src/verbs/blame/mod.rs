//! `blame`: which commit each line of a file is from. The command does it: libgit2 follows no moved lines
//! and overlooks no whitespace, and people hold our answer against git's.

mod porcelain;

use std::fs::File;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::room::keep_fitting;
use super::verb::{Effect, Render, VerbEntry};
use super::{Verbosity, budget, revision};
use crate::{Error, Git, ObjectId, Repository, head};
use branchyard_model::{ErrorKind, Problem};

pub use porcelain::Hunk;

const PATIENCE: Duration = Duration::from_secs(30);
/// Larger files are not gone through.
const MAX_FILE: usize = 64 * 1024 * 1024;
/// More lines than these are for the next answer.
const MOST_LINES: usize = 10_000;

pub const VERB: VerbEntry = VerbEntry {
    name: "blame",
    title: "Who wrote which line",
    description: "Says for each line of a file which commit it is from, by whom and why. `start_line` and `end_line` bound the lines.",
    effect: Effect::READS,
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The file, relative to the workspace.
    pub path: String,
    /// The file as it was at this branch, tag or commit. As in the workspace now, if left out.
    pub revision: Option<String>,
    /// First line wanted, counted from 1.
    pub start_line: Option<usize>,
    /// Last line wanted.
    pub end_line: Option<usize>,
    /// Look through commits that changed nothing but whitespace.
    #[serde(default)]
    pub ignore_whitespace: bool,
    /// Look for where moved and copied lines came from.
    #[serde(default)]
    pub moves: Moves,
    /// How much of each commit is told, and whether the lines are.
    #[serde(default)]
    pub verbosity: Verbosity,
}

/// Where lines may have been moved from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moves {
    /// A moved line is from the commit that moved it.
    #[default]
    Ignore,
    /// From elsewhere in the same file.
    WithinFile,
    /// From other files that were changed in the same commit, too.
    AcrossFiles,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Blame {
    pub path: String,
    /// The commit at which the file was looked at; none of the file as it is in the workspace.
    pub at: Option<String>,
    /// Of the whole file.
    pub total_lines: usize,
    /// Lines that stand together and are from one commit, in the file's order.
    pub hunks: Vec<Hunk>,
    /// There are more lines of those asked for: what `start_line` is to be to go on.
    pub next: Option<usize>,
}

/// The file that is looked at.
#[derive(Debug)]
pub enum Subject {
    /// As it is in this commit.
    Committed(ObjectId),
    /// As it is in the workspace. Opened by us, so that git does not follow a link that was put in its
    /// way.
    Now(File),
}

/// What is asked of git, checked.
#[derive(Debug)]
pub struct Question {
    pub path: PathBuf,
    pub subject: Subject,
    pub total_lines: usize,
    pub request: Request,
}

/// The commit that was named, and how many lines the file at `path` has there.
pub fn committed(repo: &Repository, named: &str, path: &Path) -> Result<(ObjectId, usize), Error> {
    let commit = revision::commit(repo, "revision", named)?;
    let shown = path.display();
    let entry = commit.tree()?.get_path(path).map_err(|_| {
        let detail = format!("there is no {shown} at {}", named.escape_debug());
        absent(detail).help("the log verb with this `path` says which commits had it")
    })?;
    let blob = entry.to_object(repo.git2())?.into_blob().map_err(|_| {
        let detail = format!("{shown} is no file at {}", named.escape_debug());
        Problem::bad("path", detail)
    })?;
    if blob.size() > MAX_FILE {
        let detail = format!("{shown} has more than the {MAX_FILE} bytes that are gone through");
        return Err(Problem::bad("path", detail).into());
    }
    Ok((ObjectId::of(commit.id()), lines(blob.content())))
}

/// Refuses a file of the workspace that git does not keep: nobody is to blame for its lines.
pub fn check_tracked(repo: &Repository, path: &Path) -> Result<(), Error> {
    let tree = repo.git2().find_tree(head(repo)?.tree.git2())?;
    // Any stage will do: of a file in conflict there is no other.
    let index = repo.git2().index()?;
    let staged = (0..=3).any(|stage| index.get_path(path, stage).is_some());
    if staged || tree.get_path(path).is_ok() {
        return Ok(());
    }
    let detail = format!("{} is not tracked by git", path.display());
    Err(absent(detail)
        .help("all of it is yet to be committed; add it first")
        .into())
}

fn absent(detail: String) -> Problem {
    Problem::new(ErrorKind::NotFound, "file_not_found", detail).field("path")
}

/// As git counts them.
pub fn lines(content: &[u8]) -> usize {
    let ends = memchr::memchr_iter(b'\n', content).count();
    ends + usize::from(content.last().is_some_and(|last| *last != b'\n'))
}

pub async fn blame(git: &Git, dir: &Path, question: Question) -> Result<Blame, Error> {
    let Question {
        path,
        subject,
        total_lines,
        request,
    } = question;
    let mut blame = Blame {
        path: path.to_string_lossy().into_owned(),
        at: match &subject {
            Subject::Committed(id) => Some(id.to_string()),
            Subject::Now(_) => None,
        },
        total_lines,
        hunks: Vec::new(),
        next: None,
    };
    let asked = wanted(&request, total_lines)?;
    if asked.is_empty() {
        return Ok(blame);
    }
    let last = (*asked.end()).min(asked.start() + MOST_LINES - 1);
    blame.next = (last < *asked.end()).then_some(last + 1);
    let moves: &[&str] = match request.moves {
        Moves::Ignore => &[],
        Moves::WithinFile => &["-M"],
        Moves::AcrossFiles => &["-M", "-C"],
    };
    let command = git
        .in_worktree(dir)
        .read_only(PATIENCE)
        .literal_paths()
        .args(["blame", "--porcelain"])
        .arg(format!("-L{},{last}", asked.start()))
        .args(request.ignore_whitespace.then_some("-w"))
        .args(moves);
    let command = match subject {
        Subject::Committed(id) => command.arg(id.to_string()),
        Subject::Now(file) => command.args(["--contents", "-"]).input(file),
    };
    let output = command.arg("--").arg(&path).output().await;
    let output =
        output.map_err(|error| budget::told(error, "ask for fewer lines, or without `moves`"))?;
    blame.hunks = porcelain::hunks(&output, request.verbosity);
    Ok(blame)
}

/// The lines that are asked for, as far as there are any.
fn wanted(request: &Request, total: usize) -> Result<RangeInclusive<usize>, Problem> {
    let first = request.start_line.unwrap_or(1).max(1);
    let last = request.end_line.unwrap_or(usize::MAX);
    if last < first {
        let detail = "end_line is before start_line";
        return Err(Problem::unprocessable("end_line", detail));
    }
    if first > total.max(1) {
        let detail = format!("the file has {total} lines");
        return Err(Problem::unprocessable("start_line", detail).help("begin before its end"));
    }
    Ok(first..=last.min(total))
}

impl Render for Blame {
    fn text(&self) -> String {
        let mut text: String = self.hunks.iter().map(Hunk::paragraph).collect();
        if self.hunks.is_empty() {
            text.push_str("no lines\n");
        }
        if let Some(next) = self.next {
            text.push_str(&format!("(more with start_line {next})\n"));
        }
        text
    }

    /// Lines are the pages: of a single hunk that is too long, the first.
    fn page(&mut self, room: usize) -> bool {
        let next = |hunk: &Hunk| hunk.end_line + 1;
        if keep_fitting(&mut self.hunks, room) > 0 {
            self.next = self.hunks.last().map(next);
        }
        if let [only] = &mut self.hunks[..]
            && only.keep_lines(room / 2)
        {
            self.next = Some(next(only));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_git_does() {
        for (content, expected) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(lines(content.as_bytes()), expected, "{content:?}");
        }
    }
}
