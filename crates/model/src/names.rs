//! Names that come from outside: parsed once, then safe everywhere. A [`BranchName`] is a legal git
//! branch that no git command can read as an option, a revision expression or a path; its
//! [`DirName`] is the directory (and ref component) that stands for it, injective over all names.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use unicode_general_category::{GeneralCategory, get_general_category};

use super::Problem;

/// Longest branch name in bytes: one path component plus git's `.lock` must fit in 255.
const MAX_BRANCH_BYTES: usize = 240;
const MAX_REPO_BYTES: usize = 63;
const MAX_SLUG_CHARS: usize = 40;
const HASH_HEX: usize = 16;

/// The name of a repository: letters, digits, `.`, `_` and `-`, at most 63, starting with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RepoName(String);

/// The short name of a branch (`feature/login`), never `refs/heads/…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct BranchName(String);

/// The short name of a tag (`v1.2.3`), never `refs/tags/…`. The same names are legal as for branches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TagName(String);

/// The one directory name that stands for a repo or branch name. Readable, lower-case, no two
/// names share one: plain names stay as they are, all others carry a hash of the whole name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DirName(String);

impl RepoName {
    pub fn parse(name: &str) -> Result<Self, Problem> {
        let is_fine = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        let rule = match name.as_bytes() {
            [] => "it is empty",
            _ if name.len() > MAX_REPO_BYTES => "it is longer than 63 characters",
            [first, ..] if !first.is_ascii_alphanumeric() => {
                "it does not start with a letter or digit"
            }
            _ if !name.bytes().all(is_fine) => "it holds a character that is not allowed",
            _ => return Ok(Self(name.to_owned())),
        };
        Err(Problem::bad("repo", format!("{name:?} is not a repository name: {rule}"))
            .help("use letters, digits, '.', '_' and '-', at most 63 characters, starting with a letter or digit"))
    }

    pub fn dir(&self) -> DirName {
        DirName::of(&self.0)
    }
}

impl BranchName {
    pub fn parse(name: &str) -> Result<Self, Problem> {
        match rule_broken_by(name) {
            None => Ok(Self(name.to_owned())),
            Some(rule) => {
                let problem =
                    Problem::bad("branch", format!("{name:?} is not a branch name: {rule}"));
                Err(if is_object_id(name) {
                    problem.help(format!(
                        "to build that commit, name it commits/{name}; in a URL a slash is %2F"
                    ))
                } else {
                    problem.help("give the short name as `git branch` shows it, such as main or feature/login; in a URL a slash is %2F")
                })
            }
        }
    }

    pub fn dir(&self) -> DirName {
        DirName::of(&self.0)
    }

    /// `refs/heads/<name>`, the only form in which a branch is handed to git.
    pub fn local_ref(&self) -> String {
        format!("refs/heads/{}", self.0)
    }

    /// `refs/remotes/origin/<name>`: what the remote had when it was last asked.
    pub fn remote_ref(&self) -> String {
        format!("refs/remotes/origin/{}", self.0)
    }

    /// Whether a ref of this name and one of `other` cannot exist side by side (`a` and `a/b`).
    pub fn collides_with(&self, other: &str) -> bool {
        let under = |long: &str, short: &str| {
            long.strip_prefix(short)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        under(&self.0, other) || under(other, &self.0)
    }
}

impl TagName {
    pub fn parse(name: &str) -> Result<Self, Problem> {
        match rule_broken_by(name) {
            None => Ok(Self(name.to_owned())),
            Some(rule) => Err(Problem::bad(
                "name",
                format!("{name:?} is not a tag's name: {rule}"),
            )
            .help("give the short name as `git tag` shows it, such as v1.2.3")),
        }
    }

