//! Git commands that may stop in the middle, and what their stop means. Git's files and index say that,
//! not its words.

use std::fs;
use std::path::Path;

use super::{at, local_changes_in_the_way, untouched_until};
use crate::command::GitCommand;
use crate::verbs::operation::{Operation, has_step_head};
use crate::{Error, Git, Repository};
use branchyard_model::{ErrorKind, Problem};
use branchyard_runtime::disk::Moment;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Done,
    /// At conflicts, which are to be resolved before it goes on.
    Stopped,
    /// By the caller's wish: all is as it was before.
    Aborted,
}

/// Below this line of a message git notes which files were in conflict.
const SCISSORS: &str = "# ------------------------ >8 ------------------------";

/// A git command under the settings that integrations need.
pub fn command(git: &Git, dir: &Path) -> GitCommand {
    git.in_worktree(dir)
        .args(["-c", "merge.conflictStyle=diff3"])
        // With the usual clean-up a line of somebody's message that begins with `#` would be lost.
        .args(["-c", "commit.cleanup=scissors"])
        .env("GIT_SEQUENCE_EDITOR", ":")
        .unheard()
}

/// Runs a command that begins a merge or a rebase where nothing is under way.
pub async fn begin(git: &Git, command: GitCommand, dir: &Path) -> Result<Ended, Error> {
    let error = match command.change_files().await {
        Ok(_) => return Ok(Ended::Done),
        Err(error @ Error::Refused { .. }) => error,
        Err(error) => return Err(error),
    };
    let (has_conflicts, operation) = at(dir, |repo| {
        let has_conflicts = repo.git2().index()?.has_conflicts();
        Ok((has_conflicts, Operation::under_way(repo)?))
    })
    .await?;
    if has_conflicts {
        return Ok(Ended::Stopped);
    }
    // It stopped for something that nobody could resolve.
    if let Some(operation) = operation {
        let seen = at(dir, untouched_until).await?;
        super::abort(git, dir, operation, seen).await?;
    }
    at(dir, move |repo| Err(refused(repo, error)?)).await
}

/// What becomes of the step at which an operation stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoppedStep {
    /// It is committed, with this message or with the one that git prepared.
    Committed(Option<String>),
    LeftOut,
}

/// Goes on with what is under way, now that nothing is in conflict any more, or without the step at
/// which it stopped, whose files were saved when they were `seen`.
pub async fn resume(
    git: &Git,
    dir: &Path,
    operation: Operation,
    step: StoppedStep,
    seen: Moment,
) -> Result<Ended, Error> {
    use StoppedStep::{Committed, LeftOut};
    let args: &[&str] = match (operation, step) {
        (Operation::Rebase, Committed(_)) => &["rebase", "--continue"],
        (Operation::Rebase, LeftOut) => &["rebase", "--skip"],
        (Operation::CherryPick, LeftOut) => &["cherry-pick", "--skip"],
        (Operation::Revert, LeftOut) => &["revert", "--skip"],
        (Operation::Merge, LeftOut) => return commit_step(git, dir, operation, None).await,
        (Operation::Merge | Operation::CherryPick | Operation::Revert, Committed(message)) => {
            return commit_step(git, dir, operation, message).await;
        }
        (Operation::Apply | Operation::Mailbox | Operation::Bisect, _) => {
            return Err(operation.in_the_way().into());
        }
    };
    let command = cleaning(git, dir).await?.args(args);
    go_on(git, command, dir, operation, seen).await
}

/// Runs a command that goes on with `operation` since its files were `seen`. Steps that turn out to bring nothing are passed over.
pub async fn go_on(
    git: &Git,
    command: GitCommand,
    dir: &Path,
    operation: Operation,
    seen: Moment,
) -> Result<Ended, Error> {
    let (mut next, mut seen) = (command, seen);
    loop {
        let error = match next.discard_files(seen).await {
            Ok(_) => return Ok(Ended::Done),
            Err(error @ Error::Refused { .. }) => error,
            Err(error) => return Err(error),
        };
        next = match at(dir, move |repo| stop(repo, operation, error)).await? {
            Stop::Conflicts => return Ok(Ended::Stopped),
            Stop::Empty => self::command(git, dir).args([operation.name(), "--skip"]),
        };
        // A step without conflicts leaves what is changed alone.
        seen = Moment::now();
    }
}

