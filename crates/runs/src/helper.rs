//! Commands in the background: once started, such a one has neither the lock of its workspace nor a slot, so that others run
//! beside it. It ends by itself, by a cancel, at its time limit or with its workspace.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use memchr::memmem;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::drive::Drive;
use super::ending::Ending;
use super::open::Runs;
use super::request::parse_duration;
use branchyard_auth::Principal;
use branchyard_journal::{Extent, Output, Stream, Watch};
use branchyard_model::{ErrorKind, Problem, Readiness, RunSpec, SandboxProfile};
use branchyard_process::Supervisor;
use branchyard_workspace::{Workspace, files};

/// How long it may take to get ready, unless its caller says.
const WITHIN: Duration = Duration::from_secs(60);
/// Between two looks at a port or a file: there is nothing to be woken by.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// For an answer of this machine's own.
const CONNECTED_WITHIN: Duration = Duration::from_secs(1);
/// The longest text that a line is searched for.
const MAX_LINE: usize = 1000;

/// What is asked for makes sense.
pub(super) fn check(ready: &Readiness) -> Result<(), Problem> {
    let given = [
        ready.port.is_some(),
        ready.line.is_some(),
        ready.file.is_some(),
    ];
    let refused = |field: &str, detail: String| Err(Problem::unprocessable(field, detail));
    if given.iter().filter(|given| **given).count() != 1 {
        let detail = "say one of port, line and file".to_owned();
        return refused("ready", detail);
    }
    if ready.port == Some(0) {
        return refused("ready.port", "a port is a number above zero".to_owned());
    }
    let is_line =
        |line: &String| !line.is_empty() && line.len() <= MAX_LINE && !line.contains('\n');
    if !ready.line.as_ref().is_none_or(is_line) {
        let detail = format!("it is a part of one line, of 1 to {MAX_LINE} bytes");
        return refused("ready.line", detail);
    }
    let is_inside = |file: &String| {
        let mut parts = Path::new(file).components();
        let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        !file.is_empty() && !file.contains('\0') && parts.all(is_plain)
    };
    if !ready.file.as_ref().is_none_or(is_inside) {
        let detail = "it is the path of a file in the workspace".to_owned();
        return refused("ready.file", detail);
    }
    patience(ready).map(drop)
}

fn patience(ready: &Readiness) -> Result<Duration, Problem> {
    match &ready.within {
        Some(text) => parse_duration("ready.within", text),
        None => Ok(WITHIN),
    }
}

/// Whether another helper of the principal may be started, and whether it can be seen to be ready.
pub(super) fn check_more(
    runs: &Runs,
    spec: &RunSpec,
    profile: SandboxProfile,
    principal: &Principal,
) -> Result<(), Problem> {
    let port = spec.ready.as_ref().and_then(|ready| ready.port);
    let repo = runs.inner().repos.get(&spec.repo)?;
    let has_own = profile == SandboxProfile::Strict
        || runs.inner().sandboxes.network(repo.config()).is_some();
    if port.is_some() && has_own {
        let detail = "commands have a network of their own here (sandbox strict, or sandbox.network), and no port in it can be reached";
        return Err(Problem::unprocessable("ready.port", detail)
            .help("name a line or a file in place of the port"));
    }
    let most = runs.inner().config.limits.max_background_runs_per_principal;
    let live = runs.inner().live.iter();
    let own = live.filter(|live| live.account() == principal.account());
    let running = own.filter(|live| live.look().spec.background).count();
    if running < most {
        return Ok(());
    }
    let detail = format!(
        "{running} runs of {} are in the background; limits.max_background_runs_per_principal is the limit ({most})",
        principal.account()
    );
    Err(
        Problem::new(ErrorKind::TooMany, "too_many_background_runs", detail)
            .help("cancel those that are not needed any more; the operator can raise the limit"),
    )
}

/// Told of a run that has one beside it.
pub(super) const HELPER_AT_WORK: &str = "helper_at_work";

impl Drive {
    /// Whether it is in the background, or began beside such a one: what it made is not told from what the other did.
    pub(super) fn is_beside_others(&self) -> bool {
        let record = self.live().look();
        let mut warnings = record.warnings.iter();
        record.spec.background || warnings.any(|warning| warning.code == HELPER_AT_WORK)
    }

    /// What a port or a file says is known only where it said nothing before.
    pub(super) async fn check_unready(&self, workspace: &Arc<Workspace>) -> Result<(), Problem> {
        let ready = self.live().look().spec.ready.clone().unwrap_or_default();
        if let Some(port) = ready.port
            && answers(port).await
        {
            let detail =
                format!("something else on this machine accepts connections on port {port}");
            return Err(Problem::new(ErrorKind::Conflict, "port_in_use", detail)
                .field("ready.port")
                .help("choose another port, or end what uses this one"));
        }
        if let Some(file) = ready.file
            && files::is_there(workspace, file.clone()).await
        {
            let detail = format!("{file} is there before the command has started");
            return Err(Problem::new(ErrorKind::Conflict, "file_in_use", detail)
                .field("ready.file")
                .help("remove it first, or name another"));
        }
        Ok(())
    }

