//! What the flags fix for one agent: as headers for the daemon, and as flags again for who starts us.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::cli::args::ScopeArgs;
use branchyard::mcp::headers;

pub(super) fn pairs(scope: &ScopeArgs) -> Vec<(&'static str, String)> {
    let pairs = [
        (headers::REPO, scope.repo.as_ref().map(ToString::to_string)),
        (
            headers::BRANCH,
            scope.branch.as_ref().map(headers::branch_value),
        ),
        (headers::TOOLSETS, scope.toolsets.clone()),
        (headers::ROLE, scope.role.clone()),
        (headers::TOOLS, scope.tools.clone()),
        (headers::EXCLUDE_TOOLS, scope.exclude_tools.clone()),
        (headers::CONTENT, scope.content.clone()),
        (
            headers::READ_ONLY,
            scope.read_only.then(|| "true".to_owned()),
        ),
    ];
    let given = pairs.into_iter();
    given
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
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
    let values = [
        ("--repo", scope.repo.as_ref().map(ToString::to_string)),
        ("--branch", scope.branch.as_ref().map(ToString::to_string)),
        ("--toolsets", scope.toolsets.clone()),
        ("--role", scope.role.clone()),
        ("--tools", scope.tools.clone()),
        ("--exclude-tools", scope.exclude_tools.clone()),
        ("--content", scope.content.clone()),
    ];
    let given = values
        .into_iter()
        .filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
    let mut flags: Vec<_> = given.flatten().collect();
    if scope.read_only {
        flags.push("--read-only".to_owned());
    }
    flags
}
