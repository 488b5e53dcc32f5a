//! All secrets, found and checked, and the runs that are given them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::place::Place;
use super::reserved::is_reserved_variable;
use super::{
    ConfigError, EnvName, RepoConfig, Secret, SecretConfig, SecretName, SecretUser, SecretValue,
    TaskName,
};
use branchyard_model::RepoName;

/// What `make` runs are called in `[repos.NAME.secrets]`, beside the names of tasks.
pub const MAKE: &str = "make";

/// Which runs may be given which secrets.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    declared: BTreeMap<SecretName, Arc<Secret>>,
    granted: BTreeMap<RepoName, Granted>,
}

/// By who is given it, and by the variable that holds it there.
type Granted = BTreeMap<SecretUser, BTreeMap<EnvName, Arc<Secret>>>;

impl Secrets {
    /// What the file says, with everything found that it names.
    pub(super) fn find(
        place: &Place<'_>,
        settings: &BTreeMap<SecretName, SecretConfig>,
        repos: &BTreeMap<RepoName, RepoConfig>,
    ) -> Result<Self, ConfigError> {
        let mut declared = BTreeMap::new();
        for (name, settings) in settings {
            declared.insert(name.clone(), Arc::new(settings.find(name, place)?));
        }
        let mut granted = BTreeMap::new();
        for (name, repo) in repos {
            granted.insert(name.clone(), grants(place, name, repo, &declared)?);
        }
        Ok(Self { declared, granted })
    }

    pub fn all(&self) -> impl Iterator<Item = &Secret> {
        self.declared.values().map(|secret| &**secret)
    }

    /// What the runs of a repo are given: who, the variable, the secret.
    pub fn of_repo(
        &self,
        repo: &RepoName,
    ) -> impl Iterator<Item = (&str, &str, &Secret)> + use<'_> {
        let granted = self.granted.get(repo).into_iter().flatten();
        granted.flat_map(|(run, variables)| {
            let variables = variables.iter();
            variables.map(|(variable, secret)| (run.as_str(), variable.as_str(), &**secret))
        })
    }

    /// The values that stand in the daemon's environment, where a build can look without a sandbox.
    pub fn in_environment(&self) -> impl Iterator<Item = &SecretValue> {
        self.all().filter_map(Secret::in_environment)
    }

    /// The files that secrets are kept in, which no build is to see.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.all().filter_map(Secret::file)
    }
}

/// The secrets that a repo's section names, or what is wrong with it. What stands where a secret's name
/// belongs is never quoted: it may be the secret itself.
fn grants(
    place: &Place<'_>,
    name: &RepoName,
    repo: &RepoConfig,
    declared: &BTreeMap<SecretName, Arc<Secret>>,
) -> Result<Granted, ConfigError> {
    let mut granted = Granted::new();
    for (run, variables) in &repo.secrets {
        let section = ["repos", name.as_str(), "secrets", run.as_str()];
        // Which jobs there are is up to the branches.
        if !run.as_str().contains('/') {
            let known = "make, for make runs, a job as FILE/JOB, or one of its tasks";
            let checked = check_command(repo, run.as_str(), known);
            checked.map_err(|rule| place.error(&section, rule))?;
        }
        let mut given = BTreeMap::new();
        for (variable, secret) in variables {
            let refuse = |rule: String| {
                let [repos, name, secrets, run] = section;
                place.error(&[repos, name, secrets, run, variable.as_str()], rule)
            };
            check_variable(repo, variable).map_err(refuse)?;
            let secret = declared
                .get(secret)
                .ok_or_else(|| refuse(unknown_secret(declared)))?;
            given.insert(variable.clone(), secret.clone());
        }
        granted.insert(run.clone(), given);
    }
    Ok(granted)
}

/// Whether this is `make`, or the name of a task; `known` is what was to be expected.
pub(super) fn check_command(repo: &RepoConfig, run: &str, known: &str) -> Result<(), String> {
    let is_task = repo.tasks.keys().any(|task| task.as_str() == run);
    match (run == MAKE, is_task) {
        (true, false) | (false, true) => Ok(()),
        (true, true) => Err(format!(
            "{MAKE} means make runs here, and there is a task of this name: rename the task"
        )),
        (false, false) => {
            let tasks = listed(repo.tasks.keys().map(TaskName::as_str));
            Err(format!(
                "there is no task {run} in this repo; expected {known}, which are: {tasks}"
            ))
        }
    }
}

fn check_variable(repo: &RepoConfig, variable: &EnvName) -> Result<(), String> {
    if is_reserved_variable(variable.as_str()) {
        return Err(format!(
            "{variable} changes which programs run or how they start; choose another name"
        ));
    }
    if repo.env.contains_key(variable) {
        return Err(format!(
            "{variable} is set in the env of this repo, too: remove it there, or choose another name"
        ));
    }
    Ok(())
}

fn unknown_secret(declared: &BTreeMap<SecretName, Arc<Secret>>) -> String {
    let names = listed(declared.keys().map(SecretName::as_str));
    format!(
        "no secret has this name; expected the NAME of a section [secrets.NAME], which are: {names}"
    )
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    match names.is_empty() {
        true => "none yet".to_owned(),
        false => names.join(", "),
    }
}

#[cfg(test)]
mod tests;
