//! Files that the operator supplies to builds (`[repos.NAME.include]`): which of a workspace's files those are, and who may
//! not have them. They hold secrets, so they are known by their content as well as by their place: a copy under another
//! name is one of them.

mod bring;
mod plan;
mod sources;
mod values;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Error, Workspace};
use branchyard_git::verbs::Named;
use branchyard_git::verbs::conflicts::Working;
use branchyard_git::verbs::push;
use branchyard_git::{self as git, Repository};
use branchyard_model::{ErrorKind, Problem};
pub use bring::bring;
pub(crate) use bring::bring_into_new;
use sources::Stamp;
pub use values::values;

/// Why a commit of everything leaves out a file that was copied from one of them.
pub(crate) const WITHHELD: &str =
    "it has the content of a file that the operator supplies to builds";
const FILE: &str = "branchyard.included";
const MAX_SIZE: u64 = 4 << 20;
/// Where a branch names the files that it needs, in the manner of `.gitignore`.
pub const LIST: &str = ".worktreeinclude";

/// The files of a workspace that the operator supplied.
#[derive(Debug, Clone, Default)]
pub(crate) struct IncludedFiles {
    root: PathBuf,
    files: BTreeMap<PathBuf, IncludedFile>,
}

/// What was copied to a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct IncludedFile {
    /// What git would call the content.
    blob: String,
    size: u64,
    /// What the operator's file was when it was copied.
    source: Stamp,
}

impl IncludedFiles {
    /// Those of this workspace, as they were noted when they were copied.
    pub(crate) fn of(workspace: &Workspace) -> Result<Self, Error> {
        let failed = || Error::io("read which files the operator supplied");
        let noted = git::read_plain(&workspace.worktree().admin().join(FILE), MAX_SIZE);
        let Some(noted) = noted.map_err(failed())? else {
            return Ok(Self::default());
        };
        let files = serde_json::from_slice(&noted).map_err(|error| failed()(error.into()))?;
        Ok(Self {
            root: workspace.path().to_owned(),
            files,
        })
    }

    fn save(&self, admin: &Path) -> io::Result<()> {
        let place = admin.join(format!("{FILE}.new"));
        let mut fresh = File::create(&place)?;
        fresh.write_all(&serde_json::to_vec(&self.files)?)?;
        // After a power cut the copies may be there, and must not pass for anything else.
        fresh.sync_all()?;
        fs::rename(&place, admin.join(FILE))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// Whether the operator's file is at `path` as it was copied.
    pub(crate) fn is_unchanged(&self, path: &Path) -> bool {
        let known = self.files.get(path);
        known.is_some_and(|known| self.content_at(path, known.size).as_ref() == Some(&known.blob))
    }

    /// Whether what is at `path` is one of them, changed or not, or has the content of one.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        if self.files.is_empty() || self.files.contains_key(path) {
            return !self.files.is_empty();
        }
        let Ok(found) = self.root.join(path).symlink_metadata() else {
            return false;
        };
        found.is_file() && self.has_content(found.len(), || self.content_at(path, found.len()))
    }

    /// Whether one of them is in this directory, however deep.
    pub(crate) fn reach_into(&self, dir: &Path) -> bool {
        self.paths().any(|path| path.starts_with(dir))
    }

    /// Those, and copies of them, that git does not ignore.
    pub(crate) fn shown(&self, repo: &Repository) -> Result<Vec<PathBuf>, Error> {
        if self.files.is_empty() {
            return Ok(Vec::new());
        }
        let mut shown = git::Untracked::in_worktree(repo, true)?.paths;
        shown.retain(|path| self.covers(path));
        Ok(shown)
    }

    /// Refuses to show an open file, by whichever name it was found.
    pub(crate) fn check_shown(&self, path: &Path, file: &File) -> Result<(), Problem> {
        if self.files.is_empty() {
            return Ok(());
        }
        let is_hidden = self.files.contains_key(path) || self.is_one_of_them(file).unwrap_or(true);
        match is_hidden {
            true => Err(included_secret(path)),
            false => Ok(()),
        }
    }

    fn is_one_of_them(&self, file: &File) -> io::Result<bool> {
        let found = file.metadata()?;
        let is_same = |own: &Path| {
            let own = self.root.join(own).symlink_metadata();
            own.is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
        };
        if self.paths().any(is_same) {
            return Ok(true);
        }
        let content = || {
            let mut content = vec![0; usize::try_from(found.len()).ok()?];
            file.read_exact_at(&mut content, 0).ok()?;
            blob(&content)
        };
        Ok(self.has_content(found.len(), content))
    }

    /// Most files differ from all of these by their size alone.
    fn has_content(&self, size: u64, content: impl FnOnce() -> Option<String>) -> bool {
        let mut alike = self.files.values().filter(|known| known.size == size);
        alike.clone().next().is_some()
            && content().is_some_and(|blob| alike.any(|known| known.blob == blob))
    }

    fn content_at(&self, path: &Path, size: u64) -> Option<String> {
        let read = || -> io::Result<Option<String>> {
            let files = Working::open(&self.root).map_err(io::Error::other)?;
            let Some(file) = files.open_file(path)? else {
                return Ok(None);
            };
            if file.metadata()?.len() != size {
                return Ok(None);
            }
            let mut content = Vec::new();
            file.take(size + 1).read_to_end(&mut content)?;
            Ok(blob(&content).filter(|_| content.len() as u64 == size))
        };
        read().ok().flatten()
    }

    /// What decides what commands find in them.
    fn digest(&self) -> Vec<(String, String)> {
        let files = self.files.iter();
        files
            .map(|(path, file)| (path.to_string_lossy().into_owned(), file.blob.clone()))
            .collect()
    }
}

