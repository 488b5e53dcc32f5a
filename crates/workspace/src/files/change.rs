//! Changing single files of a workspace for a caller. Each is reached from the top of the worktree through directories
//! alone, and replaced at once, so that a build or a read beside it sees the old content or the new one. The caller
//! holds the workspace's changes: of two, one comes after the other.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;

use super::beneath::{self, shown};
use crate::error::conflict;
use crate::{Error, Workspace, included};
use branchyard_git::is_plain_name;
use branchyard_git::verbs::conflicts::{NewFile, Read, Working};
use branchyard_model::{Problem, sha256};

/// The largest file that is changed, and that `read_file` tells the hash of.
pub(super) const MAX_CHANGED: u64 = 16 << 20;
/// The longest name that file systems take.
const MAX_NAME: usize = 255;
/// Where new content is written before it takes its place, beside what git keeps of the worktree: what a crash leaves
/// there is no file of the worktree, and the next change clears it.
const SPARE: &str = "branchyard-change";

/// What a file is now.
pub(super) struct Present {
    pub(super) content: Vec<u8>,
    /// Its permissions.
    pub(super) mode: u32,
}

impl Present {
    pub(super) fn sha256(&self) -> String {
        sha256(&self.content)
    }
}

/// Hears of files, right before they change and right after.
pub type OnChange = Arc<dyn Fn(&[&Path]) -> io::Result<()> + Send + Sync>;

/// Changes files of a workspace for a caller.
#[derive(Clone)]
pub struct Editor {
    workspace: Arc<Workspace>,
    on_change: OnChange,
}

impl Editor {
    pub fn new(workspace: Arc<Workspace>, on_change: OnChange) -> Self {
        Self {
            workspace,
            on_change,
        }
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Changes these files by `work`.
    pub(super) fn changing<T>(
        &self,
        paths: &[&Path],
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let noted = || (self.on_change)(paths).map_err(Error::io("note a change beside a run"));
        noted()?;
        let done = work()?;
        // A command may have begun meanwhile. Where that cannot be noted, all is done that was asked for.
        if let Err(error) = noted() {
            tracing::warn!(%error, "a run is not told of a change beneath it");
        }
        Ok(done)
    }

    /// Has `work` look at the files and change them, where blocking is allowed.
    pub(super) async fn edit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self, &Working) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let this = self.clone();
        self.workspace
            .blocking(move |workspace| work(&this, &Working::open(workspace.path())?))
            .await
    }

    /// The path of a file to change, as a caller gave it in `field`: inside, and nothing that git, on any file system,
    /// takes for its own.
    pub(super) fn path(&self, field: &str, given: &str) -> Result<PathBuf, Error> {
        let refused = |problem: Problem| Error::from(problem.field(field));
        let path = beneath::relative(&self.workspace, given).map_err(refused)?;
        if path.as_os_str().is_empty() || given.ends_with('/') {
            let problem = Problem::bad(field, format!("{given:?} names no file"));
            return Err(problem.into());
        }
        for name in &path {
            let name = name.as_bytes();
            if name.len() > MAX_NAME {
                let detail = format!("a name is longer than {MAX_NAME} bytes");
                return Err(Problem::bad(field, detail).into());
            }
            if !is_plain_name(name) {
                return Err(refused(beneath::git_directory()));
            }
        }
        let root = beneath::open_root(&self.workspace)?;
        beneath::check_parent(&root, &path).map_err(refused)?;
        included::check_changed(&self.workspace, &path)?;
        Ok(path)
    }

    /// Puts `content` at the caller's `path`, with the directories above it, in place of what `old` was. Returns whether
    /// it was put there: not where there is another file by now.
    pub(super) fn put(
        &self,
        files: &Working,
        path: &Path,
        file: &NewFile<'_>,
        old: Option<&Present>,
    ) -> Result<bool, Error> {
        let spare = self.workspace.worktree().admin().join(SPARE);
        self.changing(&[path], || {
            let placed = files.make_parents(path);
            let placed = placed.and_then(|()| files.place(path, file, &spare));
            if placed.as_ref().is_err_and(is_in_the_way) {
                let detail = format!("what is on the way to {} is no directory", shown(path));
                return Err(Problem::bad("path", detail).into());
            }
            let failed = || Error::io("write a file");
            let Some(old) = old.filter(|_| placed.as_ref().is_ok_and(|is_placed| *is_placed))
            else {
                return placed.map_err(failed());
            };
            // A build may have written to it since it was read.
            let is_same = fs::read(&spare).is_ok_and(|replaced| replaced == old.content);
            if !is_same {
                files.exchange(path, &spare).map_err(failed())?;
            }
            // The next change removes it, too.
            let _ = fs::remove_file(&spare);
            Ok(is_same)
        })
    }

    /// See [`Working::rename`].
    pub(super) fn rename(
        &self,
        files: &Working,
        (from, to): (&Path, &Path),
        may_replace: bool,
    ) -> Result<bool, Error> {
        self.changing(&[from, to], || {
            let renamed = files.rename(from, to, may_replace);
            renamed.map_err(Error::io("move a file"))
        })
    }

    /// See [`Working::remove`].
    pub(super) fn remove(&self, files: &Working, path: &Path) -> Result<(), Error> {
        self.changing(&[path], || Ok(files.remove(path)?))
    }
}

