//! Files that the operator supplies to builds: commands can read them, calls and other branches cannot.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Event, Options, Yard, git, json_of, problem_of, text_of, warnings_of};

const VALUE: &str = "hidden-value-1";
const LIST: &str = "# what builds need\n.env\nconfig/*.key\n";
const IGNORED: &str = ".env\n*.key\nout\n";
const MAKEFILE: &str = "\
show:
	@cat .env; cut -c7- .env | base64; echo; ls -A config 2>/dev/null || true
link:
	@ln -sf .env link; ln .env hard; mkdir -p sub; cp .env sub/copy
change:
	@echo MORE=added >> .env
output:
	@mkdir -p out; cp .env out/env; echo built > out/built
nothing:
	@:
";

/// A yard whose operator supplies `.env` to the branches that `branches` names.
fn yard_of(branches: &str, tables: &str) -> Yard {
    let mut yard = Yard::asleep(Options::default());
    let from = from(&yard);
    fs::create_dir_all(from.join("config")).unwrap();
    fs::write(from.join(".env"), format!("TOKEN={VALUE}\n")).unwrap();
    fs::write(from.join("config/server.key"), "a key without a form\n").unwrap();
    fs::write(from.join("unasked"), "not named\n").unwrap();
    yard.configure(Options {
        tables: format!("[repos.demo.include]\nfrom = {from:?}\nbranches = {branches}\n{tables}"),
        timeouts: "grace = \"1s\"\ndrain = \"500ms\"\n".to_owned(),
        ..Options::default()
    });
    yard.origin.at("main");
    yard.origin.write("Makefile", MAKEFILE);
    yard.origin.write(".gitignore", IGNORED);
    yard.origin.write(".worktreeinclude", LIST);
    yard.origin.commit("needs files that git does not have");
    yard.origin.push("main");
    yard.origin.push("topic");
    yard
}

fn from(yard: &Yard) -> PathBuf {
    yard.dir.path().join("supplied")
}

impl Yard {
    async fn answer_of(&self, verb: &str, body: Value) -> (u16, Value) {
        let path = format!("/api/repos/demo/branches/topic/{verb}");
        problem_of(self.post(&path, body).await).await
    }

