//! What is recorded of a call.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_model::{BranchName, RepoName};

/// Of a word that a caller chose, such as a name of theirs or of a request, in bytes.
const LONGEST: usize = 200;

/// Who wanted to do what, and where. What a call was given is no part of it: bodies and arguments may
/// hold secrets, and a run has its own record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// When it came.
    pub at: Timestamp,
    /// Whose credential it was; `null` where none was good.
    pub principal: Option<String>,
    /// The address that it came from.
    pub peer: Option<String>,
    pub via: Via,
    /// Such as `make` or `git.push`; of a refused look its address or its tool.
    pub action: String,
    pub repo: Option<RepoName>,
    pub branch: Option<BranchName>,
    /// The id of the run, group, salvage or token that it made or touched.
    pub run: Option<String>,
    /// What the caller or a proxy calls the request, by `X-Request-Id`.
    pub request: Option<String>,
    /// The program that sent it, as that calls itself: an agent's name and version, or the `User-Agent`.
    #[serde(default)]
    pub client: Option<String>,
}

impl Call {
    /// A call that came now, of which nothing else is known yet.
    pub fn new(via: Via, action: impl Into<String>) -> Self {
        Self {
            at: Timestamp::now(),
            principal: None,
            peer: None,
            via,
            action: action.into(),
            repo: None,
            branch: None,
            run: None,
            request: None,
            client: None,
        }
    }

    /// Where it came from.
    pub fn sent_by(&mut self, sender: &Sender) {
        self.peer.clone_from(&sender.peer);
        self.request.clone_from(&sender.request);
        self.client.clone_from(&sender.client);
    }

    /// The same with every word that a caller chose cut to what is kept of it.
    pub(super) fn bounded(mut self) -> Self {
        let words = [
            &mut self.principal,
            &mut self.run,
            &mut self.request,
            &mut self.client,
        ];
        // That of a request with a method of its own invention.
        let words = words.into_iter().flatten().chain([&mut self.action]);
        for word in words {
            word.truncate(word.floor_char_boundary(LONGEST));
        }
        self
    }
}

/// Where a request came from, whoever sent it.
#[derive(Debug, Clone, Default)]
pub struct Sender {
    pub peer: Option<String>,
    pub request: Option<String>,
    pub client: Option<String>,
}

/// By which face it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "AuditVia")]
pub enum Via {
    Http,
    Mcp,
    /// Nobody asked: the daemon did it by its own rules.
    Daemon,
}

impl Via {
    pub const ALL: [Self; 3] = [Self::Http, Self::Mcp, Self::Daemon];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Mcp => "mcp",
            Self::Daemon => "daemon",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// It was done. How a run ended is in the run's own record.
    Allowed,
    /// The caller may not, or not now: 401, 403, 429, and 404 for what is out of their bounds.
    Refused,
    /// They may, and it did not work.
    Failed,
    /// It was begun, and nobody was told what came of it: the caller left, or the daemon was killed.
    Unknown,
}

impl AuditOutcome {
    pub const ALL: [Self; 4] = [Self::Allowed, Self::Refused, Self::Failed, Self::Unknown];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    pub outcome: AuditOutcome,
    /// As HTTP has it.
    pub status: Option<u16>,
    /// The stable word of the problem.
    pub code: Option<String>,
    /// How many calls this stands for: more than one only where refusals came thick and fast.
    pub count: u64,
    /// A sentence of the daemon's own.
    pub detail: Option<String>,
}

impl End {
    pub fn new(outcome: AuditOutcome) -> Self {
        Self {
            outcome,
            status: None,
            code: None,
            count: 1,
            detail: None,
        }
    }

    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

/// One line of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditRecord")]
pub struct Record {
    /// Every one is greater than all before it, and none is given twice.
    pub id: i64,
    #[serde(flatten)]
    pub call: Call,
    #[serde(flatten)]
    pub end: End,
}
