//! The supervisor: a process of its own for every run, so that a command outlives the daemon that
//! started it. This is all of it, with little memory; an async runtime there is only for the
//! proxy of a command that may connect to some hosts alone.
//!
//! Standard output is a socket, by which it is told of its run ([`Launch`]) and given the run's lock file,
//! already locked, which it keeps as its standard input; standard error leads nowhere. It reads the launch to its
//! end before it starts anything, so that a daemon which dies in mid-sentence starts nothing.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGCHLD, SIGTERM};

use super::exit::Exit;
use super::file_size::{endure_file_limit, output_within_limit};
use super::liveness_lock::FileIdentity;
use super::supervise::{Signals, supervise};
use super::{CommandError, Launch, signals, supervisor_pool};
use branchyard_config::crash_point;
use branchyard_journal::{Recorder, Writer};

/// How soon an end that could not be written is tried again.
const SAVE_AGAIN: Duration = Duration::from_millis(250);

/// Runs one command as the launch on standard output says, and writes down how it ended.
pub fn supervisor_main() -> ExitCode {
    // There is no caller left to tell of an error; the missing exit record shows it.
    attend().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn attend() -> io::Result<()> {
    close_strays()?;
    // A terminal's signals and its hanging up are meant for others.
    let _ = rustix::process::setsid();
    // Where the kernel shares processors among sessions, this one gets less than the daemon's.
    let _ = std::fs::write("/proc/self/autogroup", "5");
    endure_file_limit()?;
    let signals = Signals {
        stop: signals::on(SIGTERM)?,
        child: signals::on(SIGCHLD)?,
    };
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let line = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    let (told, lock) = supervisor_pool::listen(line)?;
    rustix::stdio::dup2_stdin(lock)?;
    // Cut short: the daemon went before it had said all. Without a name in the lock file the run counts
    // as never started.
    let mut launch: Launch = serde_json::from_slice(&told)?;
    drop(told);
    // By whichever name it goes: the yard may be moved while the command runs.
    let home = File::open(&launch.home)?;
    launch.home = PathBuf::from(format!("/proc/self/fd/{}", home.as_raw_fd()));
    FileIdentity::own()?.write(io::stdin())?;
    crash_point("supervisor-ready");

    let exit = Writer::reopen(&launch.home.join("journal")).and_then(|(journal, _)| {
        let most = output_within_limit(launch.max_output);
        let journal = Recorder::new(journal, &launch.home, most);
        supervise(&launch, journal, &signals)
    });
    crash_point("command-ended");
    let exit = exit.unwrap_or_else(|error| Exit::not_started(CommandError::from(&error)));
    save_surely(&exit, &launch.home)?;
    crash_point("exit-recorded");
    Ok(())
}

/// What cannot be written now may be later: a file system that is read-only for a while must not make a command that has
/// ended a lost one. Nothing of it is alive any more.
fn save_surely(exit: &Exit, home: &Path) -> io::Result<()> {
    while let Err(error) = exit.save(home) {
        if error.kind() == io::ErrorKind::NotFound {
            // The run's directory was deleted: no daemon will read it.
            return Err(error);
        }
        thread::sleep(SAVE_AGAIN);
    }
    Ok(())
}

/// Whatever the daemon was itself given by mistake must not reach the command.
fn close_strays() -> io::Result<()> {
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > 2)
        .collect();
    for fd in open {
        // Among them is the directory just read, closed by now.
        let _ = nix::unistd::close(fd);
    }
    Ok(())
}
