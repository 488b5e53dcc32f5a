//! `apply_patch`: a unified diff over several files, all of it or nothing. Git applies it to copies of the files that it
//! names, in a directory where nothing else is; what came of them takes the place of the files one by one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::shown;
use super::change::{Editor, MAX_CHANGED, Present, present, stale};
use super::patch_paths::PatchPaths;
use crate::Error;
use crate::error::conflict;
use branchyard_git::verbs::conflicts::{Read, Working};
use branchyard_git::verbs::{Effect, Render, VerbEntry};
use branchyard_git::{self as git};
use branchyard_model::{Problem, sha256};
use branchyard_runtime::disk::if_there;

pub const VERB: VerbEntry = VerbEntry {
    name: "apply_patch",
    title: "Apply a patch",
    description: "Applies a unified diff to files of a branch's workspace: all of it, or nothing where a part does not \
                  fit. It may create, change, rename and delete text files. Lines may have moved; context must match.",
    effect: Effect::DESTROYS,
};

/// Where git works, beside what it keeps of the worktree. What a crash leaves there goes with the next patch.
const PATCHING: &str = "branchyard-patch";
const ANY_CAN_RUN: u32 = 0o111;
/// What git takes longer for is no patch of text.
const LONGEST: Duration = Duration::from_secs(60);
/// Lines of a patch that make much of little, or what is no file.
const REFUSED: [(&str, &str); 5] = [
    ("copy from ", "it copies a file; write the copy"),
    ("GIT binary patch", "it is binary; write_file takes base64"),
    ("new file mode 120000", "it makes a link"),
    ("new file mode 160000", "it makes a submodule"),
    ("new mode 120000", "it makes a link"),
];

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
        let refused = |detail: String| Err(Problem::unprocessable("patch", detail));
        if self.patch.trim().is_empty() {
            return refused("the patch is empty".to_owned());
        }
        if self.patch.len() as u64 > MAX_CHANGED {
            return refused(format!(
                "a patch of more than {MAX_CHANGED} bytes is not applied"
            ));
        }
        for line in self.patch.lines() {
            let found = REFUSED.iter().find(|(mark, _)| line.starts_with(mark));
            if let Some((mark, why)) = found {
                return refused(format!("{mark:?} in a patch is refused: {why}"));
            }
        }
        Ok(())
    }
}

pub async fn apply_patch(editor: Editor, request: Request) -> Result<Patched, Error> {
    let paths = PatchPaths::of(request.patch.as_bytes());
    let strip = paths.strip();
    let copies = Copies(editor.workspace().worktree().admin().join(PATCHING));
    let (at, patch) = (copies.clone(), request.patch);
    let gathered = editor
        .edit(move |editor, files| {
            at.begin(patch.as_bytes())?;
            at.gather(editor, files, &paths)
        })
        .await?;
    let applied = copies.apply(editor.workspace().repo().git(), strip).await;
    let answer = editor.edit(move |editor, files| {
        let changes = match applied {
            Ok(()) => copies.changes(editor, gathered.files),
            Err(error) => Err(does_not_apply(error, &gathered.left)),
        };
        let done = changes.and_then(|changes| copies.take_over(editor, files, &changes));
        // It is cleared by the next one, too.
        let _ = fs::remove_dir_all(&copies.0);
        done
    });
    answer.await
}

/// The directory that a patch is applied in, to copies of the files that it names.
#[derive(Debug, Clone)]
struct Copies(PathBuf);

/// What a patch is about.
struct Gathered {
    files: BTreeMap<PathBuf, Present>,
    /// Why some were not copied.
    left: Vec<String>,
}

/// What becomes of a file.
struct PatchedContent {
    path: PathBuf,
    before: Option<Present>,
    /// The digest of its content, if it is there.
    after: Option<String>,
}

impl Copies {
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

