//! The names of resources.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::mcp::fit;
use crate::mcp::scope::ToolScope;
use branchyard_config::Toolset;
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, RunId};

/// What a name may take in an answer; a longer one leads nowhere.
pub(super) const LONGEST_URI: usize = 1_000;
pub(super) const REPOS: &str = "yard://repos";
pub(super) const LOG_TEMPLATE: &str = "run://{id}/log";
pub(super) const FILE_TEMPLATE: &str = "workspace://{repo}/{branch}/{+path}";

/// The sets of the tools that tell the same: who is not given these is not given the resources either.
pub(super) const FILES: Toolset = Toolset::Yard;
pub(super) const LOGS: Toolset = Toolset::Build;

/// Everything but what a URI may hold as it is. A branch is one segment, so its slashes are escaped.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const PATH: &AsciiSet = &SEGMENT.remove(b'/');

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mcp) enum Uri {
    Repos,
    Log(RunId),
    File {
        repo: RepoName,
        branch: BranchName,
        /// As it was given, decoded once; the workspace says where it may lead.
        path: String,
    },
}

impl Uri {
    pub(in crate::mcp) fn parse(text: &str) -> Result<Self, Problem> {
        if fit::length(text) > LONGEST_URI {
            let detail = format!("the name of a resource has at most {LONGEST_URI} bytes");
            return Err(Problem::bad("uri", detail).help("use the read_file tool"));
        }
        if text == REPOS {
            return Ok(Self::Repos);
        }
        if let Some(id) = text
            .strip_prefix("run://")
            .and_then(|rest| rest.strip_suffix("/log"))
        {
            return Ok(Self::Log(RunId::parse(id)?));
        }
        let Some((repo, rest)) = text
            .strip_prefix("workspace://")
            .and_then(|rest| rest.split_once('/'))
        else {
            return Err(unknown(text));
        };
        let (branch, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self::File {
            repo: RepoName::parse(&decoded(repo)?)?,
            branch: BranchName::parse(&decoded(branch)?)?,
            path: decoded(path)?,
        })
    }

    fn set(&self) -> Toolset {
        match self {
            Self::Repos | Self::File { .. } => FILES,
            Self::Log(_) => LOGS,
        }
    }
}

/// The resource of this name, if the client may have it.
pub(super) fn offered(text: &str, scope: &ToolScope) -> Result<Uri, Problem> {
    let uri = Uri::parse(text)?;
    match scope.has(uri.set()) {
        true => Ok(uri),
        false => Err(unknown(text)),
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repos => f.write_str(REPOS),
            Self::Log(run) => write!(f, "run://{run}/log"),
            Self::File { repo, branch, path } => write!(
                f,
                "workspace://{repo}/{}/{}",
                utf8_percent_encode(branch.as_str(), SEGMENT),
                utf8_percent_encode(path, PATH),
            ),
        }
    }
}

fn decoded(part: &str) -> Result<String, Problem> {
    let text = percent_decode_str(part).decode_utf8();
    text.map(Into::into)
        .map_err(|_| Problem::bad("uri", format!("{part:?} is not UTF-8 after its %-escapes")))
}

fn unknown(uri: &str) -> Problem {
    let detail = format!("there is no resource {uri}");
    Problem::new(ErrorKind::NotFound, "resource_not_found", detail)
        .field("uri")
        .help(format!(
            "resources are {REPOS}, {LOG_TEMPLATE} and {FILE_TEMPLATE}, where a slash in the branch is %2F"
        ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_resource_has_a_name_that_leads_back_to_it() {
        for text in [
            "yard://repos",
            "run://0190d5a0-0000-7000-8000-000000000000/log",
            "workspace://app/feature%2Flogin/src/main%20file.rs",
            "workspace://app/main/",
        ] {
            assert_eq!(Uri::parse(text).unwrap().to_string(), text);
        }
        let bare = Uri::parse("workspace://app/main").unwrap();
        assert_eq!(bare, Uri::parse("workspace://app/main/").unwrap());
    }

    #[test]
    fn what_is_no_resource_is_refused() {
        for text in [
            "",
            "yard://repos/",
            "yard://else",
            "run://1/log",
            "run://0190d5a0-0000-7000-8000-000000000000",
            "workspace://app",
            "workspace://../main/x",
            "workspace://app/%2e%2e/x",
            "workspace://app/%ff/x",
            "workspace://app/main/%ff",
            "file:///etc/passwd",
        ] {
            assert!(Uri::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_path_is_decoded_once() {
        let Uri::File { path, .. } = Uri::parse("workspace://app/main/a%252e?b#c").unwrap() else {
            panic!("it is a file");
        };
        assert_eq!(path, "a%2e?b#c");
    }

    proptest! {
        #[test]
        fn any_path_and_branch_come_back(branch in "\\PC{1,20}", path in "\\PC{0,30}") {
            if let Ok(branch) = BranchName::parse(&branch) {
                let repo = RepoName::parse("app").unwrap();
                let uri = Uri::File { repo, branch, path };
                prop_assert_eq!(Uri::parse(&uri.to_string()).unwrap(), uri);
            }
        }
    }
}
