//! One command from start to end: spawn, pump its output into the journal, stop it when asked or
//! when its time is up, and leave nothing of it alive. Executed by a supervisor, which has nothing
//! else to do.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpid, kill_process_group};

use super::cgroup::SANDBOX_PROCESSES;
use super::exit::{self, Exit, Outcome, Stop};
use super::sandbox::Link;
use super::signals::heard;
use super::spawn::{Spawned, spawn};
use super::streams::Streams;
use super::{Cgroup, CommandError, Exceeded, Launch, cpu_time, descendants};
use branchyard_config::crash_point;
use branchyard_journal::Recorder;
use branchyard_model::{Event, Warning};

/// Moving processes into a group may cost tens of milliseconds, so short runs are spared it.
const ENCLOSED_AFTER: Duration = Duration::from_millis(20);
/// How long everything that a command left behind may take to die of KILL.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// Descriptors that become readable with a signal.
pub(super) struct Signals {
    pub(super) stop: OwnedFd,
    pub(super) child: OwnedFd,
}

/// Runs the command to its end; blocks. An error means that the command is not to be watched any
/// more; nothing of it is left then either.
pub(super) fn supervise(launch: &Launch, journal: Recorder, signals: &Signals) -> io::Result<Exit> {
    let cgroup = Cgroup::of(&launch.mechanisms, launch.run, getpid());
    let spawned = match spawn(launch)? {
        Ok(spawned) => spawned,
        Err(error) => return Ok(Exit::not_started(CommandError::from(&error))),
    };
    crash_point("command-started");
    let mut run = match Supervised::new(launch, spawned, signals, cgroup, journal) {
        Ok(run) => run,
        Err(error) => {
            // Started but not to be watched: it must not go on unseen.
            descendants::end_all(LAST_PATIENCE);
            return Err(error);
        }
    };
    let pumped = run.pump_until_end();
    run.end_the_rest();
    pumped?;
    run.exit()
}

struct Supervised<'a> {
    launch: &'a Launch,
    signals: &'a Signals,
    cgroup: Cgroup,
    enclose_at: Option<Instant>,
    exceeded: Option<Exceeded>,
    pid: Pid,
    /// The line into its sandbox, where it has one; then `pid` is bwrap's.
    link: Option<Link>,
    streams: Streams,
    outcome: Option<Outcome>,
    /// Whether any process of the run is left. All of them are our descendants, and those that lost
    /// their parents our children: no child means no process.
    alone: bool,
    cpu: Duration,
    stopped: Option<Stop>,
    timeout_at: Option<Instant>,
    kill_at: Option<Instant>,
    drained_by: Option<Instant>,
    leaked: bool,
}

impl<'a> Supervised<'a> {
    fn new(
        launch: &'a Launch,
        spawned: Spawned,
        signals: &'a Signals,
        cgroup: Cgroup,
        journal: Recorder,
    ) -> io::Result<Self> {
        let is_bare = spawned.link.is_none();
        let streams = Streams::of(spawned.streams, journal, launch)?;
        Ok(Self {
            launch,
            signals,
            cgroup,
            // Until its command is there, a sandbox has nothing in it that needs to be held.
            enclose_at: is_bare.then(|| Instant::now() + ENCLOSED_AFTER),
            exceeded: None,
            pid: spawned.pid,
            link: spawned.link,
            streams,
            outcome: None,
            alone: false,
            cpu: Duration::ZERO,
            stopped: None,
            timeout_at: Instant::now().checked_add(launch.timeout),
            kill_at: None,
            drained_by: None,
            leaked: false,
        })
    }

    /// Pumps until the command has ended and its output is drained.
    fn pump_until_end(&mut self) -> io::Result<()> {
        loop {
            let ready = self.wait()?;
            let now = Instant::now();
            if ready.stop {
                self.begin_stop(Stop::Asked, now);
            }
            if self.timeout_at.is_some_and(|at| at <= now) {
                self.begin_stop(Stop::TimedOut, now);
            }
            if self.kill_at.is_some_and(|at| at <= now) {
                self.kill_at = None;
                self.drained_by = now.checked_add(self.launch.drain);
                self.kill_all();
            }
            for index in [0, 1] {
                if ready.streams[index] {
                    self.streams.pump(index);
                }
            }
            if self.enclose_at.is_some_and(|at| at <= now) {
                self.enclose_at = None;
                self.enclose();
            }
            self.streams.look_again(now);
            if ready.child || ready.report {
                let had_ended = self.outcome.is_some();
                self.hear();
                self.reap()?;
                if self.outcome.is_some() && !had_ended && self.kill_at.is_none() {
                    self.drained_by = now.checked_add(self.launch.drain);
                }
            }
            if self.outcome.is_some() && self.is_over(now) {
                return Ok(());
            }
        }
    }

    /// Whether nothing more is to be waited for after the command's own end: its output is drained, and
    /// where it was stopped, whatever else it started has had the whole grace to end as well.
    fn is_over(&mut self, now: Instant) -> bool {
        let drained = self.streams.are_drained();
        if self.kill_at.is_some() {
            return drained && self.alone;
        }
        let is_late = self.drained_by.is_some_and(|by| by <= now);
        self.leaked = !drained && is_late;
        // What goes by itself need not be looked for.
        let leaves = self.link.as_ref().is_some_and(Link::leaves) && !self.alone;
        drained && !leaves || is_late
    }

