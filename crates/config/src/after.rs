//! `[after.NAME]`: commands of the operator's that are run when a run or a pipeline has ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::duration::positive;
use super::kept::Kept;
use super::place::Place;
use super::reserved::is_reserved_variable;
use super::{ConfigError, EnvName, RepoGlobs, SecretValue, Task, TaskName};
use branchyard_model::{EndState, RepoName, RunKind};

/// A command that the daemon runs at the end of runs and pipelines, such as one that sends mail. It finds what has ended in
/// variables and as JSON on its standard input.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a section [after.NAME] with command")]
pub struct AfterConfig {
    /// The program, by name or path, and its arguments, with no shell between.
    #[schemars(extend("example" = ["/usr/local/bin/mail-the-end"]))]
    pub command: Task,
    /// The repos, as globs.
    #[schemars(extend("example" = ["app-*"], "x-default" = "all"))]
    pub repos: Option<RepoGlobs>,
    /// After what it is run. Steps, set-ups and git commands are not among these.
    #[schemars(extend("example" = ["pipeline"], "x-default" = "all"))]
    pub kinds: Option<Vec<AfterKind>>,
    /// After which ends it is run.
    #[schemars(extend("example" = ["failed", "timed_out"], "x-default" = "all"))]
    pub on: Option<Vec<EndState>>,
    /// When it is stopped, with all that it started.
    #[serde(default = "one_minute", deserialize_with = "positive")]
    pub timeout: Duration,
    /// Whether it has the sandbox that runs of the repo have.
    #[serde(default = "contained")]
    pub sandbox: bool,
    /// Variables with secrets that only this command has, each with the file that holds it, mode 600. They are read for each
    /// command.
    #[serde(default)]
    #[schemars(extend("example" = { "CHAT_URL": "~/.config/branchyard/chat-url" }))]
    pub secret_files: BTreeMap<EnvName, PathBuf>,
}

/// What has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterKind {
    Make,
    Task,
    Exec,
    Pipeline,
}

/// A command whose secrets were found where the file said, at least at the start.
#[derive(Debug, Clone)]
pub struct After {
    argv: Vec<String>,
    repos: Option<RepoGlobs>,
    kinds: Option<Vec<AfterKind>>,
    on: Option<Vec<EndState>>,
    timeout: Duration,
    is_contained: bool,
    secrets: BTreeMap<EnvName, Kept<SecretValue>>,
}

fn one_minute() -> Duration {
    Duration::from_secs(60)
}

fn contained() -> bool {
    true
}

impl AfterConfig {
    pub(super) fn find(&self, name: &TaskName, place: &Place<'_>) -> Result<After, ConfigError> {
        let mut secrets = BTreeMap::new();
        for (variable, file) in &self.secret_files {
            let key = ["after", name.as_str(), "secret_files", variable.as_str()];
            if is_reserved_variable(variable.as_str()) {
                let rule = "this variable changes which programs run or how they start; choose another name";
                return Err(place.error(&key, rule));
            }
            secrets.insert(variable.clone(), Kept::in_file(file, place, &key)?);
        }
        Ok(After {
            argv: self.argv(name, place)?,
            repos: self.repos.clone(),
            kinds: self.kinds.clone(),
            on: self.on.clone(),
            timeout: self.timeout,
            is_contained: self.sandbox,
            secrets,
        })
    }

    /// Its program is looked for in `PATH` by its name, and at its path as it is meant in the file.
    fn argv(&self, name: &TaskName, place: &Place<'_>) -> Result<Vec<String>, ConfigError> {
        let mut argv = self.command.argv().to_vec();
        if argv[0].contains('/') {
            let key = ["after", name.as_str(), "command"];
            let path = place.path(&key, Path::new(&argv[0]))?;
            let path = path.into_os_string().into_string();
            argv[0] = path.map_err(|_| place.error(&key, "the path is not UTF-8"))?;
        }
        Ok(argv)
    }
}

impl AfterKind {
    /// None for runs that are parts of something else, and for git's.
    pub fn of_run(kind: RunKind) -> Option<Self> {
        match kind {
            RunKind::Make => Some(Self::Make),
            RunKind::Task => Some(Self::Task),
            RunKind::Exec => Some(Self::Exec),
            RunKind::Git | RunKind::Setup | RunKind::Step => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Make => "make",
            Self::Task => "task",
            Self::Exec => "exec",
            Self::Pipeline => "pipeline",
        }
    }
}

