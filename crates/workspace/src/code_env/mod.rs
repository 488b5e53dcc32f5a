//! Code environments of a workspace: places for packages, by name. They lie beside what git keeps of the worktree, so
//! that they go with it, and no look at the files, no `clean` and no commit finds them.

pub mod check_packages;
pub mod configure;
mod packages;
pub mod requirement;

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Workspace};
use branchyard_config::TaskName;
use branchyard_model::{ErrorKind, Problem};
use branchyard_runtime::disk::{if_there, read_json, write_json};

/// Where they are, beneath the worktree's own directory in the store.
const HOME: &str = "branchyard-envs";
/// The one that is meant where none is named.
pub const DEFAULT: &str = "default";

/// What makes an environment, and installs into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvKind {
    /// Python's own, with pip.
    Venv,
    Uv,
    Conda,
    /// Nothing: what the machine has.
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeEnv {
    pub name: String,
    pub kind: EnvKind,
    /// The version of the interpreter, such as 3.12; the machine's own where not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
}

impl CodeEnv {
    /// The interpreter that it is made with, as a program of the machine.
    pub fn interpreter(&self) -> String {
        let version = self.python.as_deref().unwrap_or("3");
        format!("python{version}")
    }

    /// The environment of this name; without a name the default one, if there is one.
    pub fn find(workspace: &Workspace, name: Option<&str>) -> Result<Option<Self>, Error> {
        let env = read_json(&settings(workspace, name.unwrap_or(DEFAULT)))
            .map_err(Error::io("read a code environment"))?;
        match (name, &env) {
            (Some(name), None) => Err(unknown(name).into()),
            _ => Ok(env),
        }
    }

    /// All of a workspace, by name.
    pub fn all(workspace: &Workspace) -> Result<Vec<Self>, Error> {
        let failed = || Error::io("list code environments");
        let Some(entries) = if_there(fs::read_dir(home(workspace))).map_err(failed())? else {
            return Ok(Vec::new());
        };
        let mut all: Vec<Self> = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed())?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                all.extend(read_json(&path).map_err(failed())?);
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Where its packages are. A command can write there whatever it likes.
    pub fn dir(&self, workspace: &Workspace) -> PathBuf {
        home(workspace).join(&self.name)
    }

    /// The same, where there is such a directory then.
    pub fn make_dir(&self, workspace: &Workspace) -> Result<PathBuf, Error> {
        let dir = self.dir(workspace);
        fs::create_dir_all(&dir).map_err(Error::io("make a code environment"))?;
        Ok(dir)
    }

    /// Whether it is there, made with this very interpreter.
    pub fn is_made(&self, workspace: &Workspace, interpreter: &str) -> bool {
        let made_with = fs::read_to_string(made_with(workspace, &self.name));
        self.kind == EnvKind::None
            || made_with.is_ok_and(|with| with == interpreter) && self.dir(workspace).is_dir()
    }

    /// Notes that it was made with this interpreter.
    pub fn note_made(&self, workspace: &Workspace, interpreter: &str) -> Result<(), Error> {
        fs::write(made_with(workspace, &self.name), interpreter)
            .map_err(Error::io("note a code environment"))
    }

    /// Keeps these settings. What was there by this name goes, unless it is the same.
    fn keep(&self, workspace: &Workspace) -> Result<(), Error> {
        let failed = || Error::io("keep a code environment");
        let settings = settings(workspace, &self.name);
        let before: Option<Self> = read_json(&settings).map_err(failed())?;
        if before.as_ref() == Some(self) {
            return Ok(());
        }
        fs::create_dir_all(home(workspace)).map_err(failed())?;
        self.clear(workspace)?;
        write_json(&settings, self).map_err(failed())
    }

    /// Removes what was installed, for it to be made anew.
    pub fn clear(&self, workspace: &Workspace) -> Result<(), Error> {
        let failed = || Error::io("clear a code environment");
        if_there(fs::remove_file(made_with(workspace, &self.name))).map_err(failed())?;
        let dir = self.dir(workspace);
        if dir.symlink_metadata().is_err() {
            return Ok(());
        }
        let trash = &workspace.yard().trash;
        trash.take(&dir, &self.name).map_err(failed())
    }
}

pub(crate) fn home(workspace: &Workspace) -> PathBuf {
    workspace.worktree().admin().join(HOME)
}

fn settings(workspace: &Workspace, name: &str) -> PathBuf {
    home(workspace).join(format!("{name}.json"))
}

/// Which interpreter it was made with is noted outside of its own directory, where no command can write.
fn made_with(workspace: &Workspace, name: &str) -> PathBuf {
    home(workspace).join(format!("{name}.made-with"))
}

/// Refuses what is no name of one, and what could be taken for a path.
pub fn check_name(field: &str, name: Option<&str>) -> Result<(), Problem> {
    match name.map(TaskName::parse) {
        None | Some(Ok(_)) => Ok(()),
        Some(Err(why)) => Err(Problem::unprocessable(field, why)),
    }
}

fn unknown(name: &str) -> Problem {
    let detail = format!("there is no code environment named {name:?} in this workspace");
    Problem::new(ErrorKind::NotFound, "no_such_code_env", detail)
        .field("code_env")
        .help("code_env with action configure makes one; list names those that there are")
}

/// A file by what changes when another takes its place.
pub fn identity(file: &Path) -> std::io::Result<String> {
    use std::os::unix::fs::MetadataExt;
    let file = file.canonicalize()?;
    let meta = file.metadata()?;
    let (size, at, nanos) = (meta.size(), meta.mtime(), meta.mtime_nsec());
    Ok(format!("{} {size} {at}.{nanos}", file.display()))
}
