//! The secrets of a run: which its repo gives it, whether its branch may have them, and their values, which
//! are read when the command is about to start and go to its supervisor alone.
//!
//! A secret follows content, not a name. It is given where the workspace is what the remote has for the branch, where
//! nothing tainted it ([`taint::taint`]), and where the command is a declared one ([`super::declared`]).
//!
//! On a branch that a secret is not for, and with arguments or variables of the caller's, a task is refused, since it
//! could not do what it is for. A `make` run goes without, and says so: most of what is made on any branch never needed
//! it. In a tainted workspace both are refused: `clean: true` is all that it takes there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::declared::supplied;
use super::drive::Drive;
use super::open::Runs;
use branchyard_config::{MAKE, RepoConfig, Secret, Secrets};
use branchyard_model::{
    BranchName, CommitId, ErrorKind, Problem, RepoName, RunKind, RunSpec, Warning,
};
use branchyard_workspace::repos::remote;
use branchyard_workspace::{Workspace, built_from, included, standing, taint};

/// What secrets mean for one run that is about to start. It holds them, hence no `Debug`.
#[derive(Default)]
pub(super) struct Handed {
    /// Variables, over all others.
    pub(super) env: Vec<(String, String)>,
    /// What the run goes without.
    pub(super) withheld: Vec<Warning>,
    /// What must not be seen in the output.
    pub(super) hidden: Vec<String>,
}

/// Refuses a task on a branch that its secrets are not for, or with what a caller supplied; and a caller's word in a
/// secret's place.
pub(super) fn check(secrets: &Secrets, repo: &RepoConfig, spec: &RunSpec) -> Result<(), Problem> {
    for (variable, secret) in given(secrets, spec) {
        if spec.kind == RunKind::Task && !secret.is_for(&spec.branch) {
            return Err(refused(secret, spec));
        }
        let field = if spec.env.contains_key(variable) {
            format!("env.{variable}")
        } else if spec.kind == RunKind::Make && spec.argv.iter().any(|arg| assigns(arg, variable)) {
            "args".to_owned()
        } else {
            match supplied(spec, repo) {
                Some(why) if spec.kind == RunKind::Task => {
                    return Err(undeclared(secret, spec, &why));
                }
                _ => continue,
            }
        };
        let detail = format!(
            "{variable} is refused: it is what the secret {} is given in, and no caller sets it",
            secret.name()
        );
        return Err(Problem::bad(&field, detail)
            .help(format!("leave {variable} out, or use another variable")));
    }
    Ok(())
}

/// Whether the run is to be given a secret, as far as its branch and its command tell.
pub(super) fn are_due(secrets: &Secrets, repo: &RepoConfig, spec: &RunSpec) -> bool {
    given(secrets, spec).any(|(_, secret)| secret.is_for(&spec.branch))
        && supplied(spec, repo).is_none()
}

/// What the run is given. That its workspace is tainted is on record when this returns. The caller holds the
/// lock and the files until the command starts, so nothing of ours changes a file in between.
///
/// The remote's answer must not be older than `not_before`.
pub(super) async fn hand_secrets(
    drive: &Drive,
    workspace: &Arc<Workspace>,
    not_before: Instant,
) -> Result<Handed, Problem> {
    let (spec, secrets) = (drive.live().record().spec, &drive.shared().config.secrets);
    let repo = &workspace.repo().config();
    let mut of_repo = secrets.of_repo(&spec.repo);
    let is_bound = of_repo.any(|(_, _, secret)| secret.is_for(&spec.branch));
    let judged = |error: branchyard_workspace::Error| drive.shared().margin.judge(error.problem());
    let supplied = supplied(&spec, repo);
    if is_bound && supplied.is_none() {
        let is_due = are_due(secrets, repo, &spec);
        let head = match is_due {
            true => Some(remote_head(workspace, not_before).await?),
            // What it makes is only as good as a commit that the remote was seen to have.
            false => standing::remote_tip(workspace).await.map_err(judged)?,
        };
        let helper = workspace.helpers().first();
        let taint = match (helper, head) {
            (Some(run), _) => {
                built_from::note_files_changed(workspace).map_err(judged)?;
                Some(format!("run {run} is at work in it, in the background"))
            }
            (None, Some(head)) => taint::taint(workspace, head).await.map_err(judged)?,
            (None, None) => {
                built_from::note_files_changed(workspace).map_err(judged)?;
                None
            }
        };
        if let Some(why) = taint.filter(|_| is_due) {
            let problem = tainted(&spec, &why);
            return Err(match helper {
                Some(run) => {
                    problem.help(format!("cancel run {run} first, and send `clean: true`"))
                }
                None => problem,
            });
        }
    }
    let mut handed = hand(secrets, &spec, supplied.as_deref())?;
    handed.hidden.extend(hidden(secrets, workspace)?);
    Ok(handed)
}

