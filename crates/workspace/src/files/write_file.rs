//! `write_file`: a file made, replaced or added to.

use base64::Engine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::shown;
use super::change::{Editor, MAX_CHANGED, check_expected, check_hash, present, stale};
use crate::Error;
use crate::error::conflict;
use branchyard_git::verbs::conflicts::NewFile;
use branchyard_git::verbs::{Effect, Render, VerbEntry};
use branchyard_model::{Problem, sha256};

pub const VERB: VerbEntry = VerbEntry {
    name: "write_file",
    title: "Write a file",
    description: "Creates a file of a branch's workspace, with the directories above it. mode overwrite replaces what \
                  is there, append adds to it; with expected, only if its SHA-256 is still that one.",
    effect: Effect::DESTROYS,
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Relative to the workspace.
    pub path: String,
    /// All of it; with append, what is added.
    pub content: String,
    /// How `content` is written.
    #[serde(default)]
    pub encoding: Encoding,
    /// What becomes of a file that is there: create leaves it and fails.
    #[serde(default)]
    pub mode: WriteMode,
    /// The SHA-256 of what it replaces, as `read_file` tells it.
    pub expected: Option<String>,
    /// Whether it is a program; as it was where not given.
    pub executable: Option<bool>,
    /// Wait for the run that is under way, in place of changing the file beneath it.
    #[serde(default)]
    pub after_run: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Text,
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    #[default]
    Create,
    Overwrite,
    Append,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WrittenFile {
    pub path: String,
    /// Of the whole file, for the `expected` of the next change.
    pub sha256: String,
    /// Of the whole file, in bytes.
    pub size: u64,
    /// There was no such file.
    pub created: bool,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        check_hash(self.expected.as_ref())?;
        if self.mode == WriteMode::Create && self.expected.is_some() {
            let detail = "mode create replaces nothing, so there is nothing to expect";
            return Err(
                Problem::unprocessable("expected", detail).help("give mode overwrite or append")
            );
        }
        self.bytes().map(drop)
    }

    fn bytes(&self) -> Result<Vec<u8>, Problem> {
        match self.encoding {
            Encoding::Text => Ok(self.content.clone().into_bytes()),
            Encoding::Base64 => base64::engine::general_purpose::STANDARD
                .decode(&self.content)
                .map_err(|error| {
                    let detail = format!("content is not base64: {error}");
                    Problem::unprocessable("content", detail)
                }),
        }
    }
}

pub async fn write_file(editor: Editor, request: Request) -> Result<WrittenFile, Error> {
    editor
        .edit(move |editor, files| {
            let path = editor.path("path", &request.path)?;
            let old = present(files, "path", &path)?;
            check_expected(&path, old.as_ref(), request.expected.as_deref())?;
            let mut content = request.bytes()?;
            if let (WriteMode::Append, Some(old)) = (request.mode, &old) {
                content.splice(..0, old.content.iter().copied());
            }
            if content.len() as u64 > MAX_CHANGED {
                let detail = format!("a file of more than {MAX_CHANGED} bytes is not written");
                return Err(Problem::unprocessable("content", detail).into());
            }
            let file = NewFile {
                content: &content,
                mode: old.as_ref().map(|old| old.mode),
                executable: request.executable,
                replaces: old.is_some(),
            };
            let is_taken = request.mode == WriteMode::Create && old.is_some();
            if is_taken || !editor.put(files, &path, &file, old.as_ref())? {
                if old.is_some() && !is_taken {
                    let detail = format!("{} was changed meanwhile", shown(&path));
                    return Err(stale(detail).field("path").into());
                }
                let detail = format!("{} is there already", shown(&path));
                return Err(conflict("file_exists", detail)
                    .field("path")
                    .help("give mode overwrite, and expected with the sha256 that read_file tells")
                    .into());
            }
            Ok(WrittenFile {
                path: shown(&path),
                sha256: sha256(&content),
                size: content.len() as u64,
                created: old.is_none(),
            })
        })
        .await
}

impl Render for WrittenFile {
    fn text(&self) -> String {
        let done = if self.created { "created" } else { "wrote" };
        format!("{done} {}, {} bytes", self.path, self.size)
    }
}
