//! Tests of jobs as data: read from the reports that `reports` of a job names, told apart by those of earlier jobs, and kept
//! beside the attempt.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::disk::Attempt;
use crate::hash_files::WorktreeFiles;
use crate::job_end::JobEnd;
use crate::job_runner::JobRunner;
use crate::live::LivePipeline;
use crate::pipelines::{Pipelines, job_not_found};
use crate::regular::open_regular;
use crate::source::with_store;
use crate::test_index;
use branchyard_config::FileGlobs;
use branchyard_git::{CommitTree, object_id};
use branchyard_model::{
    BranchName, CommitId, ErrorKind, JobState, PipelineId, PipelineRecord, Problem, TestCounts,
    TestReport, TestState, Warning,
};
use branchyard_process::Redactor;
use branchyard_runs::{Earlier, Reading, step};
use branchyard_workspace::ScratchLease;
use branchyard_workspace::repos::Repo;

/// A job that writes more of them is asked to say which are meant.
const MOST_REPORTS: usize = 1000;
/// So many earlier pipelines of a branch are looked at.
const EARLIER: usize = 50;

impl JobRunner<'_> {
    /// Reads, judges and keeps the tests that the steps reported; what went wrong with that is a warning.
    pub(crate) async fn note_tests(
        &self,
        repo: &Arc<Repo>,
        attempt: &mut Attempt,
        (lease, end): (&ScratchLease, &JobEnd),
    ) {
        if self.job().extras.reports.is_empty() || end.state == JobState::Cancelled {
            return;
        }
        match self.read_tests(repo, attempt, lease).await {
            Ok((counts, warnings)) => {
                attempt.warnings.extend(warnings);
                if end.state == JobState::Succeeded && counts.failed > 0 {
                    let message = format!("the job succeeded, and of its tests {counts}");
                    attempt.warnings.push(Warning::new("tests_failed", message));
                }
                self.live()
                    .change_job(&self.job().id, |job| job.tests = Some(counts));
            }
            Err(why) => {
                let message = format!("the tests of this job are not known: {why}");
                attempt
                    .warnings
                    .push(Warning::new("tests_unknown", message));
            }
        }
        let warnings = attempt.warnings.clone();
        self.live()
            .change_job(&self.job().id, |job| job.warnings = warnings);
    }

    async fn read_tests(
        &self,
        repo: &Arc<Repo>,
        attempt: &Attempt,
        lease: &ScratchLease,
    ) -> Result<(TestCounts, Vec<Warning>), String> {
        let globs = FileGlobs::parse(self.job().extras.reports.iter().map(String::as_str))?;
        let (record, env) = (self.live().record(), attempt.env.clone());
        let tracked = tracked(repo, &self.commit().0, globs.clone()).await?;
        let runs = &self.pipelines().inner().runs;
        let secrets = self
            .secrets(repo)
            .map_err(|end| end.reason.unwrap_or_default())?;
        let hidden = (&env, secrets.values());
        let redactor = step::step_redactor(runs, repo, hidden, &self.dirs().masks());
        let redactor = redactor.map_err(|error| error.to_string())?;
        let began = attempt.started_at;
        let since = began.unwrap_or(Timestamp::MIN);
        let root = lease.path().to_owned();
        let base = base(self.live(), repo, &record);
        let (pipelines, job, number) = (
            self.pipelines().clone(),
            self.job().id.clone(),
            self.number(),
        );
        let read = tokio::task::spawn_blocking(move || {
            let is_wanted = |path: &Path| globs.matches(path) && !tracked.contains(path);
            let found = WorktreeFiles(&root).matching(is_wanted)?;
            let (mut report, warnings) = read(&root, found, since, redactor);
            let place = (&record, job.as_str(), number);
            let earlier = earlier_tests(&pipelines, place, base.as_ref(), &report);
            earlier.judge(&mut report);
            let (disk, margin) = (&pipelines.inner().disk, &pipelines.inner().margin);
            let id = record.pipeline_id;
            let kept = margin.spend(|| disk.save_tests(id, (&job, number), &report));
            kept.map_err(|error| error.to_string())?;
            let counts = report.counts;
            test_index::note(&pipelines, &record, (&job, number), began, report);
            Ok((counts, warnings))
        });
        read.await.map_err(|error| error.to_string())?
    }

    /// Takes over the tests of the job that answers.
    pub(crate) fn copy_tests(&self, (from, job, attempt): (PipelineId, &str, u32)) {
        let (disk, margin) = (
            &self.pipelines().inner().disk,
            &self.pipelines().inner().margin,
        );
        let own = (self.job().id.as_str(), self.number());
        let copied = disk
            .tests(from, (job, attempt))
            .and_then(|known| match known {
                Some(report) => {
                    margin.spend(|| disk.save_tests(self.live().id(), own, &report))?;
                    test_index::note(self.pipelines(), &self.live().record(), own, None, report);
                    Ok(())
                }
                None => Ok(()),
            });
        if let Err(error) = copied {
            tracing::warn!(pipeline = %self.live().id(), job = self.job().id, %error, "an answered job has no tests");
        }
    }

    /// Whether tests failed, and all that did are known to pass at times.
    pub(crate) fn has_only_flaky_failures(&self) -> bool {
        let disk = &self.pipelines().inner().disk;
        let tests = disk.tests(self.live().id(), (&self.job().id, self.number()));
        let Ok(Some(report)) = tests else {
            return false;
        };
        let is_failed = |state| state == TestState::Failed;
        let mut failed = report.tests.iter().filter(|test| is_failed(test.state));
        // What is counted and not listed is not known to be flaky.
        let listed = failed.clone().count() as u64;
        listed > 0 && listed == report.counts.failed && failed.all(|test| test.is_flaky())
    }
}

