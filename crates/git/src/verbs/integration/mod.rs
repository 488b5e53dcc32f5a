//! Bringing commits together: what a merge, a rebase, a pick and a revert have in common. Each ends, or
//! stops at conflicts and stays under way.

mod changes;
mod origin;
mod outcome;
mod steps;
mod touched;
mod way;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

pub use changes::{local_changes, local_changes_in_the_way};
pub use origin::{Origin, way_on};
pub use outcome::{IntegrationOutcome, State, described, named, next_of};
pub use steps::{
    Ended, StoppedStep, begin, command, go_on, resume, stages_nothing, with_usual_cleanup,
};
pub(super) use touched::left_by_git;
pub use touched::{is_touched, staged_with_markers, untouched_until};
pub(super) use way::base_of;
pub use way::{Step, Way};

use super::operation::Operation;
use crate::{Error, Git, Repository, head, open_at};
use branchyard_model::CommitId;
use branchyard_runtime::disk::Moment;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    #[default]
    Merge,
    Rebase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrated {
    UpToDate,
    Done,
    /// The operation is under way.
    Conflicts,
}

/// Brings `upstream` into what is checked out at `dir`. Refused before anything is touched where an
/// operation is under way, or changes or files of somebody's are in the way. `Conflicts` leaves the
/// operation under way.
pub async fn integrate(
    git: &Git,
    dir: &Path,
    upstream: &CommitId,
    how: How,
    merge_message: &str,
) -> Result<Integrated, Error> {
    let goal = crate::object_id(upstream)?.git2();
    let before = at(dir, move |repo| {
        let before = head(repo)?.commit;
        match how {
            How::Rebase => {
                Way::of_rebase(repo, before.git2(), goal, goal)?.check_untouched(repo)?;
            }
            How::Merge => Way::of_merge(repo, before.git2(), goal)?.check(repo)?,
        }
        Ok(before)
    })
    .await?;
    let command = command(git, dir);
    let command = match how {
        How::Rebase => command.args(["rebase", "--merge", "--no-autostash", "--no-fork-point"]),
        How::Merge => command.args(["merge", "--no-autostash", "-m", merge_message]),
    };
    if begin(git, command.arg(upstream.as_str()), dir).await? == Ended::Stopped {
        return Ok(Integrated::Conflicts);
    }
    let after = at(dir, |repo| Ok(head(repo)?.commit)).await?;
    Ok(match after == before {
        true => Integrated::UpToDate,
        false => Integrated::Done,
    })
}

/// Ends what is under way and puts everything back as it was before. What was done since, such as
/// half-resolved files, goes with it: callers save that first, and look at the files for it when they are `seen`.
pub async fn abort(git: &Git, dir: &Path, operation: Operation, seen: Moment) -> Result<(), Error> {
    let args: &[&str] = match operation {
        Operation::Merge => &["merge", "--abort"],
        Operation::Rebase => &["rebase", "--abort"],
        Operation::CherryPick => &["cherry-pick", "--abort"],
        Operation::Revert => &["revert", "--abort"],
        // Whatever came with it is staged, and what is not was there before.
        Operation::Apply => &["reset", "--merge"],
        Operation::Mailbox | Operation::Bisect => return Err(operation.in_the_way().into()),
    };
    command(git, dir).args(args).discard_files(seen).await?;
    Ok(())
}

