//! Versions in the names of tags, and which one comes next.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// By how much a version grows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Bump {
    Patch,
    Minor,
    Major,
}

/// A version by the rules of semantic versioning, with what stands before it in a tag, such as `v`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    prefix: String,
    numbers: [u64; 3],
    /// What comes before the release: `rc.1`.
    pre: Option<String>,
}

impl FromStr for Version {
    type Err = ();

    fn from_str(tag: &str) -> Result<Self, ()> {
        let start = tag.find(|c: char| c.is_ascii_digit()).ok_or(())?;
        let (prefix, rest) = tag.split_at(start);
        let (rest, _build) = rest.split_once('+').unwrap_or((rest, ""));
        let (core, pre) = match rest.split_once('-') {
            Some((core, pre)) if !pre.is_empty() => (core, Some(pre.to_owned())),
            Some(_) => return Err(()),
            None => (rest, None),
        };
        let mut numbers = core.split('.').map(|number| number.parse().map_err(drop));
        let mut next = || numbers.next().ok_or(())?;
        let version = Self {
            prefix: prefix.to_owned(),
            numbers: [next()?, next()?, next()?],
            pre,
        };
        match numbers.next() {
            None => Ok(version),
            Some(_) => Err(()),
        }
    }
}

impl Display for Version {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{}{major}.{minor}.{patch}", self.prefix)?;
        match &self.pre {
            Some(pre) => write!(f, "-{pre}"),
            None => Ok(()),
        }
    }
}

impl Version {
    /// The release that follows. Before 1.0.0 what breaks raises the second number, and what adds the
    /// third; a pre-release becomes its release, where that is as much as is asked for.
    pub(super) fn next(&self, bump: Bump) -> Self {
        let [major, minor, patch] = self.numbers;
        let bump = match (major, bump) {
            (0, Bump::Major) => Bump::Minor,
            (0, Bump::Minor) => Bump::Patch,
            (_, bump) => bump,
        };
        let own = match (minor, patch) {
            (0, 0) => Bump::Major,
            (_, 0) => Bump::Minor,
            _ => Bump::Patch,
        };
        let numbers = match bump {
            _ if self.pre.is_some() && own >= bump => self.numbers,
            Bump::Major => [major + 1, 0, 0],
            Bump::Minor => [major, minor + 1, 0],
            Bump::Patch => [major, minor, patch + 1],
        };
        Self {
            prefix: self.prefix.clone(),
            numbers,
            pre: None,
        }
    }

    /// Which of two tags of one commit says more: the higher, and a release more than what led to it.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let rank = |version: &Self| (version.numbers, version.pre.is_none(), version.pre.clone());
        rank(self).cmp(&rank(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_version_follows_from_the_last() {
        for (last, bump, expected) in [
            ("v1.2.3", Bump::Patch, "v1.2.4"),
            ("v1.2.3", Bump::Minor, "v1.3.0"),
            ("1.2.3+build.5", Bump::Major, "2.0.0"),
            ("v0.4.1", Bump::Major, "v0.5.0"),
            ("v0.4.1", Bump::Minor, "v0.4.2"),
            ("app-v2.0.0-rc.1", Bump::Patch, "app-v2.0.0"),
            ("v2.1.0-rc.1", Bump::Minor, "v2.1.0"),
            ("v2.1.0-rc.1", Bump::Major, "v3.0.0"),
        ] {
            let last: Version = last.parse().unwrap();
            assert_eq!(last.next(bump).to_string(), expected, "{last}");
        }
    }

    #[test]
    fn other_names_are_no_versions() {
        for tag in [
            "",
            "latest",
            "v1",
            "v1.2",
            "v1.2.3.4",
            "v1.2.x",
            "1.2.3-",
            "2026-01-31",
        ] {
            assert!(tag.parse::<Version>().is_err(), "{tag}");
        }
    }

    #[test]
    fn a_release_is_more_than_its_candidates() {
        let parse = |tag: &str| tag.parse::<Version>().unwrap();
        let mut tags = [parse("v1.0.0"), parse("v1.0.0-rc.2"), parse("v0.9.9")];
        tags.sort_by(Version::order);
        assert_eq!(
            tags.map(|tag| tag.to_string()),
            ["v0.9.9", "v1.0.0-rc.2", "v1.0.0"]
        );
    }
}
