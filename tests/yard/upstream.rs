//! What happens when the remote moves, and what never happens to work in a workspace.

use serde_json::json;

use crate::support::{Event, Options, Yard, git, problem_of};

fn text(events: &[Event]) -> String {
    String::from_utf8(events.iter().flat_map(Event::bytes).collect()).unwrap()
}

fn warnings(events: &[Event]) -> Vec<String> {
    let warnings = events.iter().filter(|e| e.kind == "warning");
    warnings
        .map(|e| e.data["code"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untouched_workspace_follows_pushes_and_force_pushes() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    yard.make("topic", &["who"]).await;
    for n in 0..3 {
        yard.origin.at("main");
        yard.origin.write("name.txt", format!("rewritten {n}\n"));
        let commit = yard.origin.commit("rewritten");
        yard.origin.push("topic");
        let events = yard.make("topic", &["who"]).await;
        assert_eq!(text(&events), format!("rewritten {n}\n"));
        assert_eq!(events.last().unwrap().data["commit"], commit.as_str());
        assert_eq!(warnings(&events), Vec::<String>::new());
    }
    let described = yard.get_json("/api/repos/demo/branches/topic").await;
    assert_eq!(
        (
            &described["ahead"],
            &described["behind"],
            &described["dirty"]
        ),
        (&json!(0), &json!(0), &json!(false))
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn within_its_freshness_an_answer_of_the_remote_serves_again() {
    let mut yard = Yard::with(Options {
        git: "freshness = \"1h\"\n".to_owned(),
        ..Options::default()
    })
    .await;
    let commit = yard.origin.branch("topic");
    let first = yard.make("topic", &["who"]).await;
    assert_eq!(first.last().unwrap().data["commit"], commit.as_str());

    // It is not asked: nobody would notice that it is gone, or that it has moved on.
    let away = yard.origin.bare.with_extension("away");
    std::fs::rename(&yard.origin.bare, &away).unwrap();
    let events = yard.make("topic", &["who"]).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    assert_eq!(warnings(&events), Vec::<String>::new());
    std::fs::rename(&away, &yard.origin.bare).unwrap();
    yard.origin.at(&commit);
    yard.origin.write("name.txt", "later\n");
    let later = yard.origin.commit("later");
    yard.origin.push("topic");
    let events = yard.make("topic", &["who"]).await;
    assert_eq!(events.last().unwrap().data["commit"], commit.as_str());

    // Whoever means what the remote has now, asks; from then on everybody knows.
    yard.post_json("/api/repos/demo/branches/topic/git/fetch", json!({}))
        .await;
    let events = yard.make("topic", &["who"]).await;
    assert_eq!(events.last().unwrap().data["commit"], later.as_str());

    // That there was no such branch is believed for no time at all.
    let missing = "/api/repos/demo/branches/new";
    let answer = yard.put(missing, json!({})).await;
    assert_eq!(answer.status(), 404);
    yard.origin.branch("new");
    let answer = yard.put(missing, json!({})).await;
    assert!(answer.status().is_success());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_deleted_upstream_is_an_error_and_not_a_stale_build() {
    let mut yard = Yard::new().await;
    let commit = yard.origin.branch("topic");
    yard.make("topic", &["who"]).await;
    yard.origin.delete("topic");
    let events = yard.make("topic", &["who"]).await;
    let last = events.last().unwrap();
    assert_eq!(
        (last.kind.as_str(), &last.data["code"]),
        ("error", &json!("gone_upstream"))
    );
    assert_eq!(text(&events), "", "nothing was built");
    let record = yard
        .get_json(&format!(
            "/api/runs/{}",
            events[0].data["run_id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(record["state"], "rejected");

    let described = yard.get_json("/api/repos/demo/branches/topic").await;
    assert_eq!(described["gone_upstream"], true);
    let events = yard
        .run("make", "topic", json!({"args": ["who"], "sync": "none"}))
        .await;
    assert_eq!(events.last().unwrap().data["commit"], commit.as_str());
    let events = yard
        .run("make", "topic", json!({"args": ["who"], "stale": true}))
        .await;
    assert_eq!(warnings(&events), ["gone_upstream"]);
    assert!(events.iter().any(|e| e.data["stale"] == true));
    let (status, problem) = problem_of(
        yard.post("/stream/repos/demo/branches/never/make", json!({}))
            .await,
    )
    .await;
    assert_eq!(
        (status, &problem["code"]),
        (404, &json!("branch_not_found"))
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_becomes_a_directory_of_branches_and_back() {
    let mut yard = Yard::new().await;
    let first = yard.origin.branch("feature");
    assert_eq!(text(&yard.make("feature", &["who"]).await), "feature\n");
    let unpushed = local_commit(&yard, "feature");

    yard.origin.delete("feature");
    let inner = yard.origin.branch("feature/x");
    let events = yard.make("feature/x", &["who"]).await;
    assert_eq!(text(&events), "feature/x\n", "{events:?}");
    assert_eq!(events.last().unwrap().data["commit"], inner.as_str());
    let listed = yard.get_json("/api/repos/demo/branches").await;
    let old = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|b| b["branch"] == "feature")
        .unwrap()
        .clone();
    assert_eq!(
        (&old["gone_upstream"], &old["commit"]),
        (&json!(true), &json!(unpushed))
    );
    assert_eq!(
        yard.make("feature", &["who"]).await.last().unwrap().kind,
        "error"
    );

    yard.origin.delete("feature/x");
    yard.origin.at("main");
    yard.origin.write("name.txt", "feature again\n");
    let again = yard.origin.commit("again");
    yard.origin.push("feature");
    let events = yard.make("feature", &["who"]).await;
    assert_eq!(
        warnings(&events),
        ["left_alone"],
        "the unpushed commit stays: {events:?}"
    );
    assert_eq!(events.last().unwrap().data["commit"], unpushed.as_str());
    assert_eq!(
        git(
            &yard.workspace("feature"),
            &["symbolic-ref", "--short", "HEAD"]
        ),
        "feature"
    );

    git(
        &yard.workspace("feature"),
        &["reset", "-q", "--hard", &first],
    );
    let events = yard.make("feature", &["who"]).await;
    assert_eq!(text(&events), "feature again\n");
    assert_eq!(events.last().unwrap().data["commit"], again.as_str());
    yard.stop().await;
}

/// Commits in a workspace, as a person would; the commit's id.
fn local_commit(yard: &Yard, branch: &str) -> String {
    let workspace = yard.workspace(branch);
    std::fs::write(workspace.join("mine.txt"), "mine\n").unwrap();
    git(&workspace, &["add", "mine.txt"]);
    git(&workspace, &["commit", "-q", "-m", "mine"]);
    git(&workspace, &["rev-parse", "HEAD"])
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_and_commits_survive_ten_builds_while_the_remote_moves() {
    let mut yard = Yard::new().await;
    for branch in ["edited", "committed", "hidden"] {
        yard.origin.branch(branch);
        yard.make(branch, &["who"]).await;
    }
    std::fs::write(yard.workspace("edited").join("name.txt"), "my edit\n").unwrap();
    let mine = local_commit(&yard, "committed");
    git(
        &yard.workspace("hidden"),
        &["update-index", "--assume-unchanged", "name.txt"],
    );
    std::fs::write(
        yard.workspace("hidden").join("name.txt"),
        "my hidden edit\n",
    )
    .unwrap();
    // Said even while the remote stands still: what is built is not what the remote has.
    for branch in ["edited", "committed", "hidden"] {
        assert_eq!(
            warnings(&yard.make(branch, &["who"]).await),
            ["left_alone"],
            "{branch}"
        );
    }
    for n in 0..10 {
        for (branch, shown) in [
            ("edited", "my edit\n"),
            ("committed", "committed\n"),
            ("hidden", "my hidden edit\n"),
        ] {
            yard.origin.at(&format!("origin/{branch}"));
            yard.origin.write("name.txt", format!("moved {n}\n"));
            yard.origin.commit("moved");
            yard.origin.push(branch);
            let events = yard.make(branch, &["who"]).await;
            assert_eq!(text(&events), shown);
            assert_eq!(warnings(&events), ["left_alone"]);
        }
    }
    assert_eq!(
        git(&yard.workspace("committed"), &["rev-parse", "HEAD"]),
        mine
    );
    assert_eq!(
        std::fs::read_to_string(yard.workspace("edited").join("name.txt")).unwrap(),
        "my edit\n"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_full_of_build_output_follows_ten_pushes() {
    let mut yard = Yard::new().await;
    yard.make("main", &["build"]).await;
    for n in 0..10 {
        yard.origin.at("origin/main");
        yard.origin.write("name.txt", format!("push {n}\n"));
        let commit = yard.origin.commit("push");
        yard.origin.push("main");
        let events = yard.make("main", &["build", "who"]).await;
        assert_eq!(text(&events), format!("push {n}\n"));
        assert_eq!(events.last().unwrap().data["commit"], commit.as_str());
        assert_eq!(warnings(&events), Vec::<String>::new());
    }
    for output in ["out/result", "ignored/result", "main.o"] {
        assert!(
            yard.workspace("main").join(output).exists(),
            "{output} is kept"
        );
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn untracked_and_ignored_files_in_the_way_are_kept() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    std::fs::write(workspace.join("notes.txt"), "mine\n").unwrap();
    std::fs::write(workspace.join("secret.o"), "mine too\n").unwrap();
    for (file, content) in [("notes.txt", "theirs\n"), ("secret.o", "theirs too\n")] {
        yard.origin.at("main");
        yard.origin.write(file, content);
        yard.origin.git(&["add", "-f", file]);
        yard.origin.commit("in the way");
        yard.origin.push("main");
        let events = yard.make("main", &["who"]).await;
        assert_eq!(warnings(&events), ["left_alone"], "{file}");
    }
    assert_eq!(
        std::fs::read_to_string(workspace.join("notes.txt")).unwrap(),
        "mine\n"
    );
    assert_eq!(
        std::fs::read_to_string(workspace.join("secret.o")).unwrap(),
        "mine too\n"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exact_commit_is_built_backwards_too_or_refused() {
    let mut yard = Yard::new().await;
    let first = yard.origin.head();
    yard.origin.write("name.txt", "second\n");
    let second = yard.origin.commit("second");
    yard.origin.push("main");
    let elsewhere = yard.origin.branch("elsewhere");
    for (commit, shown) in [
        (&second, "second\n"),
        (&first, "main\n"),
        (&second, "second\n"),
    ] {
        let events = yard
            .run(
                "make",
                "main",
                json!({"args": ["who"], "sync": "commit", "commit": commit}),
            )
            .await;
        assert_eq!(text(&events), shown);
        assert_eq!(events.last().unwrap().data["commit"], commit.as_str());
    }
    let events = yard
        .run(
            "make",
            "main",
            json!({"args": ["who"], "sync": "commit", "commit": elsewhere}),
        )
        .await;
    assert_eq!(events.last().unwrap().data["code"], "commit_not_on_branch");
    std::fs::write(yard.workspace("main").join("name.txt"), "my edit\n").unwrap();
    let events = yard
        .run(
            "make",
            "main",
            json!({"args": ["who"], "sync": "commit", "commit": first}),
        )
        .await;
    assert_eq!(events.last().unwrap().data["code"], "workspace_has_work");
    assert_eq!(
        std::fs::read_to_string(yard.workspace("main").join("name.txt")).unwrap(),
        "my edit\n"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_moved_by_hand_is_told_and_not_touched() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    git(&workspace, &["checkout", "-q", "-b", "somewhere-else"]);
    let events = yard.make("main", &["who"]).await;
    assert_eq!(events.last().unwrap().data["code"], "drifted");
    let help = events.last().unwrap().data["help"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(help.contains("checkout main"), "{help}");
    git(&workspace, &["checkout", "-q", "main"]);
    assert_eq!(
        yard.make("main", &["who"]).await.last().unwrap().data["state"],
        "succeeded"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn push_pull_and_upstream_work_in_a_workspace() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic/one");
    yard.make("topic/one", &["who"]).await;
    let workspace = yard.workspace("topic/one");
    let mine = local_commit(&yard, "topic/one");
    assert_eq!(
        git(&workspace, &["rev-parse", "--abbrev-ref", "@{u}"]),
        "origin/topic/one"
    );
    assert_eq!(git(&workspace, &["rev-list", "--count", "@{u}..HEAD"]), "1");
    let events = yard
        .run("git", "topic/one", json!({"operation": "push"}))
        .await;
    assert_eq!(
        events.last().unwrap().data["state"],
        "succeeded",
        "{events:?}"
    );
    assert_eq!(
        git(&yard.origin.bare, &["rev-parse", "refs/heads/topic/one"]),
        mine
    );
    let config = std::fs::read_to_string(yard.store().join("config")).unwrap();
    assert!(
        !config.contains("topic/one"),
        "the shared configuration is not touched"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_workspace_that_was_removed_leaves_nothing_that_comes_back() {
    let mut yard = Yard::new().await;
    yard.origin.branch("feature");
    yard.make("feature", &["who"]).await;
    yard.origin.delete("feature");
    yard.origin.branch("feature/x");
    yard.make("feature/x", &["who"]).await;
    let gone = yard.delete("/api/repos/demo/branches/feature").await;
    assert_eq!(gone.status(), 204);
    yard.origin.delete("feature/x");
    yard.origin.at("main");
    yard.origin.write("name.txt", "anew\n");
    let anew = yard.origin.commit("anew");
    yard.origin.push("feature");
    let events = yard.make("feature", &["who"]).await;
    assert_eq!(text(&events), "anew\n", "{events:?}");
    assert_eq!(events.last().unwrap().data["commit"], anew.as_str());
    assert_eq!(
        git(&yard.workspace("feature"), &["rev-parse", "HEAD"]),
        anew
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_a_parked_workspace_survive_its_directory() {
    let mut yard = Yard::new().await;
    yard.origin.branch("feature");
    yard.make("feature", &["who"]).await;
    let mine = local_commit(&yard, "feature");
    yard.origin.delete("feature");
    yard.origin.branch("feature/x");
    yard.make("feature/x", &["who"]).await;
    std::fs::remove_dir_all(yard.workspace("feature")).unwrap();
    yard.origin.delete("feature/x");
    yard.origin.branch("feature");
    let events = yard.make("feature", &["who"]).await;
    assert_eq!(warnings(&events), ["left_alone"], "{events:?}");
    assert_eq!(events.last().unwrap().data["commit"], mine.as_str());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn not_even_sync_none_builds_a_workspace_that_was_moved_by_hand() {
    let mut yard = Yard::new().await;
    yard.origin.branch("other");
    yard.make("other", &["who"]).await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    git(&workspace, &["checkout", "-q", "--detach", "origin/other"]);
    for body in [
        json!({"args": ["who"], "sync": "none"}),
        json!({"args": ["who"]}),
    ] {
        let events = yard.run("make", "main", body).await;
        assert_eq!(events.last().unwrap().data["code"], "drifted");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_pushed_from_here_counts_as_seen() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let put = yard
        .request(reqwest::Method::PUT, "/api/repos/demo/branches/made-here")
        .json(&json!({"from": "main"}))
        .send();
    assert_eq!(put.await.unwrap().status(), 200);
    local_commit(&yard, "made-here");
    let pushed = yard
        .run("git", "made-here", json!({"operation": "push"}))
        .await;
    assert_eq!(
        pushed.last().unwrap().data["state"],
        "succeeded",
        "{pushed:?}"
    );
    assert_eq!(
        warnings(&yard.make("made-here", &["who"]).await),
        Vec::<String>::new()
    );

    yard.origin.at("main");
    yard.origin.write("name.txt", "rebased upstream\n");
    let rebased = yard.origin.commit("rebased");
    yard.origin.push("made-here");
    let events = yard.make("made-here", &["who"]).await;
    assert_eq!(
        events.last().unwrap().data["commit"],
        rebased.as_str(),
        "it follows: {events:?}"
    );

    yard.origin.delete("made-here");
    let events = yard.make("made-here", &["who"]).await;
    assert_eq!(events.last().unwrap().data["code"], "gone_upstream");
    yard.stop().await;
}
