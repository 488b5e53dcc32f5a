//! Jobs that leave traps where the daemon looks for files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{CWD, FileType, Mode, mkdirat, mknodat, openat};

use crate::yard::{DoneOnDrop, Yard, code, paths_of, warnings, write};

#[test]
fn links_are_left_out_also_where_they_are_named_and_none_is_followed() {
    let yard = Yard::new();
    write(&yard.path("secret/file"), "secret");
    yard.write(&["d/plain"]);
    let job = yard.job();
    symlink(yard.path("secret/file"), job.join("d/link")).unwrap();
    symlink(yard.path("secret"), job.join("d/dir")).unwrap();
    symlink("plain", job.join("d/inside")).unwrap();
    symlink("nowhere", job.join("d/broken")).unwrap();
    symlink("../d", job.join("d/circle")).unwrap();
    symlink(yard.path("secret"), job.join("out")).unwrap();
    let collected = yard.collect("d", &["d"]).unwrap();
    assert_eq!(paths_of(&collected), ["plain"]);
    assert_eq!(warnings(&collected), ["links_left_out"]);
    assert_eq!(collected.warnings[0].message.matches("d/").count(), 5);
    for (n, path) in [
        "d/link",
        "out",
        "out/",
        "out/file",
        "out/*",
        "d/inside",
        "d/circle/plain",
    ]
    .iter()
    .enumerate()
    {
        let collected = yard.collect(&n.to_string(), &[path]).unwrap();
        assert_eq!(collected.set, None, "{path}");
        assert_eq!(warnings(&collected), ["links_left_out"], "{path}");
    }
}

