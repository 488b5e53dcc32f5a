//! All that start something by themselves, by repo.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::pulls::PullHint;
use crate::reason::Reason;
use crate::repo_watch::{RepoWatch, WatchStatus};
use crate::watch::watch;
use branchyard_db::security_db::audit::Audit;
use branchyard_model::{NamedRef, Problem, RepoName};
use branchyard_pipelines::Pipelines;
use branchyard_runs::Runs;
use branchyard_runtime::background::Background;
use branchyard_runtime::disk::if_there;
use branchyard_runtime::yard_events::{EventBus, RepoChange, YardChange};
use branchyard_workspace::repos::Repos;

/// What triggers are made of.
#[derive(Debug)]
pub struct TriggerParts<'a> {
    /// Where the daemon keeps its files.
    pub state: &'a Path,
    pub repos: Arc<Repos>,
    pub pipelines: Pipelines,
    pub runs: Runs,
    pub audit: Audit,
    pub background: Background,
    /// What was under way is another yard's.
    pub is_copy: bool,
}

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Triggers(Arc<BTreeMap<RepoName, Arc<RepoWatch>>>);

/// Begins to watch the repos that the operator says it of. To be called when pipelines and runs were adopted.
pub fn open(parts: TriggerParts<'_>) -> io::Result<Triggers> {
    let TriggerParts {
        state,
        repos,
        pipelines,
        runs,
        audit,
        background,
        is_copy,
    } = parts;
    let dir = state.join("triggers");
    if is_copy {
        // What was pushed since is the original's to build.
        if_there(fs::remove_dir_all(&dir))?;
    }
    fs::create_dir_all(dir.join("pulls"))?;
    let all = repos.list().into_iter();
    let watched = all.filter(|repo| repo.config().pipelines.auto);
    let watches = watched.map(|repo| {
        let name = repo.name().clone();
        let watch = RepoWatch::new(name.clone(), &dir, (&repos, &pipelines, &runs), &audit);
        (name, Arc::new(watch))
    });
    let triggers = Triggers(Arc::new(watches.collect()));
    let leaving = pipelines.leaving();
    if triggers.0.is_empty() {
        return Ok(triggers);
    }
    for one in triggers.0.values() {
        let (loops, leaving) = (background.loops.clone(), leaving.clone());
        let (one, this) = (one.clone(), one.clone());
        let kept = loops.keep("triggers", move || watch(one.clone()));
        background.tasks.spawn(async move {
            let left = async {
                leaving.cancelled().await;
                // A look that has begun comes to its end: its git would not be gone with it at once.
                let _ended = this.take_turn().await;
            };
            tokio::select! {
                () = kept => {}
                () = left => {}
            }
        });
    }
    let (this, news) = (triggers.clone(), repos.news().clone());
    let heard = background
        .loops
        .clone()
        .keep("pushes", move || hear(this.clone(), news.clone()));
    background
        .tasks
        .spawn(leaving.run_until_cancelled_owned(heard));
    Ok(triggers)
}

impl Triggers {
    /// How a repo is watched; none if nothing of it starts by itself.
    pub fn status(&self, repo: &RepoName) -> Option<WatchStatus> {
        self.0.get(repo).map(|watch| watch.status())
    }

    /// Has the remote of a repo asked soon what is new.
    pub fn ask(&self, repo: &RepoName, reason: Reason) {
        if let Some(watch) = self.0.get(repo) {
            watch.ask(reason);
        }
    }

    /// Has a pull request looked at soon, even if the daemon ends before.
    pub fn ask_of_pull(
        &self,
        repo: &RepoName,
        named: &NamedRef,
        hint: PullHint,
    ) -> Result<(), Problem> {
        match self.0.get(repo) {
            Some(watch) => watch.ask_of_pull(named, hint),
            None => Ok(()),
        }
    }
}

/// Hears of pushes through this daemon.
async fn hear(triggers: Triggers, news: EventBus) {
    let mut place = news.now();
    loop {
        let Ok(items) = news.after(place).await else {
            // Too much has happened since.
            place = news.now();
            for watch in triggers.0.values() {
                watch.ask(Reason::Push);
            }
            continue;
        };
        for item in items {
            place = item.place;
            if let YardChange::Repo(event) = &item.change
                && event.change == RepoChange::Pushed
            {
                triggers.ask(&event.repo, Reason::Push);
            }
        }
    }
}
