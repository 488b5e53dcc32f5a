//! Ctrl-C and SIGTERM while a run is watched. Who started the run cancels it with the first one and
//! goes on watching until it ends; the second one leaves at once. Who only looks on just leaves.
//!
//! The listener is a task on a thread of its own, so that a stdout that blocks cannot deafen it.

use std::time::Duration;

use reqwest::StatusCode;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::client::{Client, Error};
use super::exit::{self, Failure};
use super::progress::Progress;
use super::render::Console;
use crate::model::RunId;

/// How long a cancel may take that nobody waits for.
const PARTING: Duration = Duration::from_secs(5);
const CANCEL_TRIES: usize = 5;
const CANCEL_RETRY: Duration = Duration::from_secs(2);

/// What a signal means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Initiator,
    Onlooker,
}

#[derive(Debug)]
pub struct Interrupts {
    role: Role,
    client: Client,
    token: CancellationToken,
    run: watch::Sender<Option<RunId>>,
}

impl Interrupts {
    /// Listens from now on, until the process ends.
    pub fn listen(
        role: Role,
        client: &Client,
        console: Console,
        progress: Progress,
    ) -> Result<Self, Failure> {
        let cannot = |error| Failure::local(format!("cannot listen for signals: {error}"));
        let (run, known) = watch::channel(None);
        let token = CancellationToken::new();
        let listener = Listener {
            interrupt: signal(SignalKind::interrupt()).map_err(cannot)?,
            terminate: signal(SignalKind::terminate()).map_err(cannot)?,
            client: client.clone(),
            console,
            progress,
        };
        tokio::spawn(listener.listen(role, token.clone(), known));
        Ok(Self {
            role,
            client: client.clone(),
            token,
            run,
        })
    }

    /// Which run it is all about, once that is known.
    pub fn run_is(&self, run: RunId) {
        self.run.send_if_modified(|known| {
            let is_news = known.is_none();
            *known = Some(run);
            is_news
        });
    }

    pub fn happened(&self) -> bool {
        self.token.is_cancelled()
    }

    pub async fn wait(&self) {
        self.token.cancelled().await;
    }

    /// Nobody reads the output any more: cancels the run if it is ours, at best effort, as the
    /// daemon would by itself a little later.
    pub async fn abandon(&self) {
        let run = *self.run.borrow();
        if let (Role::Initiator, Some(run)) = (self.role, run) {
            let _ = tokio::time::timeout(PARTING, self.client.cancel(run)).await;
        }
    }
}

struct Listener {
    interrupt: Signal,
    terminate: Signal,
    client: Client,
    console: Console,
    progress: Progress,
}

impl Listener {
    async fn listen(
        mut self,
        role: Role,
        token: CancellationToken,
        mut run: watch::Receiver<Option<RunId>>,
    ) {
        self.next().await;
        if role == Role::Onlooker {
            self.leave();
        }
        token.cancel();
        if self.console.stderr_is_terminal && !self.console.json {
            self.progress.clear();
            self.console
                .note("\ncancelling the run; once more to leave at once");
        }
        let (client, console) = (self.client.clone(), self.console);
        tokio::spawn(async move {
            let known = run.wait_for(Option::is_some).await.map(|run| *run);
            if let Ok(Some(run)) = known {
                cancel(client, run, console).await;
            }
        });
        self.next().await;
        self.leave();
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    fn leave(&self) -> ! {
        self.progress.clear();
        std::process::exit(i32::from(exit::CANCELLED))
    }
}

/// Cancels the run, also through a daemon that is just being started anew.
async fn cancel(mut client: Client, run: RunId, console: Console) {
    let mut tries = 0;
    loop {
        tries += 1;
        match client.cancel(run).await {
            Ok(_) => return,
            Err(error) if error.may_pass() && tries < CANCEL_TRIES => {
                tokio::time::sleep(CANCEL_RETRY).await;
                client.find_again();
            }
            // It ended meanwhile, which is what was wanted.
            Err(Error::Refused {
                status: StatusCode::NOT_FOUND | StatusCode::CONFLICT,
                ..
            }) => return,
            Err(error) => {
                let failure = Failure::from(error);
                return console.warning(&format!("the run was not cancelled: {failure}"));
            }
        }
    }
}
