//! `apply_patch`: a unified diff over several files, all of it or nothing. Git applies it to copies of the files that it
//! names, in a directory where nothing else is; what came of them takes the place of the files one by one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::shown;
use super::change::{Editor, MAX_CHANGED, Present, present};
use super::patch_paths::PatchPaths;
use crate::Error;
use crate::error::conflict;
use branchyard_git::verbs::conflicts::{NewFile, Working};
use branchyard_git::verbs::{Effect, Render, VerbEntry};
use branchyard_git::{self as git};
use branchyard_model::{Problem, sha256};
use branchyard_runtime::disk::if_there;

pub const VERB: VerbEntry = VerbEntry {
    name: "apply_patch",
    title: "Apply a patch",
    description: "Applies a unified diff to files of a branch's workspace: all of it, or nothing where a part does not \
                  fit. It may create, change, rename and delete files. Lines may have moved; context must match.",
    effect: Effect::DESTROYS,
};

/// Where git works, beside what it keeps of the worktree. What a crash leaves there goes with the next patch.
const SCRATCH: &str = "branchyard-patch";
const ANY_CAN_RUN: u32 = 0o111;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// As `git diff` or `diff -u` writes it.
    pub patch: String,
    /// Wait for the run that is under way, in place of changing files beneath it.
    #[serde(default)]
    pub after_run: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Patched {
    pub files: Vec<PatchedFile>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PatchedFile {
    pub path: String,
    pub change: FileChange,
    /// For the `expected` of the next change; of a file that is there.
    pub sha256: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    Created,
    Changed,
    Deleted,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        if self.patch.trim().is_empty() {
            return Err(Problem::unprocessable("patch", "the patch is empty"));
        }
        if self.patch.len() as u64 > MAX_CHANGED {
            let detail = format!("a patch of more than {MAX_CHANGED} bytes is not applied");
            return Err(Problem::unprocessable("patch", detail));
        }
        Ok(())
    }
}

pub async fn apply_patch(editor: Editor, request: Request) -> Result<Patched, Error> {
    let paths = PatchPaths::of(request.patch.as_bytes());
    let strip = paths.strip();
    let scratch = Scratch(editor.workspace().worktree().admin().join(SCRATCH));
    let (at, patch) = (scratch.clone(), request.patch);
    let before = editor
        .edit(move |editor, files| {
            at.begin(patch.as_bytes())?;
            at.gather(editor, files, &paths)
        })
        .await?;
    let applied = scratch.apply(editor.workspace().repo().git(), strip).await;
    let at = scratch.clone();
    let answer = editor.edit(move |editor, files| {
        let changes = applied.and_then(|()| at.changes(editor, before));
        // It is cleared by the next one, too.
        let _ = fs::remove_dir_all(&at.0);
        take_over(editor, files, &changes?)
    });
    answer.await
}

/// The directory that a patch is applied in.
#[derive(Debug, Clone)]
struct Scratch(PathBuf);

/// What becomes of a file.
struct PatchedContent {
    path: PathBuf,
    before: Option<Present>,
    /// Its content, and whether it is a program.
    after: Option<(Vec<u8>, bool)>,
}

impl Scratch {
    fn files(&self) -> PathBuf {
        self.0.join("files")
    }

    fn patch(&self) -> PathBuf {
        self.0.join("patch")
    }

    fn begin(&self, patch: &[u8]) -> Result<(), Error> {
        let begin = || {
            if_there(fs::remove_dir_all(&self.0))?;
            fs::create_dir_all(self.files())?;
            fs::write(self.patch(), patch)
        };
        begin().map_err(Error::io("copy files for a patch"))
    }

    /// Copies the files that the patch names here. A line of the patch may look like a name and be none, and what does not
    /// lead to a file is git's to complain of.
    fn gather(
        &self,
        editor: &Editor,
        files: &Working,
        paths: &PatchPaths,
    ) -> Result<BTreeMap<PathBuf, Present>, Error> {
        let mut gathered = BTreeMap::new();
        let mut size = 0;
        for given in paths.names() {
            let Ok(path) = editor.path("patch", given) else {
                continue;
            };
            let Ok(Some(found)) = present(files, "patch", &path) else {
                continue;
            };
            size += found.content.len() as u64;
            if size > MAX_CHANGED {
                let detail = format!(
                    "the files of the patch have more than {MAX_CHANGED} bytes together, which is more than one call changes"
                );
                return Err(Problem::unprocessable("patch", detail).into());
            }
            let copy = self.files().join(&path);
            let copied = || {
                fs::create_dir_all(copy.parent().unwrap_or(&self.0))?;
                fs::write(&copy, &found.content)?;
                fs::set_permissions(&copy, fs::Permissions::from_mode(found.mode | 0o600))
            };
            copied().map_err(Error::io("copy files for a patch"))?;
            gathered.insert(path, found);
        }
        Ok(gathered)
    }

    /// Applies the patch to the copies. Models and people miscount lines: where that is what git complains of, its counts
    /// are not trusted.
    async fn apply(&self, git: &git::Git, strip: bool) -> Result<(), Error> {
        let apply = async |how: &[&str]| -> Result<(), git::Error> {
            let patch = File::open(self.patch()).map_err(git::Error::io("open a patch"))?;
            let strip = if strip { "-p1" } else { "-p0" };
            let command = git.at(self.files()).args(["apply", strip]);
            let command = command.arg("--whitespace=nowarn").args(how);
            command.input(patch).run().await
        };
        let mut applied = apply(&[]).await;
        if let Err(git::Error::Refused { stderr, .. }) = &applied
            && stderr.contains("corrupt patch")
            && apply(&["--recount"]).await.is_ok()
        {
            applied = Ok(());
        }
        applied.map_err(does_not_apply)
    }

