//! Which commit a pipeline is for, and what its workflow file says there. Nothing is changed but the store, which is brought
//! up to date.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use crate::action_files::CommitFiles;
use crate::pipelines::Pipelines;
use branchyard_git::{self as git, CommitTree, Repository, commit_id, object_id};
use branchyard_model::{BranchName, CommitId, ErrorKind, PipelineId, Problem};
use branchyard_workflow::{Workflow, WorkflowFault, WorkflowOptions, check};
use branchyard_workspace::repos::{Repo, remote};
use branchyard_workspace::snapshot;

/// What the reader of workflow files takes.
const MAX_FILE: usize = 256 << 10;
/// By then what was about to begin has begun.
const SETTLED: SignedDuration = SignedDuration::from_hours(1);
const OWN_DIRECTORY: &str = ".branchyard/workflows";
const USUAL_DIRECTORY: &str = ".github/workflows";

/// The commit of a pipeline.
#[derive(Debug, Clone)]
pub(crate) struct PipelineCommit {
    pub(crate) branch: BranchName,
    pub(crate) commit: CommitId,
    pub(crate) tree: CommitId,
    /// Whether the remote has it on the branch.
    pub(crate) is_on_remote: bool,
    pub(crate) is_remote_tip: bool,
}

/// A workflow file as the commit has it.
#[derive(Debug)]
pub(crate) struct WorkflowText {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The branch that is meant where none is named.
pub(crate) async fn branch(
    repo: &Arc<Repo>,
    named: Option<&BranchName>,
) -> Result<BranchName, Problem> {
    if let Some(branch) = named {
        return Ok(branch.clone());
    }
    let learned = repo.learn_default().await;
    learned.map_err(|error| error.problem())?;
    let name = repo.default_branch().ok_or_else(|| {
        let detail = "the remote does not say which branch is its default";
        Problem::unprocessable("branch", detail).help("name the branch")
    })?;
    BranchName::parse(&name)
}

/// Brings the branch here, and finds the commit that is meant: the newest that this yard or the remote has of it, or the
/// one that is named, which has to be of the branch.
pub(crate) async fn commit(
    repo: &Arc<Repo>,
    branch: &BranchName,
    wanted: Option<&CommitId>,
) -> Result<PipelineCommit, Problem> {
    let asked = remote::ask(repo, branch, Instant::now()).await;
    let asked = asked.map_err(|error| error.problem())?;
    if asked.head.is_none() && !repo.is_cloned() {
        return Err(branch_not_found(branch));
    }
    let brought = remote::bring(repo, branch, &asked, &|_, _| {}).await;
    brought.map_err(|error| error.problem())?;
    let (branch, wanted) = (branch.clone(), wanted.cloned());
    with_store(repo, move |store| {
        let remote = asked.head.as_ref().map(object_id).transpose()?;
        let local = git::read_ref(store, &branch.local_ref())?;
        let found = match (&wanted, remote, local) {
            (Some(wanted), ..) => {
                let id = object_id(wanted)?;
                let tips = [remote, local].into_iter().flatten();
                let is_of_branch = git::has_commit(store, id)
                    && tips
                        .map(|tip| git::is_ancestor(store, id, tip))
                        .collect::<Result<Vec<_>, _>>()?
                        .contains(&true);
                if !is_of_branch {
                    return Err(commit_not_found(wanted, &branch));
                }
                id
            }
            // What was committed here and not pushed yet.
            (None, Some(remote), Some(local)) if git::is_ancestor(store, remote, local)? => local,
            (None, Some(remote), _) => remote,
            (None, None, Some(local)) => local,
            (None, None, None) => return Err(branch_not_found(&branch)),
        };
        let is_on_remote = match remote {
            Some(tip) => git::is_ancestor(store, found, tip)?,
            None => false,
        };
        Ok(PipelineCommit {
            branch,
            is_on_remote,
            is_remote_tip: remote == Some(found),
            commit: commit_id(found)?,
            tree: CommitTree::of(store, found)?.id()?,
        })
    })
    .await
}

/// The workflow file that is meant, as the commit has it.
pub(crate) async fn workflow_text(
    repo: &Arc<Repo>,
    commit: &CommitId,
    file: Option<&str>,
) -> Result<WorkflowText, Problem> {
    let (commit, file) = (commit.clone(), file.map(str::to_owned));
    let allowed = repo.config().pipelines.files.clone();
    with_store(repo, move |store| {
        let tree = CommitTree::of(store, object_id(&commit)?)?;
        let is_workflow = |path: &Path| {
            let is_yaml = path
                .extension()
                .is_some_and(|extension| extension == "yml" || extension == "yaml");
            let is_allowed = match &allowed {
                Some(allowed) => allowed.matches(path),
                None => path.parent() == Some(Path::new(OWN_DIRECTORY)),
            };
            is_yaml && is_allowed
        };
        let mut known: Vec<PathBuf> = Vec::new();
        for dir in [OWN_DIRECTORY, USUAL_DIRECTORY] {
            let names = tree.names_in(Path::new(dir))?;
            let paths = names.into_iter().map(|name| Path::new(dir).join(name));
            known.extend(paths.filter(|path| is_workflow(path)));
        }
        let path = choose(&known, file.as_deref(), is_workflow)?;
        let read = tree.read(&path, MAX_FILE).map_err(|error| {
            Problem::unprocessable("file", format!("the workflow file cannot be read: {error}"))
        })?;
        let bytes = read.ok_or_else(|| no_such_file(&path.to_string_lossy(), &known))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Problem::unprocessable("file", "the workflow file is not UTF-8"))?;
        Ok(WorkflowText {
            path: path.to_string_lossy().into_owned(),
            text,
        })
    })
    .await
}

