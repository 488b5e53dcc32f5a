//! Words that people write into a yard, and all places where they can be found again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{Yard, try_git};

/// What marks one.
const MARK: &str = "word-";

pub fn words(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let words = text.split(|c: char| c.is_whitespace() || c == '\0');
    let words = words.filter(|word| word.starts_with(MARK));
    words.map(str::to_owned).collect()
}

/// Those in the files of a directory, links aside.
pub fn words_in(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(words_in(&entry.path()));
        } else if kind.is_file() {
            found.extend(words(&fs::read(entry.path()).unwrap_or_default()));
        }
    }
    found
}

/// Those that a ref or a stash of a store leads to.
pub fn words_of_store(store: &Path) -> BTreeSet<String> {
    let listed = |args: &[&str]| {
        let shown = try_git(store, args).stdout;
        String::from_utf8_lossy(&shown).into_owned()
    };
    let stashes = listed(&["log", "-g", "--format=%H", "refs/stash", "--"]);
    let mut args = vec!["rev-list", "--objects", "--all"];
    args.extend(stashes.lines());
    let objects = listed(&args);
    let ids: String = objects
        .lines()
        .filter_map(|line| Some(line.split(' ').next()?.to_owned() + "\n"))
        .collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, ids).unwrap();
    let shown = std::process::Command::new("git")
        .args(["-c", "safe.directory=*", "cat-file", "--batch"])
        .current_dir(store)
        .stdin(file.reopen().unwrap())
        .output()
        .unwrap();
    words(&shown.stdout).into_iter().collect()
}

impl Yard {
    /// Those that the yard still has: in a workspace, a ref, a stash, a salvage or the quarantine.
    pub fn words(&self) -> BTreeSet<String> {
        let mut found = words_in(&self.workspaces.join("demo"));
        found.extend(words_in(&self.workspaces.join(".branchyard/quarantine")));
        found.extend(words_of_store(&self.store()));
        found
    }
}
