//! What the flags fix for one agent: as headers for the daemon, and as flags again for who starts us.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::cli::values;
use branchyard::mcp::headers;
use branchyard_model::{BranchName, RepoName};

// What is fixed for one agent.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ScopeArgs {
    /// The repository that is meant where a call names none
    #[arg(long, value_name = "REPO", value_parser = values::repo)]
    pub repo: Option<RepoName>,
    /// The branch that is meant where a call names none
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    pub branch: Option<BranchName>,
    /// The sets of tools to offer, with commas between them, or all; yard,build if left out
    #[arg(long, value_name = "SETS", value_parser = values::toolsets)]
    pub toolsets: Option<String>,
    /// Offer the sets of tools of this role: dev, ops, admin, ui or one of the daemon's configuration
    #[arg(long, value_name = "ROLE", value_parser = values::role)]
    pub role: Option<String>,
    /// Single tools to offer, with commas between them: beside the sets of --toolsets, or alone
    #[arg(long, value_name = "TOOLS", value_parser = values::tools)]
    pub tools: Option<String>,
    /// Tools to leave out, with commas between them
    #[arg(long, value_name = "TOOLS", value_parser = values::tools)]
    pub exclude_tools: Option<String>,
    /// Offer only tools that change nothing
    #[arg(long)]
    pub read_only: bool,
    /// The form of answers; each counts against their length, so that one alone holds twice as much
    #[arg(long, value_name = "FORM", value_parser = ["both", "text", "structured"])]
    pub content: Option<String>,
}

/// What is fixed: the header and the value of each.
fn fixed(scope: &ScopeArgs) -> impl Iterator<Item = (&'static str, String)> {
    let (repo, branch) = (scope.repo.as_ref(), scope.branch.as_ref());
    [
        (headers::REPO, repo.map(ToString::to_string)),
        (headers::BRANCH, branch.map(ToString::to_string)),
        (headers::TOOLSETS, scope.toolsets.clone()),
        (headers::ROLE, scope.role.clone()),
        (headers::TOOLS, scope.tools.clone()),
        (headers::EXCLUDE_TOOLS, scope.exclude_tools.clone()),
        (headers::CONTENT, scope.content.clone()),
        (
            headers::READ_ONLY,
            scope.read_only.then(|| "true".to_owned()),
        ),
    ]
    .into_iter()
    .filter_map(|(header, value)| Some((header, value?)))
}

pub(super) fn pairs(scope: &ScopeArgs) -> Vec<(&'static str, String)> {
    let pairs = fixed(scope).map(|(header, value)| match &scope.branch {
        Some(branch) if header == headers::BRANCH => (header, headers::branch_value(branch)),
        _ => (header, value),
    });
    pairs.collect()
}

pub(super) fn header_map(scope: &ScopeArgs) -> HeaderMap {
    let pairs = pairs(scope).into_iter();
    pairs
        .filter_map(|(name, value)| {
            let name = HeaderName::from_static(name);
            Some((name, HeaderValue::from_str(&value).ok()?))
        })
        .collect()
}

pub(super) fn flags(scope: &ScopeArgs) -> Vec<String> {
    // A header has the name of its flag.
    let flags = fixed(scope).flat_map(|(header, value)| {
        let value = (header != headers::READ_ONLY).then_some(value);
        [Some(header.replacen(headers::PREFIX, "--", 1)), value]
    });
    flags.flatten().collect()
}