    /// Has its workspace know, until the run has ended, that it is at work there beside the lock.
    pub(super) fn enter_helpers(&self, workspace: &Workspace) {
        let live = self.live().clone();
        let stop = move |reason: &str| live.viewers().stop(reason);
        let guard = workspace.helpers().enter(self.live().id(), stop);
        *self.helper().lock() = Some(guard);
    }

    /// As [`Drive::attend`], and tells when the command is ready.
    pub(super) async fn attend_helper(
        &self,
        workspace: &Arc<Workspace>,
        supervisor: Supervisor,
        watch: Option<Watch>,
    ) -> Option<Ending> {
        tokio::select! {
            ending = self.attend(supervisor, watch) => ending,
            never = self.watch_for_readiness(workspace) => match never {},
        }
    }

    async fn watch_for_readiness(&self, workspace: &Arc<Workspace>) -> Infallible {
        let record = self.live().record();
        if record.ready_at.is_none() {
            let ready = record.spec.ready.unwrap_or_default();
            let within = patience(&ready).unwrap_or(WITHIN);
            match tokio::time::timeout(within, self.until_ready(workspace, &ready)).await {
                Ok(()) => self.note_ready(),
                Err(_) => {
                    let within = humantime::format_duration(within);
                    let reason = format!("it was not ready within {within}: {ready}");
                    self.live().viewers().stop(&reason);
                }
            }
        }
        std::future::pending().await
    }

    async fn until_ready(&self, workspace: &Arc<Workspace>, ready: &Readiness) {
        if let Some(line) = &ready.line {
            let journal = self.shared().history.journal(self.live().id());
            return until_printed(journal, self.live().extent().clone(), line).await;
        }
        loop {
            let is_ready = match (&ready.port, &ready.file) {
                (Some(port), _) => answers(*port).await,
                (None, Some(file)) => files::is_there(workspace, file.clone()).await,
                (None, None) => true,
            };
            if is_ready {
                return;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn note_ready(&self) {
        self.live()
            .change(|record| record.ready_at = Some(Timestamp::now()));
        let record = self.live().record();
        if let Err(error) = self.shared().history.save(&record) {
            // It is found out again by the next daemon.
            tracing::warn!(run = %record.run_id, %error, "that a run is ready is not on record");
        }
        self.shared().tell_news(&record);
    }
}

async fn answers(port: u16) -> bool {
    let addresses = [
        SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
    ];
    for address in addresses {
        let connected = tokio::time::timeout(CONNECTED_WITHIN, TcpStream::connect(address)).await;
        if matches!(connected, Ok(Ok(_))) {
            return true;
        }
    }
    false
}

/// Returns when `text` was printed; never, if the journal cannot be read.
async fn until_printed(journal: PathBuf, mut extent: watch::Receiver<Extent>, text: &str) {
    let mut search = Search::new(text);
    loop {
        let (path, len) = (journal.clone(), extent.borrow_and_update().len);
        let look = move || {
            let found = search.go_on(&path, len);
            (search, found)
        };
        let Ok((searched, found)) = tokio::task::spawn_blocking(look).await else {
            return std::future::pending().await;
        };
        search = searched;
        match found {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(journal = %journal.display(), %error, "a run's output cannot be searched");
            }
        }
        if extent.changed().await.is_err() {
            return std::future::pending().await;
        }
        // What is printed in a stream of small pieces is not looked at one by one.
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Looks for a text in what is printed, wherever one piece ends and the next begins.
struct Search {
    text: Vec<u8>,
    /// So much of the output is done with.
    bytes: u64,
    /// The end of what each stream printed: a beginning of the text may be in it.
    ends: [Vec<u8>; 2],
}

impl Search {
    fn new(text: &str) -> Self {
        Self {
            text: text.as_bytes().to_vec(),
            bytes: 0,
            ends: Default::default(),
        }
    }

    fn go_on(&mut self, journal: &Path, len: u64) -> io::Result<bool> {
        let mut output = Output::open(journal, len)?;
        output.seek_byte(self.bytes)?;
        while let Some((stream, piece)) = output.more_of_stream()? {
            self.bytes += piece.len() as u64;
            let end = &mut self.ends[usize::from(stream == Stream::Stderr)];
            end.extend_from_slice(piece);
            if memmem::find(end, &self.text).is_some() {
                return Ok(true);
            }
            let kept = self.text.len() - 1;
            end.drain(..end.len().saturating_sub(kept));
        }
        Ok(false)
    }
}
