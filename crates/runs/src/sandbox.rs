//! Which runs are contained, and how: what the operator wants, what the machine has, and what becomes of
//! a run where the two do not meet.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::Checks;
use super::environment;
use super::exec::ExecFiles;
use super::step::StepPlace;
use branchyard_config::{Config, Destination, RepoConfig};
use branchyard_git::{Git, worktree_to_read, worktree_to_write};
use branchyard_model::{ErrorKind, Problem, RunKind, SandboxProfile};
use branchyard_process::{Containment, KeptWorktree, Mechanism, Mechanisms, Mount, Sandbox, Shown};
use branchyard_workspace::Workspace;
use branchyard_workspace::repos::Repo;

/// Where steps of pipelines find their worktree, in a directory called after the repo.
const STEPS_AT: &str = "/yard";
/// What callers' git commands are contained by: they need no network, for what talks to the remote is another.
const GIT_PROFILE: SandboxProfile = SandboxProfile::Strict;

/// The sandboxes of this daemon's runs.
#[derive(Debug)]
pub(super) struct Sandboxes {
    config: Arc<Config>,
    containment: Containment,
    /// Whether the daemon's own git is contained where it looks at worktrees.
    git: Mechanism,
}

/// What of a sandbox decides what a run finds in it.
#[derive(Debug, Serialize)]
pub(super) struct Decides {
    profile: SandboxProfile,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<Vec<Destination>>,
    read_only: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

/// What those who ask are told of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SandboxReport {
    /// Of repos that name none of their own.
    pub profile: SandboxProfile,
    /// Those that do.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repos: BTreeMap<String, SandboxProfile>,
    /// Why something that is wanted is not to be had, by profile.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub obstacles: BTreeMap<Cow<'static, str>, String>,
    pub mechanisms: Vec<Mechanism>,
}

impl Sandboxes {
    /// Tries what the configuration wants. `program` is this one.
    pub(super) async fn open(
        config: Arc<Config>,
        git: &Git,
        program: &Path,
        limits: &Mechanisms,
    ) -> Self {
        let mut wanted: Vec<_> = all_wanted(&config)
            .filter(|profile| *profile != SandboxProfile::None)
            .collect();
        if !wanted.is_empty() {
            wanted.push(GIT_PROFILE);
        }
        wanted.sort_by_key(|profile| profile.as_str());
        wanted.dedup();
        let containment = Containment::probe(&config.path, program, &wanted, limits).await;
        let git = Mechanism {
            name: "confined_git".into(),
            available: git.why_unconfined().is_none(),
            detail: git.why_unconfined().unwrap_or("in use").to_owned(),
        };
        Self {
            config,
            containment,
            git,
        }
    }

    /// The profile of a run, or why it cannot be had: what was asked for by name is that or nothing.
    pub(super) fn profile(
        &self,
        repo: &RepoConfig,
        kind: RunKind,
    ) -> Result<SandboxProfile, Problem> {
        let profile = self.usual_profile(repo, kind)?;
        if kind != RunKind::Git && self.network(repo).is_some() {
            let missing = match profile {
                SandboxProfile::None => Some("builds of this repo have no sandbox"),
                // That has a network of its own.
                _ => self.containment.obstacle(SandboxProfile::Strict),
            };
            if let Some(why) = missing {
                return Err(unbounded_network(why));
            }
        }
        match profile {
            SandboxProfile::None if kind == RunKind::Exec && !self.config.code.without_sandbox => {
                let detail = "builds of this repo have no sandbox, and commands of callers are run in one alone";
                Err(Problem::new(ErrorKind::Forbidden, "exec_needs_sandbox", detail).help(
                    "declare a task for it, or have the operator set sandbox.profile (`branchyard doctor` tells what \
                     the machine lacks), or code.without_sandbox where callers may do all that the daemon may",
                ))
            }
            profile => Ok(profile),
        }
    }

    fn usual_profile(&self, repo: &RepoConfig, kind: RunKind) -> Result<SandboxProfile, Problem> {
        let named = self.config.named_profile(Some(repo));
        let profile = named.unwrap_or(SandboxProfile::Standard);
        if profile == SandboxProfile::None {
            return Ok(profile);
        }
        if kind == RunKind::Git {
            let tried = [GIT_PROFILE, profile].into_iter();
            let mut available = tried.filter(|tried| self.containment.obstacle(*tried).is_none());
            return Ok(available.next().unwrap_or(SandboxProfile::None));
        }
        match (self.containment.obstacle(profile), named) {
            (None, _) => Ok(profile),
            (Some(_), None) => Ok(SandboxProfile::None),
            (Some(why), Some(_)) => Err(unavailable(profile, why)),
        }
    }

