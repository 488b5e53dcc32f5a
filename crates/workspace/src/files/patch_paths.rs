//! The files that a patch names, found without reading what it does to them. A line of a hunk may look like a name:
//! there may be more here than the patch is about, and never less.

use branchyard_git::unquoted;

const GIT: &[u8] = b"diff --git ";
/// What names begin with that are to be stripped, or are none.
const PREFIXES: [&str; 3] = ["a/", "b/", "/dev/null"];

/// Names as they stand in the patch: with `a/` or `b/` before them, or, if any is without, as paths.
#[derive(Debug)]
pub(super) struct PatchPaths {
    names: Vec<String>,
    strip: bool,
}

impl PatchPaths {
    pub(super) fn of(patch: &[u8]) -> Self {
        let lines: Vec<_> = patch.split(|byte| *byte == b'\n').collect();
        let mut names: Vec<_> = lines.iter().flat_map(|line| names_in(line)).collect();
        names.sort();
        names.dedup();
        let is_prefixed = |name: String| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        let mut of_git = lines
            .iter()
            .filter_map(|line| line.strip_prefix(GIT))
            .peekable();
        let strip = match of_git.peek() {
            Some(_) => of_git.all(|both| is_prefixed(name_of(&both[..both.len() / 2]))),
            // One or two of these lines may be deleted and added comments.
            None => lines
                .windows(3)
                .filter(|three| three[2].starts_with(b"@@ "))
                .filter_map(|three| {
                    let before = three[0].strip_prefix(b"--- ")?;
                    Some([before, three[1].strip_prefix(b"+++ ")?])
                })
                .flatten()
                .all(|name| is_prefixed(name_of(name))),
        };
        Self { names, strip }
    }

    /// Whether git is to take the first part of each name away.
    pub(super) fn strip(&self) -> bool {
        self.strip
    }

    /// Paths of files, if they are any.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().flat_map(|name| {
            let stripped = name.split_once('/').map(|(_, rest)| rest);
            [Some(name.as_str()), stripped.filter(|_| self.strip)]
                .into_iter()
                .flatten()
        })
    }
}

/// The names in a line that may be a part of a header.
fn names_in(line: &[u8]) -> Vec<String> {
    const MARKS: [&[u8]; 4] = [b"--- ", b"+++ ", b"rename from ", b"rename to "];
    if let Some(both) = line.strip_prefix(GIT) {
        // Two names that are the same but for their first part; others are named by further lines.
        let middle = both.len() / 2;
        return vec![name_of(&both[..middle])];
    }
    let marked = MARKS.iter().find_map(|mark| line.strip_prefix(*mark));
    marked.map(name_of).into_iter().collect()
}

/// A name as it is, without what `diff` writes behind it.
fn name_of(text: &[u8]) -> String {
    let end = text.iter().position(|byte| *byte == b'\t');
    let name = &text[..end.unwrap_or(text.len())];
    let name = name.strip_suffix(b"\r").unwrap_or(name);
    String::from_utf8_lossy(&unquoted(name)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(patch: &str) -> Vec<String> {
        let paths = PatchPaths::of(patch.as_bytes());
        paths.names().map(str::to_owned).collect()
    }

    #[test]
    fn every_way_to_name_a_file_is_seen() {
        let patch = "diff --git a/old.txt b/new.txt\nsimilarity index 90%\nrename from old.txt\nrename to new.txt\n\
                     --- a/old.txt\n+++ b/new.txt\n@@ -1 +1 @@\n-a\n+b\n\
                     diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
                     diff --git \"a/t\\303\\244.txt\" \"b/t\\303\\244.txt\"\n--- \"a/t\\303\\244.txt\"\n+++ \"b/t\\303\\244.txt\"\n";
        let found = names(patch);
        for name in ["old.txt", "run.sh", "tä.txt"] {
            assert!(found.iter().any(|found| found == name), "{name}: {found:?}");
        }
        assert!(PatchPaths::of(patch.as_bytes()).strip());
    }

    #[test]
    fn names_without_a_first_part_of_gits_are_paths() {
        let plain = "--- src/a.rs\t2026-01-01\n+++ src/a.rs\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n";
        assert!(!PatchPaths::of(plain.as_bytes()).strip());
        assert!(names(plain).contains(&"src/a.rs".to_owned()));
        let comments = "--- a/q.sql\n+++ b/q.sql\n@@ -1 +1 @@\n--- one\n+++ two\n";
        assert!(PatchPaths::of(comments.as_bytes()).strip());
        let new = "--- /dev/null\n+++ b/src/a.rs\n@@ -0,0 +1 @@\n+b\n";
        assert!(PatchPaths::of(new.as_bytes()).strip());
    }
}
