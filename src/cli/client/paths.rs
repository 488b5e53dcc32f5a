//! Paths and queries, spelt so that a name stays one name whatever is in it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use branchyard_model::{BranchName, RepoName};

/// All but what RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What is asked for, by the daemon's names, which are those of the flags.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(&'static str, String)>);

impl Query {
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.0.extend(value.map(|value| (name, value.to_string())));
        self
    }

    #[must_use]
    pub(crate) fn flag(self, name: &'static str, is_set: bool) -> Self {
        self.with(name, is_set.then_some(true))
    }

    /// The path with this as its query.
    pub(crate) fn after(&self, path: &str) -> String {
        let mut path = path.to_owned();
        for (place, (name, value)) in self.0.iter().enumerate() {
            let mark = if place == 0 { '?' } else { '&' };
            path.push_str(&format!("{mark}{name}={}", encode(value)));
        }
        path
    }

    /// The command that asks for the same.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let flags = self
            .0
            .iter()
            .map(|(name, value)| [format!("--{name}"), value.clone()]);
        let words: Vec<_> = ["branchyard"]
            .iter()
            .chain(words)
            .map(|word| (*word).to_owned())
            .chain(flags.flatten())
            .collect();
        command_line(&words)
    }
}

/// As one would type it.
pub(crate) fn command_line(argv: &[String]) -> String {
    shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_else(|_| argv.join(" "))
}

/// `/api/repos/…` with what follows it.
pub(crate) fn repo_path(repo: &RepoName, rest: &str) -> String {
    format!("/api/repos/{}{rest}", encode(repo.as_str()))
}

/// `/api/repos/…/branches/…` with what follows it.
pub(crate) fn branch_path(repo: &RepoName, branch: &BranchName, rest: &str) -> String {
    let branch = encode(branch.as_str());
    repo_path(repo, &format!("/branches/{branch}{rest}"))
}

/// One segment or value of a URL: everything but unreserved characters is percent-encoded.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment_whatever_it_holds() {
        let repo = RepoName::parse("my.app").unwrap();
        for (branch, segment) in [
            ("main", "main"),
            ("feature/login", "feature%2Flogin"),
            ("#42", "%2342"),
            ("100%", "100%25"),
            ("a&b=c+d", "a%26b%3Dc%2Bd"),
            ("ünï", "%C3%BCn%C3%AF"),
            ("A-b_c.d", "A-b_c.d"),
        ] {
            let branch = BranchName::parse(branch).unwrap();
            assert_eq!(
                branch_path(&repo, &branch, "/ls"),
                format!("/api/repos/my.app/branches/{segment}/ls")
            );
        }
        assert_eq!(encode("a b?~\n"), "a%20b%3F~%0A");
    }

    #[test]
    fn an_encoded_path_is_sent_as_it_is() {
        let sent = url::Url::parse("http://h/api/repos/a/branches/feature%2Fx%2542").unwrap();
        assert_eq!(sent.path(), "/api/repos/a/branches/feature%2Fx%2542");
    }
}