/// Looks at the repository at `dir`, on the blocking pool.
pub async fn at<T: Send + 'static>(
    dir: &Path,
    look: impl FnOnce(&Repository) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let dir: PathBuf = dir.to_owned();
    tokio::task::spawn_blocking(move || look(&open_at(&dir)?)).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fork {
        dir: tempfile::TempDir,
        git: Git,
    }

    impl Fork {
        /// `main` is checked out; `other` has `f` and `g` as given.
        async fn new(f: &str, g: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let git = Git::for_tests(&dir);
            let fork = Self { dir, git };
            fork.run(&["init", "-q", "--initial-branch=main"]).await;
            fork.commit("base", "base").await;
            fork.run(&["checkout", "-q", "-b", "other"]).await;
            fork.commit(f, g).await;
            fork.run(&["checkout", "-q", "main"]).await;
            fork
        }

        async fn run(&self, args: &[&str]) -> String {
            let said = self.git.at(self.dir.path()).args(args).output().await;
            String::from_utf8(said.unwrap()).unwrap().trim().to_owned()
        }

        async fn commit(&self, f: &str, g: &str) {
            std::fs::write(self.dir.path().join("f"), f).unwrap();
            std::fs::write(self.dir.path().join("g"), g).unwrap();
            self.run(&["add", "-A"]).await;
            self.run(&["commit", "-q", "-m", f]).await;
        }

        async fn integrate(&self, how: How) -> Result<Integrated, Error> {
            let other = self.run(&["rev-parse", "other"]).await;
            let other = CommitId::parse(&other).unwrap();
            integrate(&self.git, self.dir.path(), &other, how, "merged").await
        }
    }

    #[tokio::test]
    async fn what_fits_is_brought_in_once() {
        for how in [How::Merge, How::Rebase] {
            let fork = Fork::new("theirs", "base").await;
            fork.commit("base", "ours").await;
            assert_eq!(fork.integrate(how).await.unwrap(), Integrated::Done);
            assert_eq!(fork.integrate(how).await.unwrap(), Integrated::UpToDate);
            let tree = fork.run(&["show", "HEAD:f", "HEAD:g"]).await;
            assert_eq!(tree, "theirsours", "{how:?}");
        }
    }

    #[tokio::test]
    async fn a_conflict_stays_under_way_until_it_is_put_back() {
        for (how, operation) in [
            (How::Merge, Operation::Merge),
            (How::Rebase, Operation::Rebase),
        ] {
            let fork = Fork::new("theirs", "base").await;
            fork.commit("ours", "base").await;
            let before = fork.run(&["rev-parse", "main"]).await;
            assert_eq!(fork.integrate(how).await.unwrap(), Integrated::Conflicts);
            let under_way = at(fork.dir.path(), Operation::under_way).await.unwrap();
            assert_eq!(under_way, Some(operation));
            let again = fork.integrate(how).await.unwrap_err().problem();
            assert_eq!(again.code, "operation_under_way");
            abort(&fork.git, fork.dir.path(), operation, Moment::now())
                .await
                .unwrap();
            assert_eq!(fork.run(&["status", "--porcelain"]).await, "");
            assert_eq!(
                fork.run(&["rev-parse", "HEAD", "main"]).await,
                format!("{before}\n{before}")
            );
        }
    }

    /// What an abort has put aside, as one text.
    fn kept(fork: &Fork) -> String {
        fn read(dir: &Path, text: &mut String) {
            for entry in std::fs::read_dir(dir).into_iter().flatten() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => read(&path, text),
                    false => text.push_str(&std::fs::read_to_string(path).unwrap()),
                }
            }
        }
        let mut text = String::new();
        read(&fork.dir.path().join(".git/quarantine"), &mut text);
        text
    }

    #[tokio::test]
    async fn an_abort_keeps_what_was_written_or_staged_after_the_files_were_saved() {
        for (how, operation) in [
            (How::Merge, Operation::Merge),
            (How::Rebase, Operation::Rebase),
        ] {
            let fork = Fork::new("theirs", "base").await;
            fork.commit("ours", "base").await;
            assert_eq!(fork.integrate(how).await.unwrap(), Integrated::Conflicts);
            let path = |name: &str| fork.dir.path().join(name);
            std::fs::write(path("new"), "not tracked, so not saved").unwrap();
            let seen = Moment::now();
            // The next tick of the clock.
            while Moment::now() == seen {
                std::thread::yield_now();
            }
            std::fs::write(path("f"), "saved by a person").unwrap();
            fork.run(&["add", "new"]).await;
            abort(&fork.git, fork.dir.path(), operation, seen)
                .await
                .unwrap();
            let kept = kept(&fork);
            assert!(kept.contains("saved by a person"), "{how:?}: {kept}");
            let is_there = path("new").exists();
            assert!(is_there || kept.contains("not tracked"), "{how:?}: {kept}");
            assert_eq!(std::fs::read_to_string(path("f")).unwrap(), "ours");
        }
    }
}
