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

/// What is fixed: the flag, the header, and the value of each.
fn fixed(scope: &ScopeArgs) -> impl Iterator<Item = (&'static str, &'static str, String)> {
    let text = |text: &Option<String>| text.clone();
    [
        (
            "--repo",
            headers::REPO,
            scope.repo.as_ref().map(ToString::to_string),
        ),
        (
            "--branch",
            headers::BRANCH,
            scope.branch.as_ref().map(ToString::to_string),
        ),
        ("--toolsets", headers::TOOLSETS, text(&scope.toolsets)),
        ("--role", headers::ROLE, text(&scope.role)),
        ("--tools", headers::TOOLS, text(&scope.tools)),
        (
            "--exclude-tools",
            headers::EXCLUDE_TOOLS,
            text(&scope.exclude_tools),
        ),
        ("--content", headers::CONTENT, text(&scope.content)),
        (
            "--read-only",
            headers::READ_ONLY,
            scope.read_only.then(|| "true".to_owned()),
        ),
    ]
    .into_iter()
    .filter_map(|(flag, header, value)| Some((flag, header, value?)))
}

pub(super) fn pairs(scope: &ScopeArgs) -> Vec<(&'static str, String)> {
    let pairs = fixed(scope).map(|(_, header, value)| match &scope.branch {
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
    let flags = fixed(scope).flat_map(|(flag, header, value)| {
        let value = (header != headers::READ_ONLY).then_some(value);
        [Some(flag.to_owned()), value]
    });
    flags.flatten().collect()
}
