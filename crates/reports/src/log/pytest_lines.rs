//! Lines that pytest prints.

use super::tally::tally;
use branchyard_model::{TestCounts, TestState};

/// `=== FAILURES ===`: what stands between the signs.
pub(super) fn heading(line: &str, sign: char) -> Option<&str> {
    let line = line.trim_end();
    let is_ruled = line.starts_with(sign) && line.ends_with(sign);
    let said = line.trim_matches(sign);
    (is_ruled && said.starts_with(' ') && said.ends_with(' ')).then(|| said.trim())
}

/// `1 failed, 2 passed in 0.12s`, which counts more than what was named.
pub(super) fn summary(said: &str) -> Option<TestCounts> {
    let (said, time) = said.rsplit_once(" in ")?;
    let time = time.split_once(" (").map_or(time, |(time, _)| time);
    time.strip_suffix('s')?.parse::<f64>().ok()?;
    let mut counts = TestCounts::default();
    if said == "no tests ran" {
        return Some(counts);
    }
    for (number, word) in tally(said, ", ")? {
        let count = match word {
            "passed" | "xpassed" => &mut counts.passed,
            "failed" | "error" | "errors" => &mut counts.failed,
            "skipped" | "xfailed" => &mut counts.skipped,
            "rerun" | "deselected" | "warning" | "warnings" => continue,
            _ if word.starts_with("subtests ") => continue,
            _ => return None,
        };
        *count = count.saturating_add(number);
    }
    Some(counts)
}

/// What became of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Ended(TestState),
    Rerun,
}

fn word(text: &str) -> Option<Word> {
    Some(match text {
        "PASSED" | "XPASS" => Word::Ended(TestState::Passed),
        "FAILED" | "ERROR" => Word::Ended(TestState::Failed),
        "SKIPPED" | "XFAIL" => Word::Ended(TestState::Skipped),
        "RERUN" => Word::Rerun,
        _ => return None,
    })
}

/// `test_a.py::test_b SKIPPED (why) [ 60%]`, or with several workers `[gw0] [ 60%] SKIPPED test_a.py::test_b`.
pub(super) fn verbose(line: &str) -> Option<(&str, Word, &str)> {
    if let Some(said) = line.strip_prefix("[gw") {
        let (_, said) = said.split_once("%] ")?;
        let (state, node) = said.split_once(' ')?;
        return is_node(node).then_some((node.trim_end(), word(state)?, ""));
    }
    if !line.contains("::") || line.starts_with(' ') {
        return None;
    }
    let line = line.trim_end();
    let line = match line.strip_suffix("%]") {
        Some(line) => line.rsplit_once('[')?.0.trim_end(),
        None => line,
    };
    // A reason may have any words in it, and so may a parameter: the first state after the id counts.
    let from = line.find("::")?;
    let mut words = line[from..].match_indices(' ').filter_map(|(at, _)| {
        let rest = &line[from + at + 1..];
        let (state, reason) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_reason = reason.is_empty() || reason.starts_with('(');
        let found = is_reason.then(|| word(state)).flatten()?;
        let reason = reason.strip_prefix('(').unwrap_or_default();
        Some((&line[..from + at], found, reason.trim_end_matches(')')))
    });
    words.next().filter(|(node, ..)| is_node(node))
}

/// `FAILED test_a.py::test_b - why`: the id, and the reason if there is one.
pub(super) fn failed(line: &str) -> Option<(&str, &str)> {
    let said = line
        .strip_prefix("FAILED ")
        .or(line.strip_prefix("ERROR "))?;
    // A parameter may have the same sign in it.
    let end = match (said.find(" - "), said.find('[')) {
        (Some(dash), Some(bracket)) if bracket < dash => said.find("] - ").map(|at| at + 1),
        (dash, _) => dash,
    };
    Some(end.map_or((said, ""), |end| (&said[..end], &said[end + 3..])))
}

/// Whether a path begins it, and not a sentence.
fn is_node(text: &str) -> bool {
    let file = text.split("::").next().unwrap_or_default();
    text.contains("::") && file.contains('.') && !file.contains(' ')
}

/// `test_a.py .F.s   [100%]`, or the dots alone.
pub(super) fn is_progress(line: &str) -> bool {
    let Some((said, _)) = line
        .trim_end()
        .strip_suffix("%]")
        .and_then(|line| line.rsplit_once(" ["))
    else {
        return false;
    };
    let dots = said.trim().rsplit(' ').next().unwrap_or_default();
    !dots.is_empty() && dots.bytes().all(|byte| b".FEsxXR".contains(&byte))
}

/// A file with classes, and the test in it. Parameters may have any sign in them.
pub(super) fn suite_and_name(node: &str) -> (&str, &str) {
    let end = node.find('[').unwrap_or(node.len());
    let at = node[..end].rfind("::");
    at.map_or(("", node), |at| (&node[..at], &node[at + 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbose_lines_are_told_from_others() {
        let passed = Word::Ended(TestState::Passed);
        let skipped = Word::Ended(TestState::Skipped);
        for (line, expected) in [
            ("a.py::b PASSED       [ 10%]", Some(("a.py::b", passed, ""))),
            ("a.py::b[x y] PASSED", Some(("a.py::b[x y]", passed, ""))),
            (
                "a.py::b SKIPPED (not PASSED today) [ 60%]",
                Some(("a.py::b", skipped, "not PASSED today")),
            ),
            (
                "[gw1] [ 50%] PASSED a.py::b ",
                Some(("a.py::b", passed, "")),
            ),
            ("a.py::b RERUN [100%]", Some(("a.py::b", Word::Rerun, ""))),
            ("std::thread PASSED", None),
            ("it says a.py::b PASSED", None),
            ("a.py::b passed", None),
        ] {
            assert_eq!(verbose(line), expected, "{line}");
        }
    }

    #[test]
    fn ids_and_reasons_are_taken_apart() {
        for (line, expected) in [
            ("FAILED a.py::b - c - d", Some(("a.py::b", "c - d"))),
            ("FAILED a.py::b[c - d] - e", Some(("a.py::b[c - d]", "e"))),
            ("FAILED a.py::b[c - d]", Some(("a.py::b[c - d]", ""))),
            ("FAILED a.py::b - [c] d", Some(("a.py::b", "[c] d"))),
            ("ERROR a.py", Some(("a.py", ""))),
            ("PASSED a.py", None),
        ] {
            assert_eq!(failed(line), expected, "{line}");
        }
        assert_eq!(suite_and_name("a.py::B::c[d::e]"), ("a.py::B", "c[d::e]"));
    }

    #[test]
    fn only_a_summary_is_one() {
        assert_eq!(
            summary("1 failed, 2 xpassed in 0.12s").map(|c| (c.passed, c.failed)),
            Some((2, 1))
        );
        assert!(summary("3 passed in 61.00s (0:01:01)").is_some());
        assert!(summary("no tests ran in 0.01s").is_some());
        for said in [
            "3 apples in 1.0s",
            "3 passed",
            "passed in 1s",
            "3 passed in May",
            "",
        ] {
            assert_eq!(summary(said), None, "{said}");
        }
    }
}
