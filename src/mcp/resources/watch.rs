//! A resource under watch.
//!
//! Every resource is looked at once a second and held against what it was. Nothing else serves all three
//! kinds: a file is changed by builds and people whom nobody asks to tell us, and watching trees through
//! the kernel costs more than a look. It also means that a log which grows by the millisecond is told of
//! once a second.

use std::time::Duration;

use super::read::repos;
use super::uri::{Uri, offered};
use crate::app::{AuthorizedApp, inspect, runs};
use crate::mcp::call::Call;
use branchyard_journal::Cursor;
use branchyard_model::{ErrorKind, Problem, Scope};
use branchyard_workspace::Stamp;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// A resource that is looked at again and again.
#[derive(Debug)]
pub(super) struct Watch {
    app: AuthorizedApp,
    uri: Uri,
    seen: Seen,
    /// What was seen first is still to be told.
    untold: bool,
}

/// What tells one state of a resource from another.
#[derive(Debug, PartialEq)]
enum Seen {
    Nothing,
    Repos(String),
    Log { end: Cursor, closed: bool },
    File(Stamp),
}

impl Watch {
    /// Takes a first look, which is told only of a log that is closed already: somebody may wait for that.
    /// What is not there yet may come, but for a run.
    pub(super) async fn begin(call: &Call, uri: &str) -> Result<Self, Problem> {
        call.app().require(Scope::RepoRead)?;
        let (app, uri) = (call.app().clone(), offered(uri, call.scope())?);
        if let Uri::Log(run) = &uri {
            runs::get(&app, *run)?;
        }
        let seen = look(&app, &uri).await?;
        let mut watch = Self {
            app,
            uri,
            seen,
            untold: false,
        };
        watch.untold = watch.is_over();
        Ok(watch)
    }

    /// Tells also what was seen first.
    pub(super) fn telling_first(mut self) -> Self {
        self.untold = true;
        self
    }

    /// Returns true at the next change, and false if there will be none any more.
    pub(super) async fn changed(&mut self) -> bool {
        if std::mem::take(&mut self.untold) {
            return true;
        }
        while !self.is_over() {
            tokio::time::sleep(EVERY).await;
            match look(&self.app, &self.uri).await {
                Ok(seen) if seen != self.seen => {
                    self.seen = seen;
                    return true;
                }
                Ok(_) => {}
                // It may be a mere moment's; a read would say so.
                Err(error) => {
                    tracing::debug!(uri = %self.uri, %error, "a resource is not looked at");
                }
            }
        }
        false
    }

    /// A log that was closed, or went with its run, stays as it is.
    fn is_over(&self) -> bool {
        match self.seen {
            Seen::Log { closed, .. } => closed,
            Seen::Nothing => matches!(self.uri, Uri::Log(_)),
            Seen::Repos(_) | Seen::File(_) => false,
        }
    }
}

async fn look(app: &AuthorizedApp, uri: &Uri) -> Result<Seen, Problem> {
    match uri {
        Uri::Repos => Ok(Seen::Repos(repos(app).await?)),
        Uri::Log(run) => match runs::view_run(app, *run) {
            Ok(view) => Ok(Seen::Log {
                closed: view.is_closed(),
                end: view.end(),
            }),
            Err(problem) if problem.kind == ErrorKind::NotFound => Ok(Seen::Nothing),
            Err(problem) => Err(problem),
        },
        Uri::File { repo, branch, path } => {
            match inspect::file_stamp(app, repo, branch, path).await {
                Ok(stamp) => Ok(stamp.map_or(Seen::Nothing, Seen::File)),
                Err(problem) if problem.code == "repo_not_found" => Ok(Seen::Nothing),
                Err(problem) => Err(problem),
            }
        }
    }
}
