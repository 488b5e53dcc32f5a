//! What in the operator's files must not be seen in output. Nothing tells which of it is secret, so all values are: what is
//! behind `=` or `:`, and each longer line that has neither, such as those of a key.

use std::path::Path;

use super::IncludedFiles;
use crate::{Error, Workspace};
use branchyard_git::verbs::conflicts::{Read, Working};

/// Anything shorter also stands in ordinary output.
const SHORTEST: usize = 6;
/// A line without a value is told from others by its length.
const SHORTEST_LINE: usize = 16;
/// Of longer files nothing is searched for: they are data, and no settings.
const MOST_BYTES: u64 = 64 << 10;
/// As many as are searched for without slowing output down much.
const MOST_VALUES: usize = 2_000;

/// The values in the files that the operator supplied to this workspace, as they are in it. Blocks for a moment.
pub fn values(workspace: &Workspace) -> Result<Vec<String>, Error> {
    let included = IncludedFiles::of(workspace)?;
    let mut found = Vec::new();
    if included.files.is_empty() {
        return Ok(found);
    }
    let files = Working::open(workspace.path())?;
    for path in included.paths() {
        found.extend(in_file(&files, path));
    }
    found.sort();
    found.dedup();
    if found.len() > MOST_VALUES {
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), values = found.len(), "only the longest values of the operator's files are kept out of output");
        found.sort_by_key(|value| std::cmp::Reverse(value.len()));
        found.truncate(MOST_VALUES);
    }
    Ok(found)
}

fn in_file(files: &Working, path: &Path) -> Vec<String> {
    let Read::Whole(content) = files.read(path, MOST_BYTES) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&content);
    match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(json) => {
            let mut found = Vec::new();
            in_json(&json, &mut found);
            found
        }
        Err(_) => text.lines().flat_map(in_line).collect(),
    }
}

fn in_json(json: &serde_json::Value, found: &mut Vec<String>) {
    use serde_json::Value::{Array, Bool, Null, Number, Object, String};
    match json {
        String(text) => found.extend(text_values(text)),
        Number(number) => found.extend(long_enough(&number.to_string())),
        Array(inner) => inner.iter().for_each(|inner| in_json(inner, found)),
        Object(inner) => inner.values().for_each(|inner| in_json(inner, found)),
        Null | Bool(_) => {}
    }
}

fn in_line(line: &str) -> Vec<String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) || line.starts_with("-----") {
        return Vec::new();
    }
    let ends = [("=", 1), (": ", 2)].map(|(sign, len)| line.find(sign).map(|at| at + len));
    let value = ends.into_iter().flatten().min().map(|at| &line[at..]);
    let found: Vec<_> = value.into_iter().flat_map(text_values).collect();
    if !found.is_empty() {
        return found;
    }
    if line.len() < SHORTEST_LINE {
        // A word by itself is a secret more often than not.
        return long_enough(line).into_iter().collect();
    }
    let last = line.rsplit([' ', '\t', ':']).next().unwrap_or_default();
    [Some(line.to_owned()), long_enough(last)]
        .into_iter()
        .flatten()
        .collect()
}

/// A value, and the password in it if it is a URL with one.
fn text_values(text: &str) -> Vec<String> {
    let text = text.trim().trim_end_matches([',', ';']);
    let text = text.trim_matches(['"', '\'']);
    let in_url = || {
        let (_, rest) = text.split_once("://")?;
        let (user, _) = rest.rsplit_once('@')?;
        long_enough(user.split_once(':')?.1)
    };
    long_enough(text).into_iter().chain(in_url()).collect()
}

fn long_enough(text: &str) -> Option<String> {
    let text = text.trim();
    (text.len() >= SHORTEST).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_settings_of_many_kinds() {
        let dir = tempfile::tempdir().unwrap();
        let files = Working::open(dir.path()).unwrap();
        let found = |text: &str| {
            std::fs::write(dir.path().join("file"), text).unwrap();
            in_file(&files, Path::new("file"))
        };
        assert_eq!(
            found("# a comment with words\nA=1\nexport KEY='s3cr3t'\nB=\"two words\"\n"),
            ["s3cr3t", "two words"]
        );
        assert_eq!(
            found("DATABASE_URL=postgres://me:hunter22@db/app\n"),
            ["postgres://me:hunter22@db/app", "hunter22"]
        );
        assert_eq!(found("api:\n  token: abcdef123,\n"), ["abcdef123"]);
        assert_eq!(
            found("//registry.npmjs.org/:_authToken=npm_abcdef\n"),
            ["npm_abcdef"]
        );
        assert_eq!(
            found(r#"{"a": ["hidden1", 7], "b": 123456}"#),
            ["hidden1", "123456"]
        );
        assert_eq!(found("hunter2\n"), ["hunter2"]);
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQE=\n-----END KEY-----\n";
        assert_eq!(
            found(key),
            [
                "MIIEvQIBADANBgkqhkiG9w0BAQE=",
                "MIIEvQIBADANBgkqhkiG9w0BAQE="
            ]
        );
        assert_eq!(
            found("db:5432:app:me:hunter22\n"),
            ["db:5432:app:me:hunter22", "hunter22"]
        );
        assert!(found("\x00\x01").is_empty());
    }
}
