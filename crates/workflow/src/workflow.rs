//! A file that was checked.

use std::collections::BTreeMap;

use crate::check::check_file;
use crate::event::EventKind;
use crate::fault::{FaultList, WorkflowFault};
use crate::local::{ActionFiles, LocalActions, check_uses, load};
use crate::options::WorkflowOptions;
use crate::read::{FileModel, Reader, read_file};
use crate::yaml::{LineIndex, parse};

/// Only files in here may have Branchyard's own keys.
const OWN_DIRECTORY: &str = ".branchyard/workflows/";

/// A workflow in which nothing is wrong that can be known without an event.
#[derive(Debug)]
pub struct Workflow {
    path: String,
    lines: LineIndex,
    model: FileModel,
    actions: LocalActions,
    options: WorkflowOptions,
    warnings: Vec<WorkflowFault>,
}

/// Reads and checks the text of a file, and the actions of the commit that it uses. All that is wrong with them comes at
/// once, in order of their lines.
pub fn check(
    path: &str,
    text: &str,
    options: &WorkflowOptions,
    files: &dyn ActionFiles,
) -> Result<Workflow, Vec<WorkflowFault>> {
    let lines = LineIndex::new(text);
    let mut faults = FaultList::new(path, &lines);
    let tree = match parse(&lines) {
        Ok(tree) => tree,
        Err((at, message)) => {
            faults.invalid(at, message);
            return Err(faults.finish().err().unwrap_or_default());
        }
    };
    let allows_own = path.starts_with(OWN_DIRECTORY);
    let mut reader = Reader::new(
        faults,
        allows_own,
        &options.skip_actions,
        &options.linux_labels,
    );
    let model = read_file(&mut reader, &tree);
    let mut faults = reader.into_faults();
    let (actions, missing) = load(files, &model, options, &mut faults);
    check_uses(&mut faults, &model, &actions, &missing);
    check_file(&mut faults, &model, &actions);
    let warnings = faults.finish()?;
    Ok(Workflow {
        path: path.to_owned(),
        lines,
        model,
        actions,
        options: options.clone(),
        warnings,
    })
}

impl Workflow {
    /// What is left out or starts nothing here, such as steps of skipped actions.
    pub fn warnings(&self) -> &[WorkflowFault] {
        &self.warnings
    }

    /// The events that start something, in the order of the file.
    pub fn events(&self) -> impl Iterator<Item = EventKind> {
        self.model.triggers.iter().map(|trigger| trigger.kind)
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// The schedules as cron and time zone.
    pub fn schedules(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let crons = self
            .model
            .triggers
            .iter()
            .flat_map(|trigger| &trigger.crons);
        crons.map(|(cron, zone)| (cron.as_str(), zone.as_deref()))
    }

    /// The texts of the actions that it uses, by their paths.
    pub fn action_texts(&self) -> BTreeMap<String, String> {
        let actions = self.actions.values();
        actions
            .map(|action| (action.file.clone(), action.lines.text().to_owned()))
            .collect()
    }

    pub(crate) fn actions(&self) -> &LocalActions {
        &self.actions
    }

    pub(crate) fn model(&self) -> &FileModel {
        &self.model
    }

    pub(crate) fn options(&self) -> &WorkflowOptions {
        &self.options
    }

    pub(crate) fn faults(&self) -> FaultList<'_> {
        FaultList::new(&self.path, &self.lines)
    }
}