/// The branch by whose latest tests new failures are told from known ones.
fn base(live: &LivePipeline, repo: &Repo, record: &PipelineRecord) -> Option<BranchName> {
    let base = BranchName::parse(&repo.default_branch()?).ok()?;
    let is_seen = live.plan().sees_all || base == record.branch;
    is_seen.then_some(base)
}

/// What git has is not the job's.
async fn tracked(
    repo: &Arc<Repo>,
    commit: &CommitId,
    globs: FileGlobs,
) -> Result<HashSet<PathBuf>, String> {
    let commit = commit.clone();
    let entries = with_store(repo, move |store| {
        let tree = CommitTree::of(store, object_id(&commit)?)?;
        Ok(tree.entries(|path| globs.matches(path))?)
    });
    let entries = entries.await.map_err(|problem| problem.detail)?;
    Ok(entries.into_iter().map(|(path, ..)| path).collect())
}

/// Reads what was written since then; a warm worktree has reports of earlier jobs.
fn read(
    root: &Path,
    mut found: Vec<PathBuf>,
    since: Timestamp,
    mut redactor: Option<Redactor>,
) -> (TestReport, Vec<Warning>) {
    let mut reading = Reading::default();
    found.sort();
    let is_later = |path: &PathBuf| {
        let meta = root.join(path).symlink_metadata();
        meta.is_ok_and(|meta| (meta.ctime(), meta.ctime_nsec()) > seconds(since))
    };
    let found = found.into_iter().filter(is_later).take(MOST_REPORTS);
    for path in found {
        let file = open_regular(&root.join(&path)).map_err(|error| error.to_string());
        reading.add(&path, file, redactor.as_mut());
    }
    reading.finish()
}

fn seconds(moment: Timestamp) -> (i64, i64) {
    (moment.as_second(), i64::from(moment.subsec_nanosecond()))
}

/// What earlier attempts at the same job tell of its tests: those of this pipeline, of its branch and of the base.
fn earlier_tests(
    pipelines: &Pipelines,
    (record, job, number): (&PipelineRecord, &str, u32),
    base: Option<&BranchName>,
    report: &TestReport,
) -> Earlier {
    let mut earlier = Earlier::default();
    let disk = &pipelines.inner().disk;
    for number in 1..number {
        if let Ok(Some(known)) = disk.tests(record.pipeline_id, (job, number)) {
            earlier.add_same_tree(&known);
        }
    }
    let of_branch = |branch: &BranchName| {
        let known = pipelines.inner().known.read();
        let same = known.range(..record.pipeline_id).rev();
        let same = same.filter(|(_, entry)| {
            entry.repo == record.repo && entry.file == record.file && entry.branch == *branch
        });
        same.map(|(id, _)| *id).take(EARLIER).collect::<Vec<_>>()
    };
    let own = of_branch(&record.branch);
    let of_base = base.map(of_branch).unwrap_or_default();
    for id in own.iter().chain(&of_base) {
        let Ok(other) = pipelines.record(*id) else {
            continue;
        };
        let is_base = base == Some(&other.branch) && earlier.lacks_base_of(report);
        let is_same = other.tree == record.tree;
        // One that was answered was not run again, and says nothing new.
        let was_run = other
            .jobs
            .iter()
            .find(|it| it.job == job && it.tests.is_some() && it.answered_by.is_none());
        let Some(found) = was_run.filter(|_| is_base || is_same) else {
            continue;
        };
        if let Ok(Some(known)) = disk.tests(*id, (job, found.attempt)) {
            if is_same {
                earlier.add_same_tree(&known);
            }
            if is_base {
                earlier.add_base(&known);
            }
        }
    }
    earlier
}

/// The tests of a job, as its latest attempt reported them, or the job that answered for it. Blocks.
pub fn job_tests(pipelines: &Pipelines, id: PipelineId, job: &str) -> Result<TestReport, Problem> {
    let record = pipelines.record(id)?;
    let found = record.jobs.iter().find(|other| other.job == job);
    let found = found.ok_or_else(|| job_not_found(id, job))?;
    let none = || {
        let detail = format!("the job {job} has no tests on record");
        Problem::new(ErrorKind::NotFound, "tests_not_found", detail)
            .help("`reports` of a job names the JUnit files that its tests write")
    };
    if found.tests.is_none() {
        return Err(none());
    }
    let tests = pipelines.inner().disk.tests(id, (job, found.attempt));
    let tests = tests.map_err(|error: io::Error| {
        let detail = format!("the tests of the job cannot be read: {error}");
        Problem::new(ErrorKind::Internal, "tests_unreadable", detail)
    })?;
    tests.ok_or_else(none)
}
