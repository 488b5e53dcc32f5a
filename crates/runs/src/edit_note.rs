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

/// What a note says.
#[derive(Debug, Default)]
pub(super) struct Edits {
    paths: Vec<String>,
    /// There is a note, whether it can be read or not.
    is_any: bool,
}

impl Edits {
    pub(super) fn is_any(&self) -> bool {
        self.is_any
    }

    /// The first of them, each once, as they came.
    pub(super) fn into_paths(self) -> Vec<String> {
        self.paths
    }
}

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

/// As JSON: a name may hold a line break. A line that a full disk cut off ends where the next begins.
fn line(path: &Path) -> String {
    format!("\n{}\n", serde_json::Value::from(&*path.to_string_lossy()))
}

pub(super) fn read(home: &Path) -> Edits {
    let note = match fs::read(home.join(NOTE)) {
        Ok(note) => note,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Edits::default(),
        Err(error) => {
            tracing::warn!(dir = %home.display(), %error, "what was edited beneath a run cannot be read");
            Vec::new()
        }
    };
    let mut paths: Vec<String> = Vec::new();
    for line in note.split(|byte| *byte == b'\n') {
        if let Ok(path) = serde_json::from_slice(line)
            && paths.len() < MOST
            && !paths.contains(&path)
        {
            paths.push(path);
        }
    }
    Edits {
        paths,
        is_any: true,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn each_path_is_named_once_and_not_too_many_are() {
        let home = tempfile::tempdir().unwrap();
        assert!(!read(home.path()).is_any());
        for name in ["a\nb", "c", "a\nb"] {
            add(home.path(), &[Path::new(name)]).unwrap();
        }
        assert_eq!(read(home.path()).into_paths(), ["a\nb", "c"]);
        // As a full disk leaves it.
        fs::write(home.path().join(NOTE), b"\n\"whole\"\n\n\"cut \xc3").unwrap();
        add(home.path(), &[Path::new("next")]).unwrap();
        assert_eq!(read(home.path()).into_paths(), ["whole", "next"]);
        let many: Vec<_> = (0..2 * MOST)
            .map(|n| PathBuf::from(n.to_string()))
            .collect();
        let many: Vec<_> = many.iter().map(PathBuf::as_path).collect();
        add(home.path(), &many).unwrap();
        assert_eq!(read(home.path()).into_paths().len(), MOST);
    }
}
