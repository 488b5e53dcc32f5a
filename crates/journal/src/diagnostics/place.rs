//! Where a complaint points to, as tools write it at the start of a line.

/// No path that is longer is taken for one.
pub(super) const LONGEST_FILE: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourcePlace {
    pub file: String,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

/// Names without an ending that are sources all the same.
const NAMES: &[&str] = &[
    "BUILD",
    "Dockerfile",
    "GNUmakefile",
    "Justfile",
    "Makefile",
    "WORKSPACE",
    "justfile",
    "makefile",
];

/// What sources end in, sorted. Needed where nothing else tells `main.c:3:` from `example.com:80:`.
const ENDINGS: &[&str] = &[
    "S", "ac", "adb", "ads", "am", "asm", "bash", "bzl", "c", "c++", "cc", "cfg", "cjs", "cl",
    "cmake", "cpp", "cs", "css", "cts", "cu", "cuh", "cxx", "d", "dart", "dts", "dtsi", "erl",
    "ex", "exs", "f", "f90", "f95", "for", "fs", "g4", "go", "gradle", "h", "hh", "hpp", "hs",
    "htm", "html", "hxx", "i", "ii", "in", "inc", "ini", "inl", "ipp", "java", "jl", "js", "json",
    "jsx", "kt", "kts", "l", "ld", "lds", "less", "ll", "lua", "m", "mak", "md", "mjs", "mk", "ml",
    "mli", "mm", "mts", "nim", "nix", "php", "pl", "pm", "proto", "py", "pyi", "pyx", "rb", "rs",
    "rst", "s", "scala", "scss", "sh", "sql", "sv", "svelte", "swift", "tcc", "tex", "tf",
    "thrift", "toml", "ts", "tsx", "txt", "v", "vhd", "vhdl", "vue", "xml", "y", "yaml", "yml",
    "yy", "zig", "zsh",
];

impl SourcePlace {
    pub(super) fn new(file: &str, line: Option<u32>, column: Option<u32>) -> Option<Self> {
        (!file.is_empty() && file.len() <= LONGEST_FILE).then(|| Self {
            file: file.to_owned(),
            line,
            column,
        })
    }

    /// `file:line:column` or `file:line`, and nothing else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (before, last) = text.rsplit_once(':')?;
        let last = number(last)?;
        match before.rsplit_once(':') {
            Some((file, line)) if number(line).is_some() => {
                Self::new(file, number(line), Some(last))
            }
            _ => Self::new(before, Some(last), None),
        }
    }

    pub(super) fn is_source(&self) -> bool {
        NAMES.contains(&self.name())
            || self
                .ending()
                .is_some_and(|ending| ENDINGS.binary_search(&ending).is_ok())
    }

    /// Whether it could be the name of a file, and neither a time of day nor a host.
    pub(super) fn could_be_file(&self) -> bool {
        let ending_of_letters = self.ending().is_some_and(|ending| {
            ending.starts_with(|c: char| c.is_ascii_alphabetic())
                && ending
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '+')
        });
        self.is_source()
            || ending_of_letters
            || (self.ending().is_none() && self.file.contains('/'))
    }

    pub(super) fn ending(&self) -> Option<&str> {
        let (stem, ending) = self.name().rsplit_once('.')?;
        (!stem.is_empty()).then_some(ending)
    }

    pub(super) fn is_makefile(&self) -> bool {
        self.name().to_ascii_lowercase().ends_with("makefile")
            || matches!(self.ending(), Some("mk" | "mak"))
    }

    fn name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or_default()
    }
}

/// Takes the place off the start of a line, and returns it and what is said about it.
pub(super) fn split(line: &str) -> Option<(SourcePlace, &str)> {
    let end = line
        .bytes()
        .take(LONGEST_FILE)
        .position(|byte| matches!(byte, b':' | b'('))?;
    let file = &line[..end];
    // Words before a path are a sentence; a directory with spaces in its name is given from the root.
    if file.contains(char::is_whitespace) && !file.starts_with('/') {
        return None;
    }
    let (line, column, rest) = if line.as_bytes()[end] == b'(' {
        in_brackets(&line[end + 1..])
    } else {
        after_colons(&line[end + 1..])
    }?;
    Some((SourcePlace::new(file, Some(line), column)?, rest))
}

