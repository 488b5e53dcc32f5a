//! The files that decide what a set-up makes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::files::regular;
use crate::{Error, Workspace};
use branchyard_config::{BRANCH_FILE, InputPaths, RepoConfig, Setup};
use branchyard_git::verbs::conflicts::Working;
use branchyard_git::{CommitTree, IndexFile, read_plain};
use branchyard_model::{ErrorKind, Globs, Problem, Stars, sha256, sha256_of};

/// A list that finds more files is no list of what decides.
const MOST: usize = 10_000;
/// A longer file of a branch is not read.
const MOST_BYTES: usize = 64 << 10;

/// What a branch says of its set-up, if it has such a file. Blocks.
pub(super) fn branch_file(workspace: &Workspace, path: &str) -> Result<Option<String>, Error> {
    let file = workspace.path().join(path);
    if file.symlink_metadata().is_err() {
        return Ok(None);
    }
    let refused = |why: &str| Problem::unprocessable(path, why.to_owned());
    // A link could lead anywhere.
    regular::open_unfollowed(workspace, Path::new(path))?;
    let text =
        read_plain(&file, MOST_BYTES as u64).map_err(Error::io("read a file of the branch"))?;
    let text = text.ok_or_else(|| refused("the file has more than 64 KiB, or is no plain file"))?;
    let text = String::from_utf8(text).map_err(|_| refused("the file is not UTF-8"))?;
    Ok(Some(text))
}

/// The set-up that a file of a branch declares, where it may, or else the operator's.
pub fn declared(file: Option<&str>, config: &RepoConfig) -> Result<Option<Setup>, Problem> {
    let invalid = |why: String| {
        let detail = format!("{BRANCH_FILE} says no set-up that can be run: {why}");
        Problem::new(ErrorKind::Unprocessable, "setup_invalid", detail).field("setup")
    };
    let file = file.filter(|_| config.setup_on_branch);
    let of_branch = file.map(Setup::of_branch).transpose().map_err(invalid)?;
    Ok(of_branch.flatten().or_else(|| config.setup.clone()))
}

/// As [`declared`], at a commit. Blocks.
pub fn declared_at(tree: &CommitTree, config: &RepoConfig) -> Result<Option<Setup>, Error> {
    let file = match config.setup_on_branch {
        true => tree.read(Path::new(BRANCH_FILE), MOST_BYTES)?,
        false => None,
    };
    let file = file.map(String::from_utf8).transpose();
    let file = file.map_err(|_| Problem::unprocessable(BRANCH_FILE, "the file is not UTF-8"))?;
    Ok(declared(file.as_deref(), config)?)
}

/// The paths and globs of inputs.
struct InputFiles {
    plain: BTreeSet<PathBuf>,
    globs: Option<Globs>,
}

impl InputFiles {
    fn of(setup: &Setup) -> Result<Self, Problem> {
        let (globs, plain): (Vec<_>, Vec<_>) =
            setup.inputs.iter().partition(|p| InputPaths::is_glob(p));
        let written = globs.iter().map(|glob| glob.as_str());
        let all = Globs::all(written, Stars::WithinSegment)
            .map_err(|why| Problem::unprocessable("setup.inputs", why))?;
        Ok(Self {
            plain: plain.iter().map(|path| path.as_str().into()).collect(),
            globs: (!globs.is_empty()).then_some(all),
        })
    }

    fn is_one(&self, path: &Path) -> bool {
        let is_matched = self.globs.as_ref().is_some_and(|globs| globs.matches(path));
        is_matched || self.plain.contains(path)
    }
}

fn check_number(inputs: usize) -> Result<(), Problem> {
    if inputs <= MOST {
        return Ok(());
    }
    let detail = format!("inputs are {inputs} files, and may be {MOST}");
    Err(Problem::unprocessable("setup.inputs", detail))
}

/// A digest of the names and contents of the inputs at a commit, which is no digest of files. Blocks.
pub fn digest_at(tree: &CommitTree, setup: &Setup) -> Result<String, Error> {
    let inputs = InputFiles::of(setup)?;
    let found = tree.entries(|path| inputs.is_one(path))?;
    check_number(found.len())?;
    let lines = found.iter();
    let lines = lines.map(|(path, mode, id)| format!("{path:?} {mode:o} {id}\n"));
    Ok(sha256(lines.collect::<String>().as_bytes()))
}

/// A digest of the names and contents of the inputs, as they are in the worktree at `root`. Blocks.
pub(crate) fn digest(root: &Path, index: &Path, setup: &Setup) -> Result<String, Error> {
    let inputs = InputFiles::of(setup)?;
    let mut paths = inputs.plain.clone();
    if inputs.globs.is_some() {
        let index = IndexFile::read_any(index).map_err(Error::io("read the index"))?;
        for entry in index.iter().flat_map(|index| index.entries()) {
            let path = index.as_ref().map(|index| index.path(entry));
            let path = Path::new(OsStr::from_bytes(path.unwrap_or_default()));
            if inputs.is_one(path) {
                paths.insert(path.to_owned());
            }
        }
    }
    check_number(paths.len())?;
    let (files, mut all) = (Working::open(root)?, String::new());
    for path in paths {
        let content = content(&files, &path).map_err(Error::io("read an input of the set-up"))?;
        all += &format!("{path:?} {content}\n");
    }
    Ok(sha256(all.as_bytes()))
}

/// What is at a path, in few bytes. A link is what it says, as to git; a directory or a submodule is no input.
fn content(files: &Working, path: &Path) -> io::Result<String> {
    if let Some(target) = files.link(path) {
        return Ok(format!("link {}", sha256(&target)));
    }
    let Some(file) = files.open_file(path)? else {
        return Ok("no file".to_owned());
    };
    let is_executable = file.metadata()?.mode() & 0o111 != 0;
    Ok(format!("{} {is_executable}", sha256_of(file)?))
}
