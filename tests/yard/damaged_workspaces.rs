//! A workspace that something went wrong with is refused with the mend, and never built as if it were
//! whole.

use serde_json::{Value, json};

use crate::support::{Event, Options, Yard, git, text_of, warnings_of};

fn refusal(events: &[Event]) -> &Value {
    let last = events.last().unwrap();
    assert_eq!(last.kind, "error", "{events:?}");
    &last.data["code"]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exact_commit_is_never_another_one() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let here = git(&yard.workspace("main"), &["rev-parse", "HEAD"]);
    let put = yard
        .request(reqwest::Method::PUT, "/api/repos/demo/branches/made-here")
        .json(&json!({"from": "main"}));
    assert_eq!(put.send().await.unwrap().status(), 200);
    let exact = |commit: &str, stale: bool| json!({"args": ["who"], "sync": "commit", "commit": commit, "stale": stale});
    let unknown = "1".repeat(40);
    let events = yard.run("make", "made-here", exact(&unknown, false)).await;
    assert_eq!(refusal(&events), "commit_not_on_branch");
    std::fs::rename(&yard.origin.bare, yard.dir.path().join("away")).unwrap();
    let events = yard.run("make", "main", exact(&unknown, true)).await;
    assert_eq!(refusal(&events), "commit_not_on_branch");
    let events = yard.run("make", "main", exact(&here, true)).await;
    assert_eq!(events.last().unwrap().data["commit"], here.as_str());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_was_cut_off_is_not_taken_for_work() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    yard.origin.at("main");
    yard.origin.write("name.txt", "new\n");
    yard.origin.write("other.txt", "new\n");
    let new = yard.origin.commit("new");
    yard.origin.push("main");
    let workspace = yard.workspace("main");
    git(&workspace, &["fetch", "-q", "origin"]);
    // As a power cut in the middle of the checkout leaves it: begun, some files new, HEAD old.
    let cut_off = || {
        git(&workspace, &["reset", "-q", "--hard", "HEAD"]);
        git(
            &yard.store(),
            &["update-ref", "refs/branchyard/seen-next/main", &new],
        );
        std::fs::write(workspace.join("name.txt"), "new\n").unwrap();
    };
    cut_off();
    let untouched = json!({"args": ["who"], "sync": "none"});
    let events = yard.run("make", "main", untouched).await;
    assert_eq!(refusal(&events), "checkout_incomplete");
    let events = yard.make("main", &["who"]).await;
    let seen = (text_of(&events), warnings_of(&events));
    assert_eq!(seen, ("new\n".to_owned(), vec![]));
    let saved = yard.get_json("/api/salvage").await;
    assert_eq!(saved["items"], json!([]), "nothing there was anybody's");

    // What is neither the old nor the new is somebody's, and is saved.
    git(&workspace, &["reset", "-q", "--hard", "HEAD~1"]);
    cut_off();
    std::fs::write(workspace.join("Makefile"), "mine\n").unwrap();
    let events = yard.make("main", &["who"]).await;
    let seen = (text_of(&events), warnings_of(&events));
    assert_eq!(seen, ("new\n".to_owned(), vec!["salvaged"]));
    let saved = yard.get_json("/api/salvage").await;
    let id = saved["items"][0]["id"].as_str().unwrap();
    let file = yard
        .get(&format!("/api/salvage/{id}/file?path=Makefile"))
        .await;
    assert_eq!(file.text().await.unwrap(), "mine\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_in_the_place_of_an_overlooked_file_is_a_change_and_no_trap() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    git(
        &workspace,
        &["update-index", "--assume-unchanged", "name.txt"],
    );
    std::fs::remove_file(workspace.join("name.txt")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(workspace.join("name.txt"))
        .status();
    assert!(made.unwrap().success());
    let described = yard.get_json("/api/repos/demo/branches/main").await;
    assert_eq!(described["dirty"], true);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_is_waited_for_while_somebody_is_behind_it_and_goes_when_nobody_is() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let push = |content: &str| {
        yard.origin.at("main");
        yard.origin.write("name.txt", content);
        yard.origin.commit(content);
        yard.origin.push("main");
    };
    push("new\n");
    let lock = yard.store().join("worktrees/main/index.lock");
    std::fs::write(&lock, "").unwrap();
    let mut person = std::process::Command::new("sleep")
        .arg("60")
        .current_dir(yard.workspace("main"))
        .spawn()
        .unwrap();
    let events = yard.make("main", &["who"]).await;
    assert_eq!(refusal(&events), "index_locked");
    assert!(lock.exists());
    let marks = git(
        &yard.store(),
        &["for-each-ref", "refs/branchyard/seen-next/"],
    );
    assert_eq!(marks, "", "no move was begun");
    person.kill().unwrap();
    person.wait().unwrap();
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "new\n");
    assert!(!lock.exists());

    // Those of the store, met by the fetch and by a new workspace.
    push("newer\n");
    for name in [
        "refs/remotes/origin/main.lock",
        "packed-refs.lock",
        "shallow.lock",
        "config.lock",
    ] {
        std::fs::write(yard.store().join(name), "").unwrap();
    }
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "newer\n");
    yard.origin.branch("fresh");
    let heads = yard.store().join("refs/heads");
    std::fs::create_dir_all(&heads).unwrap();
    std::fs::write(heads.join("fresh.lock"), "").unwrap();
    let events = yard.make("fresh", &["who"]).await;
    assert_eq!(text_of(&events), "fresh\n", "{events:?}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_on_a_branch_without_commits_has_drifted() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    git(
        &yard.workspace("main"),
        &["checkout", "-q", "--orphan", "new-root"],
    );
    assert_eq!(refusal(&yard.make("main", &["who"]).await), "drifted");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_a_detached_head_outlive_the_workspace_that_was_moved_away() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    git(&workspace, &["checkout", "-q", "--detach"]);
    std::fs::write(workspace.join("mine.txt"), "mine\n").unwrap();
    git(&workspace, &["add", "mine.txt"]);
    git(&workspace, &["commit", "-q", "-m", "mine"]);
    let mine = git(&workspace, &["rev-parse", "HEAD"]);
    std::fs::rename(&workspace, yard.dir.path().join("moved")).unwrap();
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");
    let kept = git(
        &yard.store(),
        &[
            "for-each-ref",
            "--format=%(objectname)",
            "refs/branchyard/set-aside/",
        ],
    );
    assert_eq!(kept, mine);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_stopped_run_started_is_asked_once_and_given_the_whole_grace() {
    let timeouts = "grace = \"20s\"".to_owned();
    let mut yard = Yard::with(Options {
        timeouts,
        ..Options::default()
    })
    .await;
    yard.origin.at("main");
    yard.origin.write(
        "tidy.sh",
        "trap 'sleep 0.3; echo $1 >> tidied; exit 0' TERM\necho ready $1 >> ready\nfor i in `seq 600`; do sleep 0.05; done\n",
    );
    yard.origin.write(
        "Makefile",
        "tidy:\n\t@sh tidy.sh group >/dev/null 2>&1 & setsid sh tidy.sh session >/dev/null 2>&1 & \\\n\twhile [ \"`wc -l < ready 2>/dev/null`\" != 2 ]; do sleep 0.02; done; echo started; sleep 30\n",
    );
    yard.origin.commit("tidy");
    yard.origin.push("main");
    let mut run = yard
        .start_run("make", "main", json!({"args": ["tidy"]}))
        .await;
    run.until_line("started").await;
    yard.post(&format!("/api/runs/{}/cancel", run.run_id()), json!({}))
        .await;
    assert_eq!(run.end().await.data["state"], "cancelled");
    let tidied = std::fs::read_to_string(yard.workspace("main").join("tidied")).unwrap();
    let mut tidied: Vec<_> = tidied.lines().collect();
    tidied.sort_unstable();
    assert_eq!(tidied, ["group", "session"]);
    yard.stop().await;
}