enum Stop {
    Conflicts,
    /// The step changes nothing here: it was done before, or was resolved to nothing.
    Empty,
}

fn stop(repo: &Repository, operation: Operation, error: Error) -> Result<Stop, Error> {
    if repo.git2().index()?.has_conflicts() {
        return Ok(Stop::Conflicts);
    }
    let is_sequence = matches!(operation, Operation::CherryPick | Operation::Revert);
    let is_under_way = Operation::under_way(repo)? == Some(operation);
    match is_sequence && is_under_way && stages_nothing(repo)? {
        true => Ok(Stop::Empty),
        false => Err(refused(repo, error)?),
    }
}

/// Commits the step at which it stopped, and goes on with the next. Git's own `--continue` would drop
/// lines of the message that begin with `#`.
async fn commit_step(
    git: &Git,
    dir: &Path,
    operation: Operation,
    message: Option<String>,
) -> Result<Ended, Error> {
    let (is_stopped, is_empty) = at(dir, move |repo| {
        let is_stopped = operation == Operation::Merge || has_step_head(repo);
        Ok((is_stopped, is_stopped && stages_nothing(repo)?))
    })
    .await?;
    let is_merge = operation == Operation::Merge;
    if is_stopped && is_empty && !is_merge {
        let skip = command(git, dir).args([operation.name(), "--skip"]);
        return go_on(git, skip, dir, operation, Moment::now()).await;
    }
    if is_stopped {
        let commit = match &message {
            Some(message) => command(git, dir).args(["commit", "-m", message]),
            // Only a message that could be edited is rid of git's notes; the editor here leaves it alone.
            None => cleaning(git, dir).await?.args(["commit", "--edit"]),
        };
        commit.output().await?;
    }
    let is_over = at(dir, |repo| Ok(Operation::under_way(repo)?.is_none())).await?;
    if is_over {
        return Ok(Ended::Done);
    }
    let rest = command(git, dir).args([operation.name(), "--continue"]);
    go_on(git, rest, dir, operation, Moment::now()).await
}

/// Whether the index is as HEAD has it. Blocks.
pub fn stages_nothing(repo: &Repository) -> Result<bool, Error> {
    let (tree, index) = (repo.head_tree()?, repo.git2().index()?);
    Ok(repo.diff_to_index(&tree, &index)?.deltas().len() == 0)
}

/// A message that somebody else's git prepared, or one that is joined of several, has git's notes where
/// only the usual clean-up finds them.
async fn cleaning(git: &Git, dir: &Path) -> Result<GitCommand, Error> {
    let is_usual = at(dir, |repo| {
        let lines = |name: &str| -> Vec<String> {
            let text = fs::read(repo.path().join(name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            text.lines().map(str::to_owned).collect()
        };
        let message = lines("MERGE_MSG");
        let has = |line: &str| message.iter().any(|it| it == line);
        let mut todo = lines("rebase-merge/git-rebase-todo").into_iter();
        Ok(has("# Conflicts:") && !has(SCISSORS) || todo.any(|step| step.starts_with("squash")))
    })
    .await?;
    Ok(match is_usual {
        true => with_usual_cleanup(command(git, dir)),
        false => command(git, dir),
    })
}

/// Git's own notes go from messages, and with them whatever begins with `#`.
pub fn with_usual_cleanup(command: GitCommand) -> GitCommand {
    command.args(["-c", "commit.cleanup=strip"])
}

/// Why git said no: in our words where they are known, else in its own.
fn refused(repo: &Repository, error: Error) -> Result<Error, Error> {
    if let Some(problem) = local_changes_in_the_way(repo)? {
        return Ok(problem.into());
    }
    let Error::Refused { verb, stderr, .. } = error else {
        return Ok(error);
    };
    let detail = format!("git {verb} refused: {stderr}");
    Ok(Problem::new(ErrorKind::Conflict, "git_refused", detail)
        .help("nothing is lost; git_status tells how the workspace stands")
        .into())
}
