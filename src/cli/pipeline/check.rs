//! `pipeline check`: what a workflow file would do, and what is wrong with it. It asks no daemon.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::event_kind;
use super::repository_files::RepositoryFiles;
use crate::cli::client::Answer;
use crate::cli::exit::{self, Failure};
use crate::cli::render::Console;
use branchyard_workflow::{
    EventKind, PlanFacts, Planned, PlannedJob, StepAction, WorkflowEvent, WorkflowFault,
    WorkflowOptions, WorkflowPlan, check,
};

/// Beyond what a workflow file may have, so that the check says so.
const MOST_READ: u64 = 1 << 20;
/// What decides whether a file may have keys of Branchyard's own.
const OWN_DIRECTORY: &str = ".branchyard/workflows";

/// Say what workflow files would do, and all that is wrong with them
///
/// Each problem has file, line, column and a code. Nothing is run, and no daemon is asked. Exits with 1 if a file is
/// refused. A workflow file is a strict subset of GitHub Actions; docs/PIPELINES.md says which.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pipeline check .branchyard/workflows/ci.yml
  branchyard pipeline check .github/workflows/*.yml --skip-action 'codecov/*'
  branchyard pipeline check ci.yml --event pull_request --branch feature/login --base main")]
pub(crate) struct Args {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What happened
    #[arg(long, default_value = "push", value_parser = event_kind())]
    event: EventKind,
    /// The branch that it happened to
    #[arg(long, default_value = "main", value_name = "BRANCH")]
    branch: String,
    /// Of a pull request: the branch that it is for
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// Leave out steps with these actions, as globs; may be repeated
    #[arg(long = "skip-action", value_name = "GLOB")]
    skip_actions: Vec<String>,
}

/// What is said of a file.
#[derive(Debug, Serialize)]
struct Checked {
    file: PathBuf,
    valid: bool,
    problems: Vec<WorkflowFault>,
    warnings: Vec<WorkflowFault>,
    /// What the event starts; none where it starts nothing.
    plan: Option<WorkflowPlan>,
}

pub(crate) fn run(console: &Console, args: &Args) -> Result<u8, Failure> {
    let checked = args.files.iter().map(|file| check_file(file, args));
    let checked: Vec<_> = checked.collect::<Result<_, _>>()?;
    let is_valid = checked.iter().all(|checked| checked.valid);
    match console.json {
        true => {
            let answer = serde_json::json!({ "valid": is_valid, "files": checked });
            console.print_json(&Answer::ours(&answer))?;
        }
        false => {
            let text: String = checked
                .iter()
                .map(|checked| as_text(checked, args))
                .collect();
            console.print(text.as_bytes())?;
        }
    }
    Ok(if is_valid { exit::OK } else { exit::LOCAL })
}

fn check_file(file: &Path, args: &Args) -> Result<Checked, Failure> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(MOST_READ).read_to_string(&mut text));
    read.map_err(|error| Failure::local(format!("{}: {error}", file.display())))?;
    let options = WorkflowOptions {
        skip_actions: args.skip_actions.clone(),
        ..WorkflowOptions::default()
    };
    let event = WorkflowEvent {
        base_ref: args.base.clone(),
        head_ref: args.base.is_some().then(|| args.branch.clone()),
        ..WorkflowEvent::new(args.event, format!("refs/heads/{}", args.branch))
    };
    let mut checked = Checked {
        file: file.to_owned(),
        valid: true,
        problems: Vec::new(),
        warnings: Vec::new(),
        plan: None,
    };
    let files = RepositoryFiles::around(file);
    let planned = check(&in_repository(file), &text, &options, &files).and_then(|workflow| {
        checked.warnings = workflow.warnings().to_vec();
        workflow.plan(&event, &PlanFacts::default())
    });
    match planned {
        Ok(plan) => checked.plan = plan,
        Err(problems) => (checked.valid, checked.problems) = (false, problems),
    }
    Ok(checked)
}

/// The path as a repository has it, where it says so itself.
fn in_repository(file: &Path) -> String {
    let path = file.to_string_lossy();
    match path.rfind(OWN_DIRECTORY) {
        Some(at) => path[at..].to_owned(),
        None => path.into_owned(),
    }
}

fn as_text(checked: &Checked, args: &Args) -> String {
    let mut text = String::new();
    for fault in checked.problems.iter().chain(&checked.warnings) {
        text += &format!("{fault}\n");
    }
    if !checked.valid {
        return text;
    }
    let (file, event) = (checked.file.display(), args.event.name());
    match &checked.plan {
        None => text += &format!("{file}: {event} on {} starts nothing\n", args.branch),
        Some(plan) => {
            let jobs = plan.jobs.len();
            text += &format!("{file}: {event} on {} starts {jobs} job(s)\n", args.branch);
            plan.jobs
                .iter()
                .for_each(|job| text += &format!("  {}\n", job_line(job)));
        }
    }
    text
}

fn job_line(job: &PlannedJob) -> String {
    let name = match &job.name {
        Planned::Value(name) | Planned::Template(name) => name,
    };
    let runs = job.steps.iter();
    let runs = runs.filter(|step| matches!(step.action, StepAction::Run { .. }));
    let mut line = format!(
        "{name}: {} steps, {} of them scripts",
        job.steps.len(),
        runs.count()
    );
    if !job.needs.is_empty() {
        line += &format!(", after {}", job.needs.join(", "));
    }
    if job.skipped.is_some() {
        line += ", skipped: it runs on another system than Linux";
    }
    if job.is_deferred {
        line += ", once for each row that the jobs before it say";
    }
    line
}