/// Has these files count as work, though a command was under way when they were written: what changed after its end is
/// none of its output.
pub fn keep_as_work(workspace: &Workspace, paths: &[String]) {
    let Ok(files) = Working::open(workspace.path()) else {
        return;
    };
    for path in paths {
        let touched = files
            .open_file(Path::new(path))
            .and_then(|file| match file {
                Some(file) => file.set_permissions(file.metadata()?.permissions()),
                None => Ok(()),
            });
        if let Err(error) = touched {
            tracing::warn!(%path, %error, "a file that was written beside a run may pass for its output");
        }
    }
}

/// The regular file at `path`, which is the caller's `field`: its permissions; `None` where there is nothing. Links are
/// not followed.
pub(super) fn stat(files: &Working, field: &str, path: &Path) -> Result<Option<u32>, Error> {
    let refused = |detail: String| Error::from(Problem::bad(field, detail));
    let stat = files.stat(path).map_err(Error::io("look at a file"))?;
    let Some(stat) = stat else {
        return Ok(None);
    };
    let name = shown(path);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(Some(stat.st_mode & 0o777)),
        FileType::Directory => Err(refused(format!("{name} is a directory"))),
        FileType::Symlink => {
            let target = files.link(path).unwrap_or_default();
            let target = String::from_utf8_lossy(&target).into_owned();
            let problem = Problem::bad(field, format!("{name} is a link to {target:?}"))
                .help("links are not followed; name the file that it leads to");
            Err(problem.into())
        }
        _ => Err(refused(format!("{name} is not a regular file"))),
    }
}

/// The same with its content.
pub(super) fn present(files: &Working, field: &str, path: &Path) -> Result<Option<Present>, Error> {
    let Some(mode) = stat(files, field, path)? else {
        return Ok(None);
    };
    let name = shown(path);
    let refused = |detail: String| Error::from(Problem::bad(field, detail));
    match files.read(path, MAX_CHANGED) {
        Read::Whole(content) => Ok(Some(Present { content, mode })),
        Read::TooLarge => Err(refused(format!(
            "{name} has more than {MAX_CHANGED} bytes, which is more than one call changes"
        ))),
        // It was there a moment ago: this is no reason to take it for a new one.
        Read::NoFile => Err(refused(format!("{name} cannot be read"))),
    }
}

/// Refuses a change of something else than the caller saw.
pub(super) fn check_expected(
    path: &Path,
    present: Option<&Present>,
    expected: Option<&str>,
) -> Result<(), Problem> {
    let Some(expected) = expected else {
        return Ok(());
    };
    let found = present.map(Present::sha256);
    if found.as_deref() == Some(expected) {
        return Ok(());
    }
    let name = shown(path);
    let detail = match found {
        Some(found) => format!("{name} is {found} now, and not what was expected"),
        None => format!("{name} is not there any more"),
    };
    Err(stale(detail).field("expected"))
}

/// The answer where another was quicker.
pub(super) fn stale(detail: String) -> Problem {
    conflict("stale", detail)
        .help("another caller or a build changed it; read it again and change what is there now")
}

/// Refuses what is no SHA-256, before anything is looked at.
pub(super) fn check_hash(expected: Option<&String>) -> Result<(), Problem> {
    let is_hash = |text: &&String| {
        text.len() == 64
            && text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    match expected.is_none_or(|text| is_hash(&text)) {
        true => Ok(()),
        false => Err(Problem::unprocessable(
            "expected",
            "a SHA-256 is 64 digits from 0 to 9 and a to f, as `sha256` of read_file",
        )),
    }
}

fn is_in_the_way(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    matches!(
        errno,
        Some(Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::ISDIR)
    )
}
