//! The first process inside: this very program once more, as init of the sandbox's processes. It gives up
//! what no build needs, starts the command, takes in orphans, and tells the supervisor how it ended, for
//! bwrap itself only passes on a number.
//!
//! It stays until nobody is left, since what the command left behind may still have something to print.
//! When it goes, the kernel ends everyone inside.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    DumpableBehavior, Pid, Signal, geteuid, kill_process_group, set_dumpable_behavior,
};
use signal_hook::consts::SIGCHLD;

use super::orders::{Orders, Report, Tried, descriptor};
use super::{egress, host_inodes, landlock, syscalls};
use crate::exit::reap;
use crate::{CommandError, signals};

/// The hidden word on the command line that makes this program the init of a sandbox.
pub const INIT_COMMAND: &str = "sandbox-init";

/// Runs one command inside a sandbox. What goes wrong is told on standard error, where the supervisor
/// looks if it hears nothing else.
pub fn init_main() -> ExitCode {
    match attend() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn attend() -> io::Result<()> {
    isolate()?;
    let (mut to_read, mut to_write) = (OpenOptions::new(), OpenOptions::new());
    let (to_read, to_write) = (to_read.read(true), to_write.write(true));
    let orders: Orders = serde_json::from_reader(inherited(descriptor::ORDERS, to_read)?)?;
    // Nothing of this program is for the command.
    close(descriptor::PROGRAM);
    if orders.argv.is_empty() {
        return attend_trial(&orders);
    }
    let mut report = inherited(descriptor::REPORT, to_write)?;
    let control = inherited(descriptor::CONTROL, to_read)?;
    rustix::io::ioctl_fionbio(&control, true)?;
    let streams = [descriptor::STDOUT, descriptor::STDERR];
    let [stdout, stderr] = streams.map(|number| inherited(number, to_write));
    let stdin = match orders.has_stdin {
        true => inherited(descriptor::STDIN, to_read)?.into(),
        false => Stdio::null(),
    };
    if orders.offers_proxy {
        let outside = io::stdin().as_fd().try_clone_to_owned()?;
        egress::offer(outside.into())?;
    }
    // Before the command is: its end must not go unheard.
    let ended = signals::on(SIGCHLD)?;
    landlock::restrict(&orders.writable)?;
    syscalls::restrict()?;
    let spawned = orders
        .limits
        .take_on()
        .and_then(|()| spawn(&orders, stdin, stdout?, stderr?));
    let child = match spawned {
        Ok(child) => child,
        Err(error) => return tell(&mut report, &Report::NotStarted(CommandError::from(&error))),
    };
    orders.limits.fix(Pid::from_child(&child));
    block_signals()?;
    drop(orders);
    tell(&mut report, &Report::Started)?;
    let mut init = Init {
        command: Pid::from_child(&child),
        report,
        control,
        ended,
    };
    init.until_alone()
}

/// Closes what `/proc/1` would open to a build of the same user: this program, which is the host's own file, and the
/// descriptors by which the supervisor is told of the build's end. No other process is inside yet.
fn isolate() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    if geteuid().is_root() {
        host_inodes::protect_devices()?;
        host_inodes::drop_capabilities()?;
    }
    Ok(())
}

/// Restricts itself as for a build, and says by what.
fn attend_trial(orders: &Orders) -> io::Result<()> {
    let tried = Tried {
        landlock: landlock::restrict(&orders.writable)?,
    };
    syscalls::restrict()?;
    serde_json::to_writer(io::stdout(), &tried)?;
    Ok(())
}

fn spawn(orders: &Orders, stdin: Stdio, stdout: File, stderr: File) -> io::Result<Child> {
    let (program, args) = orders
        .argv
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program"))?;
    Command::new(program)
        .args(args)
        .current_dir(&orders.cwd)
        .env_clear()
        .envs(orders.env.iter().map(|(name, value)| (name, value)))
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .spawn()
}

/// The kernel keeps a build from ending its first process by a signal, but not from calling the handlers that the standard
/// library has for faults: several at once overflow their stack. To be done after the start of the command, which
/// inherits what is blocked.
fn block_signals() -> io::Result<()> {
    let mut refused = SigSet::all();
    refused.remove(nix::sys::signal::SIGCHLD);
    Ok(refused.thread_block()?)
}

/// What was inherited by this number. Opened anew: so it is closed on exec, and no number is taken on trust.
fn inherited(number: i32, how: &OpenOptions) -> io::Result<File> {
    let file = how.open(format!("/proc/self/fd/{number}"))?;
    close(number);
    Ok(file)
}

fn close(number: i32) {
    // Whether it was open at all makes no difference.
    let _ = nix::unistd::close(number);
}

fn tell(to: &mut File, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    to.write_all(&line)
}

struct Init {
    command: Pid,
    report: File,
    control: File,
    ended: OwnedFd,
}

impl Init {
    /// Returns when nobody is left inside, or the supervisor is gone.
    fn until_alone(&mut self) -> io::Result<()> {
        loop {
            let mut fds = [
                PollFd::new(&self.ended, PollFlags::IN),
                PollFd::new(&self.control, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            let [ended, control] = fds.map(|fd| !fd.revents().is_empty());
            if control && !self.heed()? {
                return Ok(());
            }
            if ended && signals::heard(&self.ended) {
                let (outcome, alone) = reap(self.command)?;
                if let Some(outcome) = outcome {
                    tell(&mut self.report, &Report::Ended { outcome, alone })?;
                }
                if alone {
                    return Ok(());
                }
            }
        }
    }

    /// Does as the supervisor says; false if it is gone.
    fn heed(&mut self) -> io::Result<bool> {
        match self.control.read(&mut [0; 16]) {
            Ok(0) => Ok(false),
            Ok(_) => {
                // To everyone inside but this process, each once, whatever group it is in.
                let _ = kill_process_group(Pid::INIT, Signal::TERM);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        }
    }
}