/// Checks a workflow file, with the actions of the commit that it uses.
pub(crate) async fn check_workflow(
    repo: &Arc<Repo>,
    commit: &CommitId,
    file: &WorkflowText,
    options: WorkflowOptions,
) -> Result<Result<Workflow, Vec<WorkflowFault>>, Problem> {
    let (commit, path, text) = (commit.clone(), file.path.clone(), file.text.clone());
    with_store(repo, move |store| {
        let files = CommitFiles(CommitTree::of(store, object_id(&commit)?)?);
        Ok(check(&path, &text, &options, &files))
    })
    .await
}

fn choose(
    known: &[PathBuf],
    file: Option<&str>,
    is_workflow: impl Fn(&Path) -> bool,
) -> Result<PathBuf, Problem> {
    let Some(file) = file else {
        return match known {
            [only] => Ok(only.clone()),
            [] => Err(no_such_file("any", known)),
            many => {
                let detail = format!("the commit has {} workflow files: name one", many.len());
                Err(Problem::unprocessable("file", detail).help(listed(many)))
            }
        };
    };
    if !file.contains('/') {
        let named = known
            .iter()
            .find(|path| path.file_name().is_some_and(|name| name == file));
        return named.cloned().ok_or_else(|| no_such_file(file, known));
    }
    let path = Path::new(file);
    let is_plain = path
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    match is_plain && is_workflow(path) {
        true => Ok(path.to_owned()),
        false => Err(no_such_file(file, known)),
    }
}

fn no_such_file(file: &str, known: &[PathBuf]) -> Problem {
    let detail = match file {
        "any" => "the commit has no workflow file".to_owned(),
        file => format!("the commit has no workflow file {file}"),
    };
    let help = match known {
        [] => "workflow files are in .branchyard/workflows, or where the operator says (`files` in [repos.NAME.pipelines])"
            .to_owned(),
        known => listed(known),
    };
    Problem::new(ErrorKind::NotFound, "workflow_not_found", detail)
        .field("file")
        .help(help)
}

fn listed(known: &[PathBuf]) -> String {
    let names: Vec<_> = known.iter().map(|path| path.to_string_lossy()).collect();
    format!("it has {}", names.join(", "))
}

/// Asks the store of a repo, where blocking is allowed.
pub(crate) async fn with_store<T: Send + 'static>(
    repo: &Arc<Repo>,
    ask: impl FnOnce(&Repository) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let repo = repo.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let store = repo.open_store().map_err(|error| error.problem())?;
        ask(&store)
    });
    asked
        .await
        .map_err(|error| Problem::new(ErrorKind::Internal, "look_failed", error.to_string()))?
}

/// The files of the branch's workspace as a commit, with what is not committed. Who works there goes on.
pub(crate) async fn snapshot(
    pipelines: &Pipelines,
    repo: &Arc<Repo>,
    branch: &BranchName,
    id: PipelineId,
) -> Result<PipelineCommit, Problem> {
    let workspace = pipelines.inner().workspaces.look_at(repo, branch);
    let made = snapshot::snapshot(&workspace, id).await;
    let made = made.map_err(|error| pipelines.inner().margin.judge(error.problem()))?;
    let branch = branch.clone();
    with_store(repo, move |store| {
        Ok(PipelineCommit {
            branch,
            is_on_remote: false,
            is_remote_tip: false,
            commit: commit_id(made)?,
            tree: CommitTree::of(store, made)?.id()?,
        })
    })
    .await
}

/// Lets go of snapshots of which there is no pipeline any more. Blocks.
pub(crate) fn forget_snapshots(pipelines: &Pipelines, now: Timestamp) {
    // One that is younger may be about to have its pipeline.
    let horizon = now.checked_sub(SETTLED).unwrap_or(Timestamp::MIN);
    for repo in pipelines.inner().repos.list() {
        let Ok(store) = repo.open_store() else {
            continue;
        };
        let is_known = |id: &PipelineId| pipelines.inner().known.read().contains_key(id);
        let gone = git::snapshots(&store).unwrap_or_default();
        for id in gone
            .iter()
            .filter(|id| !is_known(id) && id.made_at() < horizon)
        {
            if let Err(error) = git::forget_snapshot(&store, *id) {
                tracing::warn!(pipeline = %id, %error, "the snapshot of a pipeline stays");
            }
        }
    }
}

fn branch_not_found(branch: &BranchName) -> Problem {
    let detail = format!("neither the remote nor this yard has a branch {branch}");
    Problem::new(ErrorKind::NotFound, "branch_not_found", detail).field("branch")
}

fn commit_not_found(commit: &CommitId, branch: &BranchName) -> Problem {
    let detail = format!("the branch {branch} has no commit {commit}");
    Problem::new(ErrorKind::NotFound, "commit_not_found", detail)
        .field("commit")
        .help("name the branch that has it; a new commit has to be pushed, or be in the workspace of its branch")
}
