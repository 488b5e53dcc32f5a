//! `code_env`: which environments a workspace has, and of what kind they are.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CodeEnv, DEFAULT, EnvKind, check_name};
use crate::{Error, Workspace};
use branchyard_git::verbs::{Effect, Render, VerbEntry};
use branchyard_model::Problem;

pub const VERB: VerbEntry = VerbEntry {
    name: "code_env",
    title: "Code environments",
    description: "Lists the code environments of a branch's workspace, shows one, or configures one: venv, uv, conda or none. \
                  It is made when it is first used; another kind or python makes it anew, without its packages.",
    effect: Effect::DESTROYS,
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(default)]
    pub action: EnvAction,
    /// Which one; default where not given.
    pub name: Option<String>,
    /// With configure: what makes it.
    pub kind: Option<EnvKind>,
    /// With configure: the version of the interpreter, such as 3.12.
    pub python: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvAction {
    #[default]
    List,
    Get,
    Configure,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CodeEnvs {
    pub envs: Vec<CodeEnv>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        check_name("name", self.name.as_deref())?;
        let configures = self.action == EnvAction::Configure;
        if configures && self.kind.is_none() {
            let detail = "kind is missing: venv, uv, conda or none";
            return Err(Problem::unprocessable("kind", detail));
        }
        for (field, is_given) in [
            ("kind", self.kind.is_some()),
            ("python", self.python.is_some()),
        ] {
            if is_given && !configures {
                let detail = format!("{field} goes with action configure");
                return Err(Problem::unprocessable(field, detail));
            }
        }
        let is_version = |text: &String| {
            let mut parts = text.split('.');
            let is_number =
                |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            parts.by_ref().take(3).all(is_number) && parts.next().is_none() && text.len() < 16
        };
        match self.python.as_ref().is_none_or(is_version) {
            true => Ok(()),
            false => Err(Problem::unprocessable(
                "python",
                "a version is up to three numbers with dots between, such as 3.12",
            )),
        }
    }
}

/// Those that are asked for.
pub fn look(workspace: &Workspace, request: &Request) -> Result<CodeEnvs, Error> {
    let envs = match request.action {
        EnvAction::List => CodeEnv::all(workspace)?,
        EnvAction::Get | EnvAction::Configure => {
            let name = request.name.as_deref().unwrap_or(DEFAULT);
            Vec::from_iter(CodeEnv::find(workspace, Some(name))?)
        }
    };
    Ok(CodeEnvs { envs })
}

/// Keeps the settings that are asked for.
pub async fn configure(workspace: &Arc<Workspace>, request: Request) -> Result<CodeEnvs, Error> {
    let env = CodeEnv {
        name: request.name.unwrap_or_else(|| DEFAULT.to_owned()),
        kind: request.kind.unwrap_or(EnvKind::None),
        python: request.python,
    };
    workspace
        .blocking(move |this| {
            env.keep(this)?;
            Ok(CodeEnvs { envs: vec![env] })
        })
        .await
}

impl Render for CodeEnvs {
    fn text(&self) -> String {
        let line = |env: &CodeEnv| {
            let kind = match env.kind {
                EnvKind::Venv => "venv",
                EnvKind::Uv => "uv",
                EnvKind::Conda => "conda",
                EnvKind::None => "none",
            };
            let python = env
                .python
                .as_ref()
                .map(|python| format!(", python {python}"));
            format!("{}: {kind}{}", env.name, python.unwrap_or_default())
        };
        match self.envs.is_empty() {
            true => "there is none; action configure makes one".to_owned(),
            false => self.envs.iter().map(line).collect::<Vec<_>>().join("\n"),
        }
    }
}
