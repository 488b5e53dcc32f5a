//! Caches of jobs.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use branchyard_artifacts::{CacheLimits, CacheUsage, Saved};
use branchyard_model::RepoName;
use jiff::{SignedDuration, Timestamp};

use crate::cache_yard::{CacheYard, open};
use crate::yard::{DoneOnDrop, code, write};

fn digest(saved: &Saved) -> &str {
    match saved {
        Saved::Kept { digest, .. } => digest,
        saved => panic!("{saved:?}"),
    }
}

#[test]
fn a_tree_comes_back_as_it_was_with_its_links_modes_and_times() {
    let yard = CacheYard::new();
    let home = yard.path("home/.cargo/registry");
    write(&home.join("src/lib.rs"), "code");
    write(&home.join("large"), vec![3; 3 << 20]);
    fs::create_dir_all(home.join("empty")).unwrap();
    fs::create_dir_all(home.join(".git")).unwrap();
    write(&home.join("bin/tool"), "#!/bin/sh");
    fs::set_permissions(home.join("bin/tool"), PermissionsExt::from_mode(0o755)).unwrap();
    fs::hard_link(home.join("bin/tool"), home.join("bin/same")).unwrap();
    symlink("../src", home.join("bin/link")).unwrap();
    symlink("/nowhere", home.join("bin/broken")).unwrap();
    write(
        &home.join(std::ffi::OsStr::from_bytes(b"not-\xff-text")),
        "x",
    );
    let _socket = UnixListener::bind(home.join("socket")).unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    File::open(home.join("bin/tool"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    File::open(home.join("empty"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    fs::set_permissions(home.join("src"), PermissionsExt::from_mode(0o550)).unwrap();
    write(&yard.path("job/target/out"), "out");

    let paths = ["~/.cargo/registry", "target"];
    let Saved::Kept {
        files,
        bytes,
        digest,
        warnings,
    } = yard.save("main", "k-1", &paths)
    else {
        panic!("it is kept");
    };
    assert_eq!((files, bytes), (8, (3 << 20) + 4 + 9 + 9 + 1 + 3));
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].message.contains("socket"), "{warnings:?}");

    let restored = yard.restore(&["main"], &["k-1"], &paths).unwrap();
    assert!(restored.exact);
    assert_eq!(
        (restored.digest, restored.files, restored.bytes),
        (digest, files, bytes)
    );
    let copy = yard.path("later/home/.cargo/registry");
    assert_eq!(fs::read_to_string(copy.join("src/lib.rs")).unwrap(), "code");
    assert_eq!(fs::read(copy.join("large")).unwrap(), vec![3; 3 << 20]);
    assert_eq!(
        fs::read_to_string(yard.path("later/job/target/out")).unwrap(),
        "out"
    );
    for dir in ["empty", ".git"] {
        assert!(copy.join(dir).is_dir());
    }
    let meta = copy.join("bin/tool").metadata().unwrap();
    assert_eq!((meta.mode() & 0o777, meta.mtime()), (0o755, 1_000_000));
    assert_eq!(copy.join("empty").metadata().unwrap().mtime(), 1_000_000);
    assert_eq!(copy.join("src").metadata().unwrap().mode() & 0o777, 0o750);
    assert_eq!(
        fs::read_link(copy.join("bin/link")).unwrap(),
        Path::new("../src")
    );
    assert_eq!(
        fs::read_link(copy.join("bin/broken")).unwrap(),
        Path::new("/nowhere")
    );
    assert_eq!(fs::read(copy.join("bin/same")).unwrap(), b"#!/bin/sh");
    assert!(!copy.join("socket").exists());
}

#[test]
fn an_entry_is_never_replaced_and_another_list_of_paths_has_its_own() {
    let yard = CacheYard::new();
    write(&yard.path("job/a/x"), "first");
    write(&yard.path("job/b/x"), "b");
    assert!(matches!(yard.save("main", "k", &["a"]), Saved::Kept { .. }));
    write(&yard.path("job/a/x"), "second");
    assert_eq!(yard.save("main", "k", &["a"]), Saved::Exists);
    assert!(matches!(yard.save("x", "k", &["a"]), Saved::Kept { .. }));
    assert!(yard.restore(&["main"], &["k"], &["b"]).is_none());
    assert!(matches!(yard.save("main", "k", &["b"]), Saved::Kept { .. }));
    yard.restore(&["main"], &["k"], &["a"]).unwrap();
    assert_eq!(
        fs::read_to_string(yard.path("later/job/a/x")).unwrap(),
        "first"
    );
    yard.restore(&["x", "main"], &["k"], &["a\n"]).unwrap();
    assert_eq!(
        fs::read_to_string(yard.path("later/job/a/x")).unwrap(),
        "second"
    );
    assert!(matches!(
        yard.save("main", "k", &["none"]),
        Saved::Nothing { .. }
    ));
    assert_eq!(yard.store.sweep().unwrap().entries, 3);
}

/// Scopes and keys, and the key of what is found with whether it is exact.
type Row<'a> = (&'a [&'a str], &'a [&'a str], Option<(&'a str, bool)>);

#[test]
fn what_is_restored_is_the_newest_that_a_scope_may_read() {
    let yard = CacheYard::new();
    let start = Timestamp::now();
    for (n, (of, key)) in [("main", "c-1"), ("main", "c-2"), ("x", "c-3"), ("y", "c-4")]
        .into_iter()
        .enumerate()
    {
        write(&yard.path("job/a/x"), key);
        let now = start + SignedDuration::from_secs(i64::try_from(n).unwrap());
        yard.save_at(of, key, &["a"], now).unwrap();
    }
    let table: [Row<'_>; 7] = [
        (&["main"], &["c-9", "c-"], Some(("c-2", false))),
        (&["x", "main"], &["c-9", "c-"], Some(("c-3", false))),
        (&["x", "main"], &["c-1", "c-"], Some(("c-3", false))),
        (&["x", "main"], &["c-1"], Some(("c-1", true))),
        (&["x", "main"], &["c-4"], None),
        (&["main", "x"], &["c-3"], None),
        (&["z"], &["c-1", "c-"], None),
    ];
    for (scopes, keys, expected) in table {
        let restored = yard.restore(scopes, keys, &["a"]);
        let found = restored.as_ref().map(|found| (&*found.key, found.exact));
        assert_eq!(found, expected, "{scopes:?} {keys:?}");
        if let Some((key, _)) = expected {
            assert_eq!(fs::read_to_string(yard.path("later/job/a/x")).unwrap(), key);
        }
    }
}

#[test]
fn the_same_files_have_the_same_digest_whenever_they_were_written() {
    let yard = CacheYard::new();
    write(&yard.path("job/a/x"), "1");
    let first = yard.save("main", "1", &["a"]);
    let old = SystemTime::UNIX_EPOCH;
    File::open(yard.path("job/a/x"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    assert_eq!(digest(&yard.save("main", "2", &["a"])), digest(&first));
    let changes: [&dyn Fn(); 4] = [
        &|| write(&yard.path("job/a/x"), "2"),
        &|| fs::rename(yard.path("job/a/x"), yard.path("job/a/y")).unwrap(),
        &|| fs::set_permissions(yard.path("job/a/y"), PermissionsExt::from_mode(0o700)).unwrap(),
        &|| symlink("y", yard.path("job/a/link")).unwrap(),
    ];
    let mut seen = vec![digest(&first).to_owned()];
    for (n, change) in changes.into_iter().enumerate() {
        change();
        let saved = yard.save("main", &format!("changed {n}"), &["a"]);
        assert!(!seen.contains(&digest(&saved).to_owned()));
        seen.push(digest(&saved).to_owned());
    }
}

#[test]
fn globs_and_lines_that_leave_out_count_for_caches_too() {
    let yard = CacheYard::new();
    for path in ["web/node_modules/a/x", "api/node_modules/b/y", "api/src/z"] {
        write(&yard.path("job").join(path), path);
    }
    yard.save("main", "k", &["**/node_modules", "!api/node_modules/b"]);
    yard.restore(
        &["main"],
        &["k"],
        &["**/node_modules", "!api/node_modules/b"],
    )
    .unwrap();
    let later = yard.path("later/job");
    assert!(later.join("web/node_modules/a/x").is_file());
    assert!(later.join("api/node_modules").is_dir());
    assert!(!later.join("api/node_modules/b").exists() && !later.join("api/src").exists());
}

#[test]
fn what_is_in_the_way_is_replaced_or_refused_and_no_link_is_followed() {
    let yard = CacheYard::new();
    write(&yard.path("outside/x"), "theirs");
    symlink(yard.path("outside"), yard.path("job/out")).unwrap();
    let saved = yard.save("main", "through", &["out/x"]);
    assert!(
        matches!(saved, Saved::Nothing { ref warnings } if warnings.len() == 1),
        "{saved:?}"
    );
    // The link itself is kept as one.
    yard.save("main", "link", &["out"]);
    yard.restore(&["main"], &["link"], &["out"]).unwrap();
    assert!(
        fs::symlink_metadata(yard.path("later/job/out"))
            .unwrap()
            .is_symlink()
    );

    write(&yard.path("job/a/x"), "new");
    yard.save("main", "k", &["a"]);
    let later = yard.path("later/job/a");
    write(&later.join("x"), "older and longer");
    write(&later.join("other"), "stays");
    fs::set_permissions(&later, PermissionsExt::from_mode(0o711)).unwrap();
    yard.restore(&["main"], &["k"], &["a"]).unwrap();
    assert_eq!(fs::read_to_string(later.join("x")).unwrap(), "new");
    assert_eq!(fs::read_to_string(later.join("other")).unwrap(), "stays");
    assert_eq!(later.metadata().unwrap().mode() & 0o777, 0o711);
    fs::remove_file(later.join("x")).unwrap();
    symlink(yard.path("outside/x"), later.join("x")).unwrap();
    yard.restore(&["main"], &["k"], &["a"]).unwrap();
    assert_eq!(
        fs::read_to_string(yard.path("outside/x")).unwrap(),
        "theirs"
    );
    fs::remove_dir_all(&later).unwrap();
    symlink(yard.path("outside"), &later).unwrap();
    let error = yard.try_restore(&["main"], &["k"], &["a"]).unwrap_err();
    assert_eq!(code(error).0, "artifact_in_the_way");
    assert_eq!(
        fs::read_to_string(yard.path("outside/x")).unwrap(),
        "theirs"
    );
}

#[test]
fn limits_and_wrong_keys_are_told_and_leave_nothing_behind() {
    let limits = CacheLimits {
        max_size: 100,
        max_files: 5,
        ..CacheLimits::default()
    };
    let yard = CacheYard::with(limits);
    let save = |key: &str, paths: &[&str]| yard.save_at("main", key, paths, Timestamp::now());
    write(&yard.path("job/large/x"), [0; 101]);
    assert_eq!(
        code(save("k", &["large"]).unwrap_err()).0,
        "artifact_too_large"
    );
    for n in 0..5 {
        write(&yard.path(&format!("job/many/{n}")), "x");
    }
    assert_eq!(
        code(save("k", &["many"]).unwrap_err()).0,
        "artifact_too_large"
    );
    let refused = code(save("a,b", &["many"]).unwrap_err());
    assert_eq!(refused, ("cache_key_invalid".into(), Some("key".into())));
    assert_eq!(
        code(save("k", &["../x"]).unwrap_err()).0,
        "artifact_path_invalid"
    );
    assert_eq!(
        code(yard.try_restore(&["main"], &["k", ""], &["x"]).unwrap_err()).0,
        "cache_key_invalid"
    );
    let left: Vec<_> = fs::read_dir(yard.path("state/caches/app"))
        .into_iter()
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_was_used_longest_ago_goes_where_all_is_too_much() {
    let limits = CacheLimits {
        max_bytes: 250,
        ..CacheLimits::default()
    };
    let yard = CacheYard::with(limits);
    write(&yard.path("job/a/x"), [0; 100]);
    for key in ["1", "2", "3"] {
        yard.save("main", key, &["a"]);
        thread::sleep(Duration::from_millis(20));
    }
    yard.restore(&["main"], &["1"], &["a"]).unwrap();
    fs::create_dir(yard.path("state/caches/app/damaged")).unwrap();
    assert_eq!(
        yard.store.sweep().unwrap(),
        CacheUsage {
            entries: 2,
            bytes: 200
        }
    );
    let there = ["1", "2", "3"].map(|key| yard.restore(&["main"], &[key], &["a"]).is_some());
    assert_eq!(there, [true, false, true]);
    assert!(!yard.path("state/caches/app/damaged").exists());
    yard.store
        .remove_repo(&RepoName::parse("other").unwrap())
        .unwrap();
    yard.store
        .remove_repo(&RepoName::parse("app").unwrap())
        .unwrap();
    assert_eq!(yard.store.sweep().unwrap(), CacheUsage::default());
}

#[test]
fn what_was_half_made_when_the_daemon_died_goes_at_the_next_start() {
    let yard = CacheYard::new();
    write(&yard.path("job/a/x"), "x");
    yard.save("main", "k", &["a"]);
    let half_made = yard.path("state/caches/app/.new-dead");
    write(&half_made.join("tree/0/x"), "half");
    let store = open(&yard.path("state"), CacheLimits::default());
    assert!(!half_made.exists());
    assert_eq!(store.sweep().unwrap().entries, 1);
}

#[test]
fn a_sweep_takes_nothing_from_a_restore_that_is_under_way() {
    let limits = CacheLimits {
        max_bytes: 1,
        ..CacheLimits::default()
    };
    let yard = CacheYard::with(limits);
    for n in 0..50 {
        write(&yard.path(&format!("job/a/{n}")), "content");
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _done = DoneOnDrop(&done);
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                yard.store.sweep().unwrap();
            }
        });
        let mut restored = 0;
        for n in 0..200 {
            yard.save("main", &n.to_string(), &["a"]);
            if let Some(found) = yard.restore(&["main"], &[&n.to_string()], &["a"]) {
                restored += 1;
                assert_eq!(found.files, 50);
                assert_eq!(fs::read_dir(yard.path("later/job/a")).unwrap().count(), 50);
            }
            let _ = fs::remove_dir_all(yard.path("later/job/a"));
            if restored == 20 {
                break;
            }
        }
        assert!(restored > 0, "none was held in time");
    });
}

#[test]
fn a_tree_that_changes_while_it_is_saved_leads_nowhere_else() {
    let yard = CacheYard::new();
    write(&yard.path("outside/0/secret"), "secret");
    for n in 0..20 {
        write(&yard.path(&format!("job/a/{n}/x")), "content");
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _done = DoneOnDrop(&done);
        scope.spawn(|| {
            for n in (0..20).cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let dir = yard.path(&format!("job/a/{n}"));
                let _ = fs::remove_dir_all(&dir);
                let _ = fs::remove_file(&dir);
                match n % 3 {
                    0 => symlink(yard.path("outside/0"), &dir).unwrap(),
                    1 => write(&dir, "a file"),
                    _ => write(&dir.join("x"), "content"),
                }
            }
        });
        for n in 0..50 {
            let key = n.to_string();
            let saved = yard.save("main", &key, &["a"]);
            assert!(matches!(saved, Saved::Kept { .. }), "{saved:?}");
            yard.restore(&["main"], &[&key], &["a"]).unwrap();
            let later = yard.path("later/job/a");
            for entry in fs::read_dir(&later).unwrap().flatten() {
                let is_link = entry.file_type().unwrap().is_symlink();
                assert!(is_link || !entry.path().join("secret").exists());
            }
            fs::remove_dir_all(later).unwrap();
        }
    });
    assert_eq!(fs::read_dir(yard.path("outside/0")).unwrap().count(), 1);
}
