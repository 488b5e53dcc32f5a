//! Whole sets as archives, as other programs see them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use branchyard_artifacts::ArtifactSet;

use crate::yard::{Yard, write};

/// What a tool prints, or `None` where there is no such tool.
fn output(tool: &str, args: &[&str], dir: &Path) -> Option<String> {
    let run = Command::new(tool)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output();
    if run
        .as_ref()
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        eprintln!("SKIPPED: `{tool}` is not installed");
        return None;
    }
    let run = run.unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.success() && errors.is_empty(),
        "{tool}: {said} {errors}"
    );
    Some(said)
}

fn yard() -> (Yard, ArtifactSet) {
    let yard = Yard::new();
    yard.write(&["a.txt", "sub/tool", "sub/ünï cödé", "empty/x"]);
    yard.write(&["-x", "..x", " y ", "q?*[a]\"<>|:", "back\\slash"]);
    write(&yard.job().join("large"), b"0123456789".repeat(100_000));
    write(&yard.job().join("none"), []);
    let long = format!("{}/{}/file", "d".repeat(120), "e".repeat(200));
    write(&yard.job().join(long), "long");
    fs::set_permissions(
        yard.job().join("sub/tool"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let set = yard.set("all");
    (yard, set)
}

fn check_unpacked(dir: &Path, set: &ArtifactSet) {
    for file in &set.files {
        let path = dir.join(&file.path);
        let content = fs::read(&path).unwrap();
        assert_eq!(
            branchyard_model::sha256(&content),
            file.sha256,
            "{}",
            file.path
        );
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, file.mode, "{}", file.path);
    }
}

#[test]
fn tar_accepts_an_archive_and_unpacks_what_was_kept() {
    let (yard, set) = yard();
    let archive = yard.path("all.tar");
    yard.store
        .write_tar(&set, File::create(&archive).unwrap())
        .unwrap();
    let Some(list) = output("tar", &["tf", "all.tar"], &yard.path("")) else {
        return;
    };
    assert_eq!(list.lines().count(), set.files.len());
    fs::create_dir(yard.path("out")).unwrap();
    output("tar", &["xpf", "all.tar", "-C", "out"], &yard.path(""));
    check_unpacked(&yard.path("out"), &set);
}

#[test]
fn unzip_accepts_an_archive_and_unpacks_what_was_kept() {
    let (yard, set) = yard();
    let archive = yard.path("all.zip");
    yard.store
        .write_zip(&set, File::create(&archive).unwrap())
        .unwrap();
    assert!(
        archive.metadata().unwrap().len() < 100_000,
        "it is compressed"
    );
    let Some(said) = output("unzip", &["-t", "all.zip"], &yard.path("")) else {
        return;
    };
    assert!(said.contains("No errors detected"), "{said}");
    output("unzip", &["-q", "all.zip", "-d", "out"], &yard.path(""));
    check_unpacked(&yard.path("out"), &set);
}

#[test]
fn the_same_set_makes_the_same_bytes() {
    let (yard, set) = yard();
    let (mut tar, mut zip) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        yard.store.write_tar(&set, &mut one).unwrap();
        yard.store.write_zip(&set, &mut other).unwrap();
        tar.push(one);
        zip.push(other);
    }
    assert!(tar[0] == tar[1] && zip[0] == zip[1]);
    assert!(!tar[0].is_empty() && !zip[0].is_empty());
}

#[test]
fn an_archive_of_nothing_is_an_archive() {
    let (yard, mut set) = yard();
    set.files.clear();
    yard.store
        .write_tar(&set, File::create(yard.path("none.tar")).unwrap())
        .unwrap();
    assert_eq!(
        output("tar", &["tf", "none.tar"], &yard.path("")).unwrap_or_default(),
        ""
    );
    let mut zip = Vec::new();
    yard.store.write_zip(&set, &mut zip).unwrap();
    assert!(zip.starts_with(b"PK"));
}

#[test]
fn a_writer_that_fails_and_a_blob_that_is_gone_end_an_archive() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.len())
                .ok_or(io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (yard, set) = yard();
    for room in [0, 100, 2000, 5000] {
        let error = yard.store.write_tar(&set, Full(room)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        let error = yard.store.write_zip(&set, Full(room / 10)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
    // What lacks a file does not look whole.
    let last = set.files.last().unwrap();
    let blob = yard.state().join("artifacts/blobs").join(&last.sha256[..2]);
    fs::remove_file(blob.join(&last.sha256)).unwrap();
    let (mut tar, mut zip) = (Vec::new(), Vec::new());
    for error in [
        yard.store.write_tar(&set, &mut tar),
        yard.store.write_zip(&set, &mut zip),
    ] {
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
    assert!(!tar.ends_with(&[0; 1024]), "the end of a tar archive");
    let directory = zip.windows(4).any(|bytes| bytes == b"PK\x05\x06");
    assert!(!zip.is_empty() && !directory, "the end of a zip archive");
    let into = yard.path("into");
    fs::create_dir(&into).unwrap();
    let gone = yard.restore_to(&set, &into).unwrap_err();
    assert_eq!(crate::yard::code(gone).0, "artifact_gone");
}

/// 5 GB of zeros in a sparse file, so that only time is needed for it.
#[test]
#[ignore = "takes minutes; run it when the archives change"]
fn files_beyond_four_gigabytes_are_in_both_archives() {
    let limits = branchyard_artifacts::ArtifactLimits {
        max_size: 6 << 30,
        ..Default::default()
    };
    let yard = Yard::with(limits);
    File::create(yard.job().join("huge"))
        .unwrap()
        .set_len(5 << 30)
        .unwrap();
    yard.write(&["after"]);
    let set = yard.set("huge");
    yard.store
        .write_zip(&set, File::create(yard.path("huge.zip")).unwrap())
        .unwrap();
    output("unzip", &["-t", "huge.zip"], &yard.path(""));
    let mut tar = Command::new("tar")
        .arg("t")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    yard.store
        .write_tar(&set, tar.stdin.take().unwrap())
        .unwrap();
    let listed = tar.wait_with_output().unwrap();
    assert_eq!(listed.stdout, b"after\nhuge\n");
}
