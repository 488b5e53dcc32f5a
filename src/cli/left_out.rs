//! REPO and BRANCH, which may be left out in the directory of a workspace: they are put where the command expects them.

use std::ffi::OsString;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use super::Cli;
use super::client::{Client, repo_path};
use super::endpoint::{Lookup, Surroundings};
use super::exit::Failure;
use super::here::Here;
use branchyard_model::RepoName;

/// How long it may take to learn whether a word is the name of a repository.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a command line is none.
#[derive(Debug)]
pub(super) enum CommandLineError {
    /// Help and version come this way too.
    Words(Box<clap::Error>),
    Failure(Failure),
}

impl From<clap::Error> for CommandLineError {
    fn from(error: clap::Error) -> Self {
        Self::Words(Box::new(error))
    }
}

/// Where a command takes REPO, or REPO and BRANCH, before all else.
#[derive(Debug, PartialEq, Eq)]
struct Gap {
    /// Before which word.
    at: usize,
    has_branch: bool,
    /// What stands there, if anything does.
    first: Option<String>,
}

impl Gap {
    fn in_words(words: &[OsString]) -> Option<Self> {
        let mut command = Cli::command();
        command.build();
        let (mut command, mut at) = (&command, 1);
        loop {
            let word = words.get(at)?.to_str()?;
            at += 1;
            if word.starts_with('-') {
                at += usize::from(takes_next(command, word));
                continue;
            }
            command = command.find_subcommand(word)?;
            let mut positionals = command.get_positionals().filter(|it| it.is_required_set());
            let is = |it: Option<&clap::Arg>, id: &str| it.is_some_and(|it| it.get_id() == id);
            if is(positionals.next(), "repo") {
                return Some(Self {
                    at,
                    has_branch: is(positionals.next(), "branch"),
                    first: first(words),
                });
            }
        }
    }

    fn filled(&self, words: &[OsString], here: &Here) -> Vec<OsString> {
        let mut names: Vec<OsString> = vec![here.repo.as_str().into()];
        if self.has_branch {
            names.push(here.branch.as_str().into());
        }
        let (before, after) = words.split_at(self.at);
        [before, &names, after].concat()
    }
}

/// Whether an option has its value in the next word.
fn takes_next(command: &Command, word: &str) -> bool {
    let is_meant = |option: &&clap::Arg| {
        let long = option.get_long().map(|long| format!("--{long}"));
        let short = option.get_short().map(|short| format!("-{short}"));
        long.as_deref() == Some(word) || short.as_deref() == Some(word)
    };
    let option = command.get_arguments().find(is_meant);
    option.is_some_and(|option| option.get_action().takes_values())
}

/// What the command line as it is written has for REPO.
fn first(words: &[OsString]) -> Option<String> {
    let command = Cli::command().ignore_errors(true);
    let matches = command.try_get_matches_from(words).ok()?;
    let mut matches = &matches;
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    let mut raw = matches.try_get_raw("repo").ok()??;
    raw.next().map(|word| word.to_string_lossy().into_owned())
}

/// Reads a command line, the program's name first, wherever it stands.
pub(super) fn read(words: &[OsString]) -> Result<Cli, CommandLineError> {
    let as_written = Cli::read(words.to_vec());
    let is_help = |error: &clap::Error| !error.use_stderr();
    let gap = match &as_written {
        Err(error) if is_help(error) => None,
        _ => Gap::in_words(words),
    };
    let Some(gap) = gap else {
        return Ok(as_written?);
    };
    let here = match (Here::find(), &as_written) {
        (Ok(Some(here)), _) => here,
        // Nothing is missing.
        (_, Ok(_)) | (Ok(None), _) => return Ok(as_written?),
        (Err(failure), Err(_)) => return Err(CommandLineError::Failure(failure)),
    };
    let filled = Cli::read(gap.filled(words, &here));
    match (as_written, filled) {
        (Err(error), Err(other)) if gap.first.is_some() && is_about_words(&other) => {
            Err(error.into())
        }
        (Err(_), Err(error)) => Err(error.into()),
        (as_written, Err(_)) => Ok(as_written?),
        (as_written, Ok(filled)) => decide(as_written, filled, &gap, &here),
    }
}

/// Whether what is wrong is not only that something is missing.
fn is_about_words(error: &clap::Error) -> bool {
    error.kind() != ErrorKind::MissingRequiredArgument
}

