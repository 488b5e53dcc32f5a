//! Starting a command in its sandbox: bwrap, with everything that it and init need in descriptors.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use rustix::pipe::{PipeFlags, pipe_with};

use super::egress;
use super::link::Link;
use super::orders::{Orders, descriptor};
use super::{INIT_COMMAND, Sandbox};
use crate::Launch;
use crate::cgroup::Inheritable;
use crate::descriptors::{self, memory};

/// Makes `command`, which is [`Sandbox::program`], start the launch's command inside. What it holds open
/// for that goes with it: drop it once it has been spawned, or no pipe ever ends. Returns the ends of its
/// pipes that stay here: standard output, standard error and the line to init.
pub(crate) fn enter(
    command: &mut Command,
    sandbox: &Sandbox,
    launch: &Launch,
    env: Vec<(String, String)>,
    limits: Inheritable,
) -> io::Result<([OwnedFd; 2], Link)> {
    let orders = Orders {
        argv: launch.argv.clone(),
        has_stdin: launch.stdin.is_some(),
        offers_proxy: sandbox.network.is_some(),
        cwd: sandbox.cwd.clone(),
        env,
        limits,
        writable: sandbox.writable.clone(),
    };
    let [stdout, stderr, report, words] = [pipe()?, pipe()?, pipe()?, pipe()?];
    let (control_in, control) = pipe()?;
    let mut more = vec![
        (report.1, descriptor::REPORT),
        (control_in, descriptor::CONTROL),
        (stdout.1, descriptor::STDOUT),
        (stderr.1, descriptor::STDERR),
    ];
    if let Some(stdin) = &launch.stdin {
        more.push((File::open(stdin)?.into(), descriptor::STDIN));
    }
    let program = File::open("/proc/self/exe")?;
    give(command, &sandbox.options, &orders, program, more)?;
    command.stdout(Stdio::null()).stderr(words.1);
    if let Some(allowed) = &sandbox.network {
        let (inside, outside) = UnixStream::pair()?;
        command.stdin(OwnedFd::from(inside));
        egress::answer(outside, allowed.clone())?;
    }
    let link = Link::new(report.0, control, words.0)?;
    Ok(([stdout.0, stderr.0], link))
}

/// The command line and the descriptors of a bwrap whose init is `program`.
pub(super) fn give(
    command: &mut Command,
    options: &[String],
    orders: &Orders,
    program: File,
    more: Vec<(OwnedFd, i32)>,
) -> io::Result<()> {
    let listed = options.iter().flat_map(|option| [option.as_str(), "\0"]);
    let listed: String = listed.collect();
    command
        .arg("--args")
        .arg(descriptor::OPTIONS.to_string())
        .arg("--")
        .arg(format!("/proc/self/fd/{}", descriptor::PROGRAM))
        .arg(INIT_COMMAND)
        .stdin(Stdio::null());
    let mut mappings = vec![
        (memory(listed.as_bytes())?, descriptor::OPTIONS),
        (program.into(), descriptor::PROGRAM),
        (memory(&serde_json::to_vec(orders)?)?, descriptor::ORDERS),
    ];
    mappings.extend(more);
    descriptors::give(command, mappings)
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}
