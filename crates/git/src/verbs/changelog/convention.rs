//! Messages by the convention `type(scope)!: description`, with footers below.

use std::sync::LazyLock;

use regex::Regex;

/// A message that follows the convention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conventional {
    /// In lower case.
    pub kind: String,
    pub scope: Option<String>,
    pub description: String,
    pub is_breaking: bool,
}

/// What the footers of a message say, whether it follows the convention or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Footers {
    /// What `BREAKING CHANGE:` says, line ends as they are.
    pub breaking: Vec<String>,
    /// `Name <email>` of each `Co-authored-by:`.
    pub co_authors: Vec<(String, String)>,
}

pub(super) fn conventional(subject: &str) -> Option<Conventional> {
    static HEADER: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^([A-Za-z][A-Za-z0-9_-]*)(?:\(([^()\r\n]+)\))?(!)?:\s+(\S.*)$"));
    let parts = HEADER.captures(subject)?;
    let part = |n| parts.get(n).map(|part| part.as_str().trim());
    Some(Conventional {
        kind: part(1)?.to_lowercase(),
        scope: part(2).filter(|scope| !scope.is_empty()).map(str::to_owned),
        is_breaking: part(3).is_some(),
        description: part(4)?.to_owned(),
    })
}

/// A footer goes on until the next one begins. `BREAKING CHANGE` counts wherever a line begins with it,
/// for many write it above their last paragraph.
pub(super) fn footers(body: &str) -> Footers {
    static FOOTER: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(BREAKING[ -]CHANGE|[A-Za-z][A-Za-z0-9-]*)(?:: | #)(.*)$"));
    let mut all: Vec<(String, String)> = Vec::new();
    for line in body.lines() {
        let begins = FOOTER.captures(line);
        match (begins, all.last_mut()) {
            (Some(parts), _) => all.push((parts[1].to_owned(), parts[2].to_owned())),
            (None, Some((_, value))) => {
                value.push('\n');
                value.push_str(line);
            }
            (None, None) => {}
        }
    }
    let mut footers = Footers::default();
    for (name, value) in all {
        let value = value.trim();
        if name.starts_with("BREAKING") && !value.is_empty() {
            footers.breaking.push(value.to_owned());
        } else if name.eq_ignore_ascii_case("co-authored-by") {
            footers.co_authors.extend(person(value));
        }
    }
    footers
}

/// `Name <email>`, of the first line.
fn person(value: &str) -> Option<(String, String)> {
    let (name, email) = value.lines().next()?.split_once('<')?;
    let email = email.trim_end().strip_suffix('>')?;
    Some((name.trim().to_owned(), email.trim().to_owned()))
}

/// The numbers of pull requests that a subject names, as forges write them: `(#12)` or `(!12)`.
pub(super) fn pull_requests(subject: &str) -> Vec<u64> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\((?:#|!)(\d{1,9})\)"));
    let numbers = NUMBER.captures_iter(subject);
    numbers.filter_map(|found| found[1].parse().ok()).collect()
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of ours compiles")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_taken_apart() {
        let parsed = |kind: &str, scope: Option<&str>, is_breaking, description: &str| {
            Some(Conventional {
                kind: kind.to_owned(),
                scope: scope.map(str::to_owned),
                description: description.to_owned(),
                is_breaking,
            })
        };
        for (subject, expected) in [
            ("feat: add x", parsed("feat", None, false, "add x")),
            ("Fix(api)!: it", parsed("fix", Some("api"), true, "it")),
            (
                "feat!: drop y (#3)",
                parsed("feat", None, true, "drop y (#3)"),
            ),
            (
                "chore(a b/c): d: e",
                parsed("chore", Some("a b/c"), false, "d: e"),
            ),
            ("feat:no space", None),
            ("feat(): empty scope", None),
            ("feat (x): space", None),
            ("Merge branch 'x'", None),
            ("https://example.org: y", None),
            ("feat: ", None),
        ] {
            assert_eq!(conventional(subject), expected, "{subject}");
        }
    }

    #[test]
    fn footers_go_on_over_lines() {
        let body = "Some words.\n\nBREAKING CHANGE: the old\n  way is\n\ngone\nRefs: #12\nCo-authored-by: A B <a@b>\nco-authored-by: broken\nReviewed-by: Z\nBREAKING-CHANGE: more";
        let footers = footers(body);
        assert_eq!(footers.breaking, ["the old\n  way is\n\ngone", "more"]);
        assert_eq!(footers.co_authors, [("A B".to_owned(), "a@b".to_owned())]);
        let none = super::footers("breaking change: in small letters\nNote that: x");
        assert_eq!(none, Footers::default());
    }

    #[test]
    fn numbers_of_pull_requests_are_found() {
        assert_eq!(pull_requests("feat: x (#12) and (#3)"), [12, 3]);
        assert_eq!(pull_requests("fix #4, (see #5) (#x)"), Vec::<u64>::new());
    }
}