/// `3): …` and `3,5): …`, as TypeScript and Microsoft's compilers write.
fn in_brackets(text: &str) -> Option<(u32, Option<u32>, &str)> {
    let (line, rest) = take_number(text)?;
    if let Some(rest) = rest.strip_prefix("): ") {
        return Some((line, None, rest));
    }
    let (column, rest) = take_number(rest.strip_prefix(',')?)?;
    Some((line, Some(column), rest.strip_prefix("): ")?))
}

/// `3: …` and `3:5: …`, bison's `3.5-9: …`, and TypeScript's `3:5 - …`.
fn after_colons(text: &str) -> Option<(u32, Option<u32>, &str)> {
    let (line, rest) = take_number(text)?;
    if let Some(rest) = rest.strip_prefix(": ") {
        return Some((line, None, rest));
    }
    if let Some(range) = rest.strip_prefix('.') {
        let (column, rest) = take_number(range)?;
        let rest = rest.trim_start_matches(|c: char| matches!(c, '0'..='9' | '.' | '-'));
        return Some((line, Some(column), rest.strip_prefix(": ")?));
    }
    let (column, rest) = take_number(rest.strip_prefix(':')?)?;
    let rest = rest
        .strip_prefix(": ")
        .or_else(|| rest.strip_prefix(" - "))?;
    Some((line, Some(column), rest))
}

fn take_number(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).take(11).count();
    Some((number(&text[..end])?, &text[end..]))
}

pub(super) fn number(text: &str) -> Option<u32> {
    // `parse` takes a sign, too.
    (text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// `make: …` and `make[2]: …`: how deep, and what it says.
pub(super) fn program(line: &str) -> Option<(u32, &str)> {
    let (head, said) = line.split_once(": ")?;
    let (name, depth) = match head.strip_suffix(']').and_then(|head| head.split_once('[')) {
        Some((name, depth)) => (name, number(depth)?),
        None => (head, 0),
    };
    matches!(name.rsplit('/').next()?, "make" | "gmake").then_some((depth, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_off_however_it_is_written() {
        for (line, file, at, column) in [
            ("src/x.c:3: bad", "src/x.c", 3, None),
            ("src/x.c:3:5: bad", "src/x.c", 3, Some(5)),
            ("src/x.y:3.5-9: bad", "src/x.y", 3, Some(5)),
            ("src/x.y:3.5-4.7: bad", "src/x.y", 3, Some(5)),
            ("src/x.ts(3): bad", "src/x.ts", 3, None),
            ("src/x.ts(3,5): bad", "src/x.ts", 3, Some(5)),
            ("src/x.ts:3:5 - bad", "src/x.ts", 3, Some(5)),
            ("/my dir/x.c:3:5: bad", "/my dir/x.c", 3, Some(5)),
        ] {
            let place = SourcePlace::new(file, Some(at), column).unwrap();
            assert_eq!(split(line), Some((place, "bad")), "{line}");
        }
    }

    #[test]
    fn what_is_no_place_is_not_taken_for_one() {
        for line in [
            "http://host:80: bad",
            "In file included from x.c:3:",
            "    at Foo.bar(Foo.java:12): bad",
            "x.c:(.text+0xa): bad",
            "x.rb:3:in 'foo': bad",
            "x.c:99999999999: bad",
            "x.c:+3: bad",
            "\t/x/main.go:12 +0x1d",
            ":3: bad",
        ] {
            assert_eq!(split(line), None, "{line}");
        }
    }

    #[test]
    fn endings_are_sorted() {
        assert!(ENDINGS.is_sorted());
    }

    #[test]
    fn times_and_hosts_are_not_files() {
        let place = |file| SourcePlace::new(file, Some(1), None).unwrap();
        for file in ["12", "2024-01-01T12", "localhost", "10.0.0.1", "[12", ".c"] {
            assert!(!place(file).could_be_file(), "{file}");
        }
        for file in ["x.c", "/usr/include/c++/12/vector", "Makefile", "a/b.tcc"] {
            assert!(place(file).could_be_file(), "{file}");
        }
        assert!(!place("example.com").is_source());
    }

    #[test]
    fn a_whole_text_can_be_a_place() {
        let parsed =
            |text| SourcePlace::parse(text).map(|place| (place.file, place.line, place.column));
        assert_eq!(
            parsed("a:b.rs:3:5"),
            Some(("a:b.rs".into(), Some(3), Some(5)))
        );
        assert_eq!(parsed("b.rs:3"), Some(("b.rs".into(), Some(3), None)));
        assert_eq!(parsed("b.rs"), None);
        assert_eq!(parsed(":3"), None);
    }
}
