//! Lines of the Test Anything Protocol, versions 12 to 14.

use branchyard_model::TestState;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum TapLine<'a> {
    Version,
    Plan(u64),
    Point(Point<'a>),
    /// `# Subtest: name`, or the `{` of a subtest that follows on its result.
    Subtest(&'a str),
    /// What stands behind the `#`.
    Comment(&'a str),
    BailOut(&'a str),
}

/// `not ok 2 - name # TODO why`
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Point<'a> {
    pub(super) number: u64,
    pub(super) name: &'a str,
    pub(super) state: TestState,
    pub(super) reason: &'a str,
}

/// A line without its indentation.
pub(super) fn parse(line: &str) -> Option<TapLine<'_>> {
    if let Some(version) = line.strip_prefix("TAP version ") {
        return version
            .trim_end()
            .parse::<u32>()
            .ok()
            .map(|_| TapLine::Version);
    }
    if let Some(count) = line.strip_prefix("1..") {
        let (count, rest) = count.split_once(' ').unwrap_or((count, ""));
        let is_plan = rest.is_empty() || rest.trim_start().starts_with('#');
        let count = count.parse::<u32>().ok().filter(|_| is_plan)?;
        return Some(TapLine::Plan(count.into()));
    }
    if let Some(reason) = line.strip_prefix("Bail out!") {
        return Some(TapLine::BailOut(reason.trim()));
    }
    if let Some(said) = line.strip_prefix('#') {
        let subtest = said.strip_prefix(" Subtest: ");
        return Some(subtest.map_or(TapLine::Comment(said), |name| TapLine::Subtest(name.trim())));
    }
    point(line)
}

/// The number may be left out by the protocol, and no producer does: without it, too much would look like this.
fn point(line: &str) -> Option<TapLine<'_>> {
    let (is_ok, said) = match line.strip_prefix("not ok ") {
        Some(said) => (false, said),
        None => (true, line.strip_prefix("ok ")?),
    };
    let (number, said) = said.split_once(' ').unwrap_or((said, ""));
    let number = u64::from(number.parse::<u32>().ok()?);
    let said = said.trim();
    let said = said.strip_prefix('-').map_or(said, str::trim_start);
    if let Some(name) = said.strip_suffix('{') {
        return Some(TapLine::Subtest(name.trim()));
    }
    let (name, directive, reason) = directive(said);
    let state = match (directive, is_ok) {
        // What is still to do counts neither for nor against.
        (Some(_), _) => TestState::Skipped,
        (None, true) => TestState::Passed,
        (None, false) => TestState::Failed,
    };
    Some(TapLine::Point(Point {
        number,
        name,
        state,
        reason,
    }))
}

/// The directive is the last comment; a name may have a `#` in it.
fn directive(said: &str) -> (&str, Option<&str>, &str) {
    let Some(at) = said.rfind("# ").or(said.rfind('#')) else {
        return (said, None, "");
    };
    let comment = said[at + 1..].trim();
    let (word, reason) = comment.split_once([' ', ':']).unwrap_or((comment, ""));
    let name = said[..at].trim_end();
    match word.to_ascii_uppercase().as_str() {
        "SKIP" | "TODO" => (name, Some(word), reason.trim()),
        _ if comment.starts_with("time=") => (name, None, ""),
        _ => (said, None, ""),
    }
}

/// A name without the backslashes that producers put before `#` and `\`.
pub(super) fn unescaped(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = (c == '\\').then(|| chars.next_if(|next| matches!(next, '#' | '\\')));
        plain.push(escaped.flatten().unwrap_or(c));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_told_from_other_lines() {
        for (line, expected) in [
            ("ok 1 - a", Some((1, "a", TestState::Passed, ""))),
            ("not ok 2 b", Some((2, "b", TestState::Failed, ""))),
            ("ok 3", Some((3, "", TestState::Passed, ""))),
            ("ok 3 # skip why", Some((3, "", TestState::Skipped, "why"))),
            (
                "not ok 4 - #1 # TODO",
                Some((4, "#1", TestState::Skipped, "")),
            ),
            (
                "not ok 5 - see #7",
                Some((5, "see #7", TestState::Failed, "")),
            ),
            ("ok 6 - a # time=1ms", Some((6, "a", TestState::Passed, ""))),
            ("ok", None),
            ("ok then", None),
            ("ok  \texample.com/a\t0.1s", None),
            ("okay 1", None),
            ("not ok", None),
        ] {
            let found = parse(line).and_then(|line| match line {
                TapLine::Point(point) => Some(point),
                _ => None,
            });
            let found = found.map(|it| (it.number, it.name, it.state, it.reason));
            assert_eq!(found, expected, "{line}");
        }
        assert_eq!(parse("1..3"), Some(TapLine::Plan(3)));
        assert_eq!(parse("1..0 # SKIP none"), Some(TapLine::Plan(0)));
        assert_eq!(parse("1..3 and more"), None);
        assert_eq!(parse("1...3"), None);
    }
}
