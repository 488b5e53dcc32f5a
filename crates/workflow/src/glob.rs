//! The patterns of `branches`, `tags` and `paths`, with GitHub's rules: `?` and `+` repeat the character before them.

const MAX_PATTERN: usize = 1024;

/// One pattern, with `!` in front taken off.
#[derive(Debug)]
pub(crate) struct PathPattern {
    is_negative: bool,
    atoms: Vec<Atom>,
}

#[derive(Debug)]
struct Atom {
    set: CharSet,
    can_skip: bool,
    can_repeat: bool,
}

#[derive(Debug)]
enum CharSet {
    One(char),
    Ranges(Vec<(char, char)>),
    NoSlash,
    Any,
    /// `**/` at the start of a segment: whole directories, or none.
    Directories,
}

impl CharSet {
    fn has(&self, c: char) -> bool {
        match self {
            Self::One(other) => *other == c,
            Self::Ranges(ranges) => ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)),
            Self::NoSlash => c != '/',
            Self::Any | Self::Directories => true,
        }
    }
}

impl PathPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_PATTERN {
            return Err(format!("it is longer than {MAX_PATTERN} bytes"));
        }
        let (is_negative, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        let chars: Vec<char> = text.chars().collect();
        let mut atoms: Vec<Atom> = Vec::new();
        let mut at = 0;
        while let Some(c) = chars.get(at).copied() {
            at += 1;
            let (set, can_skip, can_repeat) = match c {
                '*' if chars.get(at) == Some(&'*') => {
                    at += 1;
                    let starts_segment = at == 2 || chars.get(at.wrapping_sub(3)) == Some(&'/');
                    if starts_segment && chars.get(at) == Some(&'/') {
                        at += 1;
                        (CharSet::Directories, true, true)
                    } else {
                        (CharSet::Any, true, true)
                    }
                }
                '*' => (CharSet::NoSlash, true, true),
                '?' | '+' => {
                    let before = atoms
                        .last_mut()
                        .filter(|atom| !atom.can_skip && !atom.can_repeat);
                    let Some(before) = before else {
                        return Err(format!(
                            "`{c}` repeats the character before it, and there is none; write \\{c}"
                        ));
                    };
                    before.can_skip = c == '?';
                    before.can_repeat = c == '+';
                    continue;
                }
                '[' => {
                    let Some(length) = chars[at..].iter().position(|c| *c == ']') else {
                        return Err("`[` has no `]`".to_owned());
                    };
                    let set = ranges(&chars[at..at + length])?;
                    at += length + 1;
                    (set, false, false)
                }
                '\\' => {
                    let Some(escaped) = chars.get(at).copied() else {
                        return Err("`\\` stands at its end".to_owned());
                    };
                    at += 1;
                    (CharSet::One(escaped), false, false)
                }
                c => (CharSet::One(c), false, false),
            };
            atoms.push(Atom {
                set,
                can_skip,
                can_repeat,
            });
        }
        Ok(Self { is_negative, atoms })
    }

    /// Whether the pattern, without its `!`, matches all of a name. All ways are followed at once, so no pattern is slow.
    fn matches(&self, name: &str) -> bool {
        let mut states = vec![false; self.atoms.len() + 1];
        states[0] = true;
        self.skip(&mut states);
        for c in name.chars() {
            let mut next = vec![false; states.len()];
            for (at, atom) in self.atoms.iter().enumerate() {
                if !states[at] || !atom.set.has(c) {
                    continue;
                }
                if atom.can_repeat {
                    next[at] = true;
                }
                let ends = !matches!(atom.set, CharSet::Directories) || c == '/';
                if ends {
                    next[at + 1] = true;
                }
            }
            // In the middle of a directory `**/` cannot be left out any more.
            let inside: Vec<usize> = (0..self.atoms.len())
                .filter(|at| {
                    matches!(self.atoms[*at].set, CharSet::Directories) && next[*at] && c != '/'
                })
                .collect();
            self.skip_but(&mut next, &inside);
            states = next;
        }
        states[self.atoms.len()]
    }

    fn skip(&self, states: &mut [bool]) {
        self.skip_but(states, &[]);
    }

    fn skip_but(&self, states: &mut [bool], inside: &[usize]) {
        for (at, atom) in self.atoms.iter().enumerate() {
            let repeats_once_more = atom.can_repeat && !atom.can_skip;
            if states[at] && atom.can_skip && !repeats_once_more && !inside.contains(&at) {
                states[at + 1] = true;
            }
        }
    }
}

