//! The secrets of a run: which its repo gives it, whether its branch may have them, and their values, which
//! are read when the command is about to start and go to its supervisor alone.
//!
//! On a branch that a secret is not for, a task is refused, since it could not do what it is for. A `make`
//! run goes without, and says so: most of what is made on any branch never needed it.

use std::collections::BTreeMap;

use super::open::Runs;
use crate::config::{MAKE, Secret, Secrets};
use crate::model::{BranchName, ErrorKind, Problem, RepoName, RunKind, RunSpec, Warning};

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

/// Refuses a task on a branch that its secrets are not for, and a caller's word in a secret's place.
pub(super) fn check(secrets: &Secrets, spec: &RunSpec) -> Result<(), Problem> {
    for (variable, secret) in given(secrets, spec) {
        if spec.kind == RunKind::Task && !secret.is_for(&spec.branch) {
            return Err(refused(secret, spec));
        }
        let field = if spec.env.contains_key(variable) {
            format!("env.{variable}")
        } else if spec.kind == RunKind::Make && spec.argv.iter().any(|arg| assigns(arg, variable)) {
            "args".to_owned()
        } else {
            continue;
        };
        let detail = format!(
            "{variable} is refused: it is what the secret {} is given in, and no caller sets it",
            secret.name
        );
        return Err(Problem::bad(&field, detail)
            .help(format!("leave {variable} out, or use another variable")));
    }
    Ok(())
}

/// Reads what the run is given. A run is never started without a secret that its branch may have.
pub(super) fn hand(secrets: &Secrets, spec: &RunSpec) -> Result<Handed, Problem> {
    let mut handed = Handed::default();
    for (variable, secret) in given(secrets, spec) {
        if secret.is_for(&spec.branch) {
            let value = secret.read().map_err(|why| unreadable(secret, &why))?;
            let value = value.expose().to_owned();
            handed.hidden.push(value.clone());
            handed.env.push((variable.to_owned(), value));
        } else if spec.kind == RunKind::Task {
            // It was queued when the file said something else.
            return Err(refused(secret, spec));
        } else {
            handed.withheld.push(withheld(variable, secret, spec));
        }
    }
    handed.hidden.extend(within_reach(secrets, &spec.repo));
    Ok(handed)
}

/// What a build might come upon without being given it: the other secrets of its repo, and what stands in
/// the daemon's environment.
fn within_reach(secrets: &Secrets, repo: &RepoName) -> Vec<String> {
    let of_repo = secrets.of_repo(repo);
    let of_repo: BTreeMap<_, _> = of_repo
        .map(|(_, _, secret)| (&secret.name, secret))
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

impl Runs {
    /// The variables that hold secrets in some runs of a branch, and what to say in place of each.
    pub fn secret_variables(
        &self,
        repo: &RepoName,
        branch: &BranchName,
    ) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::<_, Vec<String>>::new();
        for (run, variable, secret) in self.0.config.secrets.of_repo(repo) {
            let run = match run {
                MAKE => MAKE.to_owned(),
                task => format!("the task {task}"),
            };
            let not = match secret.is_for(branch) {
                true => "",
                false => ", but not on this branch",
            };
            let said = format!("the secret {} in {run}{not}", secret.name);
            variables.entry(variable.to_owned()).or_default().push(said);
        }
        let said =
            |(variable, said): (String, Vec<String>)| (variable, format!("({})", said.join("; ")));
        variables.into_iter().map(said).collect()
    }
}

/// What the repo gives to runs of this kind, whatever their branch. Git is given nothing.
fn given<'a>(
    secrets: &'a Secrets,
    spec: &'a RunSpec,
) -> impl Iterator<Item = (&'a str, &'a Secret)> {
    let called = match spec.kind {
        RunKind::Make => Some(MAKE),
        RunKind::Task => spec.task.as_deref(),
        RunKind::Git => None,
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
    let (name, branch) = (&secret.name, &spec.branch);
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

fn withheld(variable: &str, secret: &Secret, spec: &RunSpec) -> Warning {
    let message = format!(
        "{variable} is not set: the secret {} is for {}, and this is {}",
        secret.name,
        secret.branches().join(", "),
        spec.branch
    );
    Warning::new("secret_withheld", message)
}

/// Why it cannot be read is the operator's to know: it says where secrets are kept.
fn unreadable(secret: &Secret, why: &str) -> Problem {
    let name = &secret.name;
    tracing::error!(secret = %name, why, "a secret cannot be read; the run that needs it is refused");
    let detail = format!("the secret {name} cannot be read, and the run is not started without it");
    Problem::new(ErrorKind::Conflict, "secret_unreadable", detail).help(format!(
        "the daemon's log says why; have the operator mend what [secrets.{name}] names, then run it again"
    ))
}
