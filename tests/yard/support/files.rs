//! What is in the files that a daemon leaves behind.

use std::path::Path;

/// Shows `look` every file below `dir`, links aside; how many there were.
pub fn each_file(dir: &Path, look: &mut impl FnMut(&Path, &[u8])) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            files += each_file(&path, look);
        } else if path.is_file() {
            files += 1;
            look(&path, &std::fs::read(&path).unwrap());
        }
    }
    files
}