impl After {
    /// Never empty: the program comes first, by its name or its absolute path.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Whether it has the sandbox of the repo's runs.
    pub fn is_contained(&self) -> bool {
        self.is_contained
    }

    pub fn is_for(&self, repo: &RepoName, kind: AfterKind, end: EndState) -> bool {
        self.is_for_repo(repo)
            && self
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.contains(&kind))
            && self.on.as_ref().is_none_or(|ends| ends.contains(&end))
    }

    pub fn is_for_repo(&self, repo: &RepoName) -> bool {
        self.repos.as_ref().is_none_or(|repos| repos.matches(repo))
    }

    /// Its secrets as they are now, by variable; or why one cannot be had.
    pub fn secrets(&self) -> Result<Vec<(&str, SecretValue)>, String> {
        let secrets = self.secrets.iter();
        let read = secrets.map(|(variable, kept)| Ok((variable.as_str(), kept.read()?)));
        read.collect()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.secrets.values().filter_map(Kept::file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::environment::Environment;

    fn found(text: &str) -> Result<After, String> {
        let document = document::parse(Path::new("/etc/yard/yard.toml"), text.to_owned());
        let document = document.map_err(|error| error.to_string())?;
        let place = Place {
            file: &document.file,
            env: &Environment::default(),
            home: Some(Path::new("/home/me")),
        };
        let (name, after) = document.values.after.first_key_value().unwrap();
        after.find(name, &place).map_err(|error| error.to_string())
    }

    #[test]
    fn a_section_says_after_what_its_command_is_run() {
        let after = found(
            "[after.mail]\ncommand = [\"mail\", \"me\"]\nrepos = [\"app-*\"]\nkinds = [\"make\", \"pipeline\"]\n\
             on = [\"failed\"]\n",
        )
        .unwrap();
        let repo = |name| RepoName::parse(name).unwrap();
        let is_for = |name, kind, end| after.is_for(&repo(name), kind, end);
        assert!(is_for("app-x", AfterKind::Pipeline, EndState::Failed));
        assert!(!is_for("lib", AfterKind::Pipeline, EndState::Failed));
        assert!(!is_for("app-x", AfterKind::Task, EndState::Failed));
        assert!(!is_for("app-x", AfterKind::Make, EndState::Lost));
        let all = found("[after.mail]\ncommand = [\"mail\"]\n").unwrap();
        assert!(all.is_for(&repo("lib"), AfterKind::Exec, EndState::Lost));
        assert_eq!((all.timeout(), all.is_contained()), (one_minute(), true));
    }

    #[test]
    fn a_program_is_found_by_its_name_or_its_place_in_the_file() {
        for (program, expected) in [
            ("mail", "mail"),
            ("/opt/mail", "/opt/mail"),
            ("./mail.sh", "/etc/yard/mail.sh"),
            ("~/mail.sh", "/home/me/mail.sh"),
        ] {
            let after = found(&format!("[after.mail]\ncommand = [{program:?}, \"a/b\"]\n"));
            assert_eq!(after.unwrap().argv(), [expected, "a/b"]);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, rule) in [
            ("command = []", "a task needs a program"),
            ("repos = [\"x\"]", "missing field `command`"),
            ("command = [\"x\"]\non = [\"red\"]", "unknown variant `red`"),
            (
                "command = [\"x\"]\nkinds = [\"git\"]",
                "unknown variant `git`",
            ),
            (
                "command = [\"x\"]\ntimeout = \"0s\"",
                "it must be longer than zero",
            ),
            (
                "command = [\"x\"]\nsecret_files = { LD_PRELOAD = \"x\" }",
                "choose another name",
            ),
            (
                "command = [\"x\"]\nsecret_files = { KEY = \"/none\" }",
                "failed to read /none",
            ),
        ] {
            let refusal = found(&format!("[after.mail]\n{text}\n")).unwrap_err();
            assert!(
                refusal.starts_with("/etc/yard/yard.toml:") && refusal.contains(rule),
                "{refusal}"
            );
        }
    }
}