    /// Copies the files that the patch names here. A line of the patch may look like a name and be none: what does not
    /// lead to a file is git's to complain of.
    fn gather(
        &self,
        editor: &Editor,
        files: &Working,
        paths: &PatchPaths,
    ) -> Result<Gathered, Error> {
        let (mut gathered, mut left, mut size) = (BTreeMap::new(), Vec::new(), 0);
        for given in paths.names() {
            let found = editor
                .path("patch", given)
                .and_then(|path| Ok((present(files, "patch", &path)?, path)));
            let (found, path) = match found {
                Ok((Some(found), path)) => (found, path),
                Ok((None, _)) => continue,
                Err(error) => {
                    left.push(error.problem().detail);
                    continue;
                }
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
        Ok(Gathered {
            files: gathered,
            left,
        })
    }

    /// Applies the patch to the copies. Models and people miscount lines: where that is what git complains of, its counts
    /// are not trusted.
    async fn apply(&self, git: &git::Git, strip: bool) -> Result<(), git::Error> {
        let apply = async |how: &[&str]| -> Result<(), git::Error> {
            let patch = File::open(self.patch()).map_err(git::Error::io("open a patch"))?;
            let strip = if strip { "-p1" } else { "-p0" };
            let command = git.at(self.files()).args(["apply", strip]);
            let command = command.arg("--whitespace=nowarn").args(how);
            command.input(patch).within(LONGEST).run().await
        };
        let applied = apply(&[]).await;
        match &applied {
            Err(git::Error::Refused { stderr, .. }) if stderr.contains("corrupt patch") => {
                let recounted = apply(&["--recount"]).await;
                // What git said first is about the patch as it was given.
                if recounted.is_ok() {
                    recounted
                } else {
                    applied
                }
            }
            _ => applied,
        }
    }

    /// What git made of the copies, each with the permissions that it is to have.
    fn changes(
        &self,
        editor: &Editor,
        mut before: BTreeMap<PathBuf, Present>,
    ) -> Result<Vec<PatchedContent>, Error> {
        let mut changes = Vec::new();
        for path in files_beneath(&self.files())? {
            let Some(name) = path.to_str() else {
                let detail = format!("{:?} in the patch is not UTF-8", shown(&path));
                return Err(Problem::unprocessable("patch", detail).into());
            };
            // Git refuses such paths itself; we do not take its word for it.
            let path = editor.path("patch", name)?;
            let failed = || Error::io("read a patched file");
            let file = self.files().join(&path);
            let mode = fs::metadata(&file).map_err(failed())?.permissions().mode();
            let content = fs::read(&file).map_err(failed())?;
            if content.len() as u64 > MAX_CHANGED {
                let detail = format!("{} would have more than {MAX_CHANGED} bytes", shown(&path));
                return Err(Problem::unprocessable("patch", detail).into());
            }
            let before = before.remove(&path);
            if let Some(before) = &before {
                let can_run = |mode: u32| mode & ANY_CAN_RUN != 0;
                let kept = match (can_run(before.mode), can_run(mode)) {
                    (true, false) => before.mode & !ANY_CAN_RUN,
                    (false, true) => before.mode | ((before.mode & 0o444) >> 2),
                    _ => before.mode,
                };
                if before.content == content && kept == before.mode {
                    continue;
                }
                let kept = fs::Permissions::from_mode(kept);
                fs::set_permissions(&file, kept).map_err(failed())?;
            }
            changes.push(PatchedContent {
                path,
                before,
                after: Some(sha256(&content)),
            });
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

    /// Has the files and what came of them change places. Where that fails, or a file is not what was copied, those before
    /// it are put back; that needs no room on the disk.
    fn take_over(
        &self,
        editor: &Editor,
        files: &Working,
        changes: &[PatchedContent],
    ) -> Result<Patched, Error> {
        let copies = Working::open(&self.files())?;
        let paths: Vec<_> = changes.iter().map(|change| change.path.as_path()).collect();
        editor.changing(&paths, || {
            for (n, change) in changes.iter().enumerate() {
                if let Err(error) = change.make(files, &copies) {
                    for made in changes[..n].iter().rev() {
                        if let Err(error) = made.take_back(files, &copies) {
                            tracing::error!(path = %made.path.display(), %error, "a file of a patch that failed is not as it was");
                        }
                    }
                    return Err(error);
                }
            }
            Ok(())
        })?;
        let gone = changes.iter().filter(|change| change.after.is_none());
        gone.for_each(|change| files.remove_empty_above(&change.path));
        Ok(Patched {
            files: changes.iter().map(PatchedContent::file).collect(),
        })
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

/// With what was in the way of files that the patch names, where git says only that they are not there.
fn does_not_apply(error: git::Error, left: &[String]) -> Error {
    match error {
        git::Error::Refused { stderr, .. } => {
            let mut detail = format!("the patch does not apply: {stderr}");
            for why in left {
                detail.push_str(&format!("\n{why}"));
            }
            conflict("patch_does_not_apply", detail)
                .field("patch")
                .help("nothing was written; read the files as they are now and make the patch for them")
                .into()
        }
        other => other.into(),
    }
}

impl PatchedContent {
    fn make(&self, files: &Working, copies: &Working) -> Result<(), Error> {
        let path = &self.path;
        let moved = match (&self.before, &self.after) {
            (None, _) => files.take_in(copies, path),
            (Some(_), Some(_)) => files.swap(copies, path).map(|()| true),
            (Some(_), None) => copies.take_in(files, path),
        };
        let name = shown(path);
        if !moved.map_err(Error::io("put a patched file in its place"))? {
            let detail =
                format!("{name} is there already, or what is on the way to it is no directory");
            let problem = conflict("file_exists", detail).field("patch");
            return Err(problem.help("nothing was written").into());
        }
        let Some(before) = &self.before else {
            return Ok(());
        };
        match copies.read(path, MAX_CHANGED) {
            Read::Whole(replaced) if replaced == before.content => Ok(()),
            _ => {
                if let Err(error) = self.take_back(files, copies) {
                    tracing::error!(path = %path.display(), %error, "a file of a patch that failed is not as it was");
                }
                let detail = format!("{name} was changed meanwhile; nothing was written");
                Err(stale(detail).field("patch").into())
            }
        }
    }

    fn take_back(&self, files: &Working, copies: &Working) -> io::Result<()> {
        match (&self.before, &self.after) {
            (None, _) => copies.take_in(files, &self.path).map(drop),
            (Some(_), Some(_)) => files.swap(copies, &self.path),
            (Some(_), None) => files.take_in(copies, &self.path).map(drop),
        }
    }

    fn file(&self) -> PatchedFile {
        PatchedFile {
            path: shown(&self.path),
            change: match (&self.before, &self.after) {
                (None, _) => FileChange::Created,
                (Some(_), Some(_)) => FileChange::Changed,
                (Some(_), None) => FileChange::Deleted,
            },
            sha256: self.after.clone(),
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
