//! Which versions a `setup-…` step asks for: `18`, `3.x`, `>=18 <21`, `^18.2`, `~3.11`, `18 || 20`.

/// Versions that whatever there is satisfies.
const ANY: [&str; 9] = [
    "", "latest", "stable", "lts", "lts/*", "current", "*", "nightly", "beta",
];
/// What may stand before a version; of two that begin alike the longer one first.
const OPERATORS: [&str; 8] = [">=", "<=", "==", ">", "<", "=", "^", "~"];

type Version = [u64; 3];

/// Whether a tool that says this of itself is of a version that is wanted. Of what is not understood nothing is.
pub(crate) fn is_satisfied(wanted: &str, said: &str) -> bool {
    let wanted = wanted.trim();
    if ANY.contains(&wanted) {
        return true;
    }
    let Some(found) = version_in(said) else {
        return false;
    };
    wanted.split("||").any(|range| is_in(range, found))
}

/// The first version in what a tool says of itself, or a whole number where it says no version with points.
fn version_in(said: &str) -> Option<Version> {
    let words = || {
        let words = said.split(|c: char| c.is_whitespace() || c == '"');
        let words = words.map(|word| word.trim_start_matches(['v', 'g', 'o']));
        words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let found = words().find(|word| word.contains('.'));
    let found = found.or_else(|| words().find(is_number))?;
    let mut version = Version::default();
    for (part, text) in version.iter_mut().zip(found.split('.')) {
        // What stands behind the digits is a mark of a pre-release or of a build.
        let end = text.find(|c: char| !c.is_ascii_digit());
        *part = text[..end.unwrap_or(text.len())].parse().ok()?;
    }
    Some(version)
}

/// Whether a version is in all parts of a range.
fn is_in(range: &str, version: Version) -> bool {
    let mut operator = "";
    let mut is_empty = true;
    for word in range.split([' ', ',']).filter(|word| !word.is_empty()) {
        let found = OPERATORS
            .iter()
            .find(|operator| word.starts_with(**operator));
        let rest = found.map_or(word, |found| &word[found.len()..]);
        operator = match found {
            Some(found) => found,
            None => operator,
        };
        // As `>= 18`.
        if rest.is_empty() {
            continue;
        }
        let bounds = numbers(rest).map(|numbers| bounds(operator, &numbers));
        let is_between = bounds.is_some_and(|(least, below)| {
            least <= version && below.is_none_or(|below| version < below)
        });
        if !is_between {
            return false;
        }
        (operator, is_empty) = ("", false);
    }
    !is_empty && operator.is_empty()
}

/// The numbers that are written out: `3.x` and `3` have one.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let text = text.trim_start_matches('v');
    // Of `setup-python`: pre-releases count too.
    let text = text.strip_suffix("-dev").unwrap_or(text);
    let parts: Vec<_> = text.split('.').collect();
    let is_open = |part: &&str| matches!(*part, "x" | "X" | "*");
    let written = parts.iter().take_while(|part| !is_open(part));
    let numbers: Option<Vec<_>> = written.map(|part| part.parse().ok()).collect();
    numbers.filter(|_| parts.len() <= 3)
}

/// The least version, and the one that all are below.
fn bounds(operator: &str, numbers: &[u64]) -> (Version, Option<Version>) {
    let mut least = Version::default();
    least[..numbers.len()].copy_from_slice(numbers);
    let Some(last) = numbers.len().checked_sub(1) else {
        return (least, None);
    };
    // The first version in which this number is another one.
    let after = |at: usize| {
        let mut next = Version::default();
        next[..at].copy_from_slice(&least[..at]);
        next[at] = least[at].saturating_add(1);
        next
    };
    match operator {
        ">=" => (least, None),
        ">" => (after(last), None),
        "<" => (Version::default(), Some(least)),
        "<=" => (Version::default(), Some(after(last))),
        "~" => (least, Some(after(last.min(1)))),
        "^" => {
            let first = numbers.iter().position(|number| *number > 0);
            (least, Some(after(first.unwrap_or(last))))
        }
        _ => (least, Some(after(last))),
    }
}

#[cfg(test)]
mod tests {
    use super::is_satisfied;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (wanted, said, expected) in [
            ("20", "v20.20.2", true),
            ("20.x", "v20.20.2", true),
            ("v20", "v20.20.2", true),
            ("2", "v20.20.2", false),
            ("22", "v20.20.2", false),
            ("3.11", "Python 3.11.7", true),
            ("3.1", "Python 3.11.7", false),
            ("3.13-dev", "Python 3.13.0rc1", true),
            ("1.22", "go version go1.22.5 linux/amd64", true),
            ("17", "openjdk version \"17.0.15\" 2025-04-15", true),
            ("21", "openjdk version \"21\" 2023-09-19", true),
            ("stable", "cargo 1.95.0 (f2d3ce0bd 2026-03-21)", true),
            ("1.95.0", "cargo 1.95.0 (f2d3ce0bd 2026-03-21)", true),
            ("lts/*", "v20.20.2", true),
            ("lts/hydrogen", "v20.20.2", false),
            ("20", "no version", false),
        ] {
            assert_eq!(is_satisfied(wanted, said), expected, "{wanted} {said}");
        }
    }

    #[test]
    fn ranges_have_bounds() {
        for (wanted, said, expected) in [
            (">=18", "v20.20.2", true),
            (">= 18", "v20.20.2", true),
            (">=20.20.3", "v20.20.2", false),
            (">20", "v20.20.2", false),
            (">20.19", "v20.20.2", true),
            ("<21", "v20.20.2", true),
            ("<20", "v20.20.2", false),
            ("<=20", "v20.20.2", true),
            ("=20.20", "v20.20.2", true),
            ("^18", "v20.20.2", false),
            ("^18.2", "v18.20.0", true),
            ("^18.2", "v18.1.9", false),
            ("^0.2.3", "zig 0.2.9", true),
            ("^0.2.3", "zig 0.3.0", false),
            ("^0", "zig 0.3.0", true),
            ("~3.11", "Python 3.11.7", true),
            ("~3.11", "Python 3.12.0", false),
            ("~3", "Python 3.12.0", true),
            ("18 || 20", "v20.20.2", true),
            ("18 || 19", "v20.20.2", false),
            (">=3.8 <3.12", "Python 3.11.7", true),
            (">=3.8,<3.11", "Python 3.11.7", false),
            ("3.x", "Python 3.11.7", true),
            (">=3.x", "Python 3.11.7", true),
            ("18 || x", "v20.20.2", true),
            ("pypy3.11", "Python 3.11.7", false),
            (">=", "Python 3.11.7", false),
            ("||", "Python 3.11.7", false),
            ("1.2.3.4", "a 1.2.3", false),
            ("99999999999999999999", "a 1.2.3", false),
        ] {
            assert_eq!(is_satisfied(wanted, said), expected, "{wanted} {said}");
        }
    }
}