/// What the remote has for the branch of a workspace, asked no earlier than `not_before`.
async fn remote_head(workspace: &Arc<Workspace>, not_before: Instant) -> Result<CommitId, Problem> {
    let branch = &workspace.branch();
    let rule = format!("a secret is given only at the commit that the remote has for {branch}");
    match remote::ask(workspace.repo(), branch, not_before).await {
        Ok(asked) => asked.head.ok_or_else(|| {
            let detail = format!("{rule}, and it has no such branch");
            Problem::new(ErrorKind::Conflict, "tainted", detail)
                .field("branch")
                .help("have the branch pushed, and run it again with `clean: true`")
        }),
        Err(error) => {
            let mut problem = error.problem();
            problem.detail = format!("{rule}, which cannot be asked: {}", problem.detail);
            Err(problem)
        }
    }
}

/// Reads what the run is given. A run is never started without a secret that its branch may have, unless it is a make
/// with what the caller `supplied`.
fn hand(secrets: &Secrets, spec: &RunSpec, supplied: Option<&str>) -> Result<Handed, Problem> {
    let mut handed = Handed::default();
    for (variable, secret) in given(secrets, spec) {
        let is_task = spec.kind == RunKind::Task;
        match (secret.is_for(&spec.branch), supplied) {
            (true, None) => {
                let value = secret.read().map_err(|why| unreadable(secret, &why))?;
                let value = value.expose().to_owned();
                handed.hidden.push(value.clone());
                handed.env.push((variable.to_owned(), value));
            }
            // It was queued when the file said something else.
            (false, _) if is_task => return Err(refused(secret, spec)),
            (true, Some(why)) if is_task => return Err(undeclared(secret, spec, why)),
            (is_for, why) => {
                let why = why.filter(|_| is_for);
                handed.withheld.push(withheld(variable, secret, spec, why));
            }
        }
    }
    Ok(handed)
}

/// The values of the secrets that a job of a pipeline names, by their variables. Whether its commit is one that may have
/// secrets is up to the caller.
pub fn for_job(
    runs: &Runs,
    (repo, branch): (&RepoName, &BranchName),
    job: &str,
    names: &[String],
) -> Result<BTreeMap<String, String>, Problem> {
    let secrets = &runs.inner().config.secrets;
    let values = names.iter().map(|name| {
        let mut granted = secrets.of_repo(repo);
        let found = granted.find(|(user, variable, _)| user == &job && variable == name);
        let Some((_, _, secret)) = found else {
            let detail = format!("the job {job} names the secret {name}, which it is not given");
            return Err(secret_refused(detail).help(format!(
                "leave `secrets.{name}` out, or ask the operator to set {name} in [repos.{repo}.secrets.\"{job}\"]"
            )));
        };
        if !secret.is_for(branch) {
            let detail = format!(
                "the job {job} names the secret {name}, which {branch} may not have: it is for {}",
                secret.branches().join(", ")
            );
            return Err(secret_refused(detail)
                .help("run it on a branch that the secret is for, or skip the job by an `if`"));
        }
        let value = secret.read().map_err(|why| unreadable(secret, &why))?;
        Ok((name.clone(), value.expose().to_owned()))
    });
    values.collect()
}

/// The answer where a job names a secret that it is not given.
pub fn secret_refused(detail: String) -> Problem {
    Problem::new(ErrorKind::Forbidden, "secret_refused", detail).field("secrets")
}

/// What must not be seen in the output of any run here, whatever it was given.
pub(super) fn hidden(secrets: &Secrets, workspace: &Workspace) -> Result<Vec<String>, Problem> {
    let mut hidden = within_reach(secrets, workspace.repo().name());
    hidden.extend(included::values(workspace)?);
    Ok(hidden)
}

/// What a build might come upon without being given it: the other secrets of its repo, and what stands in
/// the daemon's environment.
pub(super) fn within_reach(secrets: &Secrets, repo: &RepoName) -> Vec<String> {
    let of_repo = secrets.of_repo(repo);
    let of_repo: BTreeMap<_, _> = of_repo
        .map(|(_, _, secret)| (secret.name(), secret))
        .collect();
    let mut values: Vec<_> = secrets
        .in_environment()
        .map(|value| value.expose().to_owned())
        .collect();
    for (name, secret) in of_repo {
        match secret.read() {
            Ok(value) => values.push(value.expose().to_owned()),
            Err(why) => {
                tracing::warn!(secret = %name, why, "a run's output is not searched for a secret");
            }
        }
    }
    values
}

