//! What a step writes for the steps after it: `GITHUB_ENV`, `GITHUB_OUTPUT`, `GITHUB_PATH` and `GITHUB_STEP_SUMMARY`. The
//! files are in a directory that its command could do anything with.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::regular::open_regular;
use branchyard_runtime::disk::if_there;

/// As much as a step may write to one of them.
const MAX_FILE: u64 = 1 << 20;
const MAX_NAME: usize = 256;
/// What commands cannot set for those after them.
const KEPT: [&str; 3] = ["GITHUB_", "RUNNER_", "BRANCHYARD_"];

/// The kinds of files, by the variable that names them.
pub(crate) const ENV: &str = "GITHUB_ENV";
pub(crate) const OUTPUT: &str = "GITHUB_OUTPUT";
pub(crate) const SEARCH: &str = "GITHUB_PATH";
pub(crate) const STATE: &str = "GITHUB_STATE";
pub(crate) const SUMMARY: &str = "GITHUB_STEP_SUMMARY";
pub(crate) const ALL: [&str; 5] = [ENV, OUTPUT, SEARCH, STATE, SUMMARY];

/// The name of the file of one step.
pub(crate) fn file_name(variable: &str, step: usize) -> String {
    let kind = variable.trim_start_matches("GITHUB_").to_ascii_lowercase();
    format!("{kind}-{step}")
}

/// Makes the files of a step, empty, in a directory that is made for them: nothing that another step put there is written to.
pub(crate) fn make(dir: &Path, step: usize) -> io::Result<()> {
    // One that a daemon left that was killed before it could start the step.
    if_there(fs::remove_dir_all(dir))?;
    fs::create_dir(dir)?;
    for variable in ALL {
        fs::File::create_new(dir.join(file_name(variable, step)))?;
    }
    Ok(())
}

/// What is in such a file; nothing where it is gone. An error if it is no regular file or too large.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(format!("it cannot be read: {error}")),
    };
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("it has more than {MAX_FILE} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok(text)
}

/// The names and values in a file of `NAME=value` lines, where a value of several lines is `NAME<<END`, the lines, and `END`.
pub(crate) fn entries(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut entries = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        let number = at + 1;
        let (equals, heredoc) = (line.find('='), line.find("<<"));
        let (name, value) = match (equals, heredoc) {
            (Some(equals), heredoc) if heredoc.is_none_or(|heredoc| equals < heredoc) => {
                (&line[..equals], line[equals + 1..].to_owned())
            }
            (_, Some(heredoc)) => {
                let end = &line[heredoc + 2..];
                if end.is_empty() {
                    return Err(format!("line {number} names no end of its value"));
                }
                let mut value = Vec::new();
                loop {
                    match lines.next() {
                        Some((_, line)) if line == end => break,
                        Some((_, line)) => value.push(line),
                        None => {
                            return Err(format!("the value of line {number} has no end {end:?}"));
                        }
                    }
                }
                (&line[..heredoc], value.join("\n"))
            }
            (_, None) => return Err(format!("line {number} is not NAME=value")),
        };
        if name.is_empty() || name.len() > MAX_NAME || name.contains('\0') || value.contains('\0') {
            return Err(format!("line {number} has no name that can be used"));
        }
        entries.push((name.to_owned(), value));
    }
    Ok(entries)
}

/// Why a variable may not be set for the steps after, if it may not.
pub(crate) fn refused_variable(name: &str) -> Option<String> {
    let is_kept = KEPT.iter().any(|kept| name.starts_with(kept));
    let is_plain = name.bytes().all(|b| b.is_ascii_graphic() && b != b'=');
    match (is_kept, is_plain) {
        (true, _) => Some(format!("{name} cannot be set by a step")),
        (false, false) => Some(format!("{name:?} is no name of a variable")),
        (false, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_lines_or_blocks() {
        let text = "A=1\n\nB=x=y\nC<<EOF\none\ntwo=2\nEOF\nD=<<EOF\nE<<=\nin\n=\n";
        let found = entries(text).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("A", "1"),
                ("B", "x=y"),
                ("C", "one\ntwo=2"),
                ("D", "<<EOF"),
                ("E", "in")
            ]
        );
        for wrong in ["A", "=1", "A<<", "A<<EOF\nx", "A\0=1"] {
            assert!(entries(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("env-1");
        assert_eq!(read(&path), Ok(String::new()));
        std::fs::write(&path, "A=1\n").unwrap();
        assert_eq!(read(&path).unwrap(), "A=1\n");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(read(&link).is_err());
        assert!(read(dir.path()).is_err());
        let fifo = dir.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        assert!(read(&fifo).is_err());
        std::fs::write(&path, vec![b'a'; (1 << 20) + 1]).unwrap();
        assert!(read(&path).is_err());
    }

    #[test]
    fn files_are_made_where_nothing_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (own, other) = (dir.path().join("1"), dir.path().join("other"));
        std::fs::create_dir(&own).unwrap();
        std::fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, own.join("env-1")).unwrap();
        make(&own, 1).unwrap();
        assert_eq!(read(&own.join("env-1")), Ok(String::new()));
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "kept");
        // Nor where the directory itself is a link.
        let linked = dir.path().join("2");
        std::os::unix::fs::symlink(dir.path(), &linked).unwrap();
        make(&linked, 2).unwrap();
        assert!(linked.symlink_metadata().unwrap().is_dir());
        assert!(other.exists());
    }

    #[test]
    fn own_variables_are_kept() {
        assert!(refused_variable("GITHUB_TOKEN").is_some());
        assert!(refused_variable("BRANCHYARD_RUN").is_some());
        assert!(refused_variable("A B").is_some());
        assert!(refused_variable("PYTHONPATH").is_none());
    }
}
