//! The audit as the faces use it: what a call is named, where it was, what came of it; and reading it.

mod actions;
mod place;

use std::borrow::Cow;
use std::sync::Arc;

use async_stream::try_stream;
use tokio_stream::Stream;

use super::Parts;
use branchyard_auth::Principal;
use branchyard_db::security_db::audit::{Audit, Call, Filter, Order, Record};
use branchyard_model::{ErrorKind, Problem, Scope};

pub use actions::{ACTIONS, of_verb};
pub use branchyard_db::security_db::audit::{AuditEntry, AuditOutcome, End, Sender, Via};
pub use branchyard_db::security_db::audit::{
    Call as AuditCall, Filter as AuditFilter, Record as AuditRecord,
};
pub use place::Named;

/// Records that are read at once.
const CHUNK: usize = 500;

/// What a 404 says where there may well be such a thing, only not for this caller.
const OUT_OF_BOUNDS: &str = "out_of_bounds";

/// The audit, and the yard that it is about; cheap to clone.
#[derive(Debug, Clone)]
pub struct Auditor(Arc<Parts>);

impl Auditor {
    pub(super) fn new(yard: Arc<Parts>) -> Self {
        Self(yard)
    }

    /// Takes note of a call that may change something, before it does. One that cannot be noted is refused.
    pub async fn begin(&self, call: Call) -> Result<AuditEntry, Problem> {
        self.audit().begin(call).await.ok_or_else(|| {
            let detail = "the audit cannot be written, and nothing is changed without a record of it";
            let problem = Problem::new(ErrorKind::Unavailable, "audit_unavailable", detail)
                .help("the daemon's log says why; mend what is wrong with trust.db or its disk, and ask again");
            self.0.margin.judge(problem)
        })
    }

    /// Records a refusal, or counts it where there are many.
    pub fn refused(&self, call: Call, end: End) {
        self.audit().refused(call, end);
    }

    fn audit(&self) -> &Audit {
        &self.0.audit
    }

    /// Records by `filter` that the asker may see, the newest first, at most `limit`; and whether there are more.
    pub async fn page(
        &self,
        principal: &Principal,
        filter: Filter,
        limit: usize,
    ) -> Result<(Vec<Record>, bool), Problem> {
        principal.require(Scope::Admin)?;
        let mut filter = filter;
        let mut found = Vec::new();
        while found.len() <= limit {
            let chunk = self.read(&filter, Order::NewestFirst).await?;
            let Some(last) = chunk.last() else {
                break;
            };
            filter.before = Some(last.id);
            let seen = chunk.into_iter().filter(|record| sees(principal, record));
            found.extend(seen);
        }
        let more = found.len() > limit;
        found.truncate(limit);
        Ok((found, more))
    }

    /// The newest of the records by `filter`, for a caller who may see what they are about.
    pub(super) async fn newest(&self, filter: &Filter) -> Result<Vec<Record>, Problem> {
        self.read(filter, Order::NewestFirst).await
    }

    /// The same as a page from the oldest to what is the newest now, part by part: however much it is, only one part
    /// is in memory.
    pub async fn export(
        &self,
        principal: &Principal,
        filter: Filter,
    ) -> Result<impl Stream<Item = Result<Vec<Record>, Problem>> + Send + use<>, Problem> {
        principal.require(Scope::Admin)?;
        let mut filter = filter;
        let newest = self.read(&filter, Order::NewestFirst).await?;
        // What comes meanwhile is for the next export, or this one might never end.
        filter.before = Some(newest.first().map_or(0, |record| record.id + 1));
        let (auditor, principal) = (self.clone(), principal.clone());
        Ok(try_stream! {
            loop {
                let mut chunk = auditor.read(&filter, Order::OldestFirst).await?;
                let Some(last) = chunk.last() else {
                    break;
                };
                filter.after = Some(last.id);
                chunk.retain(|record| sees(&principal, record));
                yield chunk;
            }
        })
    }

    async fn read(&self, filter: &Filter, order: Order) -> Result<Vec<Record>, Problem> {
        let (audit, filter) = (self.audit().clone(), filter.clone());
        tokio::task::spawn_blocking(move || audit.page(&filter, order, CHUNK))
            .await
            .map_err(|error| unread(&error))?
            .map_err(|error| unread(&error))
    }
}

