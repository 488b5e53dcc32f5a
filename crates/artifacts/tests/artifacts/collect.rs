//! Which files become an artifact, under which paths.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Duration;

use branchyard_artifacts::{ArtifactLimits, JobDir, JobDirs, SetOwner};
use branchyard_model::{PipelineId, RunId, sha256};
use jiff::Timestamp;

use crate::yard::{Yard, code, paths_of, warnings, write};

#[test]
fn the_examples_of_upload_artifact_give_what_it_documents() {
    let yard = Yard::new();
    yard.write(&[
        "path/to/artifact/world.txt",
        "path/to/artifact/deep/moon.txt",
        "path/to/some/directory/foo1.txt",
        "path/to/some/directory/foo2.txt",
        "path/to/other/directory/foo1.txt",
        "path/output/bin/app",
        "path/output/bin/app.tmp",
        "path/output/test-results/a.xml",
        "path/output/other",
        "dir-1/a.txt",
        "dir-2/b.txt",
        "dir-3/c.txt",
        "dir-3/c.md",
        "path/artifact/x",
        "path/x/brtifacT/y",
        "path/x/brtifacT/sub/z",
        "[literal]/x",
    ]);
    let table: [(&[&str], &[&str]); 13] = [
        (&["path/to/artifact/world.txt"], &["world.txt"]),
        (&["path/to/artifact/"], &["deep/moon.txt", "world.txt"]),
        (&["path/to/artifact"], &["deep/moon.txt", "world.txt"]),
        (
            &["path/to/*/directory/foo?.txt"],
            &[
                "other/directory/foo1.txt",
                "some/directory/foo1.txt",
                "some/directory/foo2.txt",
            ],
        ),
        (
            &[
                "path/output/bin/",
                "path/output/test-results",
                "!path/**/*.tmp",
            ],
            &["bin/app", "test-results/a.xml"],
        ),
        (
            &["path/**/[abc]rtifac?/*"],
            &[
                "artifact/x",
                "to/artifact/deep/moon.txt",
                "to/artifact/world.txt",
                "x/brtifacT/sub/z",
                "x/brtifacT/y",
            ],
        ),
        (
            &["dir-1/*", "dir-[23]/*", "!dir-3/*.txt"],
            &["dir-1/a.txt", "dir-2/b.txt", "dir-3/c.md"],
        ),
        (
            &["dir-1/a.txt", "dir-2/b.txt"],
            &["dir-1/a.txt", "dir-2/b.txt"],
        ),
        (&["dir-3/c.txt", "dir-3/c.md"], &["c.md", "c.txt"]),
        (&["dir-3/c.txt", "dir-3/missing"], &["c.txt"]),
        (&["/yard/app/dir-1/**"], &["a.txt"]),
        (&["[[]literal]"], &["x"]),
        (&["dir-1/\n# only this\n\n!dir-1/b*"], &["a.txt"]),
    ];
    for (paths, expected) in table {
        assert_eq!(yard.kept(paths), expected, "{paths:?}");
    }
}

#[test]
fn a_file_is_kept_with_its_content_and_whether_it_is_executable() {
    let yard = Yard::new();
    yard.write(&["out/tool", "out/text", "out/again"]);
    fs::write(yard.job().join("out/again"), "out/text").unwrap();
    fs::set_permissions(
        yard.job().join("out/tool"),
        PermissionsExt::from_mode(0o6711),
    )
    .unwrap();
    fs::set_permissions(
        yard.job().join("out/text"),
        PermissionsExt::from_mode(0o666),
    )
    .unwrap();
    let set = yard.collect("out", &["out"]).unwrap().set.unwrap();
    let files: Vec<_> = set
        .files
        .iter()
        .map(|file| (&*file.path, file.mode, file.size))
        .collect();
    assert_eq!(
        files,
        [("again", 0o644, 8), ("text", 0o644, 8), ("tool", 0o755, 8)]
    );
    assert_eq!(set.files[1].sha256, sha256(b"out/text"));
    assert_eq!(set.bytes, 24);
    assert_eq!(yard.store.usage().unwrap().blobs, 2);
    assert_eq!(yard.store.set(&yard.owner, "out"), Some(set.clone()));
    assert_eq!(
        yard.store.sets(&yard.owner).unwrap(),
        std::slice::from_ref(&set)
    );
    let again = yard.collect("again", &["out"]).unwrap().set.unwrap();
    assert_eq!(again.digest, set.digest);
    fs::write(yard.job().join("out/text"), "changed").unwrap();
    let changed = yard.collect("changed", &["out"]).unwrap().set.unwrap();
    assert_ne!(changed.digest, set.digest);
    assert_eq!(yard.staged(), 0);
}

