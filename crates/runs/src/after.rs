//! Commands of the operator's at the end of runs and pipelines (`[after.NAME]`). Each has a supervisor of its own, as a run
//! has: so it ends at its time limit, with all that it started, whatever becomes of the daemon.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::environment;
use super::execute::ANSWERS_WITHIN;
use super::open::{Runs, RunsInner};
use super::secrets::within_reach;
use branchyard_journal::{Output, Writer, valid_length};
use branchyard_model::RunId;
use branchyard_outbox::AfterCall;
use branchyard_process::{
    Cgroup, Exit, FoundSupervisor, Launch, Outcome, SANDBOX_TMP, Stop, Supervisor, end_processes_of,
};
use branchyard_runtime::disk::{if_there, write_private};

/// So much of its output is kept while it runs.
const MAX_OUTPUT: u64 = 64 << 10;
/// So much of the last line is told of one that failed.
const SHOWN: usize = 200;

/// Runs a command to its end, or finds out how it ended that an earlier daemon started. An error says why it did not do what
/// it is there for.
pub async fn run_after(runs: &Runs, call: AfterCall) -> Result<(), String> {
    let shared = runs.inner();
    let (timeout, home) = (call.command.timeout(), call.home.clone());
    let id = RunId::parse(&call.id.to_string()).map_err(|problem| problem.detail)?;
    let starting = shared.clone();
    let found = blocking(move || match Supervisor::find(&call.home) {
        Ok(FoundSupervisor::Alive(supervisor)) => Ok(Some(supervisor)),
        Ok(FoundSupervisor::Gone) => Ok(None),
        Ok(FoundSupervisor::NeverStarted) => start(&starting, id, &call).map(Some),
        Err(error) => Err(format!("its supervisor could not be looked for: {error}")),
    });
    if let Some(supervisor) = found.await? {
        attend(shared, supervisor, timeout).await;
    }
    let shared = shared.clone();
    blocking(move || {
        if let Some(exit) = Exit::load(&home) {
            judge(&exit, timeout, &home.join("journal"))
        } else {
            end_the_rest(&shared, id);
            Err("its supervisor ended without a word".to_owned())
        }
    })
    .await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| error.to_string()).flatten()
}

/// After an error it was not started.
fn start(shared: &RunsInner, id: RunId, call: &AfterCall) -> Result<Supervisor, String> {
    let home = &*call.home;
    let stdin = home.join("stdin");
    let work = make_directory(home, &stdin, &call.record)
        .map_err(|error| format!("its directory could not be made: {error}"))?;
    let launch = launch(shared, id, (home, &work, stdin), call)?;
    let started = Supervisor::start(&shared.supervisors, &launch);
    if !shared.leaving.is_cancelled() {
        // The next run is not to wait until it has one.
        shared.supervisors.prepare();
    }
    started.map_err(|error| format!("its supervisor could not be started: {error}"))
}

/// A journal, what it reads, and an empty directory where it starts, which is returned.
fn make_directory(home: &Path, stdin: &Path, record: &str) -> io::Result<PathBuf> {
    let work = home.join("work");
    // What an earlier try left says nothing of this one.
    if_there(fs::remove_dir_all(home))?;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&work)?;
    write_private(stdin, record.as_bytes())?;
    Writer::create(&home.join("journal"))?;
    Ok(work)
}

