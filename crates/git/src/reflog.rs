//! Reflogs read as they stand, for the case that what they are about is broken.

use std::fs;
use std::path::Path;

use git2::Oid;

/// The commits that a ref has been at, the latest first. Lines that make no sense are passed over.
pub(super) fn history(log: &Path) -> Vec<Oid> {
    let Ok(text) = fs::read(log) else {
        return Vec::new();
    };
    let mut commits: Vec<Oid> = Vec::new();
    for line in text.split(|byte| *byte == b'\n').rev() {
        // `<old> <new> <who> <when>\t<why>`
        let mut ids = line.splitn(3, |byte| *byte == b' ').take(2);
        let (old, new) = (ids.next().and_then(id), ids.next().and_then(id));
        for commit in [new, old].into_iter().flatten() {
            if !commit.is_zero() && commits.last() != Some(&commit) {
                commits.push(commit);
            }
        }
    }
    commits
}

fn id(word: &[u8]) -> Option<Oid> {
    let word = std::str::from_utf8(word).ok()?;
    Oid::from_str(word).ok().filter(|_| word.len() == 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_comes_first_and_garbage_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let (a, b, c, zero) = (
            "a".repeat(40),
            "b".repeat(40),
            "c".repeat(40),
            "0".repeat(40),
        );
        let text = format!(
            "{zero} {a} T <t> 1 +0000\tstart\n{a} {b} T <t> 2 +0000\tnext\n\0\0\0\n{b} {c} T <t> 3 +0000\tlast\n{c} {}",
            &b[..7]
        );
        fs::write(&log, text).unwrap();
        let names: Vec<_> = history(&log).iter().map(Oid::to_string).collect();
        assert_eq!(names, [c, b, a]);
        assert!(history(&dir.path().join("none")).is_empty());
    }
}
