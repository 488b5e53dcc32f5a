//! Globs and regular expressions that callers write. They are built here alone: within bounds, and so that
//! none can panic, overflow the stack or fill the memory, whatever it looks like.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::bytes::{Regex, RegexBuilder};

/// Longer than any name that a glob could match.
const LONGEST_GLOB: usize = 1024;
/// A glob becomes a regular expression with a group for each `{`, and groups that nest too deep do not compile.
const MOST_BRACES: usize = 64;
/// A list with more globs than this is refused; all of them become one matcher.
const MOST_GLOBS: usize = 1024;
/// Longer than any that a person writes; what is wrong with one is told by repeating it.
const LONGEST_REGEX: usize = 8 * 1024;
/// What a regular expression may take once it is compiled, and again while it searches.
const REGEX_SIZE: usize = 256 * 1024;

/// What `*` and `?` match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stars {
    /// Anything but a slash; `**` crosses slashes.
    WithinSegment,
    /// Slashes too, as in `git branch --list`.
    AcrossSegments,
}

/// One or more globs, of which one has to match.
#[derive(Debug, Clone)]
pub struct Globs(GlobSet);

impl Globs {
    /// One glob, or the rule that it breaks.
    pub fn one(text: &str, stars: Stars) -> Result<Self, String> {
        Self::all([text], stars)
    }

    /// The globs of a list, or the rule that one of them or all together break.
    pub fn all<'a>(texts: impl IntoIterator<Item = &'a str>, stars: Stars) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for (at, text) in texts.into_iter().enumerate() {
            if at == MOST_GLOBS {
                return Err(format!("a list has at most {MOST_GLOBS} globs"));
            }
            check_bounds(text)?;
            let glob = GlobBuilder::new(text)
                .literal_separator(stars == Stars::WithinSegment)
                .build()
                .map_err(|error| error.kind().to_string())?;
            set.add(glob);
        }
        // Unlike the matcher of a single glob, a set says what does not compile.
        set.build()
            .map(Self)
            .map_err(|error| error.kind().to_string())
    }

    /// That matches nothing.
    pub fn none() -> Self {
        Self(GlobSet::empty())
    }

    pub fn matches(&self, name: impl AsRef<Path>) -> bool {
        self.0.is_match(name)
    }
}

/// Refuses a glob that is too long or too deep to be parsed safely.
pub fn check_bounds(glob: &str) -> Result<(), String> {
    if glob.len() > LONGEST_GLOB {
        return Err(format!("a glob has at most {LONGEST_GLOB} bytes"));
    }
    // Counted without a look at escapes and classes, and so never fewer than the parser finds.
    match glob.bytes().filter(|byte| *byte == b'{').count() {
        0..=MOST_BRACES => Ok(()),
        _ => Err(format!("a glob has at most {MOST_BRACES} opening braces")),
    }
}

/// A regular expression for lines or texts of any bytes, or the rule that it breaks.
pub fn regex(text: &str, adjust: impl FnOnce(&mut RegexBuilder)) -> Result<Regex, String> {
    if text.len() > LONGEST_REGEX {
        return Err(format!(
            "a regular expression has at most {LONGEST_REGEX} bytes"
        ));
    }
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(REGEX_SIZE).dfa_size_limit(REGEX_SIZE);
    adjust(&mut builder);
    builder.build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}a{}", "{".repeat(depth), "}".repeat(depth))
    }

    #[test]
    fn stars_match_what_they_are_told_to() {
        let within = Globs::one("a/*", Stars::WithinSegment).unwrap();
        let across = Globs::one("a/*", Stars::AcrossSegments).unwrap();
        assert!(within.matches("a/b") && across.matches("a/b"));
        assert!(!within.matches("a/b/c") && across.matches("a/b/c"));
        assert!(!Globs::none().matches("a"));
    }

    #[test]
    fn globs_beyond_the_bounds_are_refused_and_none_panics() {
        for depth in [1, 2, MOST_BRACES] {
            let glob = Globs::one(&nested(depth), Stars::WithinSegment).unwrap();
            assert!(glob.matches("a"), "{depth}");
        }
        for depth in [MOST_BRACES + 1, 250, 300, 400, 100_000] {
            let refused = Globs::one(&nested(depth), Stars::WithinSegment).unwrap_err();
            assert!(refused.contains("at most"), "{refused}");
        }
        // Closing braces that close nothing do not hide how deep the others are.
        let hidden = format!("{}a{}", "{\\}".repeat(300), "}".repeat(300));
        assert!(Globs::one(&hidden, Stars::WithinSegment).is_err());
        for text in [
            "a".repeat(LONGEST_GLOB + 1),
            "[".repeat(500),
            "[a-".to_owned(),
            "{a".to_owned(),
            "a\\".to_owned(),
            "**".repeat(500),
            "?".repeat(1000),
            "[!-]]".repeat(200),
            "{a,b}".repeat(200),
            "{*,?}".repeat(200),
            "\\{".repeat(500),
            "{,}".repeat(300),
        ] {
            for stars in [Stars::WithinSegment, Stars::AcrossSegments] {
                if let Ok(glob) = Globs::one(&text, stars) {
                    glob.matches("a/b/c");
                }
            }
        }
        let many = vec!["a*b"; MOST_GLOBS + 1];
        assert!(Globs::all(many, Stars::WithinSegment).is_err());
    }

    #[test]
    fn a_regular_expression_cannot_grow_beyond_its_bounds() {
        let plain = |text: &str| regex(text, |_| {});
        assert!(plain("^a.*b$").unwrap().is_match(b"a to b"));
        for text in [
            "(".repeat(100_000) + &")".repeat(100_000),
            "[a".to_owned(),
            "(a{1000}){1000}".to_owned(),
            "\\p{L}{500}".to_owned(),
            "a{".to_owned() + &"9".repeat(50) + "}",
            "(?i)".repeat(10_000) + "((((",
        ] {
            assert!(plain(&text).is_err(), "{text:.40}");
        }
        let folded = regex("ab", |builder| {
            builder.case_insensitive(true);
        });
        assert!(folded.unwrap().is_match(b"xABx"));
    }
}