#[test]
fn hidden_files_are_left_out_unless_they_are_asked_for_and_gits_own_always() {
    let yard = Yard::new();
    yard.write(&[
        "a",
        ".env",
        ".cache/x",
        "b/.hidden",
        ".git/config",
        "b/.git",
    ]);
    let collected = yard.collect("some", &["."]).unwrap();
    assert_eq!(paths_of(&collected), ["a"]);
    assert_eq!(
        warnings(&collected),
        ["hidden_files_left_out", "git_left_out"]
    );
    let collected = yard.collect_with("all", &["."], |request| request.include_hidden = true);
    assert_eq!(
        paths_of(&collected.unwrap()),
        [".cache/x", ".env", "a", "b/.hidden"]
    );
    let collected = yard.collect("named", &[".env"]).unwrap();
    assert_eq!(
        (collected.set.is_none(), warnings(&collected)),
        (true, vec!["hidden_files_left_out"])
    );
}

#[test]
fn a_name_is_taken_once_unless_it_is_overwritten() {
    let yard = Yard::new();
    yard.write(&["a", "b"]);
    yard.collect("log", &["a"]).unwrap();
    let refused = code(yard.collect("log", &["b"]).unwrap_err());
    assert_eq!(refused, ("artifact_exists".into(), Some("name".into())));
    assert_eq!(yard.kept(&["b"]), ["b"]);
    let replaced = yard.collect_with("log", &["b"], |request| request.overwrite = true);
    assert_eq!(paths_of(&replaced.unwrap()), ["b"]);
    assert_eq!(
        yard.store.set(&yard.owner, "log").unwrap().files[0].path,
        "b"
    );
    let refused = code(yard.collect("a/b", &["b"]).unwrap_err());
    assert_eq!(
        refused,
        ("artifact_name_invalid".into(), Some("name".into()))
    );
}

#[test]
fn nothing_found_is_no_artifact_and_no_error() {
    let yard = Yard::new();
    let collected = yard.collect("none", &["missing/*", "gone"]).unwrap();
    assert_eq!((collected.set, collected.warnings), (None, Vec::new()));
    assert_eq!(yard.store.set(&yard.owner, "none"), None);
}

