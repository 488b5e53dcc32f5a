//! What kind of failure it was when a remote could not be asked, read from what git, curl and ssh said.
//! This is the one place where their words are read: an exit status tells no more than that it failed.
//! They speak English here, since every git of ours runs in the C locale.

use std::fmt;

use branchyard_model::{ErrorKind, Problem};

/// Why a command that talks to the remote failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemoteFailure {
    /// It wants a credential, or another one.
    Auth,
    /// It knows who asks, and says no.
    Forbidden,
    /// There is no such repository there, or none that may be seen.
    NotFound,
    /// The repository is there, a ref that was named is not.
    NoSuchRef,
    /// The host's key is unknown or has changed.
    HostKey,
    /// The host's name leads nowhere.
    Dns,
    /// Nobody listens there, or no way leads there.
    Unreachable,
    /// The proxy on the way is not there or refuses.
    Proxy,
    /// It did not answer in time.
    Timeout,
    /// The connection broke in the middle of something.
    CutOff,
    /// It is there and cannot serve at the moment: 5xx and 429 of HTTP.
    Busy,
    /// The secure connection could not be made, mostly for want of a trusted certificate.
    Tls,
    /// It took a push and refused what it was to do.
    Rejected,
    /// The protocol is not one that the operator allows.
    ProtocolRefused,
    /// It says that the repository is at another address.
    Redirected,
    /// Its name leads to an address that callers may not name.
    InnerAddress,
    Other,
}

/// What is said, and what it means; the first that is found counts. What can be a consequence of
/// something else stands behind it.
const WORDS: &[(&str, RemoteFailure)] = &[
    ("host key verification failed", RemoteFailure::HostKey),
    ("you have requested strict checking", RemoteFailure::HostKey),
    ("no matching host key type found", RemoteFailure::HostKey),
    ("authentication failed for", RemoteFailure::Auth),
    // Git-lfs names no status here.
    ("authentication required:", RemoteFailure::Auth),
    ("authorization error:", RemoteFailure::Forbidden),
    ("repository or object not found:", RemoteFailure::NotFound),
    (": [404]", RemoteFailure::NotFound),
    ("could not read username for", RemoteFailure::Auth),
    ("could not read password for", RemoteFailure::Auth),
    // ssh names the methods in brackets; without them it is a file of this machine's.
    ("permission denied (", RemoteFailure::Auth),
    ("too many authentication failures", RemoteFailure::Auth),
    ("unprotected private key file", RemoteFailure::Auth),
    ("couldn't find remote ref", RemoteFailure::NoSuchRef),
    // A commit that was asked for by its id.
    ("not our ref", RemoteFailure::NoSuchRef),
    ("request for unadvertised object", RemoteFailure::NoSuchRef),
    (
        "does not appear to be a git repository",
        RemoteFailure::NotFound,
    ),
    ("repository not exported", RemoteFailure::NotFound),
    ("repository not found", RemoteFailure::NotFound),
    ("/' not found", RemoteFailure::NotFound),
    ("could not resolve proxy", RemoteFailure::Proxy),
    ("from proxy after connect", RemoteFailure::Proxy),
    ("connect tunnel failed", RemoteFailure::Proxy),
    ("could not resolve host", RemoteFailure::Dns),
    ("unable to look up", RemoteFailure::Dns),
    ("timed out", RemoteFailure::Timeout),
    ("timeout was reached", RemoteFailure::Timeout),
    ("operation too slow", RemoteFailure::Timeout),
    ("connection refused", RemoteFailure::Unreachable),
    ("couldn't connect to server", RemoteFailure::Unreachable),
    ("network is unreachable", RemoteFailure::Unreachable),
    ("no route to host", RemoteFailure::Unreachable),
    ("[remote rejected]", RemoteFailure::Rejected),
    ("[rejected]", RemoteFailure::Rejected),
    ("hook declined", RemoteFailure::Rejected),
    // An end in the middle of a secure connection is an end, whatever the library calls it.
    ("connection reset", RemoteFailure::CutOff),
    ("connection closed by", RemoteFailure::CutOff),
    ("non-properly terminated", RemoteFailure::CutOff),
    ("unexpected eof while reading", RemoteFailure::CutOff),
    ("lfs: unexpected eof", RemoteFailure::CutOff),
    ("transfer closed with", RemoteFailure::CutOff),
    ("empty reply from server", RemoteFailure::CutOff),
    ("was not closed cleanly", RemoteFailure::CutOff),
    ("broken pipe", RemoteFailure::CutOff),
    ("certificate problem", RemoteFailure::Tls),
    ("certificate verif", RemoteFailure::Tls),
    ("certificate subject", RemoteFailure::Tls),
    ("peer certificate", RemoteFailure::Tls),
    ("handshake() failed", RemoteFailure::Tls),
    ("ssl_connect", RemoteFailure::Tls),
    ("ssl connect", RemoteFailure::Tls),
    ("ssl routines", RemoteFailure::Tls),
    ("transport '", RemoteFailure::ProtocolRefused),
    ("unexpected disconnect", RemoteFailure::CutOff),
    ("expected flush after ref listing", RemoteFailure::CutOff),
    ("early eof", RemoteFailure::CutOff),
    ("hung up unexpectedly", RemoteFailure::CutOff),
];

