//! Files that are fetched, written below a directory.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use branchyard_artifacts::{ArtifactFile, UnpackDir};
use branchyard_model::sha256;

fn file(path: &str, content: &[u8], mode: u32) -> ArtifactFile {
    ArtifactFile {
        path: path.into(),
        size: content.len() as u64,
        mode,
        sha256: sha256(content),
    }
}

fn unpack(dir: &UnpackDir, file: &ArtifactFile, content: &[u8]) -> Result<(), String> {
    let unpacked = dir.begin(&file.path).and_then(|mut part| {
        part.write(content)?;
        part.verified(file)
    });
    unpacked.map_err(|error| error.to_string())
}

#[test]
fn a_file_is_there_whole_and_verified_or_not_at_all() {
    let temp = tempfile::tempdir().unwrap();
    let target = temp.path().join("new/target");
    let dir = UnpackDir::open(&target, false).unwrap();
    unpack(&dir, &file("a/b/run", b"#!", 0o4777), b"#!").unwrap();
    let run = target.join("a/b/run");
    assert_eq!(fs::read(&run).unwrap(), b"#!");
    let mode = fs::metadata(&run).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o755, "no more than an artifact may have");

    let refused = unpack(&dir, &file("a/c", b"good", 0o644), b"evil").unwrap_err();
    assert!(refused.contains("SHA-256"), "{refused}");
    drop(dir.begin("a/d").unwrap());
    let left: Vec<_> = fs::read_dir(target.join("a")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn nothing_is_replaced_unless_that_is_wanted() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("x"), "mine").unwrap();
    let new = file("x", b"theirs", 0o644);
    let dir = UnpackDir::open(temp.path(), false).unwrap();
    assert!(dir.check("x").is_err() && dir.check("y").is_ok());
    let refused = unpack(&dir, &new, b"theirs").unwrap_err();
    assert!(refused.contains("already"), "{refused}");
    assert_eq!(fs::read(temp.path().join("x")).unwrap(), b"mine");
    let dir = UnpackDir::open(temp.path(), true).unwrap();
    assert!(dir.check("x").is_ok());
    unpack(&dir, &new, b"theirs").unwrap();
    assert_eq!(fs::read(temp.path().join("x")).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn no_path_and_no_link_leads_out_of_the_directory() {
    let temp = tempfile::tempdir().unwrap();
    let (outside, target) = (temp.path().join("outside"), temp.path().join("target"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "mine").unwrap();
    let dir = UnpackDir::open(&target, true).unwrap();
    symlink(&outside, target.join("link")).unwrap();
    symlink(outside.join("file"), target.join("name")).unwrap();
    let absolute = outside.join("new");
    for path in [
        "../outside/file",
        "a/../../outside/file",
        "link/file",
        "link/new",
        absolute.to_str().unwrap(),
        "..",
        "",
        "/",
    ] {
        let unpacked = unpack(&dir, &file(path, b"evil", 0o644), b"evil");
        assert!(unpacked.is_err(), "{path}");
    }
    // A link that is in a file's place goes, and what it leads to stays.
    unpack(&dir, &file("name", b"new", 0o644), b"new").unwrap();
    assert!(target.join("name").symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}
