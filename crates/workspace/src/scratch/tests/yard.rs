//! A yard with one repository, whose store is made by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::repos::{Repo, Repos};
use crate::setup::KeptSetups;
use crate::{ScratchPool, Ticks, Workspaces};
use branchyard_config::{Config, Environment, Flags, SigningFormat, Sources};
use branchyard_git::{Git, Settings, Signing, isolate_libgit2};
use branchyard_model::{CommitId, RepoName};
use branchyard_runtime::disk::Trash;
use branchyard_runtime::yard_events::EventBus;

pub(super) struct ScratchYard {
    dir: tempfile::TempDir,
    repo: Arc<Repo>,
    workspaces: Workspaces,
    trash: Trash,
    ticks: Arc<Ticks>,
}

impl ScratchYard {
    pub(super) async fn new() -> Self {
        isolate_libgit2();
        let dir = tempfile::tempdir().unwrap();
        let (root, state) = (dir.path().join("yard"), dir.path().join("yard/.branchyard"));
        fs::create_dir_all(&state).unwrap();
        let config = Arc::new(config(&root));
        let tasks = TaskTracker::new();
        let trash = Trash::open(state.join("trash"), &Default::default()).unwrap();
        let git = Git::new(settings(), Err("a test".to_owned()), trash.clone());
        let repos = Repos::load(
            config.clone(),
            git.clone(),
            tasks.clone(),
            &trash,
            EventBus::default(),
        );
        let repos = repos.unwrap();
        let repo = repos.get(&RepoName::parse("demo").unwrap()).unwrap();
        fs::create_dir_all(repo.home()).unwrap();
        let store = repo.store().path().to_owned();
        say(
            &git,
            repo.home(),
            &["init", "--quiet", "--bare", &text(&store)],
        )
        .await;
        repo.guard_store().unwrap();
        let info = r#"{"version":1,"repo":"demo","url":"https://example.org/demo","default_branch":"main"}"#;
        fs::write(store.join("branchyard.json"), info).unwrap();
        let ticks = Arc::new(Ticks::open(&state, &repos));
        let workspaces = Workspaces::new(&config, tasks, trash.clone(), ticks.clone(), &state);
        let source = dir.path().join("source");
        fs::create_dir(&source).unwrap();
        say(&git, &source, &["init", "--quiet"]).await;
        Self {
            dir,
            repo,
            workspaces,
            trash,
            ticks,
        }
    }

    pub(super) fn repo(&self) -> &Arc<Repo> {
        &self.repo
    }

    pub(super) fn workspaces(&self) -> &Workspaces {
        &self.workspaces
    }

    pub(super) fn pool(&self) -> &ScratchPool {
        self.workspaces.scratch()
    }

    /// As the next daemon has it.
    pub(super) fn another_pool(&self) -> ScratchPool {
        let checkouts = Arc::new(Semaphore::new(1));
        ScratchPool::new(
            self.trash.clone(),
            TaskTracker::new(),
            checkouts,
            self.ticks.clone(),
            Arc::new(KeptSetups::at(self.dir.path().join("setups"))),
        )
    }

    /// A commit of these files alone, in the store.
    pub(super) async fn commit(&self, files: &[(&str, &str)]) -> CommitId {
        let (git, source) = (self.repo.git(), self.dir.path().join("source"));
        for (name, content) in files {
            let path = source.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        say(git, &source, &["add", "--all"]).await;
        say(git, &source, &["commit", "--quiet", "--message", "files"]).await;
        let store = self.repo.store().path();
        say(git, store, &["fetch", "--quiet", &text(&source), "HEAD"]).await;
        let head = say(git, &source, &["rev-parse", "HEAD"]).await;
        CommitId::parse(head.trim()).unwrap()
    }
}

async fn say(git: &Git, dir: &Path, args: &[&str]) -> String {
    let said = git.at(dir).args(args).output().await.unwrap();
    String::from_utf8(said).unwrap()
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn config(root: &Path) -> Config {
    let file = root.join("workspaces.toml");
    let toml = format!(
        "workspaces = {root:?}\n[repos.demo]\nurl = \"https://example.org/demo\"\ndefault_branch = \"main\"\n"
    );
    fs::write(&file, toml).unwrap();
    let sources = Sources {
        file: Some(file),
        env: Environment::from_process(),
        flags: Flags::default(),
    };
    Config::load(sources).unwrap()
}

fn settings() -> Settings {
    Settings {
        path: env!("PATH").to_owned(),
        home: "/nonexistent".to_owned(),
        ssh_auth_sock: None,
        ssh_command: "ssh".to_owned(),
        proxy: None,
        no_proxy: None,
        ca_file: None,
        program: PathBuf::from("branchyard"),
        user_name: "Test".to_owned(),
        user_email: "test@localhost".to_owned(),
        protocols: "file".to_owned(),
        lfs: false,
        freshness: Duration::ZERO,
        remote_timeout: Duration::from_secs(10),
        stall_timeout: Duration::from_secs(10),
        fetch_timeout: Duration::from_secs(10),
        checkout_workers: 1,
        memory: 8 << 30,
        signing: Signing {
            key: None,
            format: SigningFormat::Ssh,
            allowed_signers: None,
        },
    }
}
