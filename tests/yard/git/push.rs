//! push: what was pushed has arrived, and nothing of anybody's is lost on the way.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{Agent, PATIENCE, Yard, events_of, git, problem_of, until};

/// A yard with a workspace of `topic`, a branch of the remote.
async fn with_topic() -> Yard {
    let yard = Yard::new().await;
    yard.origin.branch("topic");
    yard.make("topic", &[]).await;
    yard
}

fn write(yard: &Yard, branch: &str, name: &str, content: &str) {
    std::fs::write(yard.workspace(branch).join(name), content).unwrap();
}

/// What the remote has for a branch.
fn remote(yard: &Yard, branch: &str) -> String {
    git(
        &yard.origin.bare,
        &["rev-parse", &format!("refs/heads/{branch}")],
    )
}

pub(super) fn hook(yard: &Yard, name: &str, script: &str) {
    let hook = yard.origin.bare.join("hooks").join(name);
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Has somebody else push a commit to `branch` that sets `name` to `content`.
fn elsewhere(yard: &Yard, branch: &str, name: &str, content: &str) -> String {
    let origin = &yard.origin;
    origin.git(&["fetch", "-q", "origin"]);
    origin.at(&format!("origin/{branch}"));
    origin.write(name, content);
    let commit = origin.commit(&format!("{name} from elsewhere"));
    origin.push(branch);
    commit
}

#[tokio::test]
async fn a_change_is_committed_and_arrives() {
    let mut yard = with_topic().await;
    write(&yard, "topic", "new.txt", "new\n");
    let message = "Add a file\n\nWith a body.\n";
    let body = json!({ "message": message, "author": "Ann <ann@example.org>" });
    let pushed = yard.verb("topic", "push", body).await;
    assert_eq!(pushed["state"], "pushed", "{pushed}");
    assert_eq!(pushed["remote_commit"], remote(&yard, "topic"));
    assert_eq!(pushed["committed"], pushed["remote_commit"]);
    assert_eq!(pushed["commit"], pushed["remote_commit"]);
    assert_eq!(
        (&pushed["ahead"], &pushed["dirty"]),
        (&json!(0), &json!(false))
    );
    let told = git(
        &yard.origin.bare,
        &["log", "-1", "--format=%an <%ae>%n%B", "topic"],
    );
    assert_eq!(told, "Ann <ann@example.org>\nAdd a file\n\nWith a body.");

    let agent = Agent::of_git(&yard, "topic");
    let again = agent
        .call("git_push", json!({ "message": "Nothing more" }))
        .await;
    assert_eq!(again["state"], "up_to_date");
    assert_eq!(again["remote_commit"], pushed["remote_commit"]);
    assert_eq!(again["committed"], Value::Null);
    yard.stop().await;
}

#[tokio::test]
async fn secrets_and_ignored_files_stay_here_unless_they_are_named() {
    let mut yard = with_topic().await;
    for name in [".env", "server.key", "code.c", "lib.o"] {
        write(&yard, "topic", name, "x\n");
    }
    let pushed = yard
        .verb("topic", "push", json!({ "message": "All" }))
        .await;
    let withheld: Vec<_> = pushed["withheld"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| &w["path"])
        .collect();
    assert_eq!(withheld, [".env", "server.key"]);
    let files = || {
        git(
            &yard.origin.bare,
            &["ls-tree", "-r", "--name-only", "topic"],
        )
    };
    assert!(files().contains("code.c"));
    for name in [".env", "server.key", "lib.o"] {
        assert!(!files().contains(name), "{name} was pushed");
        assert!(yard.workspace("topic").join(name).exists());
    }
    let body = json!({ "message": "Meant", "paths": ["server.key"] });
    yard.verb("topic", "push", body).await;
    assert!(files().contains("server.key") && !files().contains(".env"));
    yard.stop().await;
}

#[tokio::test]
async fn what_the_remote_has_is_taken_in_first() {
    let mut yard = with_topic().await;
    for (integrate, parents) in [("rebase", 1), ("merge", 2)] {
        let theirs = elsewhere(&yard, "topic", &format!("theirs-{integrate}"), "1\n");
        write(&yard, "topic", &format!("ours-{integrate}"), "1\n");
        let none = json!({ "message": "Ours", "integrate": "none" });
        let (status, problem) = problem_of(yard.try_verb("topic", "push", none).await).await;
        assert_eq!((status, &problem["code"]), (409, &json!("behind")));
        assert_eq!(remote(&yard, "topic"), theirs);

        let pushed = yard
            .verb("topic", "push", json!({ "integrate": integrate }))
            .await;
        assert_eq!(pushed["integrated"], theirs, "{pushed}");
        assert_eq!(pushed["remote_commit"], remote(&yard, "topic"));
        let tip = git(&yard.origin.bare, &["rev-list", "--parents", "-1", "topic"]);
        assert_eq!(tip.split(' ').count(), 1 + parents);
        let here = git(&yard.workspace("topic"), &["log", "--format=%H"]);
        assert!(here.contains(&theirs));
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_conflict_stops_at_once_and_everything_is_as_it_was() {
    let mut yard = with_topic().await;
    let theirs = elsewhere(&yard, "topic", "name.txt", "theirs\n");
    write(&yard, "topic", "name.txt", "ours\n");
    write(&yard, "topic", "beside", "untracked\n");
    let body = json!({ "message": "Ours", "paths": ["name.txt"] });
    let pushed = yard.verb("topic", "push", body).await;
    assert_eq!(pushed["state"], "conflicts", "{pushed}");
    assert_eq!(pushed["conflicts"][0]["path"], "name.txt");
    assert_eq!(pushed["attempts"], 1);
    assert_eq!(remote(&yard, "topic"), theirs);
    let workspace = yard.workspace("topic");
    assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), pushed["committed"]);
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "?? beside");
    assert_eq!(git(&workspace, &["branch", "--show-current"]), "topic");
    assert_eq!(
        std::fs::read(workspace.join("name.txt")).unwrap(),
        b"ours\n"
    );
    yard.stop().await;
}

