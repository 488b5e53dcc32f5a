//! What a request ends with where there is no answer: problem documents made into [`Failure`]s.

use reqwest::StatusCode;

use super::mend::help;
use crate::cli::endpoint::Endpoint;
use crate::cli::exit::{self, Failure};
use branchyard::http::ProblemDocument;

/// What a request ended with instead of an answer.
#[derive(Debug)]
pub(crate) enum ClientError {
    /// The daemon said no.
    Refused {
        status: StatusCode,
        problem: ProblemDocument,
    },
    /// Nobody answered, or the answer broke off.
    Unreachable(Failure),
    /// Something answered that is no branchyard.
    Strange(Failure),
}

impl ClientError {
    /// The daemon knows of no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == StatusCode::NOT_FOUND)
    }

    /// The word for programs that the daemon refused with.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { problem, .. } => Some(&problem.code),
            Self::Unreachable(_) | Self::Strange(_) => None,
        }
    }

    /// Whether the same request may well succeed in a moment, here or where the daemon is by then. One
    /// that was started anew does not know the old key.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Refused { status, .. } => {
                let for_now = [StatusCode::UNAUTHORIZED, StatusCode::TOO_MANY_REQUESTS];
                status.is_server_error() || for_now.contains(status)
            }
            Self::Unreachable(_) => true,
            Self::Strange(_) => false,
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Unreachable(failure) | ClientError::Strange(failure) => failure,
            ClientError::Refused { status, problem } => {
                let mut said = [problem.detail, problem.title].into_iter();
                let detail = said.find(|text| !text.is_empty());
                let detail = detail.unwrap_or_else(|| format!("the daemon answered {status}"));
                let help = help(&problem.code, problem.help.as_ref());
                let help = help.or_else(|| match status {
                    StatusCode::UNAUTHORIZED => {
                        Some("give the daemon's key with --key-file".to_owned())
                    }
                    _ => None,
                });
                Failure {
                    exit: exit::of_status(status),
                    detail,
                    help,
                }
            }
        }
    }
}

pub(super) fn strange(endpoint: &Endpoint, what: &str) -> ClientError {
    ClientError::Strange(
        Failure::daemon(format!(
            "what answers at {} is no branchyard daemon: {what}",
            endpoint.url
        ))
        .help("check the address: --url, BRANCHYARD_URL"),
    )
}

/// The innermost cause: "connection refused" rather than the layers around it.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_the_daemon_said() {
        let problem = serde_json::from_str(
            r#"{"type":"about:blank","title":"Not Found","status":404,"detail":"there is no repo \"x\"",
                "code":"something_else","help":"add it"}"#,
        )
        .unwrap();
        let failure = Failure::from(ClientError::Refused {
            status: StatusCode::NOT_FOUND,
            problem,
        });
        assert_eq!(failure.exit, 125);
        assert_eq!(failure.detail, "there is no repo \"x\"");
        assert_eq!(failure.help.as_deref(), Some("add it"));

        let failure = Failure::from(ClientError::Refused {
            status: StatusCode::UNAUTHORIZED,
            problem: ProblemDocument::default(),
        });
        assert_eq!(failure.detail, "the daemon answered 401 Unauthorized");
        assert!(failure.help.unwrap().contains("--key-file"));
    }
}