    /// What git made of the copies.
    fn changes(
        &self,
        editor: &Editor,
        mut before: BTreeMap<PathBuf, Present>,
    ) -> Result<Vec<PatchedContent>, Error> {
        let mut changes = Vec::new();
        for path in files_beneath(&self.files())? {
            // Git refuses such paths itself; we do not take its word for it.
            let path = editor.path("patch", &shown(&path))?;
            let read = || {
                let file = self.files().join(&path);
                let can_run = fs::metadata(&file)?.permissions().mode() & ANY_CAN_RUN != 0;
                Ok((fs::read(&file)?, can_run))
            };
            let after: (Vec<u8>, bool) = read().map_err(Error::io("read a patched file"))?;
            if after.0.len() as u64 > MAX_CHANGED {
                let detail = format!("{} would have more than {MAX_CHANGED} bytes", shown(&path));
                return Err(Problem::unprocessable("patch", detail).into());
            }
            let before = before.remove(&path);
            let is_same = before.as_ref().is_some_and(|before| {
                before.content == after.0 && (before.mode & ANY_CAN_RUN != 0) == after.1
            });
            if !is_same {
                changes.push(PatchedContent {
                    path,
                    before,
                    after: Some(after),
                });
            }
        }
        let gone = before.into_iter().map(|(path, before)| PatchedContent {
            path,
            before: Some(before),
            after: None,
        });
        changes.extend(gone);
        if changes.is_empty() {
            return Err(Problem::unprocessable("patch", "the patch changes no file").into());
        }
        Ok(changes)
    }
}

/// Files in a directory of ours, relative to it. What a patch made there that is neither file nor directory is refused.
fn files_beneath(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = || Error::io("list the files of a patch");
    let (mut found, mut left) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(dir.join(&at)).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let (path, kind) = (at.join(entry.file_name()), entry.file_type());
            let kind = kind.map_err(failed())?;
            if kind.is_dir() {
                left.push(path);
            } else if kind.is_file() {
                found.push(path);
            } else {
                let detail = format!("{} would be a link", shown(&path));
                let problem = Problem::unprocessable("patch", detail);
                return Err(problem.help("a patch changes files alone").into());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn does_not_apply(error: git::Error) -> Error {
    match error {
        git::Error::Refused { stderr, .. } => {
            let detail = format!("the patch does not apply: {stderr}");
            conflict("patch_does_not_apply", detail)
                .field("patch")
                .help("nothing was written; read the files as they are now and make the patch for them")
                .into()
        }
        other => other.into(),
    }
}

/// Puts what came of the files in their place. Where one cannot be put there, those before it are as they were.
fn take_over(
    editor: &Editor,
    files: &Working,
    changes: &[PatchedContent],
) -> Result<Patched, Error> {
    for change in changes {
        let now = present(files, "patch", &change.path)?;
        let content = |present: Option<&Present>| present.map(Present::sha256);
        if content(now.as_ref()) != content(change.before.as_ref()) {
            let detail = format!("{} was changed meanwhile", shown(&change.path));
            let problem = conflict("stale", detail).field("patch");
            return Err(problem.help("nothing was written; ask again").into());
        }
    }
    for (n, change) in changes.iter().enumerate() {
        if let Err(error) = change.make(editor, files) {
            for made in changes[..n].iter().rev() {
                if let Err(error) = made.take_back(editor, files) {
                    tracing::error!(path = %made.path.display(), %error, "a file of a patch that failed is not as it was");
                }
            }
            return Err(error);
        }
    }
    Ok(Patched {
        files: changes.iter().map(PatchedContent::told).collect(),
    })
}

impl PatchedContent {
    fn make(&self, editor: &Editor, files: &Working) -> Result<(), Error> {
        let Some((content, can_run)) = &self.after else {
            return editor.remove(files, &self.path);
        };
        let file = NewFile {
            content,
            mode: self.before.as_ref().map(|before| before.mode),
            executable: Some(*can_run),
            is_new: self.before.is_none(),
        };
        match editor.put(files, &self.path, &file)? {
            true => Ok(()),
            false => {
                let detail = format!("{} is there already", shown(&self.path));
                Err(conflict("file_exists", detail).field("patch").into())
            }
        }
    }

    fn take_back(&self, editor: &Editor, files: &Working) -> Result<(), Error> {
        let Some(before) = &self.before else {
            return editor.remove(files, &self.path);
        };
        let file = NewFile {
            content: &before.content,
            mode: Some(before.mode),
            executable: None,
            is_new: false,
        };
        editor.put(files, &self.path, &file).map(drop)
    }

    fn told(&self) -> PatchedFile {
        PatchedFile {
            path: shown(&self.path),
            change: match (&self.before, &self.after) {
                (None, _) => FileChange::Created,
                (Some(_), Some(_)) => FileChange::Changed,
                (Some(_), None) => FileChange::Deleted,
            },
            sha256: self.after.as_ref().map(|(content, _)| sha256(content)),
        }
    }
}

impl Render for Patched {
    fn text(&self) -> String {
        let line = |file: &PatchedFile| {
            let done = match file.change {
                FileChange::Created => "created",
                FileChange::Changed => "changed",
                FileChange::Deleted => "deleted",
            };
            format!("{done} {}", file.path)
        };
        let lines: Vec<_> = self.files.iter().map(line).collect();
        lines.join("\n")
    }
}
