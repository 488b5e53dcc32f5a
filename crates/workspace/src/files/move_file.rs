//! `move_file`: a file gets another name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::{not_found, shown};
use super::change::{Editor, stat};
use crate::Error;
use crate::error::conflict;
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
    /// Its new name.
    pub to: String,
    /// Replace a file that is at `to`.
    #[serde(default)]
    pub overwrite: bool,
    /// Wait for the run that is under way, in place of moving the file beneath it.
    #[serde(default)]
    pub after_run: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MovedFile {
    pub from: String,
    pub to: String,
}

pub async fn move_file(editor: Editor, request: Request) -> Result<MovedFile, Error> {
    editor
        .edit(move |editor, files| {
            let from = editor.path("from", &request.from)?;
            let to = editor.path("to", &request.to)?;
            if stat(files, "from", &from)?.is_none() {
                return Err(not_found(&from).field("from").into());
            }
            let is_taken = stat(files, "to", &to)?.is_some() && !request.overwrite;
            if is_taken || !editor.rename(files, (&from, &to), request.overwrite)? {
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
