//! Changing single files of a workspace for a caller. Each is reached from the top of the worktree through directories
//! alone, and replaced at once, so that a build or a read beside it sees the old content or the new one. The caller
//! holds the workspace's changes: of two, one comes after the other.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;

use super::beneath::{self, shown};
use crate::error::conflict;
use crate::{Error, Workspace};
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

/// Who is to know of files, right before they change.
pub type Tell = Arc<dyn Fn(&[&Path]) -> io::Result<()> + Send + Sync>;

/// Changes files of a workspace for a caller.
#[derive(Clone)]
pub struct Editor {
    workspace: Arc<Workspace>,
    tell: Tell,
}

impl Editor {
    pub fn new(workspace: Arc<Workspace>, tell: Tell) -> Self {
        Self { workspace, tell }
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    fn tell(&self, paths: &[&Path]) -> Result<(), Error> {
        (self.tell)(paths).map_err(Error::io("note a change beside a run"))
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
    pub(super) fn path(&self, field: &str, given: &str) -> Result<PathBuf, Problem> {
        let path = beneath::relative(&self.workspace, given);
        let path = path.map_err(|problem| problem.field(field))?;
        if path.as_os_str().is_empty() || given.ends_with('/') {
            return Err(Problem::bad(field, format!("{given:?} names no file")));
        }
        for name in &path {
            let name = name.as_bytes();
            if name.len() > MAX_NAME {
                let detail = format!("a name is longer than {MAX_NAME} bytes");
                return Err(Problem::bad(field, detail));
            }
            if !is_plain_name(name) {
                return Err(beneath::git_directory().field(field));
            }
        }
        Ok(path)
    }

    /// Puts `file` at the caller's `path`, with the directories above it. Returns whether it was put there: not a new
    /// file where one is.
    pub(super) fn put(
        &self,
        files: &Working,
        path: &Path,
        file: &NewFile<'_>,
    ) -> Result<bool, Error> {
        self.tell(&[path])?;
        let spare = self.workspace.worktree().admin().join(SPARE);
        let placed = files.make_parents(path);
        match placed.and_then(|()| files.place(path, file, &spare)) {
            Ok(is_placed) => Ok(is_placed),
            Err(error) if is_in_the_way(&error) => {
                let detail = format!("what is on the way to {} is no directory", shown(path));
                Err(Problem::bad("path", detail).into())
            }
            Err(error) => Err(Error::io("write a file")(error)),
        }
    }

    /// See [`Working::rename`].
    pub(super) fn rename(
        &self,
        files: &Working,
        (from, to): (&Path, &Path),
        may_replace: bool,
    ) -> Result<bool, Error> {
        self.tell(&[from, to])?;
        let renamed = files.rename(from, to, may_replace);
        renamed.map_err(Error::io("move a file"))
    }

    /// See [`Working::remove`].
    pub(super) fn remove(&self, files: &Working, path: &Path) -> Result<(), Error> {
        self.tell(&[path])?;
        Ok(files.remove(path)?)
    }
}

/// What there is at `path`, which is the caller's `field`; `None` where there is nothing. Links are not followed.
pub(super) fn present(files: &Working, field: &str, path: &Path) -> Result<Option<Present>, Error> {
    let refused = |detail: String| Error::from(Problem::bad(field, detail));
    let stat = files.stat(path).map_err(Error::io("look at a file"))?;
    let Some(stat) = stat else {
        return Ok(None);
    };
    let name = shown(path);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => {
            let problem = Problem::bad(field, format!("{name} is a directory"));
            return Err(problem.into());
        }
        FileType::Symlink => {
            let target = files.link(path).unwrap_or_default();
            let target = String::from_utf8_lossy(&target).into_owned();
            let problem = Problem::bad(field, format!("{name} is a link to {target:?}"))
                .help("links are not followed; name the file that it leads to");
            return Err(problem.into());
        }
        _ => return Err(refused(format!("{name} is not a regular file"))),
    }
    match files.read(path, MAX_CHANGED) {
        Read::Whole(content) => Ok(Some(Present {
            content,
            mode: stat.st_mode & 0o777,
        })),
        Read::TooLarge => Err(refused(format!(
            "{name} has more than {MAX_CHANGED} bytes, which is more than one call changes"
        ))),
        Read::NoFile => Ok(None),
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
    Err(conflict("stale", detail)
        .field("expected")
        .help("another caller or a build changed it; read it again and change what is there now"))
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
