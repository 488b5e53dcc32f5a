//! The composition root: builds the parts, serves until told to stop, drains, and cleans up. The
//! caller owns the listener and the signals, so that tests bind port 0 and never sleep.

mod connection;
mod connection_limits;
mod endpoint;
mod git;
mod identity;
mod listeners;
mod lock;
mod prewarm;
mod security_db;
mod socket;
mod tls;
mod upkeep;
mod write_timeout;

use std::future::Future;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::{App, Parts, reconcile};
use branchyard_auth::{Auth, Jwts, Limiter, Tickets, Tokens};
use branchyard_config::Config;
use branchyard_git::isolate_libgit2;
use branchyard_outbox::{Outbox, OutboxParts, start as start_sending};
use branchyard_pipelines::{PipelineParts, open as open_pipelines, open_artifacts};
use branchyard_runs::{OnDisk, Runs, SandboxReport, run_after};
use branchyard_runtime::background::{Background, Loops};
use branchyard_runtime::clock::SteadyClock;
use branchyard_runtime::disk::{DiskGuard, Room, Trash};
use branchyard_runtime::yard_events::EventBus;
use branchyard_triggers::{TriggerParts, open as open_triggers};
use branchyard_workspace::repos::Repos;
use branchyard_workspace::{Reaper, Ticks, Workspaces, salvage};
use connection::Speaker;
use connection_limits::ConnectionLimits;
use endpoint::Endpoint;
use identity::Identity;
use listeners::Listeners;
use lock::YardLock;
use socket::Socket;
use tls::Tls;

pub use endpoint::EndpointFile;
pub use tls::check_certificate;

/// After the last run has ended, answers under way get this long.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// This program as it was when it was started, even if another has taken its place on disk since.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// A daemon that holds its directory and is ready to serve.
#[derive(Debug)]
pub struct Server {
    yard: Arc<Parts>,
    trash: Trash,
    endpoint: Endpoint,
    places: Arc<ConnectionLimits>,
    tls: Option<Arc<Tls>>,
    socket: Option<Socket>,
    _lock: YardLock,
}

impl Server {
    /// Takes the workspaces directory, finds what is in it, and writes down how to reach the daemon.
    /// Runs are supervised by `program`, which is this one or another build of it.
    pub async fn open(
        config: Config,
        listener: &TcpListener,
        program: PathBuf,
    ) -> anyhow::Result<Self> {
        let workspaces = config.workspaces.clone();
        Self::open_yard(config, listener, program)
            .await
            .map_err(|error| match Room::shortage_at(&workspaces) {
                Some(shortage) => error.context(format!(
                    "{shortage}; delete what can be spared there, then start the daemon again"
                )),
                None => error,
            })
    }

