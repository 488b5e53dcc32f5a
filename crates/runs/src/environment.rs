//! The environment of a command: declared, not inherited. Of the daemon's own it gets PATH and HOME.

use std::collections::BTreeMap;
use std::path::Path;

use branchyard_config::{
    Config, PORTS_EACH, RepoConfig, SecretValue, Token, Webhook, is_secret_name,
};
use branchyard_git::{NetworkAccess, author_variables};
use branchyard_model::{CommitId, RunKind, RunSpec, SyncMode, slug};
use branchyard_workspace::Workspace;
use branchyard_workspace::repos::Repo;

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

/// What a build knows of the workspace that it runs in. `port` is the first of its ports.
pub(crate) fn of_workspace(
    workspace: &Workspace,
    commit: &CommitId,
    port: Option<u16>,
) -> impl Iterator<Item = (String, String)> + use<> {
    let (repo, branch) = (workspace.repo().name(), workspace.branch());
    let names = [
        ("BRANCHYARD_REPO", repo.to_string()),
        ("BRANCHYARD_BRANCH", branch.to_string()),
        ("BRANCHYARD_COMMIT", commit.to_string()),
        ("BRANCHYARD_SLUG", slug(repo, branch)),
    ];
    let ports = port.map_or(0..0, |first| first..first.saturating_add(PORTS_EACH));
    let ports = ports.enumerate().map(|(nth, port)| match nth {
        0 => ("BRANCHYARD_PORT".to_owned(), port.to_string()),
        nth => (format!("BRANCHYARD_PORT_{nth}"), port.to_string()),
    });
    let names = names.map(|(name, value)| (name.to_owned(), value));
    names.into_iter().chain(ports)
}

/// How many jobs a build tool should have, as tools other than make are told.
pub(crate) fn job_counts(jobs: &str) -> [(String, String); 2] {
    ["CARGO_BUILD_JOBS", "CMAKE_BUILD_PARALLEL_LEVEL"]
        .map(|name| (name.to_owned(), jobs.to_owned()))
}

/// What a command sees that runs in `workspace`, with what its caller adds. What is the workspace's own is `own`.
pub(super) fn of_run(
    config: &Config,
    repo: &Repo,
    spec: &RunSpec,
    (workspace, reach): (&Path, NetworkAccess),
    own: impl Iterator<Item = (String, String)>,
    (tmp, jobs): (&Path, u32),
) -> BTreeMap<String, String> {
    let mut env: BTreeMap<_, _> = match spec.kind {
        RunKind::Git => {
            let git = repo.git().environment(workspace, reach);
            let mut env: BTreeMap<_, _> = git.into_iter().collect();
            if spec.sync == SyncMode::None {
                // It may go on beside others, whose index it must not lock only to refresh it.
                env.insert("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned());
            }
            env
        }
        RunKind::Make | RunKind::Task | RunKind::Exec | RunKind::Setup | RunKind::Step => {
            let mut env = BTreeMap::from(job_counts(&jobs.to_string()));
            env.extend(declared(config, repo.config()));
            env
        }
    };
    env.extend(own);
    env.insert("TMPDIR".to_owned(), tmp.to_string_lossy().into_owned());
    if spec.kind == RunKind::Exec {
        let settings = repo.git().settings();
        for role in ["AUTHOR", "COMMITTER"] {
            env.insert(format!("GIT_{role}_NAME"), settings.user_name.clone());
            env.insert(format!("GIT_{role}_EMAIL"), settings.user_email.clone());
        }
    }
    if let (RunKind::Exec | RunKind::Git, Some(author)) = (spec.kind, &spec.author) {
        let own = author_variables(author).map(|(name, value)| (name.to_owned(), value.to_owned()));
        env.extend(own);
    }
    env.extend(spec.env.clone());
    env
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
    let named = declared
        .chain(given)
        .filter(|(name, _)| is_secret_name(name))
        .map(|(_, value)| value);
    let tokens = token.into_iter().chain(&here).map(Token::expose);
    let webhooks = config.webhooks.values().filter_map(Webhook::in_environment);
    let hooks = config
        .hooks
        .in_environment()
        .chain(webhooks)
        .map(SecretValue::expose);
    let forges = config.forges.in_environment().map(Token::expose);
    let all = named.chain(tokens).chain(hooks).chain(forges);
    all.map(str::to_owned).collect()
}
