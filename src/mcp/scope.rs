//! Where a client works and which tools it wants, as its own configuration says ([`Settings`]). The operator's
//! `[mcp]` and its credential are the upper bounds.

use super::headers::{BRANCH, CONTENT, EXCLUDE_TOOLS, READ_ONLY, REPO, ROLE, TOOLS, TOOLSETS};
use super::reply::Content;
use super::settings::Settings;
use branchyard_auth::Principal;
use branchyard_config::{AuthConfig, McpConfig, Toolset};
use branchyard_model::{BranchName, Problem, RepoName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolScope {
    /// The repo that is meant where a call names none.
    repo: Option<RepoName>,
    branch: Option<BranchName>,
    /// The sets of which tools may be had at all.
    bounds: Vec<Toolset>,
    /// Those of which all are wanted.
    toolsets: Vec<Toolset>,
    /// What is wanted and not wanted besides, by name.
    tools: Vec<String>,
    excluded: Vec<String>,
    read_only: bool,
    content: Content,
}

impl ToolScope {
    pub(super) fn read(
        settings: &Settings<'_>,
        (config, auth): (&McpConfig, &AuthConfig),
        known_tools: &[String],
        principal: &Principal,
    ) -> Result<Self, Problem> {
        let role = role(settings, auth)?;
        let mut bounds = Toolset::ALL.to_vec();
        bounds.retain(|set| config.toolsets.contains(set) && principal.may_have(*set));
        if let Some(role) = role {
            bounds.retain(|set| role.contains(set));
        }
        let tools = tools(settings, TOOLS, known_tools)?;
        let named = settings.words(TOOLSETS)?.map(|names| toolsets(&names));
        let mut toolsets = match named.transpose()? {
            Some(named) => named,
            None if role.is_some() => Toolset::ALL.to_vec(),
            None if !tools.is_empty() => Vec::new(),
            None => Toolset::DEFAULT.to_vec(),
        };
        toolsets.retain(|set| bounds.contains(set));
        Ok(Self {
            repo: settings.parsed(REPO, RepoName::parse)?,
            branch: settings.parsed(BRANCH, BranchName::parse)?,
            bounds,
            toolsets,
            tools,
            excluded: self::tools(settings, EXCLUDE_TOOLS, known_tools)?,
            read_only: config.read_only || settings.flag(READ_ONLY)?,
            content: settings.parsed(CONTENT, content)?.unwrap_or_default(),
        })
    }

    pub(super) fn repo(&self) -> Option<&RepoName> {
        self.repo.as_ref()
    }

    pub(super) fn branch(&self) -> Option<&BranchName> {
        self.branch.as_ref()
    }

    pub(super) fn content(&self) -> Content {
        self.content
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether all of this set is wanted: then its resources and prompts are, too.
    pub(super) fn has(&self, set: Toolset) -> bool {
        self.toolsets.contains(&set)
    }

    /// Whether the tool of this name and set is to be had, which changes something unless it is `read_only`.
    pub(super) fn offers(&self, name: &str, set: Toolset, read_only: bool) -> bool {
        let is_named = |names: &[String]| names.iter().any(|named| named == name);
        let is_wanted =
            self.toolsets.contains(&set) || (self.bounds.contains(&set) && is_named(&self.tools));
        is_wanted && !is_named(&self.excluded) && (read_only || !self.read_only)
    }
}

fn role<'a>(
    settings: &Settings<'_>,
    config: &'a AuthConfig,
) -> Result<Option<&'a [Toolset]>, Problem> {
    let Some(name) = settings.text(ROLE)? else {
        return Ok(None);
    };
    let role = config.roles.get(&*name).ok_or_else(|| {
        let known: Vec<_> = config.roles.keys().map(String::as_str).collect();
        Problem::bad(ROLE, format!("there is no role {name:?}"))
            .help(format!("the roles are {}", known.join(", ")))
    })?;
    Ok(Some(&role.toolsets))
}

/// `all` stands for all of them.
fn toolsets(names: &[String]) -> Result<Vec<Toolset>, Problem> {
    if names == ["all"] {
        return Ok(Toolset::ALL.to_vec());
    }
    let sets = names.iter().map(|name| {
        Toolset::parse(name).ok_or_else(|| {
            let known = Toolset::ALL.map(Toolset::as_str).join(", ");
            Problem::bad(TOOLSETS, format!("there is no set of tools {name:?}")).help(format!(
                "the sets are {known}; `all` stands for all of them"
            ))
        })
    });
    sets.collect()
}

