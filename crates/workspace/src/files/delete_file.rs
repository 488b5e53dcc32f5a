//! `delete_file`: a file or link goes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::{not_found, shown};
use super::change::{Editor, check_expected, check_hash, present, stat};
use crate::Error;
use branchyard_git::verbs::{Effect, Render, VerbEntry};
use branchyard_model::Problem;

pub const VERB: VerbEntry = VerbEntry {
    name: "delete_file",
    title: "Delete a file",
    description: "Deletes a file or link of a branch's workspace, and the directories that it leaves empty. A tracked file \
                  comes back with git_checkout; of others nothing is kept.",
    effect: Effect::DESTROYS,
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Relative to the workspace.
    pub path: String,
    /// The SHA-256 of what is deleted, as `read_file` tells it.
    pub expected: Option<String>,
    /// Wait for the run that is under way, in place of deleting the file beneath it.
    #[serde(default)]
    pub after_run: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    pub path: String,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        check_hash(self.expected.as_ref())
    }
}

pub async fn delete_file(editor: Editor, request: Request) -> Result<Deleted, Error> {
    editor
        .edit(move |editor, files| {
            let path = editor.path("path", &request.path)?;
            // A link goes by itself, wherever it leads.
            let is_link = files.link(&path).is_some();
            if request.expected.is_some() {
                let old = present(files, "path", &path)?.ok_or_else(|| not_found(&path))?;
                check_expected(&path, Some(&old), request.expected.as_deref())?;
            } else if !is_link && stat(files, "path", &path)?.is_none() {
                return Err(not_found(&path).into());
            }
            editor.remove(files, &path)?;
            Ok(Deleted { path: shown(&path) })
        })
        .await
}

impl Render for Deleted {
    fn text(&self) -> String {
        format!("deleted {}", self.path)
    }
}
