//! `check_installed_packages`: which versions of packages are in an environment. Nothing is imported or started: what is
//! installed says so by the names of directories.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::packages::{self, normalized};
use super::{CodeEnv, DEFAULT, EnvKind, check_name};
use crate::error::conflict;
use crate::{Error, Workspace};
use branchyard_git::verbs::{Effect, Render, VerbEntry};
use branchyard_model::Problem;

pub const VERB: VerbEntry = VerbEntry {
    name: "check_installed_packages",
    title: "Check installed packages",
    description: "Tells the versions of packages in a code environment of a branch's workspace, and which are missing, \
                  without importing any.",
    effect: Effect::READS,
};

/// So many are asked for at once.
const MOST: usize = 200;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Their names; all that are there where none is given.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The environment's name; default where not given.
    pub code_env: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct InstalledPackages {
    pub code_env: String,
    /// The version of each that is there.
    pub installed: BTreeMap<String, String>,
    /// Those that are not.
    pub missing: Vec<String>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        check_name("code_env", self.code_env.as_deref())?;
        match self.packages.len() <= MOST {
            true => Ok(()),
            false => Err(Problem::unprocessable(
                "packages",
                format!("at most {MOST} packages are looked for at once"),
            )),
        }
    }
}

/// Blocks.
pub fn check_packages(
    workspace: &Workspace,
    request: &Request,
) -> Result<InstalledPackages, Error> {
    let name = request.code_env.as_deref().unwrap_or(DEFAULT);
    let env = CodeEnv::find(workspace, Some(name))?;
    let Some(env) = env.filter(|env| env.kind != EnvKind::None) else {
        let detail = format!("the code environment {name} has no packages of its own");
        return Err(conflict("code_env_none", detail)
            .field("code_env")
            .help("configure it as venv, uv or conda with code_env")
            .into());
    };
    let found = packages::installed(&env.dir(workspace));
    let found = found.map_err(Error::io("look at a code environment"))?;
    if request.packages.is_empty() {
        return Ok(InstalledPackages {
            code_env: env.name,
            installed: found,
            missing: Vec::new(),
        });
    }
    let mut answer = InstalledPackages {
        code_env: env.name,
        installed: BTreeMap::new(),
        missing: Vec::new(),
    };
    for package in &request.packages {
        match found.get(&normalized(package)) {
            Some(version) => drop(answer.installed.insert(package.clone(), version.clone())),
            None => answer.missing.push(package.clone()),
        }
    }
    Ok(answer)
}

impl Render for InstalledPackages {
    fn text(&self) -> String {
        let installed = self.installed.iter();
        let mut lines: Vec<_> = installed
            .map(|(name, version)| format!("{name} {version}"))
            .collect();
        lines.extend(self.missing.iter().map(|name| format!("{name}: missing")));
        match lines.is_empty() {
            true => "nothing is installed".to_owned(),
            false => lines.join("\n"),
        }
    }
}