/// A word that could be anything is a repository, where there is one of that name.
fn decide(
    as_written: Result<Cli, clap::Error>,
    filled: Cli,
    gap: &Gap,
    here: &Here,
) -> Result<Cli, CommandLineError> {
    check_yard(&filled, here).or_else(|failure| match &as_written {
        Ok(_) => Ok(()),
        Err(_) => Err(CommandLineError::Failure(failure)),
    })?;
    let known = match &gap.first {
        None => Some(false),
        Some(word) => is_repo(&filled, word),
    };
    match (as_written, known) {
        (Ok(as_written), Some(true) | None) => Ok(as_written),
        (Err(_), Some(true)) => {
            let word = gap.first.as_deref().unwrap_or_default();
            let detail = format!("{word} is a repository, and could be meant otherwise here");
            let help = format!(
                "write REPO and BRANCH; those of this directory are {}",
                here.names()
            );
            Err(CommandLineError::Failure(Failure::usage(detail).help(help)))
        }
        (_, _) => Ok(filled),
    }
}

/// The directory is of the daemon that is asked.
fn check_yard(cli: &Cli, here: &Here) -> Result<(), Failure> {
    let lookup = Lookup::new(cli.global.named.clone(), Surroundings::from_env());
    let yard = lookup.find().ok().and_then(|endpoint| endpoint.workspaces);
    let is_within = |yard: std::path::PathBuf| {
        let yard = yard.canonicalize().unwrap_or(yard);
        let top = here.top.canonicalize().unwrap_or(here.top.clone());
        top.starts_with(yard)
    };
    if yard.is_none_or(is_within) {
        return Ok(());
    }
    let detail = "this directory is a workspace of another daemon than the one that is asked";
    Err(Failure::usage(detail).help("write REPO and BRANCH, or name its daemon with --url"))
}

/// Whether the daemon has a repository of this name; `None` where it does not say.
fn is_repo(cli: &Cli, word: &str) -> Option<bool> {
    let Ok(repo) = RepoName::parse(word) else {
        return Some(false);
    };
    let lookup = Lookup::new(cli.global.named.clone(), Surroundings::from_env());
    let client = Client::find(lookup).ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let path = repo_path(&repo, "");
    let asking = async { tokio::time::timeout(PATIENCE, client.get(&path)).await.ok() };
    let answer = runtime.block_on(asking);
    runtime.shutdown_background();
    match answer? {
        Ok(_) => Some(true),
        Err(error) if error.is_not_found() => Some(false),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_model::BranchName;

    #[test]
    fn names_are_put_where_a_command_takes_them() {
        let here = Here {
            repo: RepoName::parse("app").unwrap(),
            branch: BranchName::parse("feature/x").unwrap(),
            top: "/w/app/feature-x".into(),
        };
        let filled = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
            let gap = Gap::in_words(&words)?;
            let filled = gap.filled(&words, &here);
            let filled: Vec<_> = filled.iter().map(|word| word.to_string_lossy()).collect();
            Some((filled.join(" "), gap.first.unwrap_or_default()))
        };
        for (line, meant, first) in [
            ("by make", "by make app feature/x", ""),
            ("by make test V=1", "by make app feature/x test V=1", "test"),
            ("by make -- -j8", "by make app feature/x -- -j8", ""),
            (
                "by --url http://h:1 -q git log -n 5",
                "by --url http://h:1 -q git app feature/x log -n 5",
                "log",
            ),
            (
                "by --url=u --json cat a.c",
                "by --url=u --json cat app feature/x a.c",
                "a.c",
            ),
            ("by branches --remote", "by branches app --remote", ""),
            ("by pipeline run", "by pipeline run app feature/x", ""),
            ("by pipeline --json list", "by pipeline --json list app", ""),
            (
                "by make --timeout 5m test",
                "by make app feature/x --timeout 5m test",
                "test",
            ),
        ] {
            let expected = Some((meant.to_owned(), first.to_owned()));
            assert_eq!(filled(line), expected, "{line}");
        }
        for line in [
            "by",
            "by runs",
            "by log",
            "by nothing x",
            "by repos add a b",
            "by --url",
        ] {
            assert_eq!(filled(line), None, "{line}");
        }
    }
}
