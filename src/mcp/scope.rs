//! What a client's own configuration says, by header with every request: where it works and which tools
//! it wants. The operator's `[mcp]` and its credential are the upper bounds.

use axum::http::HeaderMap;

use super::headers::{BRANCH, READ_ONLY, REPO, ROLE, TOOLSETS};
use branchyard_auth::Principal;
use branchyard_config::{AuthConfig, McpConfig, Toolset};
use branchyard_model::{BranchName, Problem, RepoName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolScope {
    /// The repo that is meant where a call names none.
    repo: Option<RepoName>,
    branch: Option<BranchName>,
    toolsets: Vec<Toolset>,
    read_only: bool,
}

impl ToolScope {
    pub(super) fn read(
        headers: &HeaderMap,
        (config, auth): (&McpConfig, &AuthConfig),
        principal: &Principal,
    ) -> Result<Self, Problem> {
        let wanted = wanted(headers, auth)?.unwrap_or_else(|| unasked(principal));
        Ok(Self {
            repo: text(headers, REPO)?
                .map(RepoName::parse)
                .transpose()
                .map_err(|problem| problem.field(REPO))?,
            branch: text(headers, BRANCH)?
                .map(decoded)
                .transpose()?
                .as_deref()
                .map(BranchName::parse)
                .transpose()
                .map_err(|problem| problem.field(BRANCH))?,
            toolsets: wanted
                .into_iter()
                .filter(|set| config.toolsets.contains(set) && principal.may_have(*set))
                .collect(),
            read_only: config.read_only || flag(headers, READ_ONLY)?,
        })
    }

    pub(super) fn repo(&self) -> Option<&RepoName> {
        self.repo.as_ref()
    }

    pub(super) fn branch(&self) -> Option<&BranchName> {
        self.branch.as_ref()
    }

    /// Whether tools of this set are to be had, and those that write where one does.
    pub(super) fn offers(&self, set: Toolset, read_only: bool) -> bool {
        self.toolsets.contains(&set) && (read_only || !self.read_only)
    }
}

/// What a client gets that asks for nothing: few tools, unless its credential says which.
fn unasked(principal: &Principal) -> Vec<Toolset> {
    match Toolset::ALL.into_iter().all(|set| principal.may_have(set)) {
        true => Toolset::DEFAULT.to_vec(),
        false => Toolset::ALL.to_vec(),
    }
}

fn wanted(headers: &HeaderMap, config: &AuthConfig) -> Result<Option<Vec<Toolset>>, Problem> {
    let named = text(headers, TOOLSETS)?.map(toolsets).transpose()?;
    let role = text(headers, ROLE)?.map(|role| {
        config.roles.get(role).ok_or_else(|| {
            let known: Vec<_> = config.roles.keys().map(String::as_str).collect();
            Problem::bad(ROLE, format!("there is no role {role:?}"))
                .help(format!("the roles are {}", known.join(", ")))
        })
    });
    Ok(match (named, role.transpose()?) {
        (Some(mut named), Some(role)) => {
            // A role bounds what is named beside it.
            named.retain(|set| role.toolsets.contains(set));
            Some(named)
        }
        (named, None) => named,
        (None, Some(role)) => Some(role.toolsets.clone()),
    })
}

/// Names with commas between them, or `all`.
fn toolsets(names: &str) -> Result<Vec<Toolset>, Problem> {
    if names.trim() == "all" {
        return Ok(Toolset::ALL.to_vec());
    }
    let names = names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    names
        .map(|name| {
            Toolset::parse(name).ok_or_else(|| {
                let known = Toolset::ALL.map(Toolset::as_str).join(", ");
                Problem::bad(TOOLSETS, format!("there is no set of tools {name:?}")).help(format!(
                    "the sets are {known}; `all` stands for all of them"
                ))
            })
        })
        .collect()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Problem> {
    let value = headers.get(name).map(|value| {
        value
            .to_str()
            .map_err(|_| Problem::bad(name, "the header is not plain text"))
    });
    Ok(value.transpose()?.filter(|text| !text.is_empty()))
}

/// Names beyond ASCII come percent-encoded: a header can carry nothing else safely.
fn decoded(text: &str) -> Result<String, Problem> {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| Problem::bad(BRANCH, "the name is not UTF-8 after its %-escapes"))
}

fn flag(headers: &HeaderMap, name: &str) -> Result<bool, Problem> {
    match text(headers, name)? {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(Problem::bad(
            name,
            format!("{other:?} is neither true nor false"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::headers::branch_value;
    use branchyard_auth::Grant;

    fn scope(headers: &[(&'static str, &str)], config: &McpConfig) -> Result<ToolScope, Problem> {
        scope_of(headers, config, Grant::everything())
    }

    fn scope_of(
        headers: &[(&'static str, &str)],
        config: &McpConfig,
        grant: Grant,
    ) -> Result<ToolScope, Problem> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a header"));
        }
        let auth = AuthConfig::default();
        ToolScope::read(&map, (config, &auth), &Principal::new("asker", grant))
    }

    #[test]
    fn a_credential_bounds_the_tools_and_says_which_where_nothing_is_asked() {
        let auth = AuthConfig::default();
        let ui = || Grant::of_role(&auth.roles["ui"]);
        for headers in [&[][..], &[(TOOLSETS, "all")], &[(ROLE, "admin")]] {
            let bounded = scope_of(headers, &McpConfig::default(), ui()).expect("reads");
            assert_eq!(bounded.toolsets, [Toolset::Yard, Toolset::GitRead]);
        }
    }

    #[test]
    fn a_client_that_says_nothing_gets_the_default_and_never_more_than_the_operator_allows() {
        let mut config = McpConfig::default();
        let plain = scope(&[], &config).expect("reads");
        assert_eq!(plain.toolsets, Toolset::DEFAULT);
        assert!(!plain.read_only && plain.repo.is_none());
        config.toolsets = vec![Toolset::Yard];
        config.read_only = true;
        for headers in [
            &[][..],
            &[(TOOLSETS, "all")],
            &[(ROLE, "admin")],
            &[(TOOLSETS, "admin, yard"), (READ_ONLY, "false")],
        ] {
            let bounded = scope(headers, &config).expect("reads");
            assert_eq!(bounded.toolsets, [Toolset::Yard], "{headers:?}");
            assert!(bounded.read_only);
        }
    }

    #[test]
    fn a_role_bounds_what_is_named_beside_it() {
        let config = McpConfig::default();
        let both = scope(&[(ROLE, "ui"), (TOOLSETS, "admin,yard")], &config).expect("reads");
        assert_eq!(both.toolsets, [Toolset::Yard]);
    }

    #[test]
    fn a_header_that_makes_no_sense_is_named() {
        for (name, value) in [
            (TOOLSETS, "yard,everything"),
            (ROLE, "king"),
            (READ_ONLY, "yes"),
            (REPO, "../x"),
            (BRANCH, "-x"),
            (BRANCH, "%ff"),
        ] {
            let problem = scope(&[(name, value)], &McpConfig::default()).unwrap_err();
            assert_eq!(problem.field.as_deref(), Some(name), "{value}");
        }
        for name in ["fé", "100%", "a$b\"c", "feature/login"] {
            let branch = BranchName::parse(name).expect("a name");
            let place = scope(
                &[(BRANCH, &branch_value(&branch)), (REPO, "app")],
                &McpConfig::default(),
            );
            assert_eq!(place.expect("reads").branch, Some(branch));
        }
    }
}