    async fn open_yard(
        config: Config,
        listener: &TcpListener,
        program: PathBuf,
    ) -> anyhow::Result<Self> {
        isolate_libgit2();
        // Sets the recorder, so that nothing is counted into the void.
        branchyard_runtime::telemetry::metrics();
        let config = Arc::new(config);
        let state = config.workspaces.join(".branchyard");
        // Journals, records and the key are for the daemon's user alone.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&state)
            .with_context(|| format!("failed to make {}", state.display()))?;
        let lock = YardLock::take(&state)?;
        let identity = Identity::of(&state)
            .with_context(|| format!("failed to tell which yard {} is", state.display()))?;
        if identity.is_copy() {
            tracing::warn!(
                yard = %identity.yard(),
                "this yard is a copy of another: what that one had under way is left to it"
            );
        }
        // What cannot be listened with is told before anything else is begun.
        let tls = config.tls.clone().map(Tls::open).transpose()?.map(Arc::new);
        let socket = config.socket.as_deref().map(Socket::bind).transpose()?;
        let places = ConnectionLimits::new(&config.limits);
        // Before anything is written: what is to be read must not have to wait for room.
        let margin = DiskGuard::of(&config.workspaces, &state);
        margin.make_do();
        let loops = Loops::default();
        let (trust, missing) = security_db::open(&state, &loops, &margin)?;
        let clock = SteadyClock::open(state.join("clock.json"), &state.join("ticks.json"));
        let audit = security_db::audit((&trust, missing), &config, &loops, &margin, clock.clone())?;
        let tokens = Tokens::open(trust, &config.auth).context("failed to read the tokens")?;
        let tasks = TaskTracker::new();
        let trash = Trash::open(state.join("trash"), &loops).context("failed to open the trash")?;
        let git = git::open(&config, &program, trash.clone()).await?;
        let repos = Arc::new(Repos::load(
            config.clone(),
            git,
            tasks.clone(),
            &trash,
            EventBus::default(),
        )?);
        let ticks = Arc::new(Ticks::open(&state, &repos));
        let workspaces = Arc::new(Workspaces::new(
            &config,
            tasks.clone(),
            trash.clone(),
            ticks,
            &state,
        ));
        // Before runs that were queued get back in line.
        let mut mended_at_start = Vec::new();
        for repo in repos.list() {
            mended_at_start.extend(reconcile(&workspaces, &repo).await);
        }
        salvage::converge(&workspaces, &repos).context("failed to tidy up the workspaces")?;
        let reaper = Reaper::new(
            config.reaper.clone(),
            config.workspaces.clone(),
            repos.clone(),
            workspaces.clone(),
            audit.clone(),
        );
        let artifacts = open_artifacts(&config, margin.state());
        let artifacts = Arc::new(artifacts.context("failed to open the artifacts")?);
        let outbox = Outbox::open(OutboxParts {
            config: config.clone(),
            state: &state,
            is_copy: identity.is_copy(),
        })
        .context("failed to open the outbox")?;
        let runs = Runs::open(
            config.clone(),
            repos.clone(),
            workspaces.clone(),
            Background {
                tasks: tasks.clone(),
                loops: loops.clone(),
            },
            OnDisk {
                margin: margin.clone(),
                trash: trash.clone(),
                is_copy: identity.is_copy(),
                clock: clock.clone(),
                artifacts: artifacts.clone(),
                outbox: outbox.clone(),
            },
            program,
        )
        .await
        .context("failed to open the runs on disk")?;
        let commands = runs.clone();
        start_sending(
            &outbox,
            Background {
                tasks: tasks.clone(),
                loops: loops.clone(),
            },
            Arc::new(move |call| {
                let runs = commands.clone();
                Box::pin(async move { run_after(&runs, call).await })
            }),
        );
        let pipelines = open_pipelines(PipelineParts {
            config: config.clone(),
            repos: repos.clone(),
            workspaces: workspaces.clone(),
            runs: runs.clone(),
            artifacts,
            outbox: outbox.clone(),
            audit: audit.clone(),
            margin: margin.clone(),
            trash: trash.clone(),
            background: Background {
                tasks: tasks.clone(),
                loops: loops.clone(),
            },
            clock: clock.clone(),
            is_copy: identity.is_copy(),
        })
        .context("failed to open the pipelines on disk")?;
        let triggers = open_triggers(TriggerParts {
            state: &state,
            repos: repos.clone(),
            pipelines: pipelines.clone(),
            runs: runs.clone(),
            audit: audit.clone(),
            background: Background {
                tasks: tasks.clone(),
                loops: loops.clone(),
            },
            is_copy: identity.is_copy(),
        })
        .context("failed to open what was seen of the remotes")?;
        identity
            .save(&state, &margin)
            .context("failed to write down which yard this is")?;
        let address = listener.local_addr()?;
        if tls.is_none() && !address.ip().is_loopback() {
            tracing::warn!(
                %address,
                "keys and output go over the network as plain text: set [tls], or have a proxy in front"
            );
        }
        let at_socket = socket.as_ref().map(Socket::path);
        let endpoint = margin
            .spend(|| Endpoint::write(&config, address, at_socket))
            .context("failed to write the endpoint")?;
        let mut auth = Auth::new(&config.session_key, &config.auth).with(tokens.clone());
        if let Some(jwts) = Jwts::open(&config.auth).map_err(anyhow::Error::msg)? {
            jwts.prepare();
            auth = auth.with(jwts);
        }
        let yard = Arc::new(Parts {
            auth,
            tokens,
            audit,
            limiter: Limiter::new(&config.limits),
            tickets: Tickets::default(),
            config,
            repos,
            workspaces,
            reaper,
            runs,
            pipelines,
            triggers,
            outbox,
            margin,
            loops,
            mended_at_start,
            tasks,
        });
        Ok(Self {
            yard,
            trash,
            endpoint,
            places,
            tls,
            socket,
            _lock: lock,
        })
    }

