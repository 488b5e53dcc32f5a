//! Files that are generated from the source: the pages in `docs/reference/` and `workspaces.example.toml`.
//!
//! The test beside a fact (a route, a tool, a key) generates its page and calls [`check`]. `make test` fails when the
//! committed file differs; `make reference` writes it. Only tests depend on this package.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::Path;

/// `make reference` sets it.
const WRITE: &str = "BRANCHYARD_WRITE_REFERENCE";

/// Holds a generated file against the committed one, or writes it in `make reference`. `path` starts at the root of
/// the repository. Call it in a test with `reference_page` in its name: that is how `make reference` finds it.
#[track_caller]
pub fn check(path: &str, generated: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, generated).unwrap_or_else(|error| panic!("{path}: {error}"));
        return;
    }
    let committed = match std::fs::read_to_string(&file) {
        Ok(committed) => committed,
        Err(error) => panic!("{path}: {error}. `make reference` generates it"),
    };
    if let Some(difference) = difference(&committed, generated) {
        panic!("{path} is out of date. `make reference` generates it again\n{difference}");
    }
}

/// The source files of the product by their paths, each without its tests.
pub fn source() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeMap::new();
    let mut pending = vec![root.join("src"), root.join("crates")];
    while let Some(dir) = pending.pop() {
        let entries =
            std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.ends_with("tests") && !path.ends_with("crates/reference") {
                pending.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs")
                && !path.ends_with("tests.rs")
            {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let text = text
                    .split("\n#[cfg(test)]\nmod tests {")
                    .next()
                    .unwrap_or_default();
                let name = path.strip_prefix(&root).unwrap_or(&path).display();
                found.insert(name.to_string(), text.to_owned());
            }
        }
    }
    found
}

/// The string literals that come right after `start` in a source text, and what comes after each.
pub fn literals_after<'a>(
    text: &'a str,
    start: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.match_indices(start).filter_map(move |(at, _)| {
        let rest = text[at + start.len()..].trim_start().strip_prefix('"')?;
        rest.split_once('"')
    })
}

/// What the source says to do about problems: each help as it is written, with its file, and with the code of the problem,
/// where that is a literal close before it.
pub fn helps(codes: &BTreeSet<String>) -> Vec<(String, Option<String>, String)> {
    /// So far before a help its problem begins.
    const CLOSE: usize = 700;
    let mut found = Vec::new();
    for (file, text) in source() {
        for (at, call) in text.match_indices(".help(") {
            let rest = text[at + call.len()..].trim_start();
            let rest = rest.strip_prefix("format!(").unwrap_or(rest).trim_start();
            let Some(help) = rest.strip_prefix('"').and_then(literal) else {
                continue;
            };
            let start = text.floor_char_boundary(at.saturating_sub(CLOSE));
            let words = text[start..at].split('"');
            let code = words.rev().find(|word| codes.contains(*word));
            found.push((file.clone(), code.map(str::to_owned), help));
        }
    }
    found
}

/// A string literal, after its first quote.
fn literal(text: &str) -> Option<String> {
    let mut literal = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some(literal),
            '\\' => match letters.next()? {
                // It goes on at the first word of the next line.
                '\n' => letters = letters.as_str().trim_start().chars(),
                escaped => literal.push(escaped),
            },
            letter => literal.push(letter),
        }
    }
    None
}

/// The codes of problems, as their page lists them.
pub fn codes() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/errors.md");
    let page = std::fs::read_to_string(page).unwrap_or_default();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let codes = rows.filter_map(|row| row.split_once('`'));
    codes.map(|(code, _)| code.to_owned()).collect()
}

/// The first line that differs, as it is committed and as it should be.
fn difference(committed: &str, generated: &str) -> Option<String> {
    if committed == generated {
        return None;
    }
    let (mut old, mut new) = (committed.lines(), generated.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (old.next(), new.next()) {
            (None, None) => return Some("the ends of their lines differ".to_owned()),
            (old, new) if old == new => {}
            (old, new) => {
                let line = |line: Option<&str>| line.unwrap_or("(no line)").to_owned();
                return Some(format!("line {number}\n-{}\n+{}", line(old), line(new)));
            }
        }
    }
}

/// A table in Markdown.
#[derive(Debug)]
pub struct Table {
    text: String,
}

impl Table {
    pub fn new(columns: &[&str]) -> Self {
        let mut table = Self {
            text: String::new(),
        };
        table.row(columns);
        table.row(&vec!["---"; columns.len()]);
        table
    }

    /// A cell stays on one line, and a bar in it is no end of the cell.
    pub fn row(&mut self, cells: &[impl Display]) {
        for cell in cells {
            let cell = cell.to_string().replace('|', "\\|");
            let words: Vec<_> = cell.split_whitespace().collect();
            self.text.push_str(&format!("| {} ", words.join(" ")));
        }
        self.text.push_str("|\n");
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// The top of a page: its title, and that it is generated.
pub fn heading(title: &str) -> String {
    format!(
        "# {title}\n\n<!-- Generated from the source by `make reference`: edit it there. -->\n\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_its_line() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let said = |old, new| difference(old, new).unwrap_or_default();
        assert_eq!(said("a\nb\n", "a\nc\n"), "line 2\n-b\n+c");
        assert_eq!(said("a\n", "a\nc\n"), "line 2\n-(no line)\n+c");
        assert!(said("a\n", "a").contains("ends of their lines"));
    }

    #[test]
    fn a_cell_is_one_line_and_keeps_its_bars() {
        let mut table = Table::new(&["key", "values"]);
        table.row(&["`a`", "one |\n  two"]);
        assert_eq!(
            table.to_string(),
            "| key | values |\n| --- | --- |\n| `a` | one \\| two |\n"
        );
    }
}
