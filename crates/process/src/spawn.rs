//! The start of a run's command: bare, or in its sandbox.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Pid;

use super::cgroup::Inheritable;
use super::lookup::find_program;
use super::remains::RUN_ID_VARIABLE;
use super::sandbox::{self, Link, Sandbox};
use super::{Launch, own_program};

/// What was started.
pub(super) struct Spawned {
    /// The command, or the bwrap around it: the leader of a process group of its own.
    pub(super) pid: Pid,
    pub(super) streams: [Option<OwnedFd>; 2],
    /// Where there is a sandbox, the line to its init.
    pub(super) link: Option<Link>,
}

/// Starts the command within its limits.
pub(super) fn spawn(launch: &Launch) -> io::Result<io::Result<Spawned>> {
    let limits = Inheritable::of(&launch.mechanisms, &launch.limits);
    // In a sandbox they are for the command alone.
    let taken_on = match &launch.sandbox {
        Some(_) => Inheritable::default(),
        None => limits,
    };
    let inherited = taken_on.prepare()?;
    let spawned = match &launch.sandbox {
        Some(sandbox) => contained(launch, sandbox, limits),
        None => bare(launch),
    };
    inherited.restore_self(spawned.as_ref().ok().map(|spawned| spawned.pid));
    Ok(spawned)
}

fn bare(launch: &Launch) -> io::Result<Spawned> {
    let (program, args) = launch
        .argv
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program"))?;
    let environment = environment(launch);
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let found = path.and_then(|(_, path)| find_program(program, path));
    // By its place: a program that the standard library has to look for itself costs a fork, which copies
    // the tables of all memory.
    let mut command = Command::new(found.as_deref().unwrap_or(Path::new(program)));
    command
        .arg0(program)
        .args(args)
        .current_dir(&launch.cwd)
        .env_clear()
        .envs(environment)
        .stdin(stdin(launch)?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(handover) = &launch.handover {
        // By this process, which is there for as long as the command is; the daemon may go.
        handover.give(&mut command, &own_program())?;
    }
    let mut child = command.spawn()?;
    Ok(Spawned {
        pid: Pid::from_child(&child),
        streams: [
            child.stdout.take().map(OwnedFd::from),
            child.stderr.take().map(OwnedFd::from),
        ],
        link: None,
    })
}

fn contained(launch: &Launch, sandbox: &Sandbox, limits: Inheritable) -> io::Result<Spawned> {
    let mut command = Command::new(sandbox.program());
    let environment = environment(launch);
    let (streams, link) = sandbox::enter(&mut command, sandbox, launch, environment, limits)?;
    // Of the command's environment bwrap and init have only what they are found by.
    let child = command
        .env_clear()
        .env(RUN_ID_VARIABLE, launch.run.to_string())
        .current_dir("/")
        .process_group(0)
        .spawn()?;
    Ok(Spawned {
        pid: Pid::from_child(&child),
        streams: streams.map(Some),
        link: Some(link),
    })
}

/// What the command reads.
fn stdin(launch: &Launch) -> io::Result<Stdio> {
    Ok(match &launch.stdin {
        Some(path) => File::open(path)?.into(),
        None => Stdio::null(),
    })
}

fn environment(launch: &Launch) -> Vec<(String, String)> {
    let run = (RUN_ID_VARIABLE.to_owned(), launch.run.to_string());
    launch.env.iter().cloned().chain([run]).collect()
}
