//! `move_file`: a file gets another name.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::{not_found, shown};
use super::change::{path_of, present};
use crate::error::conflict;
use crate::{Error, Workspace};
use branchyard_git::verbs::conflicts::Working;
use branchyard_git::verbs::{Effect, Render, VerbEntry};

pub const VERB: VerbEntry = VerbEntry {
    name: "move_file",
    title: "Move a file",
    description: "Moves or renames a file of a branch's workspace, with the directories above its new name. What is \
                  there already stays, and the call fails, unless overwrite is true.",
    effect: Effect::DESTROYS,
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Relative to the workspace, as is `to`.
    pub from: String,
    pub to: String,
    /// Replace a file that is at `to`.
    #[serde(default)]
    pub overwrite: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MovedFile {
    pub from: String,
    pub to: String,
}

pub async fn move_file(workspace: &Arc<Workspace>, request: Request) -> Result<MovedFile, Error> {
    workspace
        .blocking(move |this| {
            let from = path_of(this, "from", &request.from)?;
            let to = path_of(this, "to", &request.to)?;
            let files = Working::open(this.path())?;
            if present(&files, "from", &from)?.is_none() {
                return Err(not_found(&from).field("from").into());
            }
            let is_taken = present(&files, "to", &to)?.is_some() && !request.overwrite;
            let moved = || files.rename(&from, &to, request.overwrite);
            if is_taken || !moved().map_err(Error::io("move a file"))? {
                let detail = format!(
                    "{} is there already, or something is on the way to it",
                    shown(&to)
                );
                return Err(conflict("file_exists", detail)
                    .field("to")
                    .help("give overwrite: true to replace a file")
                    .into());
            }
            Ok(MovedFile {
                from: shown(&from),
                to: shown(&to),
            })
        })
        .await
}

impl Render for MovedFile {
    fn text(&self) -> String {
        format!("moved {} to {}", self.from, self.to)
    }
}