    /// `refs/tags/<name>`.
    pub fn full(&self) -> String {
        format!("refs/tags/{}", self.0)
    }
}

fn rule_broken_by(name: &str) -> Option<&'static str> {
    let is_reserved = name == "@" || name == "HEAD" || name.ends_with("_HEAD");
    let forbidden = || name.chars().find(|c| is_forbidden_char(*c));
    let rule = match name {
        "" => "it is empty",
        _ if name.len() > MAX_BRANCH_BYTES => "it is longer than 240 bytes",
        _ if name.starts_with('-') => "it starts with '-'",
        _ if is_reserved => "it is a name that git keeps for itself",
        _ if name.starts_with("refs/") => "it is a full ref; give the short name",
        _ if is_object_id(name) => "it looks like a commit id",
        _ if name.contains("..") || name.contains("@{") => "'..' and '@{' are revision syntax",
        _ => match forbidden() {
            Some(' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\') => {
                "space, '~', '^', ':', '?', '*', '[' and '\\' are not allowed"
            }
            Some(_) => "control, formatting and unassigned characters are not allowed",
            None if name.ends_with('.') => "it ends with '.'",
            None => return name.split('/').find_map(rule_broken_by_part),
        },
    };
    Some(rule)
}

fn rule_broken_by_part(part: &str) -> Option<&'static str> {
    match part {
        "" => Some("it has an empty part (a leading, trailing or double '/')"),
        _ if part.starts_with('.') => Some("a part starts with '.'"),
        _ if part.ends_with(".lock") => Some("a part ends with '.lock'"),
        _ => None,
    }
}

fn is_object_id(name: &str) -> bool {
    (name.len() == 40 || name.len() == 64) && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Characters that git refuses, and those that make a name look like another or vanish on a screen.
fn is_forbidden_char(c: char) -> bool {
    use GeneralCategory as G;
    " ~^:?*[\\".contains(c)
        || matches!(
            get_general_category(c),
            G::Control
                | G::Format
                | G::LineSeparator
                | G::ParagraphSeparator
                | G::SpaceSeparator
                | G::Surrogate
                | G::PrivateUse
                | G::Unassigned
        )
}

impl DirName {
    fn of(name: &str) -> Self {
        if is_plain(name) {
            return Self(name.to_owned());
        }
        let digest = Sha256::digest(name.as_bytes());
        let mut slug = readable(name);
        if !slug.is_empty() {
            slug.push('-');
        }
        for byte in &digest[..HASH_HEX / 2] {
            slug.push_str(&format!("{byte:02x}"));
        }
        Self(slug)
    }

    /// Whether `name` could have been made by us: nothing else may be taken for a workspace.
    pub fn parse(name: &str) -> Option<Self> {
        (is_plain(name) || ends_in_hash(name)).then(|| Self(name.to_owned()))
    }
}

/// A name that is its own directory: short, lower-case, and not to be mistaken for a hashed one.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && name.len() <= 63
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
        && !ends_in_hash(name)
}

fn ends_in_hash(name: &str) -> bool {
    let Some(split) = name.len().checked_sub(HASH_HEX) else {
        return false;
    };
    let (head, hash) = name.as_bytes().split_at(split);
    head.last().is_none_or(|b| *b == b'-')
        && hash
            .iter()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
}

fn readable(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        let c = c.to_ascii_lowercase();
        let keep = c.is_ascii_alphanumeric() || (matches!(c, '.' | '_') && !slug.is_empty());
        if keep {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= MAX_SLUG_CHARS {
            break;
        }
    }
    slug.truncate(slug.trim_end_matches(['-', '.', '_']).len());
    slug
}

