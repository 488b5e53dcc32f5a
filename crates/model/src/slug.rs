//! One word for a workspace, which names of hosts, databases and containers can be made of.

use super::{BranchName, RepoName, sha256};

/// A label of a host name has at most 63 characters.
const MAX_READABLE: usize = 36;
const HASH_DIGITS: usize = 12;

/// Lower-case letters, digits and `-`, starting with a letter or digit: at most 36 characters to recognize it by, and
/// 12 hex digits of the whole name, so that `a/b`, `a.b` and `A_B` differ.
pub fn slug(repo: &RepoName, branch: &BranchName) -> String {
    let mut slug = String::new();
    for c in format!("{repo}-{branch}").chars() {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(MAX_READABLE);
    slug.truncate(slug.trim_end_matches('-').len());
    // No name has a NUL in it.
    let digest = sha256(format!("{repo}\0{branch}").as_bytes());
    format!("{slug}-{}", &digest[..HASH_DIGITS])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn of(repo: &str, branch: &str) -> String {
        slug(
            &RepoName::parse(repo).unwrap(),
            &BranchName::parse(branch).unwrap(),
        )
    }

    #[test]
    fn a_slug_is_a_label_and_no_two_meet() {
        assert_eq!(of("demo", "main"), "demo-main-d56a53a0fa67");
        let long = "x".repeat(200);
        let names = [
            ("a", "b"),
            ("a", "b/c"),
            ("a", "b.c"),
            ("a", "B_C"),
            ("a-b", "c"),
            ("a", "b-c"),
            ("a", "ünï/ß"),
            ("9", long.as_str()),
        ];
        let slugs: HashSet<_> = names
            .iter()
            .map(|(repo, branch)| of(repo, branch))
            .collect();
        assert_eq!(slugs.len(), names.len());
        for slug in slugs {
            assert!(slug.len() <= 49, "{slug}");
            assert!(
                slug.starts_with(|c: char| c.is_ascii_alphanumeric()),
                "{slug}"
            );
            let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(slug.chars().all(is_fine), "{slug}");
        }
    }
}