/// The variables that hold secrets in some runs of a branch, and what to say in place of each.
pub fn secret_variables(
    runs: &Runs,
    repo: &RepoName,
    branch: &BranchName,
) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::<_, Vec<String>>::new();
    for (run, variable, secret) in runs.inner().config.secrets.of_repo(repo) {
        let run = match run {
            MAKE => MAKE.to_owned(),
            job if job.contains('/') => format!("the job {job}"),
            task => format!("the task {task}"),
        };
        let not = match secret.is_for(branch) {
            true => "",
            false => ", but not on this branch",
        };
        let said = format!("the secret {} in {run}{not}", secret.name());
        variables.entry(variable.to_owned()).or_default().push(said);
    }
    let said =
        |(variable, said): (String, Vec<String>)| (variable, format!("({})", said.join("; ")));
    variables.into_iter().map(said).collect()
}

/// What the repo gives to runs of this kind, whatever their branch. Git is given nothing, nor is a set-up: what it makes
/// goes to other workspaces.
fn given<'a>(
    secrets: &'a Secrets,
    spec: &'a RunSpec,
) -> impl Iterator<Item = (&'a str, &'a Secret)> {
    let called = match spec.kind {
        RunKind::Make => Some(MAKE),
        RunKind::Task => spec.task.as_deref(),
        RunKind::Git | RunKind::Exec | RunKind::Setup | RunKind::Step => None,
    };
    let of_repo = secrets.of_repo(&spec.repo);
    of_repo.filter_map(move |(run, variable, secret)| {
        (Some(run) == called).then_some((variable, secret))
    })
}

/// Whether make takes the word for a variable of this name, by whichever operator.
fn assigns(word: &str, variable: &str) -> bool {
    let name = word.split_once('=').map(|(head, _)| head);
    name.is_some_and(|head| head.trim_end_matches([':', '?', '+']) == variable)
}

fn refused(secret: &Secret, spec: &RunSpec) -> Problem {
    let (name, branch) = (&secret.name(), &spec.branch);
    let task = spec.task.as_deref().unwrap_or_default();
    let detail = format!(
        "the task {task} needs the secret {name}, which {branch} may not have: it is for {}",
        secret.branches().join(", ")
    );
    Problem::new(ErrorKind::Forbidden, "secret_refused", detail)
        .field("branch")
        .help(format!(
            "run it on a branch that the secret is for, or ask the operator to add this one to \
             branches in [secrets.{name}]"
        ))
}

fn undeclared(secret: &Secret, spec: &RunSpec, why: &str) -> Problem {
    let task = spec.task.as_deref().unwrap_or_default();
    let detail = format!(
        "the task {task} needs the secret {}, which is given to it only as it is declared: {why}",
        secret.name()
    );
    let field = if spec.env.is_empty() { "args" } else { "env" };
    Problem::new(ErrorKind::Forbidden, "secret_refused", detail)
        .field(field)
        .help(
            "leave `args` and `env` out, or have the operator declare a task with these arguments",
        )
}

fn tainted(spec: &RunSpec, why: &str) -> Problem {
    let detail = format!(
        "a secret is given only to what the remote has for {}, and its workspace may hold something else: {why}",
        spec.branch
    );
    Problem::new(ErrorKind::Conflict, "tainted", detail)
        .field("clean")
        .help(
            "send `clean: true` (and leave `sync` out): the workspace becomes what the remote has, without any other \
             file, and work in it is saved first",
        )
}

/// On a branch that the secret is not for, or because of what the caller supplied.
fn withheld(variable: &str, secret: &Secret, spec: &RunSpec, supplied: Option<&str>) -> Warning {
    let name = &secret.name();
    let message = match supplied {
        Some(why) => format!(
            "{variable} is not set: the secret {name} is given to make only with targets and with -j, -k and -s, \
             and {why}"
        ),
        None => format!(
            "{variable} is not set: the secret {name} is for {}, and this is {}",
            secret.branches().join(", "),
            spec.branch
        ),
    };
    Warning::new("secret_withheld", message)
}

/// Why it cannot be read is the operator's to know: it says where secrets are kept.
fn unreadable(secret: &Secret, why: &str) -> Problem {
    let name = &secret.name();
    tracing::error!(secret = %name, why, "a secret cannot be read; the run that needs it is refused");
    let detail = format!("the secret {name} cannot be read, and the run is not started without it");
    Problem::new(ErrorKind::Conflict, "secret_unreadable", detail).help(format!(
        "the daemon's log says why; have the operator mend what [secrets.{name}] names, then run it again"
    ))
}