    /// Whether a run may be taken on, and with which profile: its sandbox can be had, and what is to be bound is there.
    pub(super) fn check(
        &self,
        repo: &RepoConfig,
        kind: RunKind,
    ) -> Result<SandboxProfile, Problem> {
        let profile = self.profile(repo, kind)?;
        if profile == SandboxProfile::None {
            return Ok(profile);
        }
        for path in self.binds(repo).into_iter().flatten() {
            if let Err(error) = std::fs::metadata(&path) {
                let why = format!("{} is to be bound: {error}", path.display());
                return Err(unavailable(profile, &why));
            }
        }
        Ok(profile)
    }

    /// The sandbox of a run that is about to start; `None` where it has none.
    pub(super) fn of_run(
        &self,
        workspace: &Workspace,
        kind: RunKind,
        checks: &Checks,
        exec_files: &ExecFiles,
    ) -> Result<Option<Sandbox>, Problem> {
        let (config, repo) = (&self.config, &workspace.repo());
        let profile = self.profile(repo.config(), kind)?;
        // Git that talks to the remote needs keys and the network, and is not started where a build's files are.
        if profile == SandboxProfile::None || checks.network {
            return Ok(None);
        }
        let (store, path) = (repo.store().path(), workspace.path());
        let (of_yard, [read_only, writable]) = match kind {
            RunKind::Git => (git_mounts(path, checks), Default::default()),
            RunKind::Make | RunKind::Task | RunKind::Exec | RunKind::Setup | RunKind::Step => {
                (build_mounts(store, path), self.binds(repo.config()))
            }
        };
        let mut of_yard = of_yard.map_err(|error| unavailable(profile, &error.to_string()))?;
        of_yard.extend(exec_files.mounts());
        let declared = environment::declared(config, repo.config());
        let shown = Shown {
            workspaces: &config.workspaces,
            of_yard: &of_yard,
            cwd: path,
            home: declared.get("HOME").map(Path::new),
            read_only: &read_only,
            writable: &writable,
            secret_files: &config.secret_files,
            network: self.network(repo.config()).filter(|_| kind != RunKind::Git),
            tmp_size: config.sandbox.tmp_size.as_u64(),
            kept: None,
        };
        let made = self.containment.sandbox(profile, &shown);
        made.map(Some).map_err(|why| unavailable(profile, &why))
    }

    /// Where a step finds its worktree: with a sandbox all worktrees of a repo have one name, so that what a step makes can
    /// be used in another.
    pub(super) fn step_directory(&self, repo: &Repo, worktree: &Path) -> Result<PathBuf, Problem> {
        let profile = self.profile(repo.config(), RunKind::Step)?;
        // A yard of this name would be covered by it.
        let is_taken = self.config.workspaces.starts_with(STEPS_AT);
        if profile == SandboxProfile::None || is_taken {
            return Ok(worktree.to_owned());
        }
        Ok(Path::new(STEPS_AT).join(repo.name().dir().as_str()))
    }

    /// The sandbox of a step that is about to start; `None` where it has none.
    pub(super) fn of_step(
        &self,
        repo: &Repo,
        place: &StepPlace,
    ) -> Result<Option<Sandbox>, Problem> {
        let config = &self.config;
        let profile = self.profile(repo.config(), RunKind::Step)?;
        if profile == SandboxProfile::None {
            return Ok(None);
        }
        let directory = self.step_directory(repo, &place.worktree)?;
        let mut of_yard = vec![
            Mount::ReadOnly(repo.store().path().to_owned()),
            Mount::Writable(place.files.clone()),
        ];
        of_yard.extend(place.script.clone().map(Mount::ReadOnly));
        let [read_only, writable] = self.binds(repo.config());
        let declared = environment::declared(config, repo.config());
        let cwd = directory.join(&place.working_directory);
        let shown = Shown {
            workspaces: &config.workspaces,
            of_yard: &of_yard,
            cwd: &cwd,
            home: declared.get("HOME").map(Path::new),
            read_only: &read_only,
            writable: &writable,
            secret_files: &config.secret_files,
            network: self.network(repo.config()),
            tmp_size: config.sandbox.tmp_size.as_u64(),
            kept: Some(KeptWorktree {
                home: &place.home,
                tmp: &place.tmp,
                worktree: (&place.worktree, &directory),
            }),
        };
        let made = self.containment.sandbox(profile, &shown);
        made.map(Some).map_err(|why| unavailable(profile, &why))
    }

    /// The sandbox of a command at the end of a run, which is that of the repo's tasks; `None` where these have none. It is
    /// at work in `work`, an empty directory.
    pub(super) fn of_after(
        &self,
        repo: &RepoConfig,
        program: &str,
        work: &Path,
    ) -> Result<Option<Sandbox>, Problem> {
        let config = &self.config;
        let profile = self.profile(repo, RunKind::Task)?;
        if profile == SandboxProfile::None {
            return Ok(None);
        }
        let mut of_yard = vec![Mount::Writable(work.to_owned())];
        // The operator's script need not be where builds find their programs.
        let script = Path::new(program);
        if script.is_absolute() && script.exists() {
            of_yard.push(Mount::ReadOnly(script.to_owned()));
        }
        let [read_only, writable] = self.binds(repo);
        let declared = environment::declared(config, repo);
        let shown = Shown {
            workspaces: &config.workspaces,
            of_yard: &of_yard,
            cwd: work,
            home: declared.get("HOME").map(Path::new),
            read_only: &read_only,
            writable: &writable,
            secret_files: &config.secret_files,
            network: self.network(repo),
            tmp_size: config.sandbox.tmp_size.as_u64(),
            kept: None,
        };
        let made = self.containment.sandbox(profile, &shown);
        made.map(Some).map_err(|why| unavailable(profile, &why))
    }

