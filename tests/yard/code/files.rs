//! Single files: written, edited, moved and deleted, each at once, and nowhere but in their workspace.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{Options, Yard, encode, problem_of};

const BRANCH: &str = "feature";

async fn yard() -> Yard {
    let yard = Yard::new().await;
    yard.origin.push(BRANCH);
    yard
}

impl Yard {
    async fn change(&self, verb: &str, body: Value) -> (u16, Value) {
        let path = format!("/api/repos/demo/branches/{}/{verb}", encode(BRANCH));
        let response = self.post(&path, body).await;
        match response.status().is_success() {
            true => (200, response.json().await.unwrap()),
            false => problem_of(response).await,
        }
    }

    async fn changed(&self, verb: &str, body: Value) -> Value {
        let (status, answer) = self.change(verb, body).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    async fn refused(&self, verb: &str, body: Value) -> (u16, String) {
        let (status, answer) = self.change(verb, body).await;
        (
            status,
            answer["code"].as_str().unwrap_or_default().to_owned(),
        )
    }

    fn content(&self, path: &str) -> String {
        std::fs::read_to_string(self.workspace(BRANCH).join(path)).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_written_edited_moved_and_deleted() {
    let mut yard = yard().await;
    let path = "src/deep/a.txt";
    let made = yard
        .changed(
            "write_file",
            json!({ "path": path, "content": "one\ntwo\n" }),
        )
        .await;
    assert_eq!((&made["created"], &made["size"]), (&json!(true), &json!(8)));
    assert_eq!(yard.content(path), "one\ntwo\n");
    let again = json!({ "path": path, "content": "x" });
    assert_eq!(
        yard.refused("write_file", again).await,
        (409, "file_exists".to_owned())
    );

    let hash = made["sha256"].as_str().unwrap();
    let read = yard.changed("read_file", json!({ "path": path })).await;
    assert_eq!(read["sha256"], hash);
    let edit = json!({ "path": path, "expected": hash, "edits": [{ "old": "two", "new": "2" }] });
    let mut dry = edit.clone();
    dry["dry_run"] = json!(true);
    let would = yard.changed("edit_file", dry).await;
    assert!(
        would["diff"].as_str().unwrap().contains("-two\n+2\n"),
        "{would}"
    );
    assert_eq!(yard.content(path), "one\ntwo\n");
    let edited = yard.changed("edit_file", edit.clone()).await;
    assert_eq!(
        (&edited["sha256"], &edited["diff"]),
        (&would["sha256"], &would["diff"])
    );
    assert_eq!(yard.content(path), "one\n2\n");
    assert_eq!(
        yard.refused("edit_file", edit).await,
        (409, "stale".to_owned())
    );

    let file = yard.workspace(BRANCH).join(path);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let more =
        json!({ "path": path, "content": "dGhyZWUK", "encoding": "base64", "mode": "append" });
    yard.changed("write_file", more).await;
    assert_eq!(yard.content(path), "one\n2\nthree\n");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);

    yard.changed("move_file", json!({ "from": path, "to": "b/c.txt" }))
        .await;
    assert_eq!(yard.content("b/c.txt"), "one\n2\nthree\n");
    assert!(!yard.workspace(BRANCH).join("src").exists());
    let onto = json!({ "from": "b/c.txt", "to": "name.txt" });
    assert_eq!(
        yard.refused("move_file", onto).await,
        (409, "file_exists".to_owned())
    );
    let gone = json!({ "path": "b/c.txt", "expected": hash });
    assert_eq!(
        yard.refused("delete_file", gone).await,
        (409, "stale".to_owned())
    );
    yard.changed("delete_file", json!({ "path": "b/c.txt" }))
        .await;
    assert!(!yard.workspace(BRANCH).join("b").exists());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_files_of_the_workspace_is_written() {
    let mut yard = yard().await;
    yard.changed("write_file", json!({ "path": "plain", "content": "" }))
        .await;
    let workspace = yard.workspace(BRANCH);
    let outside = yard.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("kept"), "kept").unwrap();
    symlink(&outside, workspace.join("out")).unwrap();
    symlink(outside.join("kept"), workspace.join("link")).unwrap();
    let long = "n".repeat(300);
    let paths = [
        "",
        ".",
        "..",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a\0b",
        &long,
        "out/kept",
        "out/new",
        "link",
        ".git",
        ".git/config",
        ".GIT/hooks/x",
        "a/.git/x",
        ".git /x",
        "git~1/x",
        ".g\u{200c}it/x",
        "a/",
    ];
    for path in paths {
        let write = json!({ "path": path, "content": "evil", "mode": "overwrite" });
        let (status, code) = yard.refused("write_file", write).await;
        assert!(
            [400, 403, 422].contains(&status),
            "{path:?}: {status} {code}"
        );
        let edit = json!({ "path": path, "edits": [{ "old": "k", "new": "evil" }] });
        let (status, code) = yard.refused("edit_file", edit).await;
        assert!(
            [400, 403, 404, 422].contains(&status),
            "{path:?}: {status} {code}"
        );
        for (from, to) in [(path, "taken"), ("plain", path)] {
            let (status, code) = yard
                .refused("move_file", json!({ "from": from, "to": to }))
                .await;
            assert!(
                [400, 403, 404, 409, 422].contains(&status),
                "{path:?}: {status} {code}"
            );
        }
        if path != "link" {
            let (status, code) = yard.refused("delete_file", json!({ "path": path })).await;
            assert!(
                [400, 403, 404, 422].contains(&status),
                "{path:?}: {status} {code}"
            );
        }
    }
    // The link goes, and what it leads to stays.
    yard.changed("delete_file", json!({ "path": "link" })).await;
    let there: Vec<_> = std::fs::read_dir(&outside).unwrap().collect();
    assert_eq!(there.len(), 1);
    assert_eq!(
        std::fs::read_to_string(outside.join("kept")).unwrap(),
        "kept"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_writers_of_one_file_none_is_lost() {
    let yard = yard().await;
    let made = yard
        .changed("write_file", json!({ "path": "log", "content": "" }))
        .await;
    let yard_ref = std::sync::Arc::new(yard);
    let mut writers = JoinSet::new();
    for writer in 0..32 {
        let (yard, mut hash) = (yard_ref.clone(), made["sha256"].clone());
        writers.spawn(async move {
            let mut refused = 0_u32;
            let own = json!({ "path": format!("own/{writer}"), "content": writer.to_string() });
            yard.changed("write_file", own).await;
            loop {
                let add = json!({
                    "path": "log", "content": format!("{writer}\n"), "mode": "append", "expected": hash,
                });
                match yard.change("write_file", add).await {
                    (200, _) => break refused,
                    (409, problem) => assert_eq!(problem["code"], "stale"),
                    (status, problem) => panic!("{status}: {problem}"),
                }
                refused += 1;
                hash = yard.changed("read_file", json!({ "path": "log" })).await["sha256"].clone();
            }
        });
    }
    // All of them saw the same empty file first, and one alone wrote to that.
    let refused = writers.join_all().await;
    assert!(refused.iter().sum::<u32>() >= 31, "{refused:?}");
    let mut lines: Vec<u32> = yard_ref
        .content("log")
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, (0..32).collect::<Vec<_>>());
    for writer in 0..32 {
        assert_eq!(
            yard_ref.content(&format!("own/{writer}")),
            writer.to_string()
        );
    }
    std::sync::Arc::into_inner(yard_ref).unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_too_large_is_not_changed() {
    const MOST: u64 = 16 << 20;
    let mut yard = yard().await;
    yard.changed("write_file", json!({ "path": "plain", "content": "" }))
        .await;
    for (size, status) in [(MOST + 1, 400), (MOST, 422)] {
        let large = yard.workspace(BRANCH).join("large");
        let file = std::fs::File::create(&large).unwrap();
        file.set_len(size).unwrap();
        let mut changes = vec![(
            "write_file",
            json!({ "path": "large", "content": "x", "mode": "append" }),
        )];
        // One that is as large as may be can be made smaller.
        if size > MOST {
            let edit =
                json!({ "path": "large", "edits": [{ "old": "\0", "new": "x", "all": true }] });
            changes.push(("edit_file", edit));
            let smaller = json!({ "path": "large", "content": "x", "mode": "overwrite" });
            changes.push(("write_file", smaller));
        }
        for (verb, body) in changes {
            let (found, problem) = yard.change(verb, body).await;
            assert_eq!(found, status, "{verb}: {problem}");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("more than 16777216 bytes"), "{detail}");
        }
        assert_eq!(std::fs::metadata(&large).unwrap().len(), size);
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_does_not_wait_for_a_build() {
    let mut yard = yard().await;
    let mut build = yard
        .start_run("make", BRANCH, json!({ "args": ["gate"] }))
        .await;
    build.until_line("waiting").await;
    // The gate that the build waits for.
    yard.changed("write_file", json!({ "path": "open", "content": "" }))
        .await;
    let end = build.end().await;
    assert_eq!(end.data["state"], "succeeded", "{:?}", end.data);
    assert_eq!(end.data["edited_meanwhile"], json!(["open"]));
    let run = yard
        .get_json(&format!("/api/runs/{}", build.run_id()))
        .await;
    assert_eq!(run["edited_meanwhile"], json!(["open"]));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_was_edited_beneath_says_so_after_a_kill() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.push(BRANCH);
    let mut daemon = yard.start_binary(&[]).await;
    let mut build = yard
        .start_run("make", BRANCH, json!({ "args": ["gate"], "detach": true }))
        .await;
    build.until_line("waiting").await;
    let run = build.run_id();
    yard.changed("write_file", json!({ "path": "a\nb", "content": "" }))
        .await;
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    yard.changed("write_file", json!({ "path": "open", "content": "" }))
        .await;
    let run = yard.ended(&run).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    assert_eq!(run["edited_meanwhile"], json!(["a\nb", "open"]));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_can_wait_for_the_build() {
    let yard = std::sync::Arc::new(yard().await);
    let mut build = yard
        .start_run("make", BRANCH, json!({ "args": ["gate"] }))
        .await;
    build.until_line("waiting").await;
    let waiting = tokio::spawn({
        let yard = yard.clone();
        async move {
            let late = json!({ "path": "late", "content": "", "after_run": true });
            yard.changed("write_file", late).await
        }
    });
    // Nothing tells that it is in line; this much is time enough for it to go wrong.
    for _ in 0..20 {
        yard.get_json("/api/repos/demo/branches/feature").await;
        assert!(!waiting.is_finished());
    }
    yard.changed("write_file", json!({ "path": "open", "content": "" }))
        .await;
    let end = build.end().await;
    assert_eq!(end.data["edited_meanwhile"], json!(["open"]));
    waiting.await.unwrap();
    assert!(yard.workspace(BRANCH).join("late").exists());
    std::sync::Arc::into_inner(yard).unwrap().stop().await;
}

const FEATURE: &str = "\
diff --git a/name.txt b/title.txt
similarity index 50%
rename from name.txt
rename to title.txt
--- a/name.txt
+++ b/title.txt
@@ -1 +1,2 @@
 yard
+more
diff --git a/src/new.c b/src/new.c
new file mode 100755
--- /dev/null
+++ b/src/new.c
@@ -0,0 +1,2 @@
+int one;
+int two;
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-old
";

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_is_applied_whole_or_not_at_all() {
    let mut yard = yard().await;
    yard.changed(
        "write_file",
        json!({ "path": "old.txt", "content": "old\n" }),
    )
    .await;
    yard.changed(
        "write_file",
        json!({ "path": "name.txt", "content": "yard\n", "mode": "overwrite" }),
    )
    .await;
    let broken = FEATURE.replace("-old", "-older");
    let (status, problem) = yard.change("apply_patch", json!({ "patch": broken })).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("patch_does_not_apply"))
    );
    assert!(
        problem["detail"].as_str().unwrap().contains("old.txt"),
        "{problem}"
    );
    assert_eq!(yard.content("name.txt"), "yard\n");
    assert!(!yard.workspace(BRANCH).join("src/new.c").exists());

    let patched = yard
        .changed("apply_patch", json!({ "patch": FEATURE }))
        .await;
    let files: Vec<_> = patched["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            (
                file["path"].as_str().unwrap(),
                file["change"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("src/new.c", "created"),
        ("title.txt", "created"),
        ("name.txt", "deleted"),
        ("old.txt", "deleted"),
    ];
    assert_eq!(files, expected);
    assert_eq!(yard.content("title.txt"), "yard\nmore\n");
    let mode = std::fs::metadata(yard.workspace(BRANCH).join("src/new.c"));
    assert_ne!(mode.unwrap().permissions().mode() & 0o100, 0);
    assert!(!yard.workspace(BRANCH).join("old.txt").exists());

    // As models write them: without git's own lines, and with counts that are wrong.
    let loose = "--- title.txt\n+++ title.txt\n@@ -1,9 +1,9 @@\n yard\n-more\n+less\n";
    yard.changed("apply_patch", json!({ "patch": loose })).await;
    assert_eq!(yard.content("title.txt"), "yard\nless\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_reaches_nothing_but_files_of_the_workspace() {
    let mut yard = yard().await;
    yard.changed("write_file", json!({ "path": "plain", "content": "" }))
        .await;
    let outside = yard.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, yard.workspace(BRANCH).join("out")).unwrap();
    symlink(outside.join("x"), yard.workspace(BRANCH).join("link")).unwrap();
    let new = |path: &str| {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+evil\n"
        )
    };
    let link = |path: &str, to: &str| {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 120000\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{to}\n\\ No newline at end of file\n"
        )
    };
    let through = link("way", outside.to_str().unwrap()) + &new("way/x");
    let paths = [
        "../x",
        "a/../../x",
        "/etc/x",
        ".git/config",
        ".git/hooks/x",
        ".GIT/hooks/x",
        "a/.git/x",
        "git~1/x",
        "out/x",
        "link",
    ];
    let patches = paths.iter().map(|path| new(path));
    let copy = "diff --git a/plain b/c\nsimilarity index 100%\ncopy from plain\ncopy to c\n";
    let binary = "diff --git a/b b/b\nnew file mode 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n";
    let others = ["", "no patch at all", "--- a/x\n+++ b/x\n", copy, binary].map(str::to_owned);
    for patch in patches
        .chain([through, link("alone", "plain")])
        .chain(others)
    {
        let (status, code) = yard.refused("apply_patch", json!({ "patch": patch })).await;
        assert!(
            [400, 403, 409, 422].contains(&status),
            "{patch}: {status} {code}"
        );
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    let left = yard.workspace(BRANCH).join("way").symlink_metadata();
    assert!(left.is_err());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_was_edited_beneath_answers_for_no_other() {
    let mut yard = yard().await;
    let gate = json!({ "args": ["gate"], "coalesce": true, "detach": true });
    let mut build = yard.start_run("make", BRANCH, gate.clone()).await;
    build.until_line("waiting").await;
    let mut joined = yard.start_run("make", BRANCH, gate.clone()).await;
    joined.until(|_| true).await;
    assert_eq!(joined.run_id(), build.run_id());
    yard.changed("write_file", json!({ "path": "new", "content": "" }))
        .await;
    let mut other = yard.start_run("make", BRANCH, gate).await;
    other.until(|_| true).await;
    assert_ne!(other.run_id(), build.run_id());
    yard.changed("write_file", json!({ "path": "open", "content": "" }))
        .await;
    let end = build.end().await;
    assert_eq!(end.data["edited_meanwhile"], json!(["new", "open"]));
    yard.stop().await;
}