fn unread(error: &dyn std::error::Error) -> Problem {
    Problem::new(ErrorKind::Internal, "audit_unread", error.to_string())
}

/// Whoever is bound to some repos and branches sees what was done there, and nothing of the yard as a whole.
fn sees(principal: &Principal, record: &Record) -> bool {
    if principal.grant().is_everywhere() {
        return true;
    }
    record.call.repo.is_some() && is_within(principal, &record.call)
}

fn is_within(principal: &Principal, call: &Call) -> bool {
    match (&call.repo, &call.branch) {
        (Some(repo), Some(branch)) => principal.sees(repo, branch),
        (Some(repo), None) => principal.sees_repo(repo),
        (None, _) => true,
    }
}

/// What a face answered, as far as the audit is concerned.
#[derive(Debug, Clone)]
pub struct Answer<'a> {
    pub status: u16,
    /// The stable word of a problem.
    pub code: Option<Cow<'a, str>>,
}

impl<'a> Answer<'a> {
    /// What is the same in HTTP.
    pub fn of<T>(answer: &'a Result<T, Problem>) -> Self {
        let Err(problem) = answer else {
            let (status, code) = (200, None);
            return Self { status, code };
        };
        let status = match problem.kind {
            ErrorKind::Unauthorized => 401,
            ErrorKind::Forbidden => 403,
            ErrorKind::NotFound => 404,
            ErrorKind::TooMany => 429,
            ErrorKind::Internal => 500,
            _ => 400,
        };
        Self {
            status,
            code: Some(problem.code.as_str().into()),
        }
    }

    /// What came of a call of theirs, or of somebody's who is not known. What is beyond one's bounds is not
    /// found, as if it were not there; here it is told apart.
    pub fn end(self, principal: Option<&Principal>, call: &Call) -> End {
        let is_out_of_bounds = || {
            self.code.as_deref() == Some(OUT_OF_BOUNDS)
                || principal.is_some_and(|who| !is_within(who, call))
        };
        let outcome = match self.status {
            401 | 403 | 429 => AuditOutcome::Refused,
            404 if is_out_of_bounds() => AuditOutcome::Refused,
            status if status < 400 => AuditOutcome::Allowed,
            _ => AuditOutcome::Failed,
        };
        let mut end = End::new(outcome).status(self.status);
        end.code = self.code.map(Cow::into_owned);
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_auth::{Area, Grant};
    use branchyard_config::{BranchGlobs, RepoGlobs};
    use branchyard_model::{BranchName, RepoName};

    #[test]
    fn what_is_beyond_ones_bounds_is_a_refusal_and_hidden() {
        let area = Area {
            repos: RepoGlobs::parse(["app"]).unwrap(),
            branches: BranchGlobs::parse(["agent-*"]).unwrap(),
        };
        let bounded = Principal::new("t", Grant::everything().within(area));
        let free = Principal::new("s", Grant::everything());
        for (repo, branch, is_theirs) in [
            (Some("app"), Some("agent-1"), true),
            (Some("app"), None, true),
            (Some("app"), Some("main"), false),
            (Some("lib"), None, false),
            (None, None, true),
        ] {
            let mut call = Call::new(Via::Http, "make");
            call.repo = repo.map(|name| RepoName::parse(name).unwrap());
            call.branch = branch.map(|name| BranchName::parse(name).unwrap());
            let answer = Answer {
                status: 404,
                code: None,
            };
            let outcome = |who| answer.clone().end(who, &call).outcome;
            let expected = match is_theirs {
                true => AuditOutcome::Failed,
                false => AuditOutcome::Refused,
            };
            assert_eq!(outcome(Some(&bounded)), expected, "{repo:?} {branch:?}");
            assert_eq!(outcome(Some(&free)), AuditOutcome::Failed);
            assert_eq!(outcome(None), AuditOutcome::Failed);
            let record = Record {
                id: 1,
                end: End::new(AuditOutcome::Allowed),
                call,
            };
            assert_eq!(sees(&bounded, &record), is_theirs && repo.is_some());
            assert!(sees(&free, &record));
        }
    }
}