    async fn refuses(&self, verb: &str, body: Value) {
        let (status, problem) = self.answer_of(verb, body.clone()).await;
        let code = &problem["code"];
        assert_eq!(
            (status, code),
            (403, &json!("included_secret")),
            "{verb} {body}"
        );
        assert!(!problem.to_string().contains(VALUE), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_there_for_commands_and_for_no_call() {
    let mut yard = yard_of("[\"**\"]", "");
    yard.start().await;
    json_of(yard.put("/api/repos/demo/branches/topic", json!({})).await).await;
    let there = yard.workspace("topic");
    assert_eq!(
        fs::read_to_string(there.join(".env")).unwrap(),
        format!("TOKEN={VALUE}\n")
    );
    assert!(there.join("config/server.key").exists() && !there.join("unasked").exists());
    let shown = text_of(&yard.make("topic", &["show"]).await);
    assert!(
        shown.starts_with("TOKEN=***\n") && shown.ends_with("server.key\n"),
        "{shown}"
    );
    assert!(!shown.contains("aGlkZGVuLXZhbHVl"), "{shown}");
    // It is neither work nor build output.
    let about = yard.get_json("/api/repos/demo/branches/topic").await;
    assert_eq!(
        (&about["pins"], &about["untracked"]),
        (&json!([]), &json!(0)),
        "{about}"
    );

    yard.make("topic", &["link"]).await;
    for path in [".env", "config/server.key", "link", "hard", "sub/copy"] {
        yard.refuses("read_file", json!({ "path": path })).await;
        yard.refuses("grep", json!({ "pattern": ".", "path": path }))
            .await;
        let raw = format!("/api/repos/demo/branches/topic/raw/{path}");
        let (status, problem) = problem_of(yard.get(&raw).await).await;
        assert_eq!((status, &problem["code"]), (403, &json!("included_secret")));
    }
    let found = yard
        .post_json(
            "/api/repos/demo/branches/topic/grep",
            json!({ "pattern": "hidden|key without" }),
        )
        .await;
    assert_eq!(found["matches"], json!([]), "{found}");
    let edits = json!([{ "old": "TOKEN", "new": "X" }]);
    yard.refuses(
        "edit_file",
        json!({ "path": ".env", "edits": edits, "dry_run": true }),
    )
    .await;
    yard.refuses(
        "edit_file",
        json!({ "path": "sub/copy", "edits": edits, "dry_run": true }),
    )
    .await;
    let whole = json!({ "path": ".env", "content": "x", "mode": "overwrite" });
    yard.refuses("write_file", whole).await;
    yard.refuses("move_file", json!({ "from": ".env", "to": "seen" }))
        .await;
    yard.refuses("delete_file", json!({ "path": ".env" })).await;
    let patch = "--- a/.env\n+++ b/.env\n@@ -1 +1,2 @@\n TOKEN=hidden-value-1\n+A=1\n";
    let (status, problem) = yard
        .answer_of("apply_patch", json!({ "patch": patch }))
        .await;
    assert_eq!(status, 409, "{problem}");
    assert!(!problem.to_string().contains(VALUE), "{problem}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_verb_of_git_takes_it_and_no_push_sends_it() {
    let mut yard = yard_of("[\"**\"]", "");
    yard.start().await;
    yard.make("topic", &["nothing"]).await;
    let there = yard.workspace("topic");
    yard.refuses("git/add", json!({ "paths": [".env"], "force": true }))
        .await;
    yard.refuses("git/add", json!({ "paths": ["config"], "force": true }))
        .await;
    let forced = yard
        .run(
            "git",
            "topic",
            json!({ "operation": "add", "args": ["-f", "."] }),
        )
        .await;
    let id = forced[0].data["run_id"].as_str().unwrap();
    let record = yard.get_json(&format!("/api/runs/{id}")).await;
    assert_eq!(record["error"]["code"], "included_secret", "{record}");

    // A copy under another name, which git would show.
    yard.make("topic", &["link"]).await;
    fs::remove_file(there.join("link")).unwrap();
    fs::remove_file(there.join("hard")).unwrap();
    fs::write(there.join("mine"), "of the caller\n").unwrap();
    yard.refuses("git/diff", json!({ "include_untracked": true }))
        .await;
    yard.refuses(
        "git/stash",
        json!({ "action": "push", "include_untracked": true }),
    )
    .await;
    yard.refuses("git/add", json!({ "paths": ["sub"] })).await;
    yard.refuses(
        "git/commit",
        json!({ "paths": ["sub/copy"], "message": "x" }),
    )
    .await;
    let added = yard.verb("topic", "add", json!({ "all": true })).await;
    assert!(added["withheld"].to_string().contains("sub"), "{added}");
    let pushed = yard
        .verb("topic", "push", json!({ "message": "all of it" }))
        .await;
    assert_eq!(pushed["state"], "pushed", "{pushed}");
    let on_remote = || {
        git(
            &yard.origin.bare,
            &["ls-tree", "-r", "--name-only", "topic"],
        )
    };
    let sent = on_remote();
    assert!(
        sent.contains("mine") && !sent.contains("copy") && !sent.contains(".env"),
        "{sent}"
    );

    // The rules of the branch do not cover it any more: it is as secret as before.
    fs::write(there.join(".gitignore"), "out\n").unwrap();
    yard.refuses("git/add", json!({ "paths": [".env"] })).await;
    let pushed = yard
        .verb("topic", "push", json!({ "message": "rules" }))
        .await;
    assert!(pushed["withheld"].to_string().contains(".env"), "{pushed}");
    // Who reaches past the daemon cannot have it pushed by the daemon.
    git(&there, &["add", "-f", ".env"]);
    git(&there, &["commit", "-qm", "by hand"]);
    yard.refuses("git/push", json!({})).await;
    assert!(!on_remote().contains(".env"), "{}", on_remote());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_branches_get_nothing_of_it() {
    let mut yard = yard_of(
        "[\"main\", \"release/*\"]",
        "[repos.demo.setup]\nrun = [[\"make\", \"output\"]]\noutputs = [\"out\"]\n",
    );
    yard.start().await;
    yard.make("main", &["show"]).await;
    assert!(yard.workspace("main").join("out/env").exists());
    let without = json!({ "args": ["nothing"], "without_setup": true });
    yard.run("make", "topic", without).await;
    let topic = yard.workspace("topic");
    assert!(
        !topic.join(".env").exists()
            && !topic.join("out").exists()
            && !topic.join("config").exists()
    );
    // With a set-up: none that was made of the files, and the branch is told.
    let events = yard.make("topic", &["nothing"]).await;
    assert!(
        warnings_of(&events).contains(&"include_refused"),
        "{events:?}"
    );
    assert!(!topic.join("out/env").exists());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_follows_the_operators_file_and_is_not_saved() {
    let mut yard = yard_of("[\"**\"]", "");
    yard.start().await;
    yard.make("topic", &["nothing"]).await;
    let (copy, source) = (
        yard.workspace("topic").join(".env"),
        from(&yard).join(".env"),
    );
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    fs::write(&source, "TOKEN=another-value\n").unwrap();
    let shown = text_of(&yard.make("topic", &["show"]).await);
    assert!(
        shown.starts_with("TOKEN=***\n") && !shown.contains("another"),
        "{shown}"
    );
    assert_eq!(read(&copy), "TOKEN=another-value\n");
    // A clean workspace has it, too.
    let cleaned = json!({ "args": ["show"], "clean": true });
    let shown = text_of(&yard.run("make", "topic", cleaned.clone()).await);
    assert!(shown.starts_with("TOKEN=***\n"), "{shown}");
    assert_eq!(yard.salvages("topic").await, Vec::<Value>::new());

    // One that was changed stays as it is, and goes nowhere either.
    yard.make("topic", &["change"]).await;
    fs::write(&source, "TOKEN=third-value\n").unwrap();
    yard.make("topic", &["nothing"]).await;
    assert_eq!(read(&copy), "TOKEN=another-value\nMORE=added\n");
    yard.refuses("read_file", json!({ "path": ".env" })).await;
    fs::write(&copy, "TOKEN=another-value\nMINE=by-hand\n").unwrap();
    fs::write(yard.workspace("topic").join("mine"), "work").unwrap();
    let events = yard.run("make", "topic", cleaned).await;
    assert!(text_of(&events).starts_with("TOKEN=***\n"), "{events:?}");
    assert_eq!(read(&copy), "TOKEN=third-value\n");
    let salvages = yard.salvages("topic").await;
    assert_eq!(salvages.len(), 1, "{salvages:?}");
    assert_eq!(salvages[0]["not_saved"], json!([".env"]), "{salvages:?}");
    let id = salvages[0]["id"].as_str().unwrap();
    let whole = yard
        .get_json(&format!("/api/salvage/{id}"))
        .await
        .to_string();
    assert!(
        whole.contains("mine") && !whole.contains("\".env\",\"kind"),
        "{whole}"
    );

    // Where it is not known any more which they are, nothing is read until it is.
    let noted = yard.store().join("worktrees/topic/branchyard.included");
    fs::write(&noted, "").unwrap();
    let (status, problem) = yard
        .answer_of("read_file", json!({ "path": "name.txt" }))
        .await;
    assert_eq!(status, 500, "{problem}");
    let healed = yard.make("topic", &["show"]).await;
    assert!(text_of(&healed).starts_with("TOKEN=***\n"), "{healed:?}");
    yard.refuses("read_file", json!({ "path": ".env" })).await;
    yard.post_json(
        "/api/repos/demo/branches/topic/read_file",
        json!({ "path": "name.txt" }),
    )
    .await;

    // What the operator takes back goes.
    fs::remove_file(&source).unwrap();
    yard.make("topic", &["nothing"]).await;
    assert!(!copy.exists());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_leads_elsewhere_is_refused() {
    let mut yard = yard_of("[\"**\"]", "");
    fs::write(yard.dir.path().join("outside"), "outside\n").unwrap();
    symlink("/etc/passwd", from(&yard).join("passwd.key")).unwrap();
    symlink(yard.dir.path(), from(&yard).join("up")).unwrap();
    yard.start().await;
    yard.make("topic", &["nothing"]).await;
    let list = yard.workspace("topic").join(".worktreeinclude");
    let refused = [
        "../outside",
        "/etc/passwd",
        "up/../../x",
        "*/../../*",
        "*.key",
        "~/x",
    ];
    for line in refused {
        fs::write(&list, format!("{line}\n")).unwrap();
        let events = yard.make("topic", &["show"]).await;
        let id = events[0].data["run_id"].as_str().unwrap();
        let record = yard.get_json(&format!("/api/runs/{id}")).await;
        assert_eq!(record["state"], "rejected", "{line}: {record}");
        assert_eq!(
            record["error"]["code"], "include_invalid",
            "{line}: {record}"
        );
    }
    fs::write(&list, "up/*\nup\\/outside\nup/[.][.]/*\n").unwrap();
    yard.make("topic", &["nothing"]).await;
    assert!(!yard.workspace("topic").join("up").exists());
    // The list itself is a link; a directory of the branch leads out.
    fs::remove_file(&list).unwrap();
    symlink(from(&yard).join(".env"), &list).unwrap();
    let record = |events: Vec<Event>| events[0].data["run_id"].as_str().unwrap().to_owned();
    let id = record(yard.make("topic", &["nothing"]).await);
    assert_eq!(
        yard.get_json(&format!("/api/runs/{id}")).await["error"]["code"],
        "include_invalid"
    );
    fs::remove_file(&list).unwrap();
    fs::write(&list, "config/server.key\n").unwrap();
    let elsewhere = yard.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, yard.workspace("topic").join("config")).unwrap();
    let id = record(yard.make("topic", &["nothing"]).await);
    assert_eq!(
        yard.get_json(&format!("/api/runs/{id}")).await["error"]["code"],
        "include_invalid"
    );
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    // To mend it, a run goes without; and a new workspace is made all the same.
    let mended = yard
        .run(
            "make",
            "topic",
            json!({ "args": ["nothing"], "without_setup": true }),
        )
        .await;
    let id = record(mended);
    assert_eq!(
        yard.get_json(&format!("/api/runs/{id}")).await["state"],
        "succeeded"
    );
    yard.origin.write(".worktreeinclude", "../x\n");
    yard.origin.commit("a wrong list");
    yard.origin.push("broken");
    json_of(yard.put("/api/repos/demo/branches/broken", json!({})).await).await;
    yard.stop().await;
}