fn ranges(chars: &[char]) -> Result<CharSet, String> {
    let mut ranges = Vec::new();
    let mut rest = chars;
    while let [first, after @ ..] = rest {
        match after {
            ['-', last, more @ ..] => {
                if first > last {
                    return Err(format!("`{first}-{last}` is no range"));
                }
                ranges.push((*first, *last));
                rest = more;
            }
            _ => {
                ranges.push((*first, *first));
                rest = after;
            }
        }
    }
    match ranges.is_empty() {
        true => Err("`[]` has no characters".to_owned()),
        false => Ok(CharSet::Ranges(ranges)),
    }
}

/// Whether a list of patterns takes a name: the last pattern that matches decides.
pub(crate) fn takes<'p>(patterns: impl IntoIterator<Item = &'p str>, name: &str) -> bool {
    let mut is_taken = false;
    for pattern in patterns {
        // What is no pattern was refused when the file was read.
        if let Ok(pattern) = PathPattern::parse(pattern)
            && pattern.matches(name)
        {
            is_taken = !pattern.is_negative;
        }
    }
    is_taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_match_as_github_says() {
        for (pattern, names, others) in [
            (
                "feature/*",
                &["feature/my-branch"][..],
                &["feature/a/b", "feature"][..],
            ),
            ("feature/**", &["feature/a/b", "feature/x"], &["feature"]),
            ("main", &["main"], &["mainx", "Main"]),
            ("*", &["main"], &["a/b"]),
            ("**", &["a/b", "main"], &[]),
            ("*feature", &["mona-feature", "feature"], &["a/feature"]),
            ("v2*", &["v2", "v2.0"], &["v1"]),
            (
                "v[12].[0-9]+.[0-9]+",
                &["v1.10.1", "v2.0.0"],
                &["v3.0.0", "v1..0"],
            ),
            (
                "*.jsx?",
                &["page.js", "page.jsx"],
                &["page.jsxx", "a/page.js"],
            ),
            ("**.js", &["index.js", "js/index.js"], &["index.jsx"]),
            (
                "docs/*",
                &["docs/README.md"],
                &["docs/a/b.md", "src/docs/x"],
            ),
            (
                "docs/**/*.md",
                &["docs/README.md", "docs/mona/hello.md", "docs/a/b/c.md"],
                &["docsREADME.md", "a/docs/x.md"],
            ),
            (
                "**/docs/**",
                &["docs/hello.md", "dir/docs/my-file.txt"],
                &["mydocs/x", "docs"],
            ),
            (
                "**/README.md",
                &["README.md", "js/README.md"],
                &["xREADME.md", "js/xREADME.md"],
            ),
            (
                "**/*-post.md",
                &["my-post.md", "path/their-post.md"],
                &["post.md"],
            ),
            (
                "**/migrate-*.sql",
                &["migrate-10909.sql", "db/sept/migrate-v1.sql"],
                &[],
            ),
            ("[CB]at", &["Cat", "Bat"], &["Rat"]),
            ("a\\*b", &["a*b"], &["axb"]),
            ("**/a/**/b", &["a/b", "x/a/y/z/b"], &["xa/b", "a/yb"]),
        ] {
            let parsed = PathPattern::parse(pattern).unwrap();
            for name in names {
                assert!(parsed.matches(name), "{pattern} {name}");
            }
            for name in others {
                assert!(!parsed.matches(name), "{pattern} {name}");
            }
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for pattern in ["", "!", "?a", "*+", "[a", "[]", "[z-a]", "a\\", "a??"] {
            assert!(PathPattern::parse(pattern).is_err(), "{pattern}");
        }
        assert!(PathPattern::parse(&"a".repeat(MAX_PATTERN + 1)).is_err());
    }

    #[test]
    fn the_last_pattern_that_matches_decides() {
        let patterns = ["releases/**", "!releases/**-alpha", "releases/keep-alpha"];
        assert!(takes(patterns, "releases/10"));
        assert!(!takes(patterns, "releases/10-alpha"));
        assert!(takes(patterns, "releases/keep-alpha"));
        assert!(!takes(patterns, "main"));
        assert!(!takes([], "main"));
    }

    proptest! {
        #[test]
        fn no_pattern_panics(pattern in "[a-c*?+!/\\[\\]\\\\-]{0,20}", name in "[a-c/*]{0,20}") {
            let _ = takes([pattern.as_str()], &name);
        }

        #[test]
        fn a_name_matches_itself(name in "[a-z0-9./-]{1,30}") {
            prop_assert!(takes([name.as_str()], &name));
            prop_assert!(takes(["**"], &name));
        }
    }
}
