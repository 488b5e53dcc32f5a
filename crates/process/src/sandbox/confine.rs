//! Walls around a short command of the daemon's own that looks at files which a build may have written. bwrap
//! alone puts them up, without an init inside: such a command is one program that is known, and it should
//! start soon. It has no network, no home, no `/proc`, and of the machine's files only its programs.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::process::Command;

use super::bubblewrap::{BUBBLEWRAP, find_bubblewrap, in_some_namespace, on_trial};
use super::syscalls;
use super::system::System;
use crate::descriptors::{give, memory};
use crate::plain_command;
use branchyard_model::SandboxProfile;

/// What a confined command may put into its private `/tmp`.
const TMP_SIZE: &str = "67108864";
/// And into each directory that is blank for it.
pub(super) const BLANK_SIZE: &str = TMP_SIZE;
/// By these numbers bwrap finds its options and its filters.
const OPTIONS: i32 = 3;
const FIRST_FILTER: i32 = 4;

/// One part of the file system of a confined command. A later one covers what an earlier one shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mount {
    ReadOnly(PathBuf),
    /// As [`Mount::ReadOnly`], where there is such a file.
    ReadOnlyIfThere(PathBuf),
    Writable(PathBuf),
    /// An empty directory that cannot be written to is in its place.
    Hidden(PathBuf),
    /// An empty directory is in its place, and what is written there goes with the command.
    Blank(PathBuf),
}

/// A way to confine commands that was tried on this machine; cheap to clone.
#[derive(Debug, Clone)]
pub struct Confinement(Arc<Walls>);

#[derive(Debug)]
struct Walls {
    bubblewrap: PathBuf,
    /// What every confined command is shown.
    options: Vec<u8>,
    /// Seccomp programs, as the kernel takes them.
    filters: Vec<Vec<u8>>,
}

impl Confinement {
    /// Confines `argv`, found by `path`, on trial. Returns why it cannot be done, if so.
    pub async fn probe(path: &OsStr, argv: &[&str]) -> Result<Self, String> {
        let bubblewrap = find_bubblewrap(path)?;
        in_some_namespace(&bubblewrap, async |system| {
            Self::attempt(&system, path, argv).await
        })
        .await
    }

    async fn attempt(system: &System, path: &OsStr, argv: &[&str]) -> Result<Self, String> {
        let failed = |error: &dyn std::error::Error| format!("{BUBBLEWRAP}: {error}");
        let filters = syscalls::confining().map_err(|error| failed(&error))?;
        let this = Self(Arc::new(Walls {
            bubblewrap: system.bubblewrap().to_owned(),
            options: base(system),
            filters: filters.iter().map(|filter| in_bytes(filter)).collect(),
        }));
        let mut command = this
            .command(&[], Path::new("/"))
            .map_err(|error| failed(&error))?;
        command.args(argv).env("PATH", path);
        on_trial(command).await?;
        Ok(this)
    }

    /// A command that starts in `dir`, by its real name, and is shown these parts of the file system besides
    /// the machine's programs. The program and its arguments are still to be added.
    pub fn command(&self, mounts: &[Mount], dir: &Path) -> io::Result<Command> {
        let walls = &self.0;
        let mut options = walls.options.clone();
        for mount in mounts {
            match mount {
                Mount::ReadOnly(path) => list(&mut options, &["--ro-bind"], &[path, path]),
                Mount::ReadOnlyIfThere(path) => {
                    list(&mut options, &["--ro-bind-try"], &[path, path]);
                }
                Mount::Writable(path) => list(&mut options, &["--bind"], &[path, path]),
                Mount::Blank(path) => {
                    list(&mut options, &["--size", BLANK_SIZE, "--tmpfs"], &[path]);
                }
                Mount::Hidden(path) => {
                    list(&mut options, &["--tmpfs"], &[path]);
                    list(&mut options, &["--remount-ro"], &[path]);
                }
            }
        }
        list(&mut options, &["--chdir"], &[dir]);
        let mut descriptors = vec![(memory(&options)?, OPTIONS)];
        let mut command = plain_command(&walls.bubblewrap, Path::new("/"));
        command.arg("--args").arg(OPTIONS.to_string());
        for (number, filter) in (FIRST_FILTER..).zip(&walls.filters) {
            descriptors.push((memory(filter)?, number));
            command.arg("--add-seccomp-fd").arg(number.to_string());
        }
        give(&mut command, descriptors)?;
        command.arg("--");
        Ok(command)
    }
}

/// The machine's programs, and nothing else of it. No IPC namespace: the kernel takes long to end one, and the
/// filters refuse what it would keep apart.
fn base(system: &System) -> Vec<u8> {
    let mut options = Vec::new();
    if system.user_namespace() {
        list(&mut options, &["--unshare-user"], &[]);
    }
    list(
        &mut options,
        &["--unshare-pid", "--unshare-net", "--cap-drop", "ALL"],
        &[],
    );
    for option in system.options(SandboxProfile::Strict) {
        list(&mut options, &[&option], &[]);
    }
    for device in ["/dev/null", "/dev/urandom"] {
        // Not read-only: bwrap would have it be no device then, which nothing can open.
        list(&mut options, &["--dev-bind", device, device], &[]);
    }
    let tmp = ["--perms", "1777", "--size", TMP_SIZE, "--tmpfs", "/tmp"];
    list(&mut options, &tmp, &[]);
    options
}

/// Adds words as bwrap reads them from a descriptor.
fn list(options: &mut Vec<u8>, words: &[&str], paths: &[&Path]) {
    use std::os::unix::ffi::OsStrExt;
    let words = words.iter().map(|word| word.as_bytes());
    for word in words.chain(paths.iter().map(|path| path.as_os_str().as_bytes())) {
        options.extend_from_slice(word);
        options.push(0);
    }
}

fn in_bytes(filter: &[seccompiler::sock_filter]) -> Vec<u8> {
    let steps = filter.iter().flat_map(|step| {
        let [code, k] = [&step.code.to_ne_bytes()[..], &step.k.to_ne_bytes()[..]];
        [code, &[step.jt, step.jf], k].concat()
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn git_runs_confined_where_there_is_bwrap() {
        let path = OsStr::new(env!("PATH"));
        if find_bubblewrap(path).is_err() {
            println!("not looked at: {BUBBLEWRAP} is not installed");
            return;
        }
        // It opens `/dev/null` to read and to write before anything else.
        let confined = Confinement::probe(path, &["git", "--version"]).await;
        assert!(confined.is_ok(), "{confined:?}");
        let no_such_program = Confinement::probe(path, &["no-such-program"]).await;
        assert!(no_such_program.is_err());
    }
}
