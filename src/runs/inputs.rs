//! What a command builds from: the commit in its workspace alone, or more than that.

use super::drive::Checks;
use crate::config::{RepoConfig, TaskName};
use crate::model::{About, CommitId, RunKind, RunSpec};
use crate::workspace::{Error, Workspace};

/// Options of make that change neither what it reads nor what its rules do.
const PLAIN_OPTIONS: [&str; 6] = ["-k", "-s", "-j", "--keep-going", "--silent", "--jobs"];

/// Notes what is about to happen in the workspace, before it does. After an error the command must not start.
pub(super) fn note_begin(
    workspace: &Workspace,
    spec: &RunSpec,
    about: &About,
    checks: &Checks,
) -> Result<(), Error> {
    match spec.kind {
        // What git makes was asked for; it is no build's output.
        RunKind::Git if checks.reads => Ok(()),
        RunKind::Git => workspace.note_files_changed(),
        RunKind::Make | RunKind::Task => {
            workspace.command_begins(commit_alone(spec, &workspace.repo.config, about))
        }
    }
}

/// The commit, if nothing else has a say in what the run makes: no changed file, no variable, no option or
/// argument of the caller's.
fn commit_alone<'a>(spec: &RunSpec, config: &RepoConfig, about: &'a About) -> Option<&'a CommitId> {
    let is_plain = match spec.kind {
        RunKind::Git => false,
        RunKind::Make => spec.asked_argv().iter().skip(1).all(|word| is_plain(word)),
        RunKind::Task => {
            let declared = spec.task.as_deref().and_then(|task| {
                let name = TaskName::parse(task).ok()?;
                config.tasks.get(&name)
            });
            declared.is_some_and(|declared| declared.argv() == spec.argv)
        }
    };
    let is_clean = about.dirty == Some(false);
    (is_plain && is_clean && spec.env.is_empty()).then_some(&about.commit)
}

/// Whether a word for make is a target, or an option that only says how much is done at a time and told.
fn is_plain(word: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let jobs = word
        .strip_prefix("-j")
        .or_else(|| word.strip_prefix("--jobs="));
    match word.starts_with('-') {
        true => PLAIN_OPTIONS.contains(&word) || jobs.is_some_and(is_number),
        false => !word.contains('='),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_targets_and_plain_options_leave_a_build_to_its_commit() {
        for word in ["all", "-j", "-j8", "--jobs=8", "-k", "-s", "dir/x.o", "8"] {
            assert!(is_plain(word), "{word}");
        }
        for word in [
            "CC=evil",
            "a:=b",
            "-f",
            "-fother.mk",
            "-C",
            "-Cdir",
            "--eval=x",
            "-e",
            "-ks",
            "-je",
            "-I.",
            "--",
            "-B",
            "-o",
            "-W",
            "-t",
            "--jobs=8x",
        ] {
            assert!(!is_plain(word), "{word}");
        }
    }
}
