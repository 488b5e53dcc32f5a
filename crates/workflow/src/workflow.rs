//! A file that was checked.

use crate::check::check_file;
use crate::event::EventKind;
use crate::fault::{FaultList, WorkflowFault};
use crate::read::{FileModel, Reader, read_file};
use crate::yaml::{LineIndex, parse};

/// Only files in here may have Branchyard's own keys.
const OWN_DIRECTORY: &str = ".branchyard/workflows/";

/// What the operator says of workflows.
#[derive(Debug, Clone, Default)]
pub struct WorkflowOptions {
    /// Globs of actions whose steps are left out, such as `codecov/*`.
    pub skip_actions: Vec<String>,
    /// Labels of `runs-on` that stand for Linux, beside `ubuntu-*` and `linux`.
    pub linux_labels: Vec<String>,
}

/// A workflow in which nothing is wrong that can be known without an event.
#[derive(Debug)]
pub struct Workflow {
    path: String,
    lines: LineIndex,
    model: FileModel,
    options: WorkflowOptions,
    warnings: Vec<WorkflowFault>,
}

/// Reads and checks the text of a file. All that is wrong with it comes at once, in order of its lines.
pub fn check(
    path: &str,
    text: &str,
    options: &WorkflowOptions,
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
    check_file(&mut faults, &model);
    let warnings = faults.finish()?;
    Ok(Workflow {
        path: path.to_owned(),
        lines,
        model,
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
