//! Which files were changed through the yard while a run's command was under way: a line each, in the run's directory. It
//! is there before the change is made, so that a daemon that is killed right after does not let the next one tell a build
//! as that of the files alone which it began with. The record is no place for it: it has other writers.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

const NOTE: &str = "edited";
/// So many are named.
const MOST: usize = 100;
/// What the note may take: a run may be edited beneath for hours.
const MOST_BYTES: u64 = 1 << 20;

pub(super) fn add(home: &Path, paths: &[&Path]) -> io::Result<()> {
    let mut note = File::options()
        .create(true)
        .append(true)
        .open(home.join(NOTE))?;
    if note.metadata()?.len() > MOST_BYTES {
        return Ok(());
    }
    let lines: String = paths.iter().map(|path| line(path)).collect();
    note.write_all(lines.as_bytes())
}

/// As JSON: a name may hold a line break.
fn line(path: &Path) -> String {
    format!("{}\n", serde_json::Value::from(&*path.to_string_lossy()))
}

/// Those that were named, each once, as they came.
pub(super) fn read(home: &Path) -> Vec<String> {
    let note = fs::read_to_string(home.join(NOTE)).unwrap_or_default();
    let mut paths: Vec<String> = Vec::new();
    for path in note
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
    {
        if paths.len() < MOST && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn each_path_is_named_once_and_not_too_many_are() {
        let home = tempfile::tempdir().unwrap();
        assert!(read(home.path()).is_empty());
        for name in ["a\nb", "c", "a\nb"] {
            add(home.path(), &[Path::new(name)]).unwrap();
        }
        assert_eq!(read(home.path()), ["a\nb", "c"]);
        let many: Vec<_> = (0..2 * MOST)
            .map(|n| PathBuf::from(n.to_string()))
            .collect();
        let many: Vec<_> = many.iter().map(PathBuf::as_path).collect();
        add(home.path(), &many).unwrap();
        assert_eq!(read(home.path()).len(), MOST);
    }
}
