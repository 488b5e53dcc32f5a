//! What there is to know of git's commands and versions, in one table each.

use std::fmt;
use std::time::Duration;

use super::{Error, Git};

/// The first two numbers of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion(u32, u32);

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Older ones lack `worktree add --reason`, which tells a half-made workspace from a person's work.
pub const OLDEST: GitVersion = GitVersion(2, 33);
/// Since when git merges without files (`merge-tree --write-tree`).
pub(crate) const MERGE_TREE: GitVersion = GitVersion(2, 38);
/// Since when `GIT_ATTR_SOURCE` is heeded.
const ATTRIBUTES_OF_TREE: GitVersion = GitVersion(2, 41);
/// Since when a credential helper can answer with something other than a password.
pub const BEARER: GitVersion = GitVersion(2, 46);

/// What is said to these commands each time, before anything else.
const ALWAYS: [(&str, &[&str]); 6] = [
    // To see whether a nested repository is dirty, git runs a git in it, by its configuration.
    ("status", &["--ignore-submodules=dirty"]),
    ("diff-files", &["--ignore-submodules=dirty"]),
    ("diff-index", &["--ignore-submodules=dirty"]),
    // A repository may name programs that show its files and signatures.
    (
        "log",
        &["--no-ext-diff", "--no-textconv", "--no-show-signature"],
    ),
    ("blame", &["--no-textconv"]),
    // A submodule is a repository of its own, which is not moved.
    ("read-tree", &["--no-recurse-submodules"]),
];

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn always(command: &str) -> &'static [&'static str] {
    let row = ALWAYS.iter().find(|(name, _)| *name == command);
    row.map_or(&[], |(_, options)| options)
}

pub(crate) async fn reads_attributes_of_trees(git: &Git) -> Result<bool, Error> {
    Ok(git_version(&said(git).await?) >= Some(ATTRIBUTES_OF_TREE))
}

/// Whether git can send `Authorization: Bearer`; if not, its version.
pub async fn lacks_bearer(git: &Git) -> Result<Option<String>, Error> {
    let said = said(git).await?;
    Ok((git_version(&said) < Some(BEARER)).then_some(said))
}

async fn said(git: &Git) -> Result<String, Error> {
    let command = git.at("/").arg("version").read_only(PATIENCE);
    let said = command.output().await?;
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

/// The first two numbers in what `git version` says.
pub fn git_version(said: &str) -> Option<GitVersion> {
    let numbers = said.strip_prefix("git version ")?;
    let mut numbers = numbers.split(['.', ' ', '-']);
    let mut next = || numbers.next()?.parse().ok();
    Some(GitVersion(next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (said, enough) in [
            ("git version 2.46.0", true),
            ("git version 2.50.1 (Apple Git-155)", true),
            ("git version 3.0-rc1", true),
            ("git version 2.100.1.windows.1", true),
            ("git version 3.0.0", true),
            ("git version 2.5.0", false),
            ("git version 2.45.9", false),
            ("something else", false),
        ] {
            assert_eq!(git_version(said) >= Some(BEARER), enough, "{said}");
        }
    }
    #[test]
    fn what_is_always_said_is_said_after_the_commands_name() {
        let dir = tempfile::tempdir().unwrap();
        let command = Git::for_tests(&dir).at("/").args(["-c", "a.b=c"]);
        let command = command.args(["status", "-z"]);
        let expected = ["-c", "a.b=c", "status", "--ignore-submodules=dirty", "-z"];
        assert_eq!(command.all_args(), expected);
        let command = Git::for_tests(&dir).at("/").args(["show", "status"]);
        assert_eq!(command.all_args(), ["show", "status"]);
    }
}
