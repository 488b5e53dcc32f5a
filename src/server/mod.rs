//! The composition root: builds the parts, serves until told to stop, drains, and cleans up. The
//! caller owns the listener and the signals, so that tests bind port 0 and never sleep.

mod endpoint;
mod lock;
mod prewarm;
mod upkeep;

use std::future::Future;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::serve::ListenerExt;
use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::{App, Parts, reconcile};
use crate::auth::Auth;
use crate::config::Config;
use crate::disk::{Margin, Room, Trash};
use crate::git::{Git, Settings, Signing, isolate_libgit2, lacks_bearer, ssh_command};
use crate::process::own_program;
use crate::repos::Repos;
use crate::runs::Runs;
use crate::workspace::{Reaper, Ticks, Workspaces};
use endpoint::Endpoint;
use lock::YardLock;

/// After the last run has ended, answers under way get this long.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// A connection that was silent for so long is probed, so often, and given up after so many probes.
const SILENT_FOR: Duration = Duration::from_secs(30);
const BETWEEN_PROBES: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;

/// This program as it was when it was started, even if another has taken its place on disk since.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// A daemon that holds its directory and is ready to serve.
#[derive(Debug)]
pub struct Server {
    app: App,
    tasks: TaskTracker,
    trash: Trash,
    endpoint: Endpoint,
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
        crate::telemetry::metrics();
        let config = Arc::new(config);
        let state = config.workspaces.join(".branchyard");
        // Journals, records and the key are for the daemon's user alone.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&state)
            .with_context(|| format!("failed to make {}", state.display()))?;
        let lock = YardLock::take(&state)?;
        // Before anything is written: what is to be read must not have to wait for room.
        let margin = Margin::of(&config.workspaces, &state);
        margin.make_do();
        let tasks = TaskTracker::new();
        let trash = Trash::open(state.join("trash")).context("failed to open the trash")?;
        let git = Git::new(git_settings(&config, &program));
        check_git(&git, &config).await?;
        let repos = Arc::new(Repos::load(config.clone(), git, tasks.clone(), &trash)?);
        let ticks = Arc::new(Ticks::open(&state, &repos));
        let workspaces = Arc::new(Workspaces::new(
            config.limits.max_concurrent_checkouts,
            tasks.clone(),
            trash.clone(),
            ticks,
            &state,
        ));
        // Before runs that were queued get back in line.
        for repo in repos.list() {
            reconcile(&workspaces, &repo).await;
        }
        workspaces
            .converge(&repos)
            .context("failed to tidy up the workspaces")?;
        let reaper = Reaper::new(
            config.reaper.clone(),
            config.workspaces.clone(),
            repos.clone(),
            workspaces.clone(),
        );
        let runs = Runs::open(
            config.clone(),
            repos.clone(),
            workspaces.clone(),
            tasks.clone(),
            margin.clone(),
            trash.clone(),
            program,
        )
        .await
        .context("failed to open the runs on disk")?;
        let address = listener.local_addr()?;
        let endpoint = margin
            .spend(|| Endpoint::write(&config, address))
            .context("failed to write the endpoint")?;
        let app = App::new(Parts {
            auth: Auth::new(&config.session_key),
            config,
            repos,
            workspaces,
            reaper,
            runs,
            margin,
            tasks: tasks.clone(),
        });
        Ok(Self {
            app,
            tasks,
            trash,
            endpoint,
            _lock: lock,
        })
    }

    /// Where the daemon can be reached, such as `http://127.0.0.1:3344`.
    pub fn url(&self) -> &str {
        self.endpoint.url()
    }

    /// Whether the client commands of this user find the daemon without being told where it is.
    pub fn is_found_by_clients(&self) -> bool {
        self.endpoint.is_found()
    }

    pub fn app(&self) -> &App {
        &self.app
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
        let close = CancellationToken::new();
        let mcp = crate::mcp::service(&self.app, close.child_token());
        let service = crate::http::router(self.app.clone(), mcp);
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection stays with delayed small packets");
            }
            if let Err(error) = probe(stream) {
                tracing::debug!(%error, "a connection is not probed while it is silent");
            }
        });
        let closing = close.clone();
        let mut serving = tokio::spawn(
            axum::serve(listener, service)
                .with_graceful_shutdown(async move { closing.cancelled().await })
                .into_future(),
        );
        prewarm::start(&self.app, &close);
        self.tasks.spawn(
            close
                .clone()
                .run_until_cancelled_owned(self.app.margin.clone().keep(self.tasks.clone())),
        );
        self.app.reaper.start(&close);
        upkeep::start(&self.app, &close);
        tokio::select! {
            () = stop => {}
            ended = &mut serving => return ended.map_err(io::Error::other)?,
        }
        self.drain(hurry).await;
        close.cancel();
        if tokio::time::timeout(LAST_WORDS, &mut serving)
            .await
            .is_err()
        {
            tracing::warn!("some connections were still open and are cut");
            serving.abort();
        }
        self.tasks.close();
        if tokio::time::timeout(LAST_WORDS, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                left = self.tasks.len(),
                "some background work is left undone"
            );
        }
        let trash = self.trash.clone();
        let emptied = tokio::task::spawn_blocking(move || trash.wait(LAST_WORDS)).await;
        if !emptied.unwrap_or(false) {
            tracing::info!("the rest of the trash is left to the next start");
        }
        self.endpoint.remove();
        Ok(())
    }

    async fn drain(&self, hurry: impl Future<Output = ()>) {
        let runs = &self.app.runs;
        runs.refuse_new();
        let (live, _) = runs.census();
        tracing::info!(
            runs = live,
            "stopping: no new runs; waiting for those under way"
        );
        tokio::select! {
            () = runs.idle() => {}
            () = tokio::time::sleep(self.app.config.timeouts.shutdown) => {}
            () = hurry => {}
        }
        let (left, _) = runs.census();
        if left > 0 {
            tracing::info!(
                runs = left,
                "leaving: what runs goes on without the daemon, and the next one takes it back"
            );
        }
        if tokio::time::timeout(LAST_WORDS, runs.leave())
            .await
            .is_err()
        {
            tracing::error!("some runs could not be left in order");
        }
    }
}

