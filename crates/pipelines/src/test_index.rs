//! The tests of jobs in the index of results, which tells them over time.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::pipelines::Pipelines;
use branchyard_db::run_index::TestIndex;
use branchyard_model::{PipelineId, PipelineRecord, TestReport, TestedAt, TestedBy};
use branchyard_runs::test_index;

/// Takes note of the tests of an attempt, which began then; returns at once.
pub(crate) fn note(
    pipelines: &Pipelines,
    record: &PipelineRecord,
    (job, attempt): (&str, u32),
    began: Option<Timestamp>,
    report: TestReport,
) {
    // What is left out now is indexed when there is room again.
    if pipelines.inner().margin.shortage().is_none() {
        let tested = tested(record, (job, attempt), began);
        test_index(&pipelines.inner().runs).put(&record.repo, &tested, report);
    }
}

fn tested(
    record: &PipelineRecord,
    (job, attempt): (&str, u32),
    began: Option<Timestamp>,
) -> TestedAt {
    // A job that was answered did not begin.
    let asked = record.retried_at.filter(|_| attempt > 1);
    TestedAt {
        branch: record.branch.clone(),
        commit: Some(record.commit.clone()),
        tree: Some(record.tree.clone()),
        at: began.or(asked).unwrap_or(record.created_at),
        by: by(record.pipeline_id, &record.file, (job, attempt)),
    }
}

fn by(pipeline_id: PipelineId, file: &str, (job, attempt): (&str, u32)) -> TestedBy {
    TestedBy::Job {
        pipeline_id,
        file: file.to_owned(),
        job: job.to_owned(),
        attempt,
    }
}

pub(crate) fn forget(pipelines: &Pipelines, id: PipelineId) {
    test_index(&pipelines.inner().runs).remove_pipeline(id);
}

/// Brings the index to what is on disk, where there is room for it: it may be new, or have been full when a job ended. Blocks.
pub(crate) fn index_missing(pipelines: &Pipelines) {
    let inner = pipelines.inner();
    let index = test_index(&inner.runs);
    let indexed = match index.known() {
        Ok(indexed) => indexed,
        Err(error) => {
            tracing::error!(%error, "the tests of old pipelines are not indexed");
            return;
        }
    };
    let mut on_disk: Vec<_> = {
        let known = inner.known.read();
        let jobs = known
            .iter()
            .map(|(id, entry)| (*id, entry.file.clone(), entry.tested.clone()));
        jobs.collect()
    };
    forget_the_gone(
        index,
        &indexed,
        &on_disk.iter().map(|(id, ..)| *id).collect(),
    );
    // The latest first: they are what is asked for.
    while let Some((id, file, jobs)) = on_disk.pop() {
        for (job, attempts) in jobs {
            let missing = (1..=attempts)
                .rev()
                .filter(|attempt| !indexed.contains(&by(id, &file, (&job, *attempt))));
            for attempt in missing {
                if inner.leaving.is_cancelled() || inner.margin.shortage().is_some() {
                    return;
                }
                index_one(pipelines, index, id, (&job, attempt));
            }
        }
    }
}

/// One that has no tests, or has gone meanwhile, is left out.
fn index_one(pipelines: &Pipelines, index: &TestIndex, id: PipelineId, of: (&str, u32)) {
    let disk = &pipelines.inner().disk;
    let Ok(Some(report)) = disk.tests(id, of) else {
        return;
    };
    let began = disk.attempt(id, of.0, of.1).ok().flatten();
    let began = began.and_then(|attempt| attempt.started_at);
    if let Ok(record) = pipelines.record(id) {
        note(pipelines, &record, of, began, report);
        index.catch_up();
    }
}

fn forget_the_gone(index: &TestIndex, indexed: &HashSet<TestedBy>, on_disk: &HashSet<PipelineId>) {
    for by in indexed {
        if let TestedBy::Job { pipeline_id, .. } = by
            && !on_disk.contains(pipeline_id)
        {
            index.remove_pipeline(*pipeline_id);
        }
    }
}
