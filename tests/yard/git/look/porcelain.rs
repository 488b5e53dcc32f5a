//! What verbs tell and what the git command prints, in words that can be compared.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::support::try_git;

/// What a status says, in sorted lines.
pub fn lines(told: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (list, place) in [("staged", "index"), ("unstaged", "files")] {
        for change in told[list].as_array().unwrap() {
            let kind = change["change"].as_str().unwrap();
            let from = change["from"]
                .as_str()
                .map_or(String::new(), |from| format!(" from {from}"));
            let path = change["path"].as_str().unwrap();
            lines.push(format!("{place} {kind} {path}{from}"));
        }
    }
    for (list, mark) in [("untracked", "?"), ("ignored", "!")] {
        for path in told[list].as_array().into_iter().flatten() {
            lines.push(format!("{mark} {}", path.as_str().unwrap()));
        }
    }
    for conflict in told["conflicted"].as_array().unwrap() {
        let [kind, path] = ["kind", "path"].map(|field| conflict[field].as_str().unwrap());
        lines.push(format!("u {kind} {path}"));
    }
    lines.sort();
    lines
}

/// The same of what `git status --porcelain=v2 -z` prints.
pub fn porcelain(workspace: &Path, args: &[&str]) -> Vec<String> {
    let args = [&["status", "--porcelain=v2", "-z", "--renames"], args].concat();
    let output = try_git(workspace, &args);
    assert!(output.status.success());
    let output = String::from_utf8(output.stdout).unwrap();
    let mut records = output.split('\0').filter(|record| !record.is_empty());
    let mut lines = Vec::new();
    while let Some(record) = records.next() {
        let (mark, rest) = record.split_once(' ').unwrap();
        match mark {
            "?" | "!" => lines.push(format!("{mark} {rest}")),
            "1" | "2" => {
                let fields = if mark == "1" { 8 } else { 9 };
                let path = record.splitn(fields + 1, ' ').last().unwrap();
                let from = match mark {
                    "2" => format!(" from {}", records.next().unwrap()),
                    _ => String::new(),
                };
                let letters: Vec<_> = rest.chars().take(2).collect();
                for (letter, place) in letters.into_iter().zip(["index", "files"]) {
                    if letter != '.' {
                        // What the index renamed, the files did not rename again.
                        let from = if letter == 'R' { from.as_str() } else { "" };
                        lines.push(format!("{place} {} {path}{from}", kind(letter)));
                    }
                }
            }
            "u" => {
                let path = record.splitn(11, ' ').last().unwrap();
                let kind = match &rest[..2] {
                    "UU" => "both_modified",
                    "AA" => "both_added",
                    "DD" => "both_deleted",
                    "AU" => "added_by_us",
                    "UA" => "added_by_them",
                    "DU" => "deleted_by_us",
                    _ => "deleted_by_them",
                };
                lines.push(format!("u {kind} {path}"));
            }
            _ => panic!("{record:?}"),
        }
    }
    lines.sort();
    lines
}

fn kind(letter: char) -> &'static str {
    match letter {
        'A' => "added",
        'M' => "modified",
        'D' => "deleted",
        'R' => "renamed",
        'T' => "type_changed",
        _ => panic!("{letter}"),
    }
}

/// A file with its lines that came and went, or with dashes where it is binary.
pub fn counts(file: &Value) -> (String, (String, String, String)) {
    let number = |field: &str| match file["binary"] == true {
        true => "-".to_owned(),
        false => file[field].to_string(),
    };
    let path = file["path"].as_str().unwrap().to_owned();
    let old = file["old_path"].as_str().unwrap_or_default().to_owned();
    (path, (number("additions"), number("deletions"), old))
}

pub fn numstat(workspace: &Path, args: &[&str]) -> BTreeMap<String, (String, String, String)> {
    let args = [&["diff", "--numstat", "-z", "-M"], args].concat();
    let output = try_git(workspace, &args);
    let output = String::from_utf8(output.stdout).unwrap();
    let mut records = output.split('\0').filter(|record| !record.is_empty());
    let mut found = BTreeMap::new();
    while let Some(record) = records.next() {
        let [additions, deletions, path] = record.splitn(3, '\t').collect::<Vec<_>>()[..] else {
            panic!("{record:?}");
        };
        let (path, old) = match path {
            "" => {
                let old = records.next().unwrap();
                (records.next().unwrap(), old)
            }
            path => (path, ""),
        };
        let counts = (additions.to_owned(), deletions.to_owned(), old.to_owned());
        found.insert(path.to_owned(), counts);
    }
    found
}

/// What `git diff` prints.
pub fn printed(workspace: &Path, args: &[&str]) -> String {
    let args = [&["diff", "-M", "--full-index"], args].concat();
    let output = try_git(workspace, &args).stdout;
    String::from_utf8_lossy(&output).into_owned()
}
