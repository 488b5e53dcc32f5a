//! The tests of a run as data. They are read when it has ended, from the reports that it wrote or else from its output,
//! compared with those of earlier runs, and kept beside the output.

mod compare;
mod index;
mod read;

use std::io;

use super::drive::{Drive, Held};
use super::ending::Ending;
use super::open::RunsInner;
use super::{environment, secrets};
use branchyard_model::{BranchName, CommitId, RunId, RunRecord, TestReport, TestSpec, Warning};
use branchyard_process::{Outcome, Redactor};
use branchyard_workspace::{Workspace, work};
pub use compare::Earlier;
pub(super) use index::index_missing;
pub use index::test_index;
pub use read::Reading;

/// So many earlier runs of a branch are looked at.
const EARLIER: usize = 50;
/// So many runs of the base are searched for a test.
const OF_BASE: usize = 10;

/// Reads, judges and keeps the tests of a run that tests; what went wrong with that is a warning.
pub(super) async fn note(drive: &Drive, ending: &Ending, held: Option<&Held>) {
    let record = drive.live().record();
    let Some(test) = record.spec.test.clone() else {
        return;
    };
    let shared = drive.shared().clone();
    // A run that ended without a daemon holds no lock, and no other run has it yet.
    let workspace = match held {
        Some((_, workspace)) => Some(workspace.clone()),
        None => shared.workspace_of(&record.spec),
    };
    let noted = match ending {
        Ending::Exited(_) | Ending::Lost | Ending::GivenUp(_) => {
            let note = move || read_tests(&shared, &record, &test, workspace.as_deref());
            tokio::task::spawn_blocking(note).await
        }
        Ending::Reused(earlier) => {
            let earlier = *earlier;
            let note = move || match shared.history.tests(earlier)? {
                Some(report) => copy_tests(&shared, record.run_id, report),
                // The earlier run was not asked for its tests; its output is in this run's journal.
                None => read_tests(&shared, &record, &test, None),
            };
            tokio::task::spawn_blocking(note).await
        }
        Ending::Refused(_)
        | Ending::CancelledBeforeStart
        | Ending::NotSetUp(_)
        | Ending::Copied => return,
    };
    match noted.map_err(io::Error::other).flatten() {
        Ok(noted) => {
            let is_green =
                matches!(ending, Ending::Exited(exit) if exit.outcome == Outcome::Code(0));
            let counts = noted.report.counts;
            if is_green && counts.failed > 0 {
                let message = format!("the command succeeded, and of its tests {counts}");
                drive.warn(Warning::new("tests_failed", message));
            }
            noted
                .warnings
                .into_iter()
                .for_each(|warning| drive.warn(warning));
            drive.live().change(|record| {
                record.tests = Some(counts);
                record.tested_tree = noted.tree;
            });
            let shared = drive.shared();
            // What is left out now is indexed when there is room again.
            if shared.margin.shortage().is_none() {
                let index = shared.history.test_index();
                index::note(index, &drive.live().record(), noted.report);
            }
        }
        Err(error) => {
            let message = format!("the tests of this run are not known: {error}");
            drive.warn(Warning::new("tests_unknown", message));
        }
    }
}

/// What is noted of the tests of a run.
struct Noted {
    report: TestReport,
    tree: Option<CommitId>,
    warnings: Vec<Warning>,
}

fn read_tests(
    runs: &RunsInner,
    record: &RunRecord,
    test: &TestSpec,
    workspace: Option<&Workspace>,
) -> io::Result<Noted> {
    let mut reading = Reading::default();
    if let (Some(workspace), Some(started)) = (workspace, record.started_at) {
        let redactor = Redactor::new(&hidden_from(runs, record, workspace)?);
        reading.read_reports(workspace, test, started, redactor)?;
    }
    if reading.is_empty() {
        reading.read_output(runs.history.output(record.run_id)?)?;
    }
    let (mut report, warnings) = reading.finish();
    let tree = workspace.and_then(|workspace| exact_tree(record, workspace));
    let mut earlier = Earlier::default();
    let base = match (&test.base, test.without_base) {
        (_, true) => None,
        (Some(base), false) => Some(base.clone()),
        (None, false) => workspace.and_then(default_branch),
    };
    compare(
        runs,
        record,
        base.as_ref(),
        tree.as_ref(),
        (&report, &mut earlier),
    )?;
    earlier.judge(&mut report);
    runs.margin
        .spend(|| runs.history.keep_tests(record.run_id, &report))?;
    Ok(Noted {
        report,
        tree,
        warnings,
    })
}

/// An answered run has the tests of the one that answered.
fn copy_tests(runs: &RunsInner, run: RunId, report: TestReport) -> io::Result<Noted> {
    runs.margin
        .spend(|| runs.history.keep_tests(run, &report))?;
    Ok(Noted {
        report,
        // It was not run again, and says nothing new of its tests.
        tree: None,
        warnings: Vec::new(),
    })
}

/// Collects what earlier runs tell: those of this branch and of the base.
fn compare(
    runs: &RunsInner,
    record: &RunRecord,
    base: Option<&BranchName>,
    tree: Option<&CommitId>,
    (report, earlier): (&TestReport, &mut Earlier),
) -> io::Result<()> {
    let spec = &record.spec;
    let tested = |branch: &BranchName| {
        let of = (&spec.repo, branch);
        let tested = runs.history.tested(of, record.run_id, EARLIER);
        tested.map_err(io::Error::other)
    };
    let of_base = base.map(tested).transpose()?.unwrap_or_default();
    let own = match base == Some(&spec.branch) {
        true => Vec::new(),
        false => tested(&spec.branch)?,
    };
    for run in own.iter().chain(&of_base) {
        if tree.is_some() && run.tree.as_ref() == tree {
            // Its directory may have gone meanwhile.
            if let Some(known) = runs.history.tests(run.run)? {
                earlier.add_same_tree(&known);
            }
        }
    }
    for run in of_base.iter().take(OF_BASE) {
        if !earlier.lacks_base_of(report) {
            break;
        }
        if let Some(known) = runs.history.tests(run.run)? {
            earlier.add_base(&known);
        }
    }
    Ok(())
}

/// What must not be seen in a report, which the command wrote by itself.
fn hidden_from(
    runs: &RunsInner,
    record: &RunRecord,
    workspace: &Workspace,
) -> io::Result<Vec<String>> {
    let (config, repo) = (&runs.config, workspace.repo().config());
    let mut hidden = environment::secrets(config, repo, &record.spec.env, None);
    let of_all = secrets::hidden(&config.secrets, workspace);
    hidden.extend(of_all.map_err(io::Error::other)?);
    Ok(hidden)
}

/// The tree that the command saw, if it was exactly that of a commit: nothing was edited, and nothing is there besides
/// but build output. In doubt it was not.
fn exact_tree(record: &RunRecord, workspace: &Workspace) -> Option<CommitId> {
    let about = record.about.as_ref()?;
    let is_undisturbed = !record.head_moved && record.edited_meanwhile.is_empty();
    let is_exact = is_undisturbed && about.dirty == Some(false);
    let has_only_output = || work::has_only_output(workspace).unwrap_or(false);
    (is_exact && has_only_output()).then(|| about.tree.clone())
}

fn default_branch(workspace: &Workspace) -> Option<BranchName> {
    let name = workspace.repo().default_branch()?;
    BranchName::parse(&name).ok()
}
