//! What a caller is told when something is refused or fails. Each module has its own error type;
//! all of them end as a [`Problem`], and each face maps [`ErrorKind`] to its wire in one place.

use std::any::Any;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Scope;

/// Of a sentence for people, in bytes.
const LONGEST: usize = 8000;

/// The class of a failure: decides the HTTP status, the CLI exit code and whether a retry can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request is malformed or hostile: a name, an argument, a header.
    BadRequest,
    /// Well-formed, but a field is unknown or has a value that makes no sense.
    Unprocessable,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    /// The state of the yard forbids it now; the detail names the mend.
    Conflict,
    TooLarge,
    UnsupportedMedia,
    /// The caller has or asks for more than a limit allows; the detail names the limit.
    TooMany,
    RangeNotSatisfiable,
    /// The repository's remote said no or could not be reached.
    Upstream,
    /// The repository's remote did not answer in time.
    UpstreamTimeout,
    /// The daemon is starting, draining or out of a resource.
    Unavailable,
    /// The disk is full.
    StorageFull,
    Internal,
}

/// A refusal or failure with everything that a caller needs to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[error("{detail}")]
#[schemars(rename = "RunProblem")]
pub struct Problem {
    pub kind: ErrorKind,
    /// A stable word for programs, such as `drifted` or `branch_not_found`.
    pub code: String,
    /// One sentence for people.
    pub detail: String,
    /// The field, argument or header that is at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<Box<str>>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The right that it would have taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Scope>,
    /// After how many seconds the same may well succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

impl Problem {
    pub fn new(kind: ErrorKind, code: &str, detail: impl Into<String>) -> Self {
        Self {
            kind,
            code: code.to_owned(),
            detail: detail.into(),
            field: None,
            help: None,
            missing: None,
            retry_after: None,
        }
    }

    /// Whether what stands in the way may be gone later by itself.
    pub fn may_pass(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Internal
                | ErrorKind::Unavailable
                | ErrorKind::StorageFull
                | ErrorKind::TooMany
                | ErrorKind::Upstream
                | ErrorKind::UpstreamTimeout
        )
    }

    /// A malformed or hostile value: 400 in HTTP.
    pub fn bad(field: &str, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadRequest, "bad_request", detail).field(field)
    }

    /// A well-formed value that makes no sense: 422 in HTTP.
    pub fn unprocessable(field: &str, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unprocessable, "unprocessable", detail).field(field)
    }

    /// Something could not be read or written: the disk is full or somebody closed it to the daemon, else
    /// `code` stands for a defect.
    pub fn unwritten(code: &str, detail: &str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, StorageFull};
        let detail = format!("{detail}: {error}");
        match error.kind() {
            StorageFull | QuotaExceeded => Self::new(ErrorKind::StorageFull, "disk_full", detail)
                .help("make room on the disk that holds the daemon's workspaces, as with `branchyard reap`; then ask again"),
            PermissionDenied => Self::new(ErrorKind::Conflict, "permission_denied", detail)
                .help("give the daemon's user the right to read and change it (`chmod`, `chown`), or move it away; then ask again"),
            _ => Self::new(ErrorKind::Internal, code, detail),
        }
    }

    /// Something of ours panicked: a defect, told like any other.
    pub fn of_panic(who: &str, panic: &(dyn Any + Send)) -> Self {
        let said = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        let detail = format!("{who} panicked: {said}");
        Self::new(ErrorKind::Internal, "panic", detail)
    }

    /// The problem as callers are told it: what went wrong inside is for the log, and a value of theirs
    /// does not come back to them whole, however long it is.
    #[must_use]
    pub fn outward(mut self) -> Self {
        if self.kind == ErrorKind::Internal {
            self.detail = format!(
                "something went wrong inside the daemon ({}); its log says more",
                self.code
            );
        }
        shorten(&mut self.detail);
        if let Some(help) = &mut self.help {
            shorten(help);
        }
        self
    }

    #[must_use]
    pub fn field(mut self, field: impl Into<Box<str>>) -> Self {
        self.field = Some(field.into());
        self
    }

    #[must_use]
    pub fn missing(mut self, right: Scope) -> Self {
        self.missing = Some(right);
        self
    }

    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

fn shorten(text: &mut String) {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
}
