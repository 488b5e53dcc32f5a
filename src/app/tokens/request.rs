//! What a new token is asked to be.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_auth::{Area, Lifetime, May, RequestedToken};
use branchyard_config::{AuthConfig, BranchGlobs, NameGlobs, RepoGlobs, Toolset};
use branchyard_model::{Author, Problem, Scope};

/// Longer than anybody plans ahead.
const LONGEST_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
const TOO_LONG: &str = "it is longer than ten years";
const MOST_GLOBS: usize = 64;
const LONGEST_GLOB: usize = 256;

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// What the token is called in lists, audit and as a principal: letters, digits, '.', '_' and '-'. It is
    /// given once and for ever; the token's id if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A role of the daemon's configuration, such as dev, ops, admin or ui. Either this or scopes is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What the token may do, scope by scope, in place of a role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<Scope>>,
    /// The sets of MCP tools that it gets at most; if left out those of the role, or your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolsets: Option<Vec<Toolset>>,
    /// Globs of the repos that it is for, such as app-*; all that you see if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repos: Option<Vec<String>>,
    /// Globs of the branches that it is for, such as agent-7-* or team/**; all that you see if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branches: Option<Vec<String>>,
    /// For how long it is good: a duration such as 12h or 30d, a time such as 2026-12-24T18:00:00Z, or never,
    /// which takes an admin. If left out 30 days for admins and 12 hours for others, never beyond your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Who the commits of its holder are by, as `Name <address>`; the daemon's own identity is the committer. Yours if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TokenFilter {
    /// Also those that expired or were revoked, for a week after that.
    pub all: bool,
}

impl TokenRequest {
    pub(super) fn requested<'a>(
        &self,
        config: &'a AuthConfig,
    ) -> Result<RequestedToken<'a>, Problem> {
        let may = match (&self.role, &self.scopes) {
            (Some(name), None) => May::Role(config.roles.get(name).ok_or_else(|| {
                let known: Vec<_> = config.roles.keys().map(String::as_str).collect();
                Problem::unprocessable("role", format!("there is no role {name:?}"))
                    .help(format!("the roles are {}", known.join(", ")))
            })?),
            (None, Some(scopes)) => May::Only(scopes.iter().copied().collect()),
            (None, None) | (Some(_), Some(_)) => {
                let detail = "a token has either a role or scopes of its own";
                return Err(Problem::unprocessable("role", detail).help("name one of the two"));
            }
        };
        let repos: RepoGlobs = globs("repos", self.repos.as_deref())?;
        let branches: BranchGlobs = globs("branches", self.branches.as_deref())?;
        Ok(RequestedToken {
            may,
            toolsets: self.toolsets.clone(),
            area: Area { repos, branches },
            lifetime: self.expires.as_deref().map(lifetime).transpose()?,
            author: self.author.as_deref().map(Author::parse).transpose()?,
        })
    }
}

fn globs<Name>(field: &str, given: Option<&[String]>) -> Result<NameGlobs<Name>, Problem> {
    let Some(given) = given else {
        return Ok(NameGlobs::everything());
    };
    if given.is_empty() {
        let detail = "no name matches an empty list";
        return Err(Problem::unprocessable(field, detail).help("leave it out to mean all"));
    }
    if given.len() > MOST_GLOBS || given.iter().any(|glob| glob.len() > LONGEST_GLOB) {
        let detail = format!("at most {MOST_GLOBS} globs of {LONGEST_GLOB} bytes each");
        return Err(Problem::unprocessable(field, detail));
    }
    NameGlobs::parse(given.iter().map(String::as_str))
        .map_err(|why| Problem::unprocessable(field, why))
}

fn lifetime(text: &str) -> Result<Lifetime, Problem> {
    if text == "never" {
        return Ok(Lifetime::Never);
    }
    let refused = |why: &str| {
        Problem::unprocessable(
            "expires",
            format!("{text:?} is not when a token can expire: {why}"),
        )
        .help("write it like 12h, 30d, 2026-12-24T18:00:00Z or never")
    };
    if let Ok(time) = text.parse::<Timestamp>() {
        let left = Duration::try_from(time.duration_since(Timestamp::now()));
        return match left.is_ok_and(|left| left > LONGEST_LIFETIME) {
            true => Err(refused(TOO_LONG)),
            false => Ok(Lifetime::Until(time)),
        };
    }
    match humantime::parse_duration(text) {
        Ok(duration) if duration > LONGEST_LIFETIME => Err(refused(TOO_LONG)),
        Ok(duration) => Ok(Lifetime::For(duration)),
        Err(error) => Err(refused(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_model::ErrorKind;
    use serde_json::json;

    fn request(given: serde_json::Value) -> TokenRequest {
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let config = AuthConfig::default();
        for (field, given) in [
            ("role", json!({})),
            ("role", json!({ "role": "dev", "scopes": ["ops"] })),
            ("role", json!({ "role": "king" })),
            ("repos", json!({ "role": "dev", "repos": [] })),
            ("repos", json!({ "role": "dev", "repos": ["[a"] })),
            (
                "repos",
                json!({ "role": "dev", "repos": vec!["x"; MOST_GLOBS + 1] }),
            ),
            (
                "branches",
                json!({ "role": "dev", "branches": ["a", "!b"] }),
            ),
            (
                "branches",
                json!({ "role": "dev", "branches": ["x".repeat(LONGEST_GLOB + 1)] }),
            ),
            ("expires", json!({ "role": "dev", "expires": "soon" })),
            ("expires", json!({ "role": "dev", "expires": "11years" })),
            (
                "expires",
                json!({ "role": "dev", "expires": "9999-01-01T00:00:00Z" }),
            ),
        ] {
            let problem = request(given.clone()).requested(&config).unwrap_err();
            assert_eq!(problem.field.as_deref(), Some(field), "{given}");
            assert_eq!(problem.kind, ErrorKind::Unprocessable);
        }
        let dev = request(json!({ "role": "dev" }));
        assert!(dev.requested(&config).unwrap().area.is_everywhere());
    }

    #[test]
    fn lifetimes_are_durations_or_times() {
        let seconds = |seconds| Lifetime::For(Duration::from_secs(seconds));
        assert_eq!(lifetime("12h"), Ok(seconds(43_200)));
        assert_eq!(lifetime("never"), Ok(Lifetime::Never));
        let time = "2026-12-24T18:00:00Z";
        assert_eq!(lifetime(time), Ok(Lifetime::Until(time.parse().unwrap())));
    }
}
