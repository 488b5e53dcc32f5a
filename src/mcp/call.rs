//! One request of an agent, and who asks.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use rmcp::service::{RequestContext, RoleServer};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::progress::{AT_LEAST_EVERY, Progress};
use super::reply::{Content, Reply};
use super::scope::ToolScope;
use crate::app::audit::Sender;
use crate::app::{App, AuthorizedApp};
use branchyard_auth::Principal;
use branchyard_model::{ErrorKind, Problem};

/// What takes longer goes on without the caller: clients give up on a call after a minute.
pub(super) const LONGEST: Duration = Duration::from_secs(50);

/// What a tool, a resource or a prompt is given besides its arguments.
#[derive(Debug, Clone)]
pub(super) struct Call {
    app: AuthorizedApp,
    scope: Arc<ToolScope>,
    /// The client wants no answer any more. A run goes on regardless, unless it was asked not to.
    cancelled: CancellationToken,
    progress: Progress,
    sender: Sender,
    /// The client can be given a task in place of an answer.
    takes_tasks: bool,
}

impl Call {
    pub(super) fn new(app: &App, context: &RequestContext<RoleServer>) -> Result<Self, Problem> {
        let parts = context.extensions.get::<Parts>();
        let parts = parts.map(|parts| &parts.extensions);
        let sender = parts.and_then(|parts| parts.get::<Sender>().cloned());
        let mut sender = sender.unwrap_or_default();
        // What the agent calls itself says more than the library by which it speaks HTTP.
        if let Some(agent) = context.client_info() {
            sender.client = Some(format!("{}/{}", agent.name, agent.version));
        }
        let known = parts.and_then(|parts| {
            Some((
                parts.get::<Principal>()?.clone(),
                parts.get::<Arc<ToolScope>>()?.clone(),
            ))
        });
        let (principal, scope) = known.ok_or_else(|| {
            let detail = "the request does not say who asks";
            Problem::new(ErrorKind::Internal, "nobody_asks", detail)
        })?;
        Ok(Self {
            app: app.for_principal(principal),
            scope,
            cancelled: context.ct.clone(),
            progress: Progress::new(context),
            sender,
            takes_tasks: context
                .client_capabilities()
                .is_some_and(|can| can.supports_tasks()),
        })
    }

    /// What comes of `work`, unless the client loses patience or interest before. Whatever changes files
    /// goes on to its end then, and a call that is made again finds what it did.
    pub(super) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        tokio::select! {
            outcome = work => outcome,
            () = self.cancelled.cancelled() => Err(unfinished("the call was cancelled")),
            () = tokio::time::sleep(LONGEST) => {
                let seconds = LONGEST.as_secs();
                Err(unfinished(&format!("it takes longer than {seconds} s")))
            }
            never = self.say_that_it_goes_on() => match never {},
        }
    }

    /// Beside the work, which may hold what others wait for: a client that does not listen must not keep
    /// it from going on.
    async fn say_that_it_goes_on(&self) -> Infallible {
        let mut waited = Duration::ZERO;
        loop {
            tokio::time::sleep(AT_LEAST_EVERY).await;
            waited += AT_LEAST_EVERY;
            let seconds = waited.as_secs();
            self.progress.tell(format!("at work for {seconds} s")).await;
        }
    }

    /// An answer, in the form that the client wants.
    pub(super) fn reply(
        &self,
        structured: &impl Serialize,
        text: impl Into<String>,
    ) -> Result<Reply, Problem> {
        Reply::new(self.scope.content(), structured, text)
    }

    /// What may be shown of something that takes `each` in an answer of both forms: twice as much in one of them.
    pub(super) fn room(&self, each: usize) -> usize {
        match self.scope.content() {
            Content::Both => each,
            Content::Text | Content::Structured => 2 * each,
        }
    }

    /// Whether the client sees the text copy of an answer and nothing else.
    pub(super) fn is_text_alone(&self) -> bool {
        self.scope.content() == Content::Text
    }

    pub(super) fn app(&self) -> &AuthorizedApp {
        &self.app
    }

    pub(super) fn scope(&self) -> &Arc<ToolScope> {
        &self.scope
    }

    pub(super) fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }

    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    pub(super) fn takes_tasks(&self) -> bool {
        self.takes_tasks
    }

    pub(super) fn sender(&self) -> &Sender {
        &self.sender
    }
}

fn unfinished(why: &str) -> Problem {
    let detail = format!("there is no answer yet: {why}");
    Problem::new(ErrorKind::Unavailable, "not_done_yet", detail)
        .help("what was begun goes on, as a clone does; make the same call again in a while")
}