/// Refuses to start where every use of a credential would fail.
async fn check_git(git: &Git, config: &Config) -> anyhow::Result<()> {
    let Some(setting) = config.access.bearer() else {
        return Ok(());
    };
    if let Some(found) = lacks_bearer(git).await? {
        anyhow::bail!(
            "{setting} says scheme = \"bearer\", which needs git 2.46 or later, and this is {found:?}: \
             install that, or use scheme = \"basic\" where the remote takes it"
        );
    }
    Ok(())
}

fn git_settings(config: &Config, program: &Path) -> Settings {
    let text = |value: &std::ffi::OsStr| value.to_string_lossy().into_owned();
    let access = &config.access;
    Settings {
        path: text(&config.path),
        home: config
            .home
            .as_ref()
            .map_or_else(|| "/".to_owned(), |home| text(home.as_os_str())),
        ssh_auth_sock: config
            .ssh_auth_sock
            .as_deref()
            .filter(|_| access.ssh.agent)
            .map(text),
        ssh_command: ssh_command(&access.ssh),
        proxy: access.http.proxy.clone(),
        no_proxy: access.http.no_proxy.clone(),
        ca_file: access
            .http
            .ca_file
            .as_deref()
            .map(|file| text(file.as_os_str())),
        program: match program == Path::new(THIS_PROGRAM) {
            // For git that would be git.
            true => own_program(),
            false => program.to_owned(),
        },
        user_name: config.git.user_name.as_str().to_owned(),
        user_email: config.git.user_email.as_str().to_owned(),
        protocols: config.git.allowed_protocols_env(),
        remote_timeout: config.timeouts.remote,
        stall_timeout: config.timeouts.fetch_stall,
        fetch_timeout: config.timeouts.fetch,
        checkout_workers: config.limits.max_concurrent_checkouts,
        signing: Signing {
            key: config
                .git
                .signing_key
                .as_ref()
                .map(|key| key.as_str().to_owned()),
            format: config.git.signing_format,
            allowed_signers: config
                .git
                .allowed_signers
                .as_ref()
                .map(|file| file.path().to_owned()),
        },
    }
}

/// Has the kernel find out whether the other side of a silent connection is still there: one who
/// watches a silent build as text, and whose machine is gone, would else be waited for to its end.
fn probe(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENT_FOR)?;
    sockopt::set_tcp_keepintvl(stream, BETWEEN_PROBES)?;
    Ok(sockopt::set_tcp_keepcnt(stream, PROBES)?)
}
