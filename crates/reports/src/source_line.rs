//! Where a test failed, as it stands in a message.

/// A file and the line in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceLine {
    pub(crate) file: String,
    pub(crate) line: u32,
}

impl SourceLine {
    fn new(file: &str, line: &str) -> Option<Self> {
        let line = line.trim().parse().ok().filter(|line| *line > 0)?;
        let file = file.strip_prefix("file://").unwrap_or(file);
        let is_file = !file.is_empty() && !file.contains(['\n', '"', '(', ')']);
        is_file.then(|| Self {
            file: crate::excerpt::name(file),
            line,
        })
    }

    /// `src/lib.rs:27:9`, also without the column or with a colon behind it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches(':');
        let (rest, last) = text.rsplit_once(':')?;
        if let Some((file, line)) = rest.rsplit_once(':')
            && !last.is_empty()
            && last.bytes().all(|byte| byte.is_ascii_digit())
            && let Some(found) = Self::new(file, line)
        {
            return Some(found);
        }
        Self::new(rest, last)
    }

    /// `panicked at src/lib.rs:27:9:`, and as it was before Rust 1.73: `panicked at 'why', src/lib.rs:27:9`.
    pub(crate) fn of_panic(line: &str) -> Option<Self> {
        let (_, said) = line.split_once(" panicked at ")?;
        let place = match said.starts_with('\'') {
            true => said.rsplit_once("', ")?.1,
            false => said,
        };
        Self::parse(place)
    }

    /// A frame of JavaScript's stack, unless it is of the runtime or of a package: `at x (sample.js:10:13)`.
    pub(crate) fn of_stack_frame(line: &str) -> Option<Self> {
        let frame = line.trim_start().strip_prefix("at ")?;
        let place = match frame.strip_suffix(')') {
            Some(frame) => frame.rsplit_once('(')?.1,
            None => frame.strip_prefix("async ").unwrap_or(frame),
        };
        let is_own = !place.starts_with("node:") && !place.contains("node_modules/");
        is_own.then(|| Self::parse(place)).flatten()
    }

    /// `at sample.t line 8.`, and `(in test file sample.bats, line 7)`.
    pub(crate) fn in_words(line: &str) -> Option<Self> {
        let line = line.trim();
        if let Some(said) = line.strip_prefix("at ") {
            let (file, rest) = said.rsplit_once(" line ")?;
            return Self::new(file, rest.strip_suffix('.').unwrap_or(rest));
        }
        let said = line.strip_prefix('(')?.strip_suffix(')')?;
        let (before, number) = said.rsplit_once(", line ")?;
        Self::new(before.rsplit_once("test file ")?.1, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(found: Option<SourceLine>) -> String {
        found.map_or_else(String::new, |at| format!("{}@{}", at.file, at.line))
    }

    #[test]
    fn a_source_line_is_read_in_each_form() {
        for (text, expected) in [
            ("src/lib.rs:27:9:", "src/lib.rs@27"),
            ("a.py:13", "a.py@13"),
            ("C:\\x\\a.cs:13", "C:\\x\\a.cs@13"),
            ("12:30:45", "12@30"),
            ("a.py:0", ""),
            ("a.py", ""),
            (":1", ""),
        ] {
            assert_eq!(shown(SourceLine::parse(text)), expected, "{text}");
        }
        let panic = "thread 'tests::fails' (24612) panicked at src/lib.rs:27:9:";
        assert_eq!(shown(SourceLine::of_panic(panic)), "src/lib.rs@27");
        let panic = "thread 'a' panicked at 'left, right', src/lib.rs:27:9";
        assert_eq!(shown(SourceLine::of_panic(panic)), "src/lib.rs@27");
        for (frame, expected) in [
            (
                "    at Object.<anonymous> (a.test.js:10:13)",
                "a.test.js@10",
            ),
            ("at /tmp/a.js:8:11", "/tmp/a.js@8"),
            ("at async file:///tmp/a.mjs:8:11", "/tmp/a.mjs@8"),
            ("at Test.run (node:internal/test:796:25)", ""),
            ("at run (/x/node_modules/y/z.js:1:2)", ""),
            ("at new Promise (<anonymous>)", ""),
        ] {
            assert_eq!(shown(SourceLine::of_stack_frame(frame)), expected);
        }
        assert_eq!(
            shown(SourceLine::in_words("  at sample.t line 8.")),
            "sample.t@8"
        );
        let bats = "(in test file a b.bats, line 7)";
        assert_eq!(shown(SourceLine::in_words(bats)), "a b.bats@7");
    }
}
