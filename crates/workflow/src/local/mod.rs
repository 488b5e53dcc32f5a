//! The composite actions of a commit that the steps of a workflow use, by any way. Each is read once.

mod uses;

use std::collections::BTreeMap;

use crate::fault::FaultList;
use crate::options::WorkflowOptions;
use crate::read::{ActionModel, FileModel, Reader, StepBody, StepModel, read_action};
use crate::yaml::{LineIndex, parse};

pub(crate) use uses::check_uses;

/// A workflow that uses more is refused: the plan keeps the texts of all.
const MAX_ACTIONS: usize = 50;
/// As GitHub looks for them.
const NAMES: [&str; 2] = ["action.yml", "action.yaml"];

/// Where the files of actions are: this crate reads none.
pub trait ActionFiles {
    /// The text of a file of the commit, or none where no file is there. An error says why it cannot be read.
    fn read(&self, path: &str) -> Result<Option<String>, String>;
}

/// Texts by their paths, as a plan keeps them.
impl ActionFiles for BTreeMap<String, String> {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        Ok(self.get(path).cloned())
    }
}

/// A composite action.
#[derive(Debug)]
pub(crate) struct LocalAction {
    pub file: String,
    pub lines: LineIndex,
    pub model: ActionModel,
}

impl LocalAction {
    pub(crate) fn faults(&self) -> FaultList<'_> {
        FaultList::new(&self.file, &self.lines)
    }
}

/// The actions by their directories.
pub(crate) type LocalActions = BTreeMap<String, LocalAction>;

/// The directories of the actions that steps use themselves.
pub(crate) fn used(steps: &[StepModel]) -> impl Iterator<Item = (&StepModel, &str)> {
    steps.iter().filter_map(|step| match &step.body {
        StepBody::Local(directory) => Some((step, directory.as_str())),
        _ => None,
    })
}

/// Reads all that are used by any way. Of those that cannot be read, it says why not.
pub(crate) fn load(
    files: &dyn ActionFiles,
    workflow: &FileModel,
    options: &WorkflowOptions,
    faults: &mut FaultList<'_>,
) -> (LocalActions, BTreeMap<String, String>) {
    let (mut actions, mut missing) = (LocalActions::new(), BTreeMap::new());
    let of_jobs = workflow.jobs.iter().flat_map(|job| used(&job.steps));
    let mut left: Vec<String> = of_jobs.map(|(_, directory)| directory.to_owned()).collect();
    while let Some(directory) = left.pop() {
        if actions.contains_key(&directory) || missing.contains_key(&directory) {
            continue;
        }
        let found = match actions.len() < MAX_ACTIONS {
            true => find(files, &directory),
            false => Err(format!("the workflow uses more than {MAX_ACTIONS} actions")),
        };
        match found {
            Ok((file, text)) => {
                let action = read(file, &text, options, faults);
                let inner = used(&action.model.steps);
                left.extend(inner.map(|(_, directory)| directory.to_owned()));
                actions.insert(directory, action);
            }
            Err(why) => drop(missing.insert(directory, why)),
        }
    }
    (actions, missing)
}

/// The file of an action, and its text.
fn find(files: &dyn ActionFiles, directory: &str) -> Result<(String, String), String> {
    for name in NAMES {
        let file = match directory {
            "" => name.to_owned(),
            directory => format!("{directory}/{name}"),
        };
        let text = files.read(&file);
        if let Some(text) = text.map_err(|why| format!("{file} cannot be read: {why}"))? {
            return Ok((file, text));
        }
    }
    let place = match directory {
        "" => "the root of the commit",
        directory => directory,
    };
    Err(format!(
        "neither action.yml nor action.yaml is a file in {place}; add one, or correct the path"
    ))
}

fn read(
    file: String,
    text: &str,
    options: &WorkflowOptions,
    faults: &mut FaultList<'_>,
) -> LocalAction {
    let lines = LineIndex::new(text);
    let mut own = FaultList::new(&file, &lines);
    let model = match parse(&lines) {
        Ok(tree) => {
            let mut reader = Reader::new(own, false, &options.skip_actions, &options.linux_labels);
            let model = read_action(&mut reader, &tree);
            own = reader.into_faults();
            model
        }
        Err((at, message)) => {
            own.invalid(at, message);
            ActionModel::default()
        }
    };
    faults.absorb(own);
    LocalAction { file, lines, model }
}
