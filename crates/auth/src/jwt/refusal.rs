//! Why a token does not count: precise enough to mend it, and never the token itself.

use branchyard_model::{ErrorKind, Problem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The end of a sentence that begins with "the token".
    Token(&'static str),
    /// There are no keys to check it with.
    IssuerUnreachable,
}

impl Refusal {
    pub(super) fn into_problem(self) -> Problem {
        let problem = match self {
            Self::Token(why) => Problem::new(
                ErrorKind::Unauthorized,
                "unauthorized",
                format!("the token {why}"),
            )
            .help("get a token for this daemon from an issuer that it knows, and send it as `Authorization: Bearer TOKEN`"),
            Self::IssuerUnreachable => Problem::new(
                ErrorKind::Unavailable,
                "issuer_unreachable",
                "the token cannot be checked: its issuer's keys cannot be had at the moment",
            )
            .help("ask again in a while; the daemon's log says what the issuer answered"),
        };
        tracing::debug!(why = problem.detail, "a token was refused");
        problem
    }
}
