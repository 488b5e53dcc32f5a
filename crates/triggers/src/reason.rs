//! Why the remote is asked what is new. What is found then is started in that name.

use branchyard_auth::Principal;
use branchyard_model::RepoName;

/// In rising order: of several at once, the last counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It was time to ask again.
    Poll,
    /// A slot of a schedule is due.
    Schedule,
    /// A forge said so.
    Hook,
    /// Something was pushed through this daemon.
    Push,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Schedule => "schedule",
            Self::Hook => "hook",
            Self::Push => "push",
        }
    }

    /// Who starts it. All of a repo's count together.
    pub(crate) fn principal(self, repo: &RepoName) -> Principal {
        Principal::of_build(self.as_str()).charged_to(format!("{}:{repo}", self.as_str()))
    }
}
