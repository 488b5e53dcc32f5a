//! Starting a command in its sandbox: bwrap, with everything that it and init need in descriptors.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use command_fds::CommandFdExt;
use rustix::pipe::{PipeFlags, pipe_with};

use super::link::Link;
use super::orders::{Orders, descriptor};
use super::{INIT_COMMAND, Sandbox};
use crate::Launch;
use crate::cgroup::Inheritable;
use crate::descriptors::{memory, numbered};

/// A command that is bwrap, and the ends of its pipes that stay here.
pub(crate) struct Sandboxed {
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) link: Link,
}

/// Makes `command`, which is [`Sandbox::program`], start the launch's command inside. What it holds open
/// for that goes with it: drop it once it has been spawned, or no pipe ever ends.
pub(crate) fn enter(
    command: &mut Command,
    sandbox: &Sandbox,
    launch: &Launch,
    env: Vec<(String, String)>,
    limits: Inheritable,
) -> io::Result<Sandboxed> {
    let orders = Orders {
        argv: launch.argv.clone(),
        cwd: sandbox.cwd.clone(),
        env,
        limits,
        writable: sandbox.writable.clone(),
    };
    let [stdout, stderr, report, words] = [pipe()?, pipe()?, pipe()?, pipe()?];
    let (control_in, control) = pipe()?;
    give(
        command,
        &sandbox.options,
        &orders,
        File::open("/proc/self/exe")?,
        vec![
            (report.1, descriptor::REPORT),
            (control_in, descriptor::CONTROL),
            (stdout.1, descriptor::STDOUT),
            (stderr.1, descriptor::STDERR),
        ],
    )?;
    command.stdout(Stdio::null()).stderr(words.1);
    Ok(Sandboxed {
        stdout: stdout.0,
        stderr: stderr.0,
        link: Link::new(report.0, control, words.0)?,
    })
}

/// The command line and the descriptors of a bwrap whose init is `program`.
pub(super) fn give(
    command: &mut Command,
    options: &[String],
    orders: &Orders,
    program: File,
    more: Vec<(OwnedFd, i32)>,
) -> io::Result<()> {
    let mut listed = Vec::new();
    for option in options {
        listed.extend_from_slice(option.as_bytes());
        listed.push(0);
    }
    command
        .arg("--args")
        .arg(descriptor::OPTIONS.to_string())
        .arg("--")
        .arg(format!("/proc/self/fd/{}", descriptor::PROGRAM))
        .arg(INIT_COMMAND)
        .stdin(Stdio::null());
    let mut mappings = vec![
        (memory(&listed)?, descriptor::OPTIONS),
        (program.into(), descriptor::PROGRAM),
        (memory(&serde_json::to_vec(orders)?)?, descriptor::ORDERS),
    ];
    mappings.extend(more);
    command
        .fd_mappings(numbered(mappings))
        .map_err(io::Error::other)?;
    Ok(())
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}
