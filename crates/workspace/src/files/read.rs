//! Reading lines of a file in a workspace.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::{open_beneath, shown};
use crate::files::beneath;
use crate::{Error, Workspace};
use branchyard_git as git;
use branchyard_model::{About, ErrorKind, Problem};

/// Larger files are not read, however few lines were asked for.
pub(super) const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What `read_file` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadRequest {
    pub path: String,
    /// First line wanted, counted from 1.
    #[serde(default)]
    pub start_line: Option<usize>,
    /// Last line wanted.
    #[serde(default)]
    pub end_line: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct FileText {
    pub path: String,
    pub text: String,
    /// `utf-8`, or `base64` where the lines are not text.
    pub encoding: &'static str,
    pub start_line: usize,
    /// The last line in `text`; 0 if there is none.
    pub end_line: usize,
    pub total_lines: usize,
    /// Of the whole file, in bytes.
    pub size: u64,
    /// `text` ends before the last line that was asked for.
    pub truncated: bool,
    /// The file differs from the commit that the answer names, or is not in it.
    pub modified: bool,
}

/// Reads lines of a file, at most `max` bytes of them. The caller shares the files.
pub async fn read(
    workspace: &Arc<Workspace>,
    request: ReadRequest,
    max: usize,
) -> Result<(About, FileText), Error> {
    workspace
        .looking(move |this| {
            let path = beneath::relative(this, &request.path)?;
            let fd = open_beneath(&beneath::open_root(this)?, &path)?;
            let (file, size) = open_regular(&fd, &path)?;
            let mut text = read_lines(file, &request, max)?;
            let repo = this.worktree().open()?;
            text.path = shown(&path);
            text.size = size;
            text.modified = git::differs_from_head(&repo, &path).unwrap_or(true);
            Ok((beneath::standing_for_read(this)?, text))
        })
        .await
}

/// Opens a regular file as git sees it: a link is not followed, for git keeps it as one. Blocks.
pub(crate) fn open_unfollowed(workspace: &Workspace, path: &Path) -> Result<File, Error> {
    let fd = beneath::open_unfollowed(&beneath::open_root(workspace)?, path)?;
    Ok(open_regular(&fd, path)?.0)
}

/// Opens what `fd` only names, if it is a regular file of bearable size.
pub(super) fn open_regular(fd: &OwnedFd, path: &Path) -> Result<(File, u64), Error> {
    let io = |errno: Errno| Error::io("read a file")(errno.into());
    let stat = rustix::fs::fstat(fd).map_err(io)?;
    let refused = |why: String| Problem::bad("path", format!("{} {why}", shown(path)));
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => {
            let detail = format!("{} is a directory", shown(path));
            let problem = Problem::new(ErrorKind::BadRequest, "is_directory", detail);
            return Err(problem.field("path").help("use ls").into());
        }
        _ => return Err(refused("is not a regular file".into()).into()),
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > MAX_FILE {
        return Err(refused(format!(
            "has {size} bytes, more than the {MAX_FILE} that are read"
        ))
        .into());
    }
    // The descriptor only names the file; opening it for reading goes through the same inode.
    let reopened = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let file =
        rustix::fs::open(reopened, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(io)?;
    Ok((File::from(file), size))
}

fn read_lines(file: File, request: &ReadRequest, max: usize) -> Result<FileText, Error> {
    let first = request.start_line.unwrap_or(1).max(1);
    let last = request.end_line.unwrap_or(usize::MAX);
    if last < first {
        return Err(Problem::unprocessable("end_line", "end_line is before start_line").into());
    }
    let mut reader = BufReader::with_capacity(64 * 1024, file.take(MAX_FILE));
    let (mut bytes, mut line) = (Vec::new(), Vec::new());
    let (mut number, mut end_line, mut truncated) = (0, 0, false);
    loop {
        line.clear();
        if reader
            .read_until(b'\n', &mut line)
            .map_err(Error::io("read a file"))?
            == 0
        {
            break;
        }
        number += 1;
        if number < first || number > last || truncated {
            continue;
        }
        let room = max - bytes.len();
        truncated = line.len() > room;
        bytes.extend_from_slice(&line[..line.len().min(room)]);
        end_line = number;
    }
    let (text, encoding) = match String::from_utf8(bytes) {
        Ok(text) => (text, "utf-8"),
        Err(error) => match (truncated, error.utf8_error()) {
            // Only the cut went through a character: what is before it is text.
            (true, cut) if cut.error_len().is_none() => {
                let mut bytes = error.into_bytes();
                bytes.truncate(cut.valid_up_to());
                (String::from_utf8_lossy(&bytes).into_owned(), "utf-8")
            }
            _ => (
                base64::engine::general_purpose::STANDARD.encode(error.into_bytes()),
                "base64",
            ),
        },
    };
    Ok(FileText {
        path: String::new(),
        text,
        encoding,
        start_line: first,
        end_line,
        total_lines: number,
        size: 0,
        truncated,
        modified: false,
    })
}
