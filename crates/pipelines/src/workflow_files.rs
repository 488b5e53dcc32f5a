//! The workflow files of a commit: found, read and checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::action_files::CommitFiles;
use crate::source::with_store;
use branchyard_git::{CommitTree, object_id};
use branchyard_model::{CommitId, ErrorKind, Problem};
use branchyard_workflow::{Workflow, WorkflowFault, WorkflowOptions, check};
use branchyard_workspace::repos::Repo;

/// What the reader of workflow files takes.
const MAX_FILE: usize = 256 << 10;
const OWN_DIRECTORY: &str = ".branchyard/workflows";

/// A workflow file as the commit has it.
#[derive(Debug)]
pub(crate) struct WorkflowText {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The workflow file that is meant, as the commit has it.
pub(crate) async fn workflow_text(
    repo: &Arc<Repo>,
    commit: &CommitId,
    file: Option<&str>,
) -> Result<WorkflowText, Problem> {
    let file = file.map(str::to_owned);
    with_commit(repo, commit, move |tree, is_workflow, known| {
        let path = choose(known, file.as_deref(), is_workflow)?;
        read_workflow(tree, &path, known)
    })
    .await
}

/// All workflow files of a commit; those that cannot be read with what is wrong with them.
pub(crate) async fn workflow_texts(
    repo: &Arc<Repo>,
    commit: &CommitId,
) -> Result<Vec<(String, Result<WorkflowText, Problem>)>, Problem> {
    with_commit(repo, commit, |tree, _, known| {
        let read = known.iter().map(|path| {
            let shown = path.to_string_lossy().into_owned();
            (shown, read_workflow(tree, path, known))
        });
        Ok(read.collect())
    })
    .await
}

/// Asks the files of a commit, which paths are of workflow files as the operator says, and which of these it has.
async fn with_commit<T: Send + 'static>(
    repo: &Arc<Repo>,
    commit: &CommitId,
    ask: impl FnOnce(&CommitTree<'_>, &dyn Fn(&Path) -> bool, &[PathBuf]) -> Result<T, Problem>
    + Send
    + 'static,
) -> Result<T, Problem> {
    let (commit, allowed) = (commit.clone(), repo.config().pipelines.files.clone());
    with_store(repo, move |store| {
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
        let tree = CommitTree::of(store, object_id(&commit)?)?;
        let known: Vec<_> = match &allowed {
            // Wherever the operator says that they may be.
            Some(_) => {
                let files = tree.entries(is_workflow)?.into_iter();
                files.map(|(path, ..)| path).collect()
            }
            None => {
                let names = tree.names_in(Path::new(OWN_DIRECTORY))?.into_iter();
                let paths = names.map(|name| Path::new(OWN_DIRECTORY).join(name));
                paths.filter(|path| is_workflow(path)).collect()
            }
        };
        ask(&tree, &is_workflow, &known)
    })
    .await
}

fn read_workflow(
    tree: &CommitTree<'_>,
    path: &Path,
    known: &[PathBuf],
) -> Result<WorkflowText, Problem> {
    let read = tree.read(path, MAX_FILE).map_err(|error| {
        Problem::unprocessable("file", format!("the workflow file cannot be read: {error}"))
    })?;
    let bytes = read.ok_or_else(|| no_such_file(&path.to_string_lossy(), known))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Problem::unprocessable("file", "the workflow file is not UTF-8"))?;
    Ok(WorkflowText {
        path: path.to_string_lossy().into_owned(),
        text,
    })
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
    is_workflow: &dyn Fn(&Path) -> bool,
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
