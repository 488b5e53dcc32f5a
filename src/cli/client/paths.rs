//! Paths and queries, spelt so that a name stays one name whatever is in it.

use std::fmt::Write as _;

use branchyard_model::{BranchName, RepoName};

/// The query part of a URL.
#[derive(Debug, Default)]
pub(crate) struct Query(String);

impl Query {
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        let mark = if self.0.is_empty() { '?' } else { '&' };
        let _ = write!(self.0, "{mark}{name}={}", encode(value));
    }

    pub(crate) fn add_some(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    pub(crate) fn after(&self, path: &str) -> String {
        format!("{path}{}", self.0)
    }
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
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
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
