//! A secret for one child and a helper of its own: on no command line, in no environment, in no file.
//! The child inherits it as a descriptor of memory that nobody can change any more, and passes that on
//! to the helper, which is this very program.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{SealFlags, fcntl_add_seals};
use serde::{Deserialize, Serialize};

use super::descriptors::{give, memory};

/// The descriptor's number in the child; what it starts inherits it by that number too.
const DESCRIPTOR: i32 = 3;
const MAX_BYTES: u64 = 64 * 1024;

/// What is handed over, and how the child is told of the helper. It is a secret, hence no `Debug`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Handover {
    /// What the helper reads.
    pub secret: String,
    /// The variable by which the child learns the command line of the helper.
    pub variable: String,
    /// The word on that command line that makes this program the helper.
    pub helper: String,
}

impl Handover {
    /// Gives the secret to the process that `command` is going to be. `program` is this program, by a
    /// path that others can start it by.
    pub fn give(&self, command: &mut Command, program: &Path) -> io::Result<()> {
        let program = program
            .to_str()
            .ok_or_else(|| io::Error::other("the program's path is not UTF-8"))?;
        let quoted = shlex::try_quote(program).map_err(io::Error::other)?;
        command.env(&self.variable, format!("!{quoted} {}", self.helper));
        let secret = sealed(self.secret.as_bytes())?;
        give(command, vec![(secret, DESCRIPTOR)])
    }

    /// In the helper: what was handed over. Opened anew, so that the next helper finds it whole.
    pub fn take() -> io::Result<String> {
        let mut secret = String::new();
        File::open(format!("/proc/self/fd/{DESCRIPTOR}"))?
            .take(MAX_BYTES)
            .read_to_string(&mut secret)?;
        Ok(secret)
    }
}

/// This very process's program, for processes that are not its own.
pub fn own_program() -> PathBuf {
    PathBuf::from(format!("/proc/{}/exe", std::process::id()))
}

fn sealed(content: &[u8]) -> io::Result<OwnedFd> {
    let memory = memory(content)?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&memory, seals)?;
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_the_child_reads_it_and_nothing_shows_it() {
        let handover = Handover {
            secret: "S3CRET".to_owned(),
            variable: "HELPER".to_owned(),
            helper: "help".to_owned(),
        };
        let mut command = Command::new("sh");
        let script = "cat /proc/self/fd/3; echo; (cat /proc/self/fd/3); echo; env; tr '\\0' ' ' </proc/$$/cmdline; echo x >&3";
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.args(["-c", script]);
        handover.give(&mut command, Path::new("/a b/yard")).unwrap();
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let (secret, rest) = said.split_at("S3CRET\nS3CRET\n".len());
        assert_eq!(secret, "S3CRET\nS3CRET\n");
        assert!(!rest.contains("S3CRET"), "{rest}");
        assert!(rest.contains("HELPER=!'/a b/yard' help\n"), "{rest}");
        assert!(!output.status.success(), "it is sealed");
    }

    #[test]
    fn another_child_gets_nothing() {
        let _memory = sealed(b"S3CRET").unwrap();
        let output = Command::new("ls")
            .args(["-l", "/proc/self/fd"])
            .output()
            .unwrap();
        assert!(!String::from_utf8_lossy(&output.stdout).contains("memfd"));
    }
}