    pub(super) fn report(&self) -> SandboxReport {
        let usual = match self.containment.obstacle(SandboxProfile::Standard) {
            Some(_) => SandboxProfile::None,
            None => SandboxProfile::Standard,
        };
        let config = &self.config;
        let repos = config.repos.iter().filter_map(|(name, repo)| {
            let profile = repo.sandbox.profile?;
            Some((name.to_string(), profile))
        });
        let tried = [SandboxProfile::Standard, SandboxProfile::Strict];
        let is_wanted =
            |profile: &SandboxProfile| all_wanted(config).any(|wanted| wanted == *profile);
        SandboxReport {
            profile: config.sandbox.profile.unwrap_or(usual),
            repos: repos.collect(),
            obstacles: tried
                .into_iter()
                .filter(is_wanted)
                .filter_map(|profile| {
                    let why = self.containment.obstacle(profile)?;
                    Some((profile.as_str().into(), why.to_owned()))
                })
                .collect(),
            mechanisms: [
                self.containment.mechanisms(),
                std::slice::from_ref(&self.git),
            ]
            .concat(),
        }
    }

    /// What of a sandbox decides what a run finds in it.
    pub(super) fn decides(&self, repo: &RepoConfig, kind: RunKind) -> Result<Decides, Problem> {
        let profile = self.profile(repo, kind)?;
        let [read_only, writable] = match profile {
            SandboxProfile::None => Default::default(),
            _ => self.binds(repo),
        };
        Ok(Decides {
            profile,
            network: self.network(repo).map(<[_]>::to_vec),
            read_only,
            writable,
        })
    }

    /// Where builds of this repo may connect to, where that is bounded.
    pub(super) fn network<'a>(&'a self, repo: &'a RepoConfig) -> Option<&'a [Destination]> {
        let own = repo.sandbox.network.as_deref();
        own.or(self.config.sandbox.network.as_deref())
    }

    /// What the operator has builds of this repo see besides: to read, and to change.
    fn binds(&self, repo: &RepoConfig) -> [Vec<PathBuf>; 2] {
        let (all, own) = (&self.config.sandbox, &repo.sandbox);
        [
            [&*all.binds_read_only, &*own.binds_read_only].concat(),
            [&*all.binds_writable, &*own.binds_writable].concat(),
        ]
    }
}

impl SandboxReport {
    /// Whether some builds may do all that the daemon's user may.
    pub fn leaves_bare(&self) -> bool {
        let mut profiles = self.repos.values().chain([&self.profile]);
        profiles.any(|profile| *profile == SandboxProfile::None)
    }
}

fn build_mounts(store: &Path, path: &Path) -> io::Result<Vec<Mount>> {
    // By its real name: the yard may be behind a link.
    let link = path.canonicalize()?.join(".git");
    Ok(vec![
        Mount::ReadOnly(store.to_owned()),
        Mount::Writable(path.to_owned()),
        Mount::ReadOnly(link),
    ])
}

fn git_mounts(path: &Path, checks: &Checks) -> io::Result<Vec<Mount>> {
    let path = path.canonicalize()?;
    match checks.reads {
        true => worktree_to_read(&path),
        false => worktree_to_write(&path),
    }
}

/// What each repo is to be built with, and what others are.
fn all_wanted(config: &Config) -> impl Iterator<Item = SandboxProfile> {
    let repos = config.repos.values().map(Some).chain([None]);
    repos.map(|repo| {
        let named = config.named_profile(repo);
        named.unwrap_or(SandboxProfile::Standard)
    })
}

fn unbounded_network(why: &str) -> Problem {
    let detail = format!("where builds may connect to cannot be bounded here: {why}");
    Problem::new(ErrorKind::Unavailable, "network_not_bounded", detail).help(
        "the operator mends what `branchyard doctor` names, or changes sandbox.network; then start the daemon anew",
    )
}

fn unavailable(profile: SandboxProfile, why: &str) -> Problem {
    let name = profile.as_str();
    Problem::new(
        ErrorKind::Unavailable,
        "sandbox_unavailable",
        format!("the sandbox {name:?} that is asked for cannot be had: {why}"),
    )
    .help(
        "the operator mends what `branchyard doctor` names (bubblewrap 0.7 or later, user namespaces, the \
         paths in sandbox.binds_…), or changes sandbox.profile; then start the daemon anew",
    )
}