#[test]
fn limits_are_told_by_their_settings() {
    let limits = ArtifactLimits {
        max_files: 3,
        max_size: 100,
        ..ArtifactLimits::default()
    };
    let yard = Yard::with(limits);
    yard.write(&["d/1", "d/2", "d/3"]);
    yard.collect("three", &["d"]).unwrap();
    yard.write(&["d/4"]);
    let error = yard.collect("four", &["d"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it has more than 3 files, which is what `artifacts.max_files` allows"
    );
    assert_eq!(code(error).0, "artifact_too_large");
    write(&yard.job().join("large"), [0; 101]);
    let error = yard.collect("large", &["large"]).unwrap_err();
    assert!(error.to_string().contains("100 bytes"), "{error}");
    write(&yard.job().join("large"), [0; 60]);
    yard.collect("fits", &["large"]).unwrap();
    let error = yard.collect_with("both", &["large"], |request| request.bytes_before = 60);
    assert_eq!(code(error.unwrap_err()).0, "artifact_too_large");
    assert_eq!(yard.staged(), 0);
    assert_eq!(yard.store.set(&yard.owner, "both"), None);
}

#[test]
fn what_is_one_file_too_many_is_told_at_the_usual_limit() {
    let yard = Yard::new();
    for n in 0..=10_000 {
        write(&yard.job().join(format!("many/{n}")), []);
    }
    let error = yard.collect("many", &["many"]).unwrap_err();
    assert!(error.to_string().contains("10000 files"), "{error}");
    fs::remove_file(yard.job().join("many/0")).unwrap();
    let collected = yard.collect("many", &["many"]).unwrap();
    assert_eq!(paths_of(&collected).len(), 10_000);
}

#[test]
fn paths_in_the_home_and_in_mounts_of_a_job_are_found() {
    let yard = Yard::new();
    let dir = |seen: &str, real: &str| JobDir {
        seen: seen.into(),
        real: yard.path(real),
    };
    let dirs = JobDirs {
        root: dir("/yard/app", "job"),
        home: Some(dir("/home/job", "home")),
        mounts: vec![dir("/tmp", "tmp"), dir("/gone", "gone")],
    };
    write(&yard.path("home/new/artifact/x"), "x");
    write(&yard.path("tmp/report.xml"), "x");
    yard.write(&["a"]);
    let kept = |paths: &[&str]| {
        let collected = yard.collect_in(&dirs, "a", paths, |request| request.overwrite = true);
        paths_of(&collected.unwrap())
    };
    assert_eq!(kept(&["~/new/**/*"]), ["artifact/x"]);
    assert_eq!(kept(&["/tmp/report.xml", "/gone/x"]), ["tmp/report.xml"]);
    assert_eq!(
        kept(&["~/new", "/tmp", "a"]),
        ["home/job/new/artifact/x", "tmp/report.xml", "yard/app/a"]
    );
}

#[test]
fn an_artifact_of_another_owner_is_linked_with_the_same_blobs() {
    let yard = Yard::new();
    yard.write(&["a", "b"]);
    let set = yard.set("log");
    let (to, third) = (
        SetOwner::Pipeline(PipelineId::new()),
        SetOwner::Run(RunId::new()),
    );
    let now = Timestamp::now();
    let day = Some(Duration::from_secs(86_400));
    let linked = yard.store.link(&yard.owner, "log", &to, now, day).unwrap();
    assert_eq!(
        (&linked.digest, linked.reused_from),
        (&set.digest, Some(yard.owner))
    );
    assert!(linked.expires_at < set.expires_at);
    assert_eq!(
        yard.store.link(&yard.owner, "log", &to, now, None).unwrap(),
        linked
    );
    let linked = yard.store.link(&to, "log", &third, now, None).unwrap();
    assert_eq!(linked.reused_from, Some(yard.owner), "where it was made");
    assert_eq!(yard.store.usage().unwrap().blobs, 2);
    let missing = yard.store.link(&yard.owner, "none", &to, now, None);
    assert_eq!(code(missing.unwrap_err()).0, "artifact_not_found");

    let into = yard.path("into");
    fs::create_dir(&into).unwrap();
    yard.store.remove_owner(&yard.owner).unwrap();
    yard.restore_to(&linked, &into).unwrap();
    assert_eq!(fs::read_to_string(into.join("b")).unwrap(), "b");
    // Another one of that name is not replaced by a link.
    write(&yard.job().join("a"), "changed");
    yard.set("log");
    let other = yard.store.link(&yard.owner, "log", &to, now, None);
    assert_eq!(code(other.unwrap_err()).0, "artifact_exists");
}

#[test]
fn the_same_files_are_collected_many_times_at_once() {
    let yard = Yard::new();
    for n in 0..100 {
        write(
            &yard.job().join(format!("d/{n}")),
            format!("content {}", n % 10),
        );
    }
    thread::scope(|scope| {
        for n in 0..8 {
            let yard = &yard;
            scope.spawn(move || yard.collect(&format!("set {n}"), &["d"]).unwrap());
        }
        let same = (0..4).map(|_| scope.spawn(|| yard.collect("same", &["d"]).is_ok()));
        let same: Vec<_> = same.collect();
        let won = same
            .into_iter()
            .filter_map(|one| one.join().ok())
            .filter(|won| *won);
        assert_eq!(won.count(), 1, "one of them has the name");
    });
    let sets = yard.store.sets(&yard.owner).unwrap();
    assert_eq!(sets.len(), 9);
    assert!(sets.iter().all(|set| set.digest == sets[0].digest));
    assert_eq!(yard.store.usage().unwrap().blobs, 10);
}
