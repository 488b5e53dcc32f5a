//! What can be built though it is no branch: tags, the heads of pull and merge requests, and single commits.

use super::{BranchName, CommitId, Problem, TagName};

/// A tag, the head of a pull or merge request, or a commit, by the name that callers use for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRef {
    name: BranchName,
    full: String,
}

impl NamedRef {
    /// Where a store keeps what was fetched of them.
    pub const KEPT: &str = "refs/branchyard/fetched/";

    /// What is meant by `tags/v1.2`, `pull/7`, `merge-requests/7` or `commits/` and an id, where there is no such branch.
    pub fn of(name: &BranchName) -> Option<Self> {
        let (kind, rest) = name.as_str().split_once('/')?;
        let full = match kind {
            "tags" => TagName::parse(rest).ok()?.full(),
            "pull" | "merge-requests" if is_number(rest) => format!("refs/{name}/head"),
            "commits" => CommitId::parse(rest).ok()?.to_string(),
            _ => return None,
        };
        Some(Self {
            name: name.clone(),
            full,
        })
    }

    /// The ref that has this full name, such as `refs/tags/v1.2` or `refs/pull/7/head`.
    pub fn of_full(full: &str) -> Result<Self, Problem> {
        let short = full.strip_prefix("refs/").unwrap_or(full);
        let name = match short.starts_with("tags/") {
            true => short,
            false => short.strip_suffix("/head").unwrap_or(short),
        };
        let named = Self::of(&BranchName::parse(name)?).filter(|named| named.full == full);
        named.ok_or_else(|| {
            Problem::bad(
                "ref",
                format!("{full:?} is neither a tag nor a pull request's head"),
            )
        })
    }

    /// As callers write it.
    pub fn name(&self) -> &BranchName {
        &self.name
    }

    /// As git has it.
    pub fn full(&self) -> &str {
        &self.full
    }

    /// The commit that it is by its id.
    pub fn commit(&self) -> Option<CommitId> {
        CommitId::parse(&self.full).ok()
    }

    /// The ref of a store that keeps what was fetched of it.
    pub fn kept_ref(&self) -> String {
        format!("{}{}", Self::KEPT, self.name.dir())
    }
}

fn is_number(text: &str) -> bool {
    let is_short = (1..=18).contains(&text.len());
    is_short && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_requests_are_named_as_in_git_and_branches_are_not() {
        for (name, full) in [
            ("tags/v1.2", "refs/tags/v1.2"),
            ("tags/a/head", "refs/tags/a/head"),
            ("pull/7", "refs/pull/7/head"),
            ("merge-requests/12", "refs/merge-requests/12/head"),
        ] {
            let named = NamedRef::of(&BranchName::parse(name).unwrap()).unwrap();
            assert_eq!(named.full(), full);
            assert_eq!(NamedRef::of_full(full).unwrap(), named);
            assert_eq!(named.commit(), None);
        }
        let id = "d04b98f48e8f8bcc15c6ae5ac050801cd6dcfd42";
        let name = BranchName::parse(&format!("commits/{}", id.to_uppercase())).unwrap();
        let named = NamedRef::of(&name).unwrap();
        assert_eq!(named.full(), id);
        assert_eq!(named.commit().unwrap().as_str(), id);
        for name in [
            "main",
            "tags",
            "pull/0",
            "pull/07",
            "pull/x",
            "pull/7/head",
            "pulls/7",
            "commits/d04b98f",
        ] {
            assert_eq!(
                NamedRef::of(&BranchName::parse(name).unwrap()),
                None,
                "{name}"
            );
        }
        for full in [
            "refs/heads/main",
            "refs/pull/7/merge",
            "refs/tags/../x",
            "pull/7",
            "",
        ] {
            assert!(NamedRef::of_full(full).is_err(), "{full}");
        }
    }
}
