//! The environment of a command: declared, not inherited. Of the daemon's own it gets PATH and HOME.

use std::collections::BTreeMap;
use std::path::Path;

use branchyard_config::{Config, RepoConfig, Token, is_secret_name};
use branchyard_git::{Git, NetworkAccess};
use branchyard_model::{BranchName, CommitId, RepoName, RunKind};

/// Where and about what a command runs.
#[derive(Debug)]
pub(super) struct RunPlace<'a> {
    pub(super) repo: &'a RepoName,
    pub(super) branch: &'a BranchName,
    pub(super) commit: &'a CommitId,
    pub(super) tmp: &'a Path,
}

/// What a build sees, before what its caller adds. The run's id is added by its supervisor.
pub(crate) fn declared(config: &Config, repo: &RepoConfig) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = config
        .build_env_base
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .collect();
    for (name, value) in [("LANG", "C.UTF-8"), ("TERM", "dumb"), ("CI", "true")] {
        env.insert(name.to_owned(), value.to_owned());
    }
    for (name, value) in &repo.env {
        env.insert(name.as_str().to_owned(), value.expose().to_owned());
    }
    env
}

pub(super) fn of_run(
    config: &Config,
    repo: &RepoConfig,
    kind: RunKind,
    git: (&Git, NetworkAccess),
    place: &RunPlace<'_>,
    workspace: &Path,
    added: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let mut env = match kind {
        RunKind::Git => git.0.environment(workspace, git.1).into_iter().collect(),
        RunKind::Make | RunKind::Task => declared(config, repo),
    };
    for (name, value) in [
        ("TMPDIR", place.tmp.to_string_lossy().into_owned()),
        ("BRANCHYARD_REPO", place.repo.to_string()),
        ("BRANCHYARD_BRANCH", place.branch.to_string()),
        ("BRANCHYARD_COMMIT", place.commit.to_string()),
    ] {
        env.insert(name.to_owned(), value);
    }
    env.extend(added.clone());
    env.into_iter().collect()
}

/// Values that must not be seen in a log: those of variables whose names say so, the token that opens the
/// remote, and those in the daemon's own environment.
pub(super) fn secrets(
    config: &Config,
    repo: &RepoConfig,
    caller: &BTreeMap<String, String>,
    token: Option<&Token>,
) -> Vec<String> {
    let here = config.access.tokens_in_environment();
    let declared = repo
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose()));
    let given = caller
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    declared
        .chain(given)
        .filter(|(name, _)| is_secret_name(name))
        .map(|(_, value)| value.to_owned())
        .chain(
            token
                .into_iter()
                .chain(&here)
                .map(|token| token.expose().to_owned()),
        )
        .collect()
}
