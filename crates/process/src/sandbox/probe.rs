//! Which means of containing builds this machine has. Nothing is believed that was not tried: bwrap is
//! started once with each profile's own options, and init inside restricts itself as it would for a build.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bubblewrap::{BUBBLEWRAP, find_bubblewrap, in_some_namespace, on_trial};
use super::landlock::SCOPES_SINCE;
use super::orders::{Orders, Tried};
use super::plan::SandboxPlan;
use super::system::System;
use super::{Sandbox, Shown, start};
use crate::cgroup::Inheritable;
use crate::{Mechanisms, plain_command};
use branchyard_model::SandboxProfile;

/// One means of containing builds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Mechanism {
    pub name: Cow<'static, str>,
    pub available: bool,
    /// What there is, or why there is nothing.
    pub detail: String,
}

/// What there is on this machine to contain builds: found out once, when the daemon starts.
#[derive(Debug)]
pub struct Containment {
    trials: Vec<(SandboxProfile, Result<Trial, String>)>,
    mechanisms: Vec<Mechanism>,
}

#[derive(Debug)]
struct Trial {
    system: System,
    tried: Tried,
}

impl Containment {
    /// Tries the profiles that are `wanted`, by the bwrap in `path`. `program` is this one; `limits` says
    /// what holds runs within their limits.
    pub async fn probe(
        path: &OsStr,
        program: &Path,
        wanted: &[SandboxProfile],
        limits: &Mechanisms,
    ) -> Self {
        let bubblewrap = find_bubblewrap(path);
        let mut trials = Vec::new();
        for profile in wanted {
            let trial = match &bubblewrap {
                Ok(bubblewrap) => {
                    in_some_namespace(bubblewrap, async |system| {
                        let tried = attempt(&system, program, *profile).await?;
                        Ok(Trial { system, tried })
                    })
                    .await
                }
                Err(error) => Err(error.clone()),
            };
            trials.push((*profile, trial));
        }
        let mechanisms = describe(bubblewrap.as_deref(), &trials, limits);
        Self { trials, mechanisms }
    }

    /// Why there is no such sandbox here, if so.
    pub fn obstacle(&self, profile: SandboxProfile) -> Option<&str> {
        self.trial(profile).err()
    }

    /// The sandbox of one run, or why there can be none.
    pub fn sandbox(&self, profile: SandboxProfile, shown: &Shown<'_>) -> Result<Sandbox, String> {
        let trial = self.trial(profile)?;
        Sandbox::plan(&trial.system, profile, shown)
    }

    pub fn mechanisms(&self) -> &[Mechanism] {
        &self.mechanisms
    }

    fn trial(&self, profile: SandboxProfile) -> Result<&Trial, &str> {
        let mut trials = self.trials.iter();
        match trials.find(|(tried, _)| *tried == profile) {
            Some((_, trial)) => trial.as_ref().map_err(String::as_str),
            None => Err("it was not tried when the daemon started"),
        }
    }
}

async fn attempt(
    system: &System,
    program: &Path,
    profile: SandboxProfile,
) -> Result<Tried, String> {
    let mut plan = SandboxPlan::begin(system, profile, 1 << 20);
    plan.end();
    let orders = Orders {
        argv: Vec::new(),
        has_stdin: false,
        offers_proxy: false,
        cwd: PathBuf::from("/"),
        env: Vec::new(),
        limits: Inheritable::default(),
        writable: plan.writable().to_owned(),
    };
    let failed = |error: &dyn std::error::Error| format!("{BUBBLEWRAP}: {error}");
    let program = File::open(program).map_err(|error| failed(&error))?;
    let mut command = plain_command(system.bubblewrap(), Path::new("/"));
    let options = plan.options();
    start::give(command.as_std_mut(), options, &orders, program, Vec::new())
        .map_err(|error| failed(&error))?;
    let said = on_trial(command).await?;
    serde_json::from_slice(&said).map_err(|error| failed(&error))
}

fn describe(
    bubblewrap: Result<&Path, &String>,
    trials: &[(SandboxProfile, Result<Trial, String>)],
    limits: &Mechanisms,
) -> Vec<Mechanism> {
    let works = trials.iter().find_map(|(_, trial)| trial.as_ref().ok());
    let why_not = trials.iter().find_map(|(_, trial)| trial.as_ref().err());
    let untried = "not tried, for no build is to have a sandbox".to_owned();
    let mechanism = |name: &'static str, found: Result<String, String>| Mechanism {
        name: name.into(),
        available: found.is_ok(),
        detail: found.unwrap_or_else(|why| why),
    };
    let inside = |tell: &dyn Fn(&Trial) -> Result<String, String>| match (works, why_not) {
        (Some(trial), _) => tell(trial),
        (None, Some(why)) => Err(why.clone()),
        (None, None) => Err(untried.clone()),
    };
    let program = match (bubblewrap, works, why_not) {
        (Ok(_), None, Some(why)) => Err(why.clone()),
        (Ok(file), _, _) => Ok(file.display().to_string()),
        (Err(why), _, _) => Err(why.clone()),
    };
    vec![
        mechanism("bubblewrap", program),
        mechanism(
            "user_namespaces",
            inside(&|trial| match trial.system.user_namespace() {
                true => Ok("in use".to_owned()),
                false => Err("none to be had; root does without".to_owned()),
            }),
        ),
        mechanism("seccomp", inside(&|_| Ok("in use".to_owned()))),
        mechanism("landlock", inside(&|trial| landlock(trial.tried))),
        mechanism("cgroups", limits.groups()),
        mechanism("rlimits", Ok("where there is no cgroup for it".to_owned())),
    ]
}

fn landlock(tried: Tried) -> Result<String, String> {
    let Some(version) = tried.landlock else {
        return Err("not in this kernel: abstract sockets of the machine can be reached with the network on".to_owned());
    };
    Ok(match version >= SCOPES_SINCE {
        true => format!("version {version}"),
        false => format!(
            "version {version}: files only; abstract sockets of the machine can be reached with the network on"
        ),
    })
}
