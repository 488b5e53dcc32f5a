//! Ctrl-C and SIGTERM while a run, or a group of them, is watched. Who started it cancels it with the
//! first one and goes on watching until it ends, unless others want it still; the second one leaves at
//! once. Who only looks on just leaves.
//!
//! The listener is a task on a thread of its own, so that a stdout that blocks cannot deafen it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::client::{Answer, Client};
use super::exit::{self, Failure};
use super::render::Console;
use super::subject::Subject;

/// How long a cancel may take that nobody waits for.
const PARTING: Duration = Duration::from_secs(5);
const CANCEL_TRIES: usize = 5;
const CANCEL_RETRY: Duration = Duration::from_secs(2);

/// Takes what moves off the terminal.
pub(super) type Clear = Arc<dyn Fn() + Send + Sync>;

/// What a signal means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Initiator,
    Onlooker,
}

#[derive(Debug)]
pub(super) struct Interrupts {
    role: Role,
    client: Client,
    console: Console,
    token: CancellationToken,
    subject: watch::Sender<Option<Subject>>,
}

impl Interrupts {
    /// Listens from now on, until the process ends.
    pub(super) fn listen(
        role: Role,
        client: &Client,
        console: Console,
        clear: Clear,
    ) -> Result<Self, Failure> {
        let (subject, known) = watch::channel(None);
        let token = CancellationToken::new();
        let listener = Listener {
            signals: StopSignals::listen()?,
            client: client.clone(),
            console,
            clear,
        };
        tokio::spawn(listener.listen(role, token.clone(), known));
        Ok(Self {
            role,
            client: client.clone(),
            console,
            token,
            subject,
        })
    }

    /// What it is all about, once that is known.
    pub(super) fn subject_is(&self, subject: Subject) {
        self.subject.send_replace(Some(subject));
    }

    pub(super) fn happened(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(super) async fn wait(&self) {
        self.token.cancelled().await;
    }

    /// Nobody reads the output any more: cancels the run if it is ours, at best effort, as the
    /// daemon would by itself a little later.
    pub(super) async fn abandon(&self) {
        let subject = *self.subject.borrow();
        if let (Role::Initiator, Some(subject)) = (self.role, subject) {
            let cancelling = cancel(self.client.clone(), subject, self.console);
            let _ = tokio::time::timeout(PARTING, cancelling).await;
        }
    }
}

/// SIGINT, as by Ctrl-C, SIGTERM, and others that are to be heard.
#[derive(Debug)]
pub(super) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    /// SIGHUP and SIGQUIT.
    others: Option<(Signal, Signal)>,
}

impl StopSignals {
    pub(super) fn listen() -> Result<Self, Failure> {
        let cannot = |error| Failure::local(format!("cannot listen for signals: {error}"));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(cannot)?,
            terminate: signal(SignalKind::terminate()).map_err(cannot)?,
            others: None,
        })
    }

    /// Also those that a terminal sends when it goes, or at Ctrl-\: for what has to leave it as it was.
    pub(super) fn listen_to_all() -> Result<Self, Failure> {
        let cannot = |error| Failure::local(format!("cannot listen for signals: {error}"));
        let others = (
            signal(SignalKind::hangup()).map_err(cannot)?,
            signal(SignalKind::quit()).map_err(cannot)?,
        );
        Ok(Self {
            others: Some(others),
            ..Self::listen()?
        })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = other(&mut self.others) => {}
        }
    }
}

async fn other(others: &mut Option<(Signal, Signal)>) {
    match others {
        Some((hangup, quit)) => tokio::select! {
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        },
        None => std::future::pending().await,
    }
}

struct Listener {
    signals: StopSignals,
    client: Client,
    console: Console,
    clear: Clear,
}

impl Listener {
    async fn listen(
        mut self,
        role: Role,
        token: CancellationToken,
        mut subject: watch::Receiver<Option<Subject>>,
    ) {
        self.signals.next().await;
        if role == Role::Onlooker {
            self.leave();
        }
        token.cancel();
        if self.console.stderr_is_terminal && !self.console.json {
            (self.clear)();
            self.console
                .note("\ncancelling; once more to leave at once");
        }
        let (client, console) = (self.client.clone(), self.console);
        let clear = self.clear.clone();
        tokio::spawn(async move {
            let known = subject.wait_for(Option::is_some).await.map(|known| *known);
            if let Ok(Some(subject)) = known
                && cancel(client, subject, console).await
            {
                clear();
                console.note("others want the run still; it goes on without us");
                std::process::exit(i32::from(exit::CANCELLED))
            }
        });
        self.signals.next().await;
        self.leave();
    }

    fn leave(&self) -> ! {
        (self.clear)();
        std::process::exit(i32::from(exit::CANCELLED))
    }
}

/// Cancels, also through a daemon that is just being started anew. Whether it goes on all the same, for others.
async fn cancel(client: Client, subject: Subject, console: Console) -> bool {
    let mut tries = 0;
    let refused = loop {
        tries += 1;
        let error = match client.cancel(subject, false).await {
            Ok(answer) => return goes_on(&answer),
            Err(error) => error,
        };
        if !error.may_pass() {
            break error;
        }
        if let Some(elsewhere) = client.elsewhere()
            && let Ok(answer) = elsewhere.cancel(subject, false).await
        {
            return goes_on(&answer);
        }
        if tries == CANCEL_TRIES {
            break error;
        }
        tokio::time::sleep(CANCEL_RETRY).await;
    };
    // Not found is what has ended meanwhile, which is what was wanted.
    if !refused.is_not_found() {
        let (noun, failure) = (subject.noun(), Failure::from(refused));
        console.warning(&format!("the {noun} was not cancelled: {failure}"));
    }
    false
}

/// Whether it goes on, since others want it still. A group has no such field.
fn goes_on(answer: &Answer) -> bool {
    let answer: Value = answer.parse().unwrap_or_default();
    answer["wanted_by"].as_u64() > Some(0)
}
