//! What is handed to git on its standard input: messages and lists of files, of any length, and never an
//! argument.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::Error;
use branchyard_model::Problem;

const LONGEST_ARGUMENT: usize = 64 * 1024;

/// The message that was given in `message`, which must say something.
pub(super) fn check_message(message: &str) -> Result<(), Problem> {
    if message.trim().is_empty() {
        return Err(Problem::unprocessable("message", "the message is empty"));
    }
    check_no_nul(message)
}

pub(super) fn check_no_nul(message: &str) -> Result<(), Problem> {
    let detail = "a message cannot hold a NUL character";
    match message.contains('\0') {
        true => Err(Problem::bad("message", detail)),
        false => Ok(()),
    }
}

/// What is given to git in an argument: the kernel starts no program with one of 128 KiB.
pub(super) fn check_argument(field: &str, text: &str) -> Result<(), Problem> {
    let detail = || format!("it is longer than {LONGEST_ARGUMENT} bytes");
    match text.len() > LONGEST_ARGUMENT {
        true => Err(Problem::bad(field, detail())),
        false => Ok(()),
    }
}

/// A file in memory that git reads it from.
pub(crate) fn bytes(bytes: &[u8]) -> Result<File, Error> {
    let hand_over = || {
        let mut file = File::from(memfd_create("branchyard", MemfdFlags::CLOEXEC)?);
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file)
    };
    hand_over().map_err(Error::io("hand something over to git"))
}

/// The whole worktree but for these paths, for `--pathspec-from-file=-` and `--pathspec-file-nul`.
pub(super) fn all_but(paths: &[PathBuf]) -> Result<File, Error> {
    let mut specs = b":(top)".to_vec();
    for path in paths {
        specs.extend_from_slice(b"\0:(top,exclude,literal)");
        specs.extend_from_slice(path.as_os_str().as_bytes());
    }
    bytes(&specs)
}

/// Paths, for `--pathspec-from-file=-` and `--pathspec-file-nul`.
pub(super) fn paths(paths: &[PathBuf]) -> Result<File, Error> {
    let names: Vec<&[u8]> = paths
        .iter()
        .map(|path| path.as_os_str().as_bytes())
        .collect();
    bytes(&names.join(&0))
}