    /// Where the daemon can be reached, such as `http://127.0.0.1:3344`.
    pub fn url(&self) -> &str {
        self.endpoint.url()
    }

    /// The Unix socket on which it listens as well.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_ref().map(Socket::path)
    }

    /// What keeps builds from what is not theirs.
    pub fn sandbox(&self) -> SandboxReport {
        self.yard.runs.sandbox()
    }

    /// Whether the client commands of this user find the daemon without being told where it is.
    pub fn is_found_by_clients(&self) -> bool {
        self.endpoint.is_found()
    }

    pub fn app(&self) -> App {
        App::new(self.yard.clone())
    }

    /// Serves until `stop`; then takes no new runs and waits for those under way, as long as the
    /// configuration allows or until `hurry`, before it leaves them to their supervisors and to the next
    /// daemon. Streams end with their runs, or with the daemon.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send,
        hurry: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        let (close, cut) = (CancellationToken::new(), CancellationToken::new());
        let mcp = crate::mcp::service(&self.app(), close.child_token());
        let service = crate::http::router(self.app(), mcp);
        let speaker = Speaker::new(service, &self.yard.config, close.clone(), cut.clone());
        let (places, tls) = (self.places.clone(), self.tls.clone());
        let listeners = Listeners::new(speaker, places, tls, close.clone());
        let connections = listeners.connections().clone();
        let socket = self.socket;
        let mut serving = tokio::spawn(async move {
            let at_socket = async {
                if let Some(socket) = &socket {
                    listeners.watch_socket(socket.listener()).await;
                }
            };
            tokio::join!(listeners.watch_port(listener), at_socket);
        });
        prewarm::start(&self.yard, &close);
        let yard = self.yard.clone();
        let keep = move || yard.margin.clone().keep(yard.tasks.clone());
        let loops = &self.yard.loops;
        let reserve = loops.clone().keep("disk_reserve", keep);
        let reserve = close.clone().run_until_cancelled_owned(reserve);
        self.yard.tasks.spawn(reserve);
        self.yard.reaper.start(loops.clone(), &close);
        upkeep::start(&self.yard, &close);
        tokio::select! {
            () = stop => {}
            // Only by a defect: the doors are open until they are closed.
            ended = &mut serving => return ended.map_err(io::Error::other),
        }
        drain(&self.yard, hurry).await;
        close.cancel();
        serving.await.map_err(io::Error::other)?;
        connections.close();
        if timeout(LAST_WORDS, connections.wait()).await.is_err() {
            let left = connections.len();
            tracing::warn!(left, "some connections were still open and are cut");
            cut.cancel();
        }
        let tasks = &self.yard.tasks;
        tasks.close();
        if timeout(LAST_WORDS, tasks.wait()).await.is_err() {
            let left = tasks.len();
            tracing::warn!(left, "some background work is left undone");
        }
        let trash = self.trash.clone();
        let emptied = tokio::task::spawn_blocking(move || trash.wait(LAST_WORDS)).await;
        if !emptied.unwrap_or(false) {
            tracing::info!("the rest of the trash is left to the next start");
        }
        self.endpoint.remove();
        Ok(())
    }
}

async fn drain(yard: &Parts, hurry: impl Future<Output = ()>) {
    let runs = &yard.runs;
    runs.refuse_new();
    let (live, _) = runs.census();
    tracing::info!(
        runs = live,
        "stopping: no new runs; waiting for those under way"
    );
    tokio::select! {
        () = runs.idle() => {}
        () = tokio::time::sleep(yard.config.timeouts.shutdown) => {}
        () = hurry => {}
    }
    let (left, _) = runs.census();
    if left > 0 {
        tracing::info!(
            runs = left,
            "leaving: what runs goes on without the daemon, and the next one takes it back"
        );
    }
    // Before its steps are left, or a pipeline would take them for lost.
    yard.pipelines.leave();
    yard.outbox.leave();
    if timeout(LAST_WORDS, runs.leave()).await.is_err() {
        tracing::error!("some runs could not be left in order");
    }
}