/// Refuses files of a workspace, by their paths, that are what the operator supplied to it. Blocks.
pub fn check_contents<'p>(
    workspace: &Workspace,
    mut files: impl Iterator<Item = Result<(&'p Path, File), Problem>>,
) -> Result<(), Problem> {
    let included = IncludedFiles::of(workspace).map_err(|error| error.problem())?;
    if included.is_empty() {
        return Ok(());
    }
    files.try_for_each(|file| {
        let (path, content) = file?;
        included.check_shown(path, &content)
    })
}

/// The names and contents of the files that the operator supplied to this workspace. Blocks for a moment.
pub fn digest(workspace: &Workspace) -> Result<Vec<(String, String)>, Error> {
    Ok(IncludedFiles::of(workspace)?.digest())
}

/// Whether what was built in a workspace, which may hold what it read in the operator's files, may go to another.
pub(crate) fn may_lend(from: &Workspace, to: &Workspace) -> Result<bool, Error> {
    let include = to.repo().config().include.as_ref();
    let is_for = include.is_some_and(|include| include.branches.matches(to.branch()));
    Ok(is_for || IncludedFiles::of(from)?.is_empty())
}

/// Refuses a change of a file that the operator supplied.
pub(crate) fn check_changed(workspace: &Workspace, path: &Path) -> Result<(), Error> {
    match IncludedFiles::of(workspace)?.covers(path) {
        true => Err(included_secret(path).into()),
        false => Ok(()),
    }
}

/// Refuses to stage what is named where that takes what the operator supplied.
pub(crate) fn check_staged(
    workspace: &Workspace,
    repo: &Repository,
    named: &Named,
    force: bool,
) -> Result<(), Error> {
    let included = IncludedFiles::of(workspace)?;
    if included.is_empty() || named.is_empty() {
        return Ok(());
    }
    let own = included.paths().filter(|_| force).map(Path::to_owned);
    let meant = included.shown(repo)?.into_iter().chain(own);
    let named_by_itself = named.iter().filter(|path| included.covers(path));
    let mut taken = named_by_itself
        .map(Path::to_owned)
        .chain(meant.filter(|path| named.covers(path)));
    match taken.next() {
        Some(path) => Err(included_secret(&path).field("paths").into()),
        None => Ok(()),
    }
}

/// Refuses to show or take new files where one of them is what the operator supplied.
pub(crate) fn check_untracked(workspace: &Workspace, repo: &Repository) -> Result<(), Error> {
    let shown = IncludedFiles::of(workspace)?.shown(repo)?;
    match shown.first() {
        Some(path) => Err(included_secret(path).into()),
        None => Ok(()),
    }
}

/// Refuses a command of a caller's to git that would take what the operator supplied.
pub async fn check_git(workspace: &Arc<Workspace>, argv: &[String]) -> Result<(), Error> {
    let [_, verb, args @ ..] = argv else {
        return Ok(());
    };
    if verb != "add" {
        return Ok(());
    }
    // By itself, among other letters, or cut short.
    let is_force = |arg: &String| match arg.strip_prefix("--") {
        Some(long) => long.starts_with('f'),
        None => arg.starts_with('-') && arg.contains('f'),
    };
    let force = args.iter().any(is_force);
    workspace
        .with_repository(move |this, repo| {
            let included = IncludedFiles::of(this)?;
            // Which files its words mean is for git to say.
            let forced = included.paths().filter(|_| force).map(Path::to_owned);
            let mut taken = included.shown(repo)?.into_iter().chain(forced);
            match taken.next() {
                Some(path) => Err(included_secret(&path).field("args").into()),
                None => Ok(()),
            }
        })
        .await
}

/// Refuses to push commits that hold what the operator supplied.
pub(crate) async fn check_outgoing(
    workspace: &Arc<Workspace>,
    tips: Vec<String>,
) -> Result<(), Error> {
    let included = IncludedFiles::of(workspace)?;
    if included.files.is_empty() || tips.is_empty() {
        return Ok(());
    }
    let store = workspace.repo().store().path();
    let sent = push::objects_to_send(workspace.repo().git(), store, &tips).await?;
    let mut files = included.files.iter();
    match files.find(|(_, file)| sent.contains(&file.blob)) {
        None => Ok(()),
        Some((path, _)) => {
            let detail = format!(
                "a commit holds the content of {}, which the operator supplies to builds",
                path.display()
            );
            Err(secret_refused(detail)
                .help("take it out of the commits (git_reset), and push again")
                .into())
        }
    }
}

/// What git calls a file with this content.
fn blob(content: &[u8]) -> Option<String> {
    git::blob_id(content).ok().map(|id| id.to_string())
}

fn included_secret(path: &Path) -> Problem {
    let path = path.display();
    secret_refused(format!(
        "{path} is supplied by the operator, to builds alone"
    ))
    .field("path")
    .help("commands in the workspace find it there; the operator has the original")
}

fn secret_refused(detail: String) -> Problem {
    Problem::new(ErrorKind::Forbidden, "included_secret", detail)
}