fn tools(settings: &Settings<'_>, setting: &str, known: &[String]) -> Result<Vec<String>, Problem> {
    let names = settings.words(setting)?.unwrap_or_default();
    match names.iter().find(|name| !known.contains(name)) {
        Some(unknown) => Err(
            Problem::bad(setting, format!("there is no tool {unknown:?}"))
                .help(format!("the tools are {}", known.join(", "))),
        ),
        None => Ok(names),
    }
}

fn content(asked: &str) -> Result<Content, Problem> {
    serde_json::from_value(asked.into()).map_err(|_| {
        Problem::bad(CONTENT, format!("there is no form {asked:?}"))
            .help("the forms are text, structured and both")
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

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
        read(&map, "/mcp", config, grant)
    }

    fn read(
        headers: &HeaderMap,
        url: &str,
        config: &McpConfig,
        grant: Grant,
    ) -> Result<ToolScope, Problem> {
        let url = url.parse().expect("a URL");
        let settings = Settings::read(headers, &url)?;
        let auth = AuthConfig::default();
        let tools = ["git_push", "ls", "make"].map(str::to_owned);
        let asker = Principal::new("asker", grant);
        ToolScope::read(&settings, (config, &auth), &tools, &asker)
    }

    #[test]
    fn single_tools_are_chosen_within_the_bounds() {
        let config = McpConfig::default();
        let offers = |headers: &[(&'static str, &str)], name| {
            let scope = scope(headers, &config).expect("reads");
            let set = match name {
                "git_push" => Toolset::GitWrite,
                "ls" => Toolset::Yard,
                _ => Toolset::Build,
            };
            scope.offers(name, set, false)
        };
        let alone = &[(TOOLS, "git_push, make")];
        assert!(offers(alone, "git_push") && offers(alone, "make") && !offers(alone, "ls"));
        let beside = &[(TOOLS, "git_push"), (TOOLSETS, "yard")];
        assert!(offers(beside, "git_push") && offers(beside, "ls") && !offers(beside, "make"));
        let without = &[(EXCLUDE_TOOLS, "ls")];
        assert!(offers(without, "make") && !offers(without, "ls"));
        assert!(!offers(&[(TOOLS, "git_push"), (ROLE, "ui")], "git_push"));
        assert!(!offers(
            &[(TOOLS, "git_push"), (READ_ONLY, "true")],
            "git_push"
        ));
    }

    #[test]
    fn what_no_header_says_the_url_may() {
        let url = "/mcp?repo=app&branch=fe%C3%A9%2Fx&toolsets=yard&read_only=true&content=text";
        let config = McpConfig::default();
        let scope = read(&HeaderMap::new(), url, &config, Grant::everything()).expect("reads");
        assert_eq!(scope.toolsets, [Toolset::Yard]);
        assert!(scope.read_only && scope.content == Content::Text);
        assert_eq!(scope.branch.expect("a branch").as_str(), "feé/x");
        let mut headers = HeaderMap::new();
        headers.insert(TOOLSETS, "build".parse().expect("a header"));
        let both = read(&headers, url, &config, Grant::everything()).expect("reads");
        assert_eq!(both.toolsets, [Toolset::Build]);
        let unknown = read(
            &HeaderMap::new(),
            "/mcp?tool=ls",
            &config,
            Grant::everything(),
        );
        assert_eq!(unknown.unwrap_err().field.as_deref(), Some("tool"));
    }

    #[test]
    fn a_credential_bounds_the_tools() {
        let auth = AuthConfig::default();
        let ui = || Grant::of_role(&auth.roles["ui"]);
        for headers in [&[(TOOLSETS, "all")], &[(ROLE, "admin")]] {
            let bounded = scope_of(headers, &McpConfig::default(), ui()).expect("reads");
            assert_eq!(bounded.toolsets, [Toolset::Yard, Toolset::GitRead]);
        }
        let unasked = scope_of(&[], &McpConfig::default(), ui()).expect("reads");
        assert_eq!(unasked.toolsets, [Toolset::Yard]);
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
            (TOOLS, "make,wish"),
            (EXCLUDE_TOOLS, "wish"),
            (CONTENT, "html"),
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