/// Names and ids that are text inside.
macro_rules! shown_as_text {
    ($($name:ident),*) => {$(
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}
/// Those that serde reads by way of `parse`.
macro_rules! read_from_text {
    ($($name:ident),*) => {$(
        impl TryFrom<String> for $name {
            type Error = Problem;
            fn try_from(name: String) -> Result<Self, Problem> {
                Self::parse(&name)
            }
        }
    )*};
}
pub(crate) use {read_from_text, shown_as_text};
shown_as_text!(RepoName, BranchName, TagName, DirName);
read_from_text!(RepoName, BranchName);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hostile_branch_names_are_refused() {
        let long = "x".repeat(300);
        for name in [
            "-x",
            "--upload-pack=touch p",
            "..",
            "a/../../x",
            "@{u}",
            "@",
            "HEAD",
            "FETCH_HEAD",
            "x.lock",
            "a.lock/b",
            "a//b",
            "a/",
            "a.",
            "/a",
            ".a",
            "a/.b",
            "a\u{7}b",
            "a\0b",
            "a\nb",
            "a\u{202e}b",
            "a\u{200b}b",
            "a b",
            "a\u{a0}b",
            &long,
            "0123456789abcdef0123456789abcdef01234567",
            "refs/heads/x",
            "main~0",
            "a^",
            "a:b",
            "",
        ] {
            assert!(BranchName::parse(name).is_err(), "{name:?} was accepted");
        }
    }

    #[test]
    fn ordinary_and_odd_but_legal_names_are_accepted() {
        let longest = "y".repeat(240);
        for name in [
            "main",
            "feature/login",
            "A/b",
            "a-b",
            "ünïcode",
            "$(id)",
            "`id`",
            "a;id",
            "a|b",
            "v1.2.3",
            "dependabot/npm_and_yarn/x-1.2",
            "release@2024",
            "#42",
            &longest,
            "日本語/枝",
        ] {
            assert!(BranchName::parse(name).is_ok(), "{name:?} was refused");
        }
    }

    #[test]
    fn a_tag_is_named_by_the_same_rules() {
        for name in ["-d", "refs/tags/v1", "a..b", "v1^{}", "v 1", "v1\n", ""] {
            assert!(TagName::parse(name).is_err(), "{name:?} was accepted");
        }
        let tag = TagName::parse("release/v1.2.3").expect("legal");
        assert_eq!(tag.full(), "refs/tags/release/v1.2.3");
    }

    #[test]
    fn directories_are_readable_and_distinct() {
        let dir = |name: &str| BranchName::parse(name).expect("legal").dir().to_string();
        assert_eq!(dir("main"), "main");
        assert_eq!(dir("a-b"), "a-b");
        assert!(dir("feature/login").starts_with("feature-login-"));
        let names = [
            "a/b", "a-b", "A/b", "A-b", "a_b", "\u{e9}", "e\u{301}", "Feat", "feat",
        ];
        let mut dirs: Vec<_> = names.iter().map(|name| dir(name)).collect();
        dirs.sort();
        dirs.dedup();
        assert_eq!(dirs.len(), names.len());
    }

    #[test]
    fn a_plain_name_cannot_take_the_directory_of_a_hashed_one() {
        let hashed = BranchName::parse("feature/login").expect("legal").dir();
        let twin = BranchName::parse(hashed.as_str()).expect("legal").dir();
        assert_ne!(hashed, twin);
    }

    #[test]
    fn collisions_are_between_a_branch_and_its_directory() {
        let x = BranchName::parse("feature/x").expect("legal");
        assert!(x.collides_with("feature"));
        assert!(x.collides_with("feature/x/y"));
        assert!(!x.collides_with("feature/x"));
        assert!(!x.collides_with("feature/xy"));
        assert!(!x.collides_with("featur"));
    }

    proptest! {
        #[test]
        fn an_accepted_branch_is_one_that_git_accepts(name in "\\PC{1,60}") {
            if BranchName::parse(&name).is_ok() {
                prop_assert!(git2::Reference::is_valid_name(&format!("refs/heads/{name}")), "{name:?}");
            }
        }

        #[test]
        fn a_directory_is_always_one_safe_component(name in "\\PC{1,80}") {
            if let Ok(branch) = BranchName::parse(&name) {
                let dir = branch.dir();
                prop_assert!(dir.as_str().len() <= 63);
                prop_assert!(DirName::parse(dir.as_str()).is_some());
                prop_assert!(!dir.as_str().starts_with(['.', '-']));
                prop_assert!(dir.as_str().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b)));
            }
        }

        #[test]
        fn two_names_never_share_a_directory(a in "[aA][-/_.]?[bB\u{e9}]{0,3}", b in "[aA][-/_.]?[bB\u{e9}]{0,3}") {
            if let (Ok(first), Ok(second)) = (BranchName::parse(&a), BranchName::parse(&b)) {
                prop_assert_eq!(first == second, first.dir() == second.dir());
            }
        }
    }
}