#[test]
fn pipes_sockets_and_devices_are_left_out_at_once() {
    let yard = Yard::new();
    yard.write(&["d/plain"]);
    let job = yard.job();
    let mode = Mode::from_raw_mode(0o666);
    mknodat(CWD, job.join("d/pipe"), FileType::Fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(job.join("d/socket")).unwrap();
    // Only root makes one.
    let _ = mknodat(
        CWD,
        job.join("d/zero"),
        FileType::CharacterDevice,
        mode,
        rustix::fs::makedev(1, 5),
    );
    let collected = yard.collect("d", &["d", "d/pipe"]).unwrap();
    assert_eq!(paths_of(&collected), ["plain"]);
    assert_eq!(warnings(&collected), ["special_files_left_out"]);
}

#[test]
fn names_that_no_archive_can_show_are_refused_by_name() {
    for name in [&b"not-\xff-text"[..], b"line\nbreak", b"escape\x1b[2J"] {
        let yard = Yard::new();
        write(&yard.job().join("d").join(OsStr::from_bytes(name)), "x");
        yard.write(&["e/fine"]);
        let error = yard.collect("d", &["d"]).unwrap_err();
        assert!(!error.to_string().contains(char::is_control), "{error}");
        assert_eq!(
            code(error),
            ("artifact_path_invalid".into(), Some("path".into()))
        );
        // Where it is not meant, it does not matter.
        assert_eq!(yard.kept(&["e"]), ["fine"]);
        assert_eq!(yard.kept(&[".", "!d/*"]), ["e/fine"]);
    }
}

#[test]
fn a_path_out_of_the_job_is_refused_by_its_pattern() {
    let yard = Yard::new();
    for path in ["../x", "a/../../x", "/etc/passwd", "~/x", "!../x"] {
        let error = yard.collect("x", &["fine", path]).unwrap_err();
        assert!(error.to_string().contains(path), "{error}");
        assert_eq!(
            code(error),
            ("artifact_path_invalid".into(), Some("path".into()))
        );
    }
}

#[test]
fn a_tree_that_is_too_deep_is_refused() {
    let yard = Yard::new();
    yard.write(&["shallow/x"]);
    let mut dir = File::open(yard.job()).unwrap().into();
    for _ in 0..3000 {
        mkdirat(&dir, "deep", Mode::from_raw_mode(0o755)).unwrap();
        dir = openat(&dir, "deep", rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let error = yard.collect("deep", &["**/x"]).unwrap_err();
    assert_eq!(code(error).0, "artifact_path_invalid");
    assert_eq!(yard.kept(&["shallow"]), ["x"]);
    // What removes the directory of the test goes as deep as paths do.
    remove_deep(&yard.job());
}

fn remove_deep(job: &Path) {
    for _ in 0..40 {
        let mut bottom = job.to_owned();
        for _ in 0..100 {
            bottom.push("deep");
        }
        let moved = job.join("moved");
        if fs::rename(&bottom, &moved).is_err() {
            break;
        }
        fs::remove_dir_all(job.join("deep")).unwrap();
        fs::rename(moved, job.join("deep")).unwrap();
    }
}

#[test]
fn files_that_change_while_they_are_collected_are_kept_as_they_were_copied() {
    let yard = Yard::new();
    write(&yard.path("secret"), "secret");
    for n in 0..50 {
        write(&yard.job().join(format!("d/{n}")), vec![b'a'; 10_000]);
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _done = DoneOnDrop(&done);
        scope.spawn(|| {
            let mut n = 0;
            while !done.load(Ordering::Relaxed) {
                let path = yard.job().join(format!("d/{}", n % 50));
                let _ = fs::remove_file(&path);
                match n % 4 {
                    0 => symlink(yard.path("secret"), &path).unwrap(),
                    1 => write(&path, vec![b'b'; n % 20_000]),
                    2 => fs::create_dir(&path).unwrap_or_default(),
                    _ => write(&path, "short"),
                }
                let _ = fs::remove_dir(&path);
                n += 1;
            }
        });
        for n in 0..30 {
            let set = yard.collect(&n.to_string(), &["d"]).unwrap().set;
            for file in set.iter().flat_map(|set| &set.files) {
                let blob = yard.store.open_blob(&file.sha256).unwrap();
                assert_eq!(blob.metadata().unwrap().len(), file.size);
                let content = std::io::read_to_string(&blob).unwrap();
                assert_eq!(branchyard_model::sha256(content.as_bytes()), file.sha256);
                assert!(!content.contains("secret"));
            }
        }
    });
}

/// Puts something where a file or a directory is to be.
type Block<'a> = &'a dyn Fn(&Path);

#[test]
fn nothing_is_restored_through_a_link() {
    let yard = Yard::new();
    yard.write(&["sub/file", "top"]);
    let set = yard.set("all");
    let (into, outside) = (yard.path("into"), yard.path("outside"));
    let fresh = || {
        let _ = fs::remove_dir_all(&into);
        let _ = fs::remove_dir_all(&outside);
        write(&outside.join("top"), "theirs");
        fs::create_dir(&into).unwrap();
    };
    // A link at the place of a file makes way for it.
    fresh();
    symlink(outside.join("top"), into.join("top")).unwrap();
    yard.restore_to(&set, &into).unwrap();
    assert!(fs::symlink_metadata(into.join("top")).unwrap().is_file());
    assert_eq!(fs::read_to_string(outside.join("top")).unwrap(), "theirs");
    // So does an older file, and what is beside it stays.
    write(&into.join("top"), "older and longer than the new one");
    write(&into.join("sub/other"), "other");
    yard.restore_to(&set, &into).unwrap();
    assert_eq!(fs::read_to_string(into.join("top")).unwrap(), "top");
    assert_eq!(fs::read_to_string(into.join("sub/other")).unwrap(), "other");

    let blocks: [(&str, Block<'_>); 3] = [
        ("sub", &|at| symlink(&outside, at).unwrap()),
        ("sub", &|at| write(at, "a file")),
        ("top", &|at| fs::create_dir(at).unwrap()),
    ];
    for (name, block) in blocks {
        fresh();
        block(&into.join(name));
        let error = yard.restore_to(&set, &into).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(code(error).0, "artifact_in_the_way");
        assert!(!outside.join("file").exists());
    }
    // The directory itself is the daemon's choice, and no link.
    fresh();
    symlink(&outside, yard.path("linked")).unwrap();
    assert!(yard.restore_to(&set, &yard.path("linked")).is_err());
}