#[tokio::test]
async fn changes_that_are_not_committed_are_not_moved() {
    let mut yard = with_topic().await;
    elsewhere(&yard, "topic", "theirs", "1\n");
    write(&yard, "topic", "name.txt", "not committed\n");
    git(
        &yard.workspace("topic"),
        &["commit", "-q", "--allow-empty", "-m", "ours"],
    );
    let (status, problem) = problem_of(yard.try_verb("topic", "push", json!({})).await).await;
    assert_eq!((status, &problem["code"]), (409, &json!("local_changes")));
    let status = git(&yard.workspace("topic"), &["status", "--porcelain"]);
    assert_eq!(status, "M name.txt");
    yard.stop().await;
}

#[tokio::test]
async fn a_rewritten_history_goes_where_it_may() {
    let mut yard = with_topic().await;
    yard.origin.branch("agent-7-fix");
    yard.make("agent-7-fix", &[]).await;
    for branch in ["topic", "agent-7-fix"] {
        let workspace = yard.workspace(branch);
        let old = remote(&yard, branch);
        git(
            &workspace,
            &["commit", "-q", "--amend", "-m", "said better"],
        );
        if branch == "topic" {
            let refused = yard.try_verb(branch, "push", json!({})).await;
            let (status, problem) = problem_of(refused).await;
            assert_eq!((status, &problem["code"]), (409, &json!("rewritten")));
            assert_eq!(remote(&yard, branch), old);
        }
        let body = json!({ "force": branch == "topic" });
        let pushed = yard.verb(branch, "push", body).await;
        assert_eq!(pushed["replaced"], old, "{pushed}");
        assert_eq!(
            remote(&yard, branch),
            git(&workspace, &["rev-parse", "HEAD"])
        );

        // What was never here is not replaced, but taken in.
        let theirs = elsewhere(&yard, branch, "theirs", "1\n");
        git(
            &workspace,
            &["commit", "-q", "--amend", "-m", "said better still"],
        );
        let pushed = yard.verb(branch, "push", json!({ "force": true })).await;
        assert_eq!(pushed["replaced"], Value::Null);
        assert_eq!(pushed["integrated"], theirs);
        git(
            &yard.origin.bare,
            &["merge-base", "--is-ancestor", &theirs, branch],
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_rejected_push_is_tried_again() {
    let mut yard = with_topic().await;
    let count = yard.dir.path().join("count");
    let script = format!("echo x >> {0}; [ $(wc -l < {0}) -gt 2 ]", count.display());
    hook(&yard, "pre-receive", &script);
    write(&yard, "topic", "new", "1\n");
    let pushed = yard
        .verb("topic", "push", json!({ "message": "New" }))
        .await;
    assert_eq!(
        (&pushed["state"], &pushed["attempts"]),
        (&json!("pushed"), &json!(3))
    );
    let failures = pushed["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 2);
    assert!(
        failures[0]
            .as_str()
            .unwrap()
            .contains("pre-receive hook declined")
    );
    assert_eq!(pushed["remote_commit"], remote(&yard, "topic"));

    hook(&yard, "pre-receive", "echo no such luck >&2; exit 1");
    write(&yard, "topic", "more", "1\n");
    let body = json!({ "message": "More", "retries": 1 });
    let (status, problem) = problem_of(yard.try_verb("topic", "push", body).await).await;
    assert_eq!((status, &problem["code"]), (502, &json!("push_rejected")));
    assert!(
        problem["detail"].as_str().unwrap().contains("2 attempts"),
        "{problem}"
    );
    let unpushed = git(&yard.workspace("topic"), &["log", "-1", "--format=%s"]);
    assert_eq!(unpushed, "More");
    yard.stop().await;
}

/// The remote moves after it was asked and before it is pushed to.
#[tokio::test]
async fn a_remote_that_moves_in_between_loses_nothing() {
    let mut yard = with_topic().await;
    let old = remote(&yard, "topic");
    let theirs = elsewhere(&yard, "topic", "theirs", "1\n");
    git(&yard.origin.bare, &["update-ref", "refs/heads/topic", &old]);
    let marker = yard.dir.path().join("moved");
    hook(
        &yard,
        "pre-receive",
        &format!(
            "[ -e {0} ] && exit 0; touch {0}\n\
             unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n\
             git update-ref refs/heads/topic {theirs}",
            marker.display()
        ),
    );
    write(&yard, "topic", "ours", "1\n");
    let pushed = yard
        .verb("topic", "push", json!({ "message": "Ours" }))
        .await;
    assert_eq!(pushed["attempts"], 2, "{pushed}");
    assert_eq!(pushed["integrated"], theirs);
    assert_eq!(pushed["remote_commit"], remote(&yard, "topic"));
    git(
        &yard.origin.bare,
        &["merge-base", "--is-ancestor", &theirs, "topic"],
    );
    yard.stop().await;
}

#[tokio::test]
async fn protected_branches_are_not_pushed_to_by_the_way() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    write(&yard, "main", "new", "1\n");
    let before = remote(&yard, "main");
    let body = json!({ "message": "New" });
    let (status, problem) = problem_of(yard.try_verb("main", "push", body.clone()).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (403, &json!("protected_branch"))
    );
    let agent = Agent::of_git(&yard, "main");
    let refusal = agent.refusal("git_push", body).await;
    assert!(refusal.starts_with("protected_branch"), "{refusal}");
    let path = "/stream/repos/demo/branches/main/git";
    let (status, _) = problem_of(yard.post(path, json!({ "operation": "push" })).await).await;
    assert_eq!(status, 403);
    let refusal = agent.refusal("git", json!({ "operation": "push" })).await;
    assert!(refusal.starts_with("protected_branch"), "{refusal}");
    let dry = json!({ "operation": "push", "args": ["--dry-run"] });
    events_of(yard.post(path, dry).await).await;
    for gone in [
        json!({ "action": "delete", "name": "main", "force": true }),
        json!({ "action": "rename", "name": "main", "new_name": "mine" }),
    ] {
        let refusal = agent.refusal("git_branch", gone).await;
        assert!(refusal.starts_with("protected_branch"), "{refusal}");
    }
    assert_eq!(remote(&yard, "main"), before);
    assert_eq!(git(&yard.workspace("main"), &["rev-parse", "HEAD"]), before);

    let said = json!({ "message": "New", "allow_protected": true });
    let pushed = yard.verb("main", "push", said).await;
    assert_eq!(pushed["remote_commit"], remote(&yard, "main"));
    assert_ne!(remote(&yard, "main"), before);
    yard.stop().await;
}

#[tokio::test]
async fn what_would_be_pushed_can_be_asked() {
    let mut yard = with_topic().await;
    let before = remote(&yard, "topic");
    git(
        &yard.workspace("topic"),
        &["commit", "-q", "--allow-empty", "-m", "ours"],
    );
    write(&yard, "topic", ".env", "A=1\n");
    let body = json!({ "dry_run": true, "message": "Not committed" });
    let dry = yard.verb("topic", "push", body).await;
    assert_eq!(
        (&dry["state"], &dry["standing"]),
        (&json!("dry_run"), &json!("ahead"))
    );
    assert_eq!(dry["outgoing"][0]["subject"], "ours");
    assert_eq!(dry["withheld"][0]["path"], ".env");
    assert_eq!(remote(&yard, "topic"), before);
    let here = git(&yard.workspace("topic"), &["log", "-1", "--format=%s"]);
    assert_eq!(here, "ours");
    yard.stop().await;
}

#[tokio::test]
async fn tags_go_along() {
    let mut yard = with_topic().await;
    git(&yard.workspace("topic"), &["tag", "v1"]);
    let pushed = yard.verb("topic", "push", json!({ "tags": ["v1"] })).await;
    assert_eq!(pushed["tags"], json!(["v1"]));
    assert_eq!(
        git(&yard.origin.bare, &["rev-parse", "v1"]),
        remote(&yard, "topic")
    );
    for bad in ["none", "--all", "a..b", "../x"] {
        let refused = yard
            .try_verb("topic", "push", json!({ "tags": [bad] }))
            .await;
        let (status, problem) = problem_of(refused).await;
        assert!([400, 404].contains(&status), "{bad}: {problem}");
        assert_eq!(problem["field"], "tags");
    }
    yard.stop().await;
}

#[tokio::test]
async fn nobody_waits_for_the_network_to_read() {
    let mut yard = with_topic().await;
    let (began, go) = (yard.dir.path().join("began"), yard.dir.path().join("go"));
    let script = format!(
        "touch {}; for i in `seq 1500`; do [ -e {} ] && exit 0; sleep 0.02; done; exit 1",
        began.display(),
        go.display()
    );
    hook(&yard, "pre-receive", &script);
    write(&yard, "topic", "new", "1\n");
    let pushing = yard.try_verb("topic", "push", json!({ "message": "New" }));
    let reading = async {
        until("the hook has begun", || began.exists()).await;
        let read = yard.post_json(
            "/api/repos/demo/branches/topic/read_file",
            json!({ "path": "new" }),
        );
        let read = tokio::time::timeout(PATIENCE, read).await.unwrap();
        assert_eq!(read["text"], "1\n", "{read}");
        std::fs::write(&go, "").unwrap();
    };
    let (pushed, ()) = tokio::join!(pushing, reading);
    assert_eq!(pushed.status(), 200);
    yard.stop().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_field() {
    let mut yard = with_topic().await;
    for (body, field) in [
        (json!({ "paths": ["x"] }), "paths"),
        (json!({ "author": "A <a@b>" }), "author"),
        (json!({ "retries": 11 }), "retries"),
        (json!({ "integrate": "squash" }), "integrate"),
        (json!({ "mirror": true }), "mirror"),
        (json!({ "message": " \n" }), "message"),
        (json!({ "message": "x", "author": "nobody" }), "author"),
        (json!({ "message": "x", "paths": ["../main/x"] }), "paths"),
    ] {
        let (status, problem) =
            problem_of(yard.try_verb("topic", "push", body.clone()).await).await;
        assert!([400, 403, 422].contains(&status), "{body}: {problem}");
        assert_eq!(problem["field"], field, "{problem}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_branch_goes_on_the_remote_once_it_is_merged_there() {
    let mut yard = with_topic().await;
    let there = remote(&yard, "topic");
    let delete = json!({ "action": "delete", "name": "topic", "remote": true, "force": true });
    let refused = yard.try_verb("topic", "branch", delete.clone()).await;
    let (status, problem) = problem_of(refused).await;
    assert_eq!((status, &problem["code"]), (409, &json!("unmerged")));
    assert_eq!(problem["field"], "remote");
    assert!(yard.workspace("topic").exists());

    let origin = &yard.origin;
    origin.at("main");
    origin.git(&["merge", "-q", "--no-ff", "-m", "merged", &there]);
    origin.push("main");
    let listed = json!({ "remote": true, "contains": there });
    yard.verb("topic", "fetch", json!({ "all": true })).await;
    let found = yard.verb("topic", "branch", listed).await;
    let names: Vec<_> = found["branches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| &b["name"])
        .collect();
    assert_eq!(names, ["main", "topic"]);
    let lacking = json!({ "remote": true, "not_contains": there });
    let found = yard.verb("topic", "branch", lacking).await;
    assert_eq!(found["branches"], json!([]));

    let agent = Agent::of_git(&yard, "topic");
    let deleted = agent.call("git_branch", delete).await;
    assert_eq!(deleted["remote_was"], there);
    assert!(!yard.workspace("topic").exists());
    let heads = git(
        &yard.origin.bare,
        &["for-each-ref", "--format=%(refname)", "refs/heads"],
    );
    assert_eq!(heads, "refs/heads/main");

    yard.make("main", &[]).await;
    let protected = json!({ "action": "delete", "name": "main", "remote": true });
    let (status, problem) = problem_of(yard.try_verb("main", "branch", protected).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (403, &json!("protected_branch"))
    );
    yard.stop().await;
}
