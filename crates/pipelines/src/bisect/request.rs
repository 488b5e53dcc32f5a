//! What a caller asks for when it starts a bisect.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choose::MOST_AT_ONCE;
use branchyard_model::{BranchName, Problem};
use branchyard_runs::{RunBody, argv};

const MOST_PATHS: usize = 100;

/// The body of a request for a bisect. Unknown fields are refused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BisectRequest {
    /// The branch; the default branch if left out.
    pub branch: Option<BranchName>,
    /// A commit at which all was well: a commit id, tag or branch, or one from there as in `v1.2~3`. Needed.
    pub good: String,
    /// A commit of the branch that is bad, and has the good one in its history; the newest of the branch if left out.
    pub bad: Option<String>,
    /// The name of a task that the operator declared for the repo. It exits with 0 where all is well, with 125 where the
    /// commit cannot be tested, and with another code up to 127 where it is bad.
    pub task: Option<String>,
    /// In place of `task`: the program and its arguments. Needs `code:run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Arguments for the task.
    pub args: argv::Args,
    /// Variables added to the command's environment.
    pub env: BTreeMap<String, String>,
    /// How long the command may run at one commit, such as `"10m"`.
    pub timeout: Option<String>,
    /// Only commits that change one of these files or directories are suspected.
    pub paths: Vec<String>,
    /// How many commits are tested at the same time, 8 at most; 3 if left out, where there are as many slots.
    #[schemars(range(min = 1, max = 8))]
    pub parallel: Option<usize>,
}

impl BisectRequest {
    pub(super) fn command(&self) -> RunBody {
        RunBody {
            task: self.task.clone(),
            argv: self.argv.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            timeout: self.timeout.clone(),
            ..RunBody::default()
        }
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.good.is_empty() {
            let detail = "good is missing: a commit at which all was well";
            return Err(Problem::unprocessable("good", detail).help("such as a tag, or `main~50`"));
        }
        if self.task.is_none() && self.argv.is_empty() {
            let detail = "a bisect needs `task` or `argv`: what tells a good commit from a bad one";
            return Err(Problem::unprocessable("argv", detail));
        }
        if self.task.is_some() && !self.argv.is_empty() {
            let detail = "there is `task` and `argv`: choose one";
            return Err(Problem::unprocessable("argv", detail));
        }
        match self.parallel {
            Some(wanted) if !(1..=MOST_AT_ONCE).contains(&wanted) => {
                let detail = format!("parallel is from 1 to {MOST_AT_ONCE}");
                Err(Problem::unprocessable("parallel", detail))
            }
            _ => Ok(()),
        }
    }

    /// The paths as git takes them.
    pub(super) fn paths(&self) -> Result<Vec<PathBuf>, Problem> {
        let refused = |detail: String| Problem::unprocessable("paths", detail);
        if self.paths.len() > MOST_PATHS {
            return Err(refused(format!("there are more than {MOST_PATHS} paths")));
        }
        let paths = self.paths.iter().map(|path| {
            let parts = Path::new(path).components();
            let is_inside = |part| matches!(part, Component::Normal(_));
            match !path.is_empty() && !path.contains('\0') && parts.clone().all(is_inside) {
                true => Ok(parts.collect()),
                false => {
                    let detail = format!("{path:?} is no path within the repository");
                    Err(refused(detail))
                }
            }
        });
        paths.collect()
    }
}