fn launch(
    shared: &RunsInner,
    id: RunId,
    (home, work, stdin): (&Path, &Path, PathBuf),
    call: &AfterCall,
) -> Result<Launch, String> {
    let (config, command) = (&shared.config, &call.command);
    let repo = shared.repos.get(&call.repo);
    let repo = repo.map_err(|problem| problem.detail)?;
    let sandbox = if command.is_contained() {
        let made = shared
            .sandboxes
            .of_after(repo.config(), &command.argv()[0], work);
        made.map_err(|problem| problem.detail)?
    } else {
        None
    };
    let mut env = environment::declared(config, repo.config());
    let mut hidden = environment::secrets(config, repo.config(), &BTreeMap::new(), None);
    hidden.extend(within_reach(&config.secrets, repo.name()));
    let mut set = |name: &str, value: &str| env.insert(name.to_owned(), value.to_owned());
    if let Some(sandbox) = &sandbox {
        set("HOME", &sandbox.home().to_string_lossy());
        set("TMPDIR", SANDBOX_TMP);
        for (name, value) in sandbox.variables() {
            set(name, &value);
        }
    } else {
        set("TMPDIR", &work.to_string_lossy());
    }
    for (name, value) in &call.variables {
        set(name, value);
    }
    for (name, secret) in command.secrets()? {
        set(name, secret.expose());
        hidden.push(secret.expose().to_owned());
    }
    Ok(Launch {
        run: id,
        home: home.to_owned(),
        argv: command.argv().to_vec(),
        stdin: Some(stdin),
        cwd: work.to_owned(),
        env: env.into_iter().collect(),
        timeout: command.timeout(),
        grace: config.timeouts.grace,
        drain: config.timeouts.drain,
        max_output: MAX_OUTPUT,
        limits: shared.run_limits(),
        mechanisms: shared.mechanisms.clone(),
        handover: None,
        sandbox,
        secrets: hidden,
        masks: None,
    })
}

/// Returns when its supervisor is gone, which keeps the time itself.
async fn attend(shared: &RunsInner, mut supervisor: Supervisor, timeout: Duration) {
    let timeouts = &shared.config.timeouts;
    let patience = timeout
        .saturating_add(timeouts.grace)
        .saturating_add(timeouts.drain)
        .saturating_add(ANSWERS_WITHIN);
    if tokio::time::timeout(patience, supervisor.ended())
        .await
        .is_err()
    {
        let killed = supervisor.kill();
        tracing::warn!(error = ?killed.err(), "the supervisor of a command at the end of a run is overdue");
        let _ = supervisor.ended().await;
    }
}

/// Ends what a supervisor watched over that is gone.
fn end_the_rest(shared: &RunsInner, id: RunId) {
    let cgroup = Cgroup::find(&shared.mechanisms, id);
    cgroup.kill();
    end_processes_of(id);
    cgroup.remove();
}

/// What it failed by, with the last line that it printed: that mostly says why.
fn judge(exit: &Exit, timeout: Duration, journal: &Path) -> Result<(), String> {
    let why = match (exit.stopped, &exit.outcome) {
        (Some(Stop::TimedOut), _) => {
            format!("it ran longer than {}", humantime::format_duration(timeout))
        }
        (Some(Stop::Asked), _) => "its supervisor was told to stop".to_owned(),
        (None, Outcome::Code(0)) => return Ok(()),
        (None, Outcome::Code(code)) => format!("exit code {code}"),
        (None, Outcome::Signal(signal)) => format!("signal {signal}"),
        (None, Outcome::NotStarted(error)) => format!("it was not started: {}", error.message),
    };
    let line = last_line(journal).unwrap_or_else(|error| {
        tracing::warn!(%error, "the output of a command cannot be read");
        None
    });
    Err(line.map_or_else(|| why.clone(), |line| format!("{why}: {line}")))
}

fn last_line(journal: &Path) -> io::Result<Option<String>> {
    let mut output = Output::open(journal, valid_length(journal)?)?;
    let mut said = Vec::new();
    while let Some(piece) = output.more()? {
        said.extend_from_slice(piece);
    }
    let said = String::from_utf8_lossy(&said);
    let mut lines = said.lines().rev().map(str::trim);
    let line = lines.find(|line| !line.is_empty());
    Ok(line.map(|line| {
        let plain = line.chars().filter(|letter| !letter.is_control());
        plain.take(SHOWN).collect()
    }))
}