impl RemoteFailure {
    /// Whether the remote, or a rule of ours, said no: nothing was out of order.
    pub fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::Auth
                | Self::Forbidden
                | Self::NotFound
                | Self::HostKey
                | Self::ProtocolRefused
                | Self::Redirected
                | Self::InnerAddress
        )
    }

    /// What all of a failed command's standard error comes to.
    pub fn of(stderr: &str) -> Self {
        // What the other side says about itself, passed on by git, can say anything.
        let said: String = stderr
            .split(['\n', '\r'])
            .filter(|line| !line.starts_with("remote:"))
            .map(|line| line.to_ascii_lowercase() + "\n")
            .collect();
        if let Some(failure) = status_of(&said).and_then(Self::of_status) {
            return failure;
        }
        WORDS
            .iter()
            .find_map(|(words, failure)| said.contains(words).then_some(*failure))
            .unwrap_or(Self::Other)
    }

    fn of_status(status: u16) -> Option<Self> {
        Some(match status {
            300..=399 => Self::Redirected,
            401 => Self::Auth,
            403 => Self::Forbidden,
            404 | 410 => Self::NotFound,
            407 => Self::Proxy,
            408 => Self::Timeout,
            429 | 500..=599 => Self::Busy,
            _ => return None,
        })
    }

    /// Whether the same may well succeed a moment later. What did not answer in time may too, but has
    /// had all the time there was.
    pub fn can_be_mended_by_retry(self) -> bool {
        matches!(
            self,
            Self::Dns | Self::Unreachable | Self::CutOff | Self::Busy
        )
    }

    /// Whether it may be about one of the refs that were asked for, so that others can still be had.
    pub fn may_spare_others(self) -> bool {
        matches!(self, Self::NoSuchRef | Self::Other)
    }

    /// A word for programs, as in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::NoSuchRef => "no_such_ref",
            Self::HostKey => "host_key",
            Self::Dns => "dns",
            Self::Unreachable => "unreachable",
            Self::Proxy => "proxy",
            Self::Timeout => "timeout",
            Self::CutOff => "cut_off",
            Self::Busy => "busy",
            Self::Tls => "tls",
            Self::Rejected => "rejected",
            Self::ProtocolRefused => "protocol_refused",
            Self::Redirected => "redirected",
            Self::InnerAddress => "inner_address",
            Self::Other => "other",
        }
    }

    /// Counts it, by what was asked of the remote.
    pub fn count(self, operation: &str) {
        metrics::counter!(
            "branchyard_remote_failures_total",
            "operation" => operation.to_owned(),
            "kind" => self.as_str()
        )
        .increment(1);
    }

    /// Counts that the remote is asked again because of it.
    pub fn count_retry(self, operation: &'static str) {
        metrics::counter!(
            "branchyard_remote_retries_total",
            "operation" => operation,
            "kind" => self.as_str()
        )
        .increment(1);
    }

    /// What a caller is told. `credential` names the setting that was used, where there is one.
    pub(super) fn problem(self, detail: String, credential: Option<&str>) -> Problem {
        let kind = match self {
            Self::Timeout => ErrorKind::UpstreamTimeout,
            _ => ErrorKind::Upstream,
        };
        Problem::new(kind, self.code(), detail).help(self.help(credential))
    }

    fn code(self) -> &'static str {
        match self {
            Self::Auth => "remote_auth_failed",
            Self::Forbidden => "remote_forbidden",
            Self::NotFound => "remote_not_found",
            Self::NoSuchRef => "remote_ref_not_found",
            Self::HostKey => "remote_host_key",
            Self::Dns => "remote_unresolved",
            Self::Unreachable => "remote_unreachable",
            Self::Proxy => "remote_proxy",
            Self::Timeout => "remote_timed_out",
            Self::CutOff => "remote_cut_off",
            Self::Busy => "remote_busy",
            Self::Tls => "remote_tls",
            Self::Rejected => "remote_rejected",
            Self::ProtocolRefused => "remote_protocol_refused",
            Self::Redirected => "remote_redirected",
            Self::InnerAddress => "remote_inner_address",
            Self::Other => "remote_failed",
        }
    }

    fn help(self, credential: Option<&str>) -> String {
        const STALE: &str = "`stale: true` builds what is already here";
        let mend = match (self, credential) {
            (Self::Auth, Some(setting)) => {
                format!("the remote refused the credential of {setting}: renew its token")
            }
            (Self::Auth, None) => {
                "no credential is configured for this remote: for https give it a [repos.NAME.credential] or [git.credentials.\"HOST\"], for ssh a key in [git.ssh]".to_owned()
            }
            (Self::Forbidden, Some(setting)) => {
                format!("give the token of {setting} the right to do this at the remote")
            }
            (Self::Forbidden, None) => {
                "give the daemon a credential with the right to do this at the remote".to_owned()
            }
            (Self::NotFound, Some(setting)) => {
                format!("check the repository's URL; some hosts also say this where the token of {setting} may not see it")
            }
            (Self::NotFound, None) => {
                "check the repository's URL; some hosts also say this where a credential is needed, and none is configured".to_owned()
            }
            (Self::NoSuchRef, _) => "see what the remote has: GET …/branches?remote=true".to_owned(),
            (Self::HostKey, _) => {
                "compare the host's key with what its operator publishes, and add it to the known_hosts of [git.ssh], or to ~/.ssh/known_hosts of the daemon's user".to_owned()
            }
            (Self::Proxy, _) => "check proxy in [git.http]".to_owned(),
            (Self::Tls, _) => {
                "if the remote's certificate is signed by a private CA, name that by ca_file in [git.http]".to_owned()
            }
            (Self::Rejected, _) => "see in the detail what the remote objects to".to_owned(),
            (Self::ProtocolRefused, _) => {
                "the operator allows protocols by git.allow_protocols".to_owned()
            }
            (Self::Redirected, _) => {
                "redirects are not followed: give the repository the URL that the remote redirects to".to_owned()
            }
            (Self::InnerAddress, _) => "the operator allows such hosts by git.allow_hosts".to_owned(),
            (Self::Dns | Self::Unreachable, _) => {
                "check the host in the repository's URL and the way to it".to_owned()
            }
            (Self::Timeout | Self::CutOff | Self::Busy, _) => "try again".to_owned(),
            (Self::Other, _) => {
                "check the repository's URL and the daemon's access to it".to_owned()
            }
        };
        match self {
            Self::Rejected => mend,
            _ => format!("{mend}; {STALE}"),
        }
    }
}

impl fmt::Display for RemoteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The HTTP status in what curl says.
fn status_of(said: &str) -> Option<u16> {
    // Git, and git-lfs.
    let before = ["url returned error: ", "from http "];
    let after = before
        .iter()
        .find_map(|words| Some(said.split_once(words)?.1));
    after?.get(..3)?.parse().ok()
}

#[cfg(test)]
mod tests;
