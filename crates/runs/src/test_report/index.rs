//! The tests of runs in the index of results, which tells them over time.

use std::io;

use branchyard_db::run_index::TestIndex;
use branchyard_model::{RunRecord, TestReport, TestedAt, TestedBy};

use crate::history::History;
use crate::open::Runs;

/// The results of tests over time, also those of pipelines.
pub fn test_index(runs: &Runs) -> &TestIndex {
    runs.inner().history.test_index()
}

/// Takes note of the tests of a run; returns at once.
pub(super) fn note(index: &TestIndex, record: &RunRecord, report: TestReport) {
    let tested = TestedAt {
        branch: record.spec.branch.clone(),
        commit: record.about.as_ref().map(|about| about.commit.clone()),
        tree: record.tested_tree.clone(),
        at: record.started_at.unwrap_or(record.created_at),
        by: TestedBy::Run {
            run_id: record.run_id,
        },
    };
    index.put(&record.spec.repo, &tested, report);
}

/// Brings the index to what is on disk: it may be new, or have been full when a run ended. Ends early once `is_over`. Blocks.
pub(crate) fn index_missing(history: &History, is_over: impl Fn() -> bool) -> io::Result<()> {
    let index = history.test_index();
    let known = index.known().map_err(io::Error::other)?;
    let on_disk = history.ids();
    for by in &known {
        if let TestedBy::Run { run_id } = by
            && !on_disk.contains(run_id)
        {
            index.remove_run(*run_id);
        }
    }
    for run_id in history.store().all_tested().map_err(io::Error::other)? {
        if is_over() {
            break;
        }
        if known.contains(&TestedBy::Run { run_id }) {
            continue;
        }
        // Either may have gone meanwhile; what cannot be read is told where it is asked for.
        if let (Some(record), Ok(Some(report))) = (history.load(run_id), history.tests(run_id)) {
            note(index, &record, report);
            index.catch_up();
        }
    }
    Ok(())
}
