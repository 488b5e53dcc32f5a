//! The newest pipelines of a branch, one of each workflow file: how it is doing.

use std::collections::HashSet;

use crate::list::PipelineFilter;
use crate::pipelines::Pipelines;
use branchyard_model::{PipelineRecord, PipelineSource, RepoName};

/// So many records are read for one workflow file, where the newest do not count.
const MOST_READ: usize = 20;

/// The newest pipeline of each workflow file that `filter` takes. Bisects and pipelines of uncommitted files say nothing of
/// the branch. Blocks.
pub fn newest_of_files(
    pipelines: &Pipelines,
    repo: &RepoName,
    filter: &PipelineFilter,
) -> Vec<PipelineRecord> {
    let files: HashSet<_> = {
        let known = pipelines.inner().known.read();
        let wanted = known
            .values()
            .filter(|entry| entry.repo == *repo && filter.takes(entry, || entry.state));
        wanted.map(|entry| entry.file.clone()).collect()
    };
    let counts = |record: &PipelineRecord| {
        record.bisect.is_none() && record.source == PipelineSource::Commit
    };
    let newest = files.into_iter().filter_map(|file| {
        let of_file = PipelineFilter {
            file: Some(file.clone()),
            ..filter.clone()
        };
        let (records, _) = pipelines.list(repo, &of_file, MOST_READ, |_| true).ok()?;
        // The filter also takes a file by its name alone.
        records
            .into_iter()
            .find(|record| record.file == file && counts(record))
    });
    newest.collect()
}
