//! `pipeline run --check`: what the same request would start.

use crate::cli::Context;
use crate::cli::client::repo_path;
use crate::cli::exit::{self, Failure};
use crate::cli::render::{Cell, Listing, Tone, short_commit};
use branchyard_model::{CheckedJob, JobForecast, PipelineCheck, RepoName};
use branchyard_pipelines::PipelineRequest;

const TITLES: &str = "JOB, WOULD, WHY";

pub(super) async fn tell(
    context: &Context,
    repo: &RepoName,
    request: &PipelineRequest,
) -> Result<u8, Failure> {
    let path = repo_path(repo, "/pipelines/check");
    let answer = context.client.post(&path, request).await?;
    let told: PipelineCheck = answer.parse()?;
    context.show(&answer, |check: PipelineCheck| {
        for warning in &check.warnings {
            context.console.warning(&warning.message);
        }
        for problem in &check.problems {
            let (file, line, column) = (&problem.file, problem.line, problem.column);
            let (message, code) = (&problem.message, &problem.code);
            let line = format!("{file}:{line}:{column}: {message} ({code})");
            context.console.print_line(&line)?;
        }
        if check.valid {
            context
                .console
                .print_listing(Listing::of(TITLES, &check.jobs, row))?;
        }
        Ok(())
    })?;
    Ok(if told.valid { exit::OK } else { exit::LOCAL })
}

fn row(job: &CheckedJob) -> Vec<Cell> {
    vec![
        Cell::text(&job.name),
        Cell::text(job.would.as_str()).tone(tone(job.would)),
        Cell::sentence(Some(why(job))),
    ]
}

fn why(job: &CheckedJob) -> String {
    match (&job.answered_by, &job.reason) {
        (Some(answered), _) => {
            let (pipeline, commit) = (answered.pipeline, short_commit(answered.commit.as_str()));
            format!("by {} of pipeline {pipeline}, at {commit}", answered.job)
        }
        (None, reason) => reason.clone().unwrap_or_default(),
    }
}

fn tone(would: JobForecast) -> Tone {
    match would {
        JobForecast::Run | JobForecast::Follow => Tone::Warn,
        JobForecast::Reuse => Tone::Good,
        JobForecast::Skip => Tone::Faint,
        JobForecast::Reject => Tone::Bad,
    }
}
