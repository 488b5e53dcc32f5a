//! Whether a command is what the operator or the branch declares, with nothing in it that a caller could turn into a
//! program: a task as it is configured, or `make` with targets and with `-j`, `-k` and `-s` alone. Only such a command
//! is given a secret, and only what it makes is made of its commit alone.

use super::checks::Checks;
use branchyard_config::{RepoConfig, TaskName};
use branchyard_model::{About, RunKind, RunSpec};
use branchyard_workspace::{Error, Workspace, built_from, work};

/// Notes what is about to happen in the workspace, before it does. After an error the command must not start.
pub(super) fn note_begin(
    workspace: &Workspace,
    spec: &RunSpec,
    about: &About,
    checks: &Checks,
) -> Result<(), Error> {
    let is_alone = workspace.helpers().first().is_none();
    match spec.kind {
        // No file of the workspace is changed by it.
        RunKind::Git if checks.reads || checks.network => Ok(()),
        // What git makes was asked for; it is no build's output.
        RunKind::Git => built_from::note_files_changed(workspace),
        // Nothing tells what a command in the background makes from what people and other commands do: it counts as work.
        _ if spec.background || !is_alone => built_from::note_files_changed(workspace),
        RunKind::Make | RunKind::Task | RunKind::Setup => {
            let is_clean = about.dirty == Some(false);
            let is_declared = supplied(spec, workspace.repo().config()).is_none();
            work::command_begins(
                workspace,
                (is_clean && is_declared).then_some(&about.commit),
            )
        }
        RunKind::Exec => work::command_begins(workspace, None),
        // It is in no workspace.
        RunKind::Step => Ok(()),
    }
}

/// What a caller put into a command beyond what is declared, in words; `None` where there is nothing.
pub(super) fn supplied(spec: &RunSpec, repo: &RepoConfig) -> Option<String> {
    if !spec.env.is_empty() {
        return Some("the caller set variables of its environment".to_owned());
    }
    let args = spec.argv.get(1..).unwrap_or_default();
    match spec.kind {
        RunKind::Make => {
            let other = args
                .iter()
                .find(|word| !is_plain_option(word) && !is_plain_target(word));
            other.map(|word| format!("the caller passed {word:?} to make"))
        }
        RunKind::Task => {
            let name = spec
                .task
                .as_deref()
                .and_then(|name| TaskName::parse(name).ok());
            let declared = name.and_then(|name| repo.tasks.get(&name));
            let is_declared = declared.is_some_and(|task| task.argv() == spec.argv);
            (!is_declared).then(|| "the caller passed arguments to the task".to_owned())
        }
        RunKind::Setup => None,
        RunKind::Git => Some("it is a git command".to_owned()),
        RunKind::Exec => Some("it is a command of the caller's own".to_owned()),
        RunKind::Step => Some("it is a step of a pipeline".to_owned()),
    }
}

/// `-j`, `-k` and `-s`, in one word or several; the number of jobs is attached by then.
fn is_plain_option(word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let (name, jobs) = long.split_once('=').unwrap_or((long, ""));
        return match name {
            "jobs" => jobs.bytes().all(|b| b.is_ascii_digit()),
            "keep-going" | "silent" | "quiet" => name == long,
            _ => false,
        };
    }
    let Some(letters) = word.strip_prefix('-') else {
        return false;
    };
    let rest = letters.trim_start_matches(['k', 's']);
    let jobs = rest.strip_prefix('j');
    match jobs {
        Some(number) => number.bytes().all(|b| b.is_ascii_digit()),
        None => rest.is_empty() && !letters.is_empty(),
    }
}

/// A target that a recipe can hand to a shell as `$@` or `$(MAKECMDGOALS)` without the shell reading anything else
/// into it, and that assigns no variable.
fn is_plain_target(word: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_./+@%,:-".contains(&b);
    !word.is_empty() && !word.starts_with('-') && word.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_three_options_are_plain() {
        for word in [
            "all",
            "test",
            "src/main.o",
            "lib/a-b_c.so.1",
            "x86+y",
            "-j",
            "-j4",
            "-k",
            "-s",
            "-ks",
            "-skj8",
            "--jobs",
            "--jobs=4",
            "--keep-going",
            "--silent",
            "--quiet",
        ] {
            assert!(is_plain_option(word) || is_plain_target(word), "{word}");
        }
    }

    #[test]
    fn whatever_could_run_something_is_not() {
        for word in [
            "",
            "-",
            "--",
            "CC=env",
            "CC:=env",
            "CC+=env",
            "CC?=x",
            "CC!=env",
            "a=b",
            "-f",
            "-fx",
            "-C",
            "-Cdir",
            "-e",
            "-n",
            "-B",
            "-i",
            "-kB",
            "-jx",
            "-j4x",
            "-j4k",
            "-j 4",
            "-4",
            "--eval=x",
            "--file=x",
            "--jobs=x",
            "--jobserver-auth=3",
            "--silent=x",
            "--no-silent",
            "x;env",
            "$(env)",
            "`env`",
            "a b",
            "a|b",
            "a&b",
            "a>b",
            "a\nb",
            "a'b",
            "a\"b",
            "a\\b",
            "~x",
            "a*",
            "#x",
            "ä",
        ] {
            assert!(!is_plain_option(word) && !is_plain_target(word), "{word:?}");
        }
    }
}