    fn begin_stop(&mut self, why: Stop, now: Instant) {
        self.timeout_at = None;
        // A command that has already ended by itself was not stopped.
        if self.stopped.is_some() || self.outcome.is_some() {
            return;
        }
        self.stopped = Some(why);
        self.kill_at = now.checked_add(self.launch.grace);
        if let Some(link) = &self.link {
            // bwrap would take everyone with it.
            return link.terminate();
        }
        // Not reaped yet, so the group's number cannot be another's.
        let _ = kill_process_group(self.pid, Signal::TERM);
        // Once each: a second TERM would cut short what the first one began.
        let group = self.pid.as_raw_nonzero().get();
        for stray in descendants::below(getpid()) {
            if stray.group != group {
                descendants::send(&stray, Signal::TERM);
            }
        }
    }

    fn wait(&self) -> io::Result<Ready> {
        let report = self.link.as_ref().and_then(Link::report);
        let [stdout, stderr] = self.streams.open();
        let (stop, child) = (&self.signals.stop, &self.signals.child);
        let wakers = [Some(stop), Some(child), report, stdout, stderr];
        let fds = wakers.into_iter().flatten();
        let mut fds: Vec<_> = fds.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let deadlines = [
            self.enclose_at,
            self.timeout_at,
            self.kill_at,
            // Before its end there is nothing to be drained after it.
            self.outcome.as_ref().and(self.drained_by),
            self.streams.held_until(),
        ];
        let deadline = deadlines.into_iter().flatten().min();
        let timeouts = deadline.map(|at| timespec(at.saturating_duration_since(Instant::now())));
        match poll(&mut fds, timeouts.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            other => other?,
        };
        let mut polled = fds.iter().map(|fd| !fd.revents().is_empty());
        let is_ready = wakers.map(|waker| waker.is_some() && polled.next() == Some(true));
        let [has_stop, has_child, report, stdout, stderr] = is_ready;
        Ok(Ready {
            stop: has_stop && heard(stop),
            child: has_child && heard(child),
            report,
            streams: [stdout, stderr],
        })
    }

    /// Takes in what the init of a sandbox tells.
    fn hear(&mut self) {
        let Some(link) = &mut self.link else {
            return;
        };
        let had_started = link.has_started();
        if let Some(outcome) = link.hear() {
            self.outcome.get_or_insert(outcome);
        }
        if link.has_started() && !had_started {
            self.enclose_at = Instant::now().checked_add(ENCLOSED_AFTER);
        }
    }

    /// Takes the ends of all children that have ended: the command, or the sandbox around it, and orphans
    /// of its making.
    fn reap(&mut self) -> io::Result<()> {
        let (ended, alone) = exit::reap(self.pid)?;
        self.alone |= alone;
        let Some(ended) = ended else {
            return Ok(());
        };
        // The last word of an init may have come after the one before was heard.
        self.hear();
        if self.outcome.is_none() {
            self.outcome = Some(match &self.link {
                // Killed on its way, it is as good as the command that it was for.
                Some(link) if self.stopped.is_none() => link.silence(&ended),
                _ => ended,
            });
        }
        Ok(())
    }

    fn kill_all(&mut self) {
        // Asked first: killing may itself look like running into a limit.
        self.exceeded = self.exceeded.or_else(|| self.cgroup.exceeded());
        self.cgroup.kill();
        for process in descendants::below(getpid()) {
            descendants::send(&process, Signal::KILL);
        }
    }

    /// Nothing of a run goes on after its end, where it could write into the next one's files.
    fn end_the_rest(&mut self) {
        self.exceeded = self.exceeded.or_else(|| self.cgroup.exceeded());
        if !self.alone {
            self.cgroup.kill();
            descendants::end_all(LAST_PATIENCE);
        }
        self.cpu = cpu_time::taken(getpid(), &self.cgroup);
        self.cgroup.remove();
    }

    /// A run that has lived for a while is put into groups of its own: that may take a while itself,
    /// and most runs are over before.
    fn enclose(&mut self) {
        let mut limits = self.launch.limits;
        if self.link.is_some() {
            limits.processes = limits.processes.map(|most| most + SANDBOX_PROCESSES);
        }
        if let Err(error) = self.cgroup.enclose(getpid(), &limits) {
            let detail = format!("some limits of this run are not in force: {error}");
            let warning = Warning::new("limits_not_in_force", detail);
            self.streams.event(&Event::Warning(warning));
        }
    }

    fn exit(self) -> io::Result<Exit> {
        let outcome = self
            .outcome
            .ok_or_else(|| io::Error::other("the command's end was not seen"))?;
        let missing = self.streams.finish();
        Ok(Exit {
            outcome,
            ended_at: Timestamp::now(),
            stopped: self.stopped,
            leaked: self.leaked,
            exceeded: self.exceeded,
            unwritten: missing.unwritten.map(|error| error.to_string()),
            lost: missing.lost,
            left_out: missing.left_out,
            cpu: self.cpu,
        })
    }
}

#[derive(Default)]
struct Ready {
    stop: bool,
    child: bool,
    report: bool,
    streams: [bool; 2],
}

fn timespec(duration: Duration) -> Timespec {
    // Rounded up to the next millisecond: waking early would only spin.
    let duration = duration.saturating_add(Duration::from_nanos(999_999));
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_millis()) * 1_000_000,
    }
}
