//! Work is saved before anything discards it, and comes back byte for byte.

use reqwest::StatusCode;
use serde_json::json;

use crate::support::work::{WORK, commit_in, snapshot, upstream, write};
use crate::support::{Yard, encode, git, json_of, problem_of, warnings_of};

fn address(branch: &str) -> String {
    format!("/api/repos/demo/branches/{}", encode(branch))
}

/// Something that discards work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Force,
    Reset,
    Clean,
    ResetAndClean,
}

impl Way {
    async fn go(self, yard: &Yard, branch: &str) {
        let wish = match self {
            Self::Force => {
                let gone = yard
                    .delete(&format!("{}?force=true", address(branch)))
                    .await;
                let saved = json_of(gone).await;
                assert!(saved["salvage"]["id"].is_string(), "{saved}");
                assert!(!yard.workspace(branch).exists());
                return;
            }
            Self::Reset => json!({"args": ["who"], "sync": "reset"}),
            Self::Clean => json!({"args": ["who"], "clean": true}),
            Self::ResetAndClean => json!({"args": ["who"], "sync": "reset", "clean": true}),
        };
        let events = yard.run("make", branch, wish).await;
        let last = events.last().unwrap();
        // A workspace in the middle of something is refused, unless it is reset.
        assert!(
            last.data["state"] == "succeeded" || self == Self::Clean,
            "{self:?}: {:?}",
            events.iter().map(|event| &event.data).collect::<Vec<_>>()
        );
    }
}

/// Every kind of work, discarded in this way, is still there or comes back byte for byte.
async fn every_kind_survives(way: Way) {
    let mut yard = Yard::new().await;
    let branches: Vec<String> = (0..WORK.len()).map(|n| format!("work-{n}")).collect();
    upstream(&yard, &branches);
    for ((what, work, _), branch) in WORK.iter().zip(&branches) {
        yard.make(branch, &["who"]).await;
        let workspace = yard.workspace(branch);
        work(&yard, &workspace, branch);
        let before = snapshot(&yard, branch);

        way.go(&yard, branch).await;
        let saved = yard.salvages(branch).await;
        if workspace.exists() && snapshot(&yard, branch) == before {
            assert_eq!(saved.len(), 0, "{what}: nothing was lost");
            continue;
        }
        assert_eq!(saved.len(), 1, "{what}");
        if matches!(way, Way::Reset | Way::ResetAndClean) {
            let tracked = git(&workspace, &["status", "--porcelain", "-uno"]);
            assert_eq!(tracked, "", "{what}");
            let head = git(&workspace, &["rev-parse", "HEAD"]);
            let remote = git(&workspace, &["rev-parse", &format!("origin/{branch}")]);
            assert_eq!(head, remote, "{what}");
        }
        if way == Way::ResetAndClean {
            let status = git(&workspace, &["status", "--porcelain", "--ignored"]);
            assert_eq!(status, "", "{what}");
        }
        // What is left after a clean may be work of its own, such as a tracked change.
        yard.restore(&saved[0], json!({ "force": true })).await;
        let after = snapshot(&yard, branch);
        for (now, then) in after.iter().zip(&before) {
            assert_eq!(now, then, "{what}");
        }
        assert_eq!(after.len(), before.len(), "{what}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_work_survives_a_forced_removal() {
    every_kind_survives(Way::Force).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_work_survives_a_reset() {
    every_kind_survives(Way::Reset).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_work_survives_a_clean_build() {
    every_kind_survives(Way::Clean).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_work_survives_a_pristine_build() {
    every_kind_survives(Way::ResetAndClean).await;
}

/// A workspace of `work` with a changed file and one of the user's own.
async fn with_work(yard: &Yard) {
    yard.origin.branch("work");
    yard.make("work", &["who"]).await;
    let workspace = yard.workspace("work");
    write(&workspace, "name.txt", "mine\n");
    write(&workspace, "notes.txt", "mine too\n");
    commit_in(&workspace, "unpushed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_salvage_is_listed_shown_restored_as_a_new_branch_and_dropped() {
    let mut yard = Yard::new().await;
    with_work(&yard).await;
    let before = snapshot(&yard, "work");
    let head = git(&yard.workspace("work"), &["rev-parse", "HEAD"]);
    let gone = yard
        .delete(&format!("{}?force=true", address("work")))
        .await;
    let saved = json_of(gone).await["salvage"].clone();
    let id = saved["id"].as_str().unwrap();
    assert_eq!(saved["reason"], "remove");
    assert_eq!(saved["commit"], head);
    assert_eq!(saved["work"].as_array().unwrap().len(), 3, "{saved}");

    assert_eq!(
        yard.get_json("/api/salvage?repo=demo&branch=other").await["items"],
        json!([])
    );
    let listed = yard.salvages("work").await;
    assert_eq!(listed.len(), 1);
    assert!(listed[0]["expires_in"].as_u64().unwrap() > 29 * 24 * 3600);
    let shown = yard.get_json(&format!("/api/salvage/{id}")).await;
    assert_eq!(
        shown["files"],
        json!([
            {"path": "name.txt", "change": "changed", "size": 5},
            {"path": "notes.txt", "change": "added", "size": 9},
        ])
    );
    let file = yard
        .get(&format!("/api/salvage/{id}/file?path=notes.txt"))
        .await;
    assert_eq!(file.text().await.unwrap(), "mine too\n");
    for path in ["..%2Fsalvage.json", "", "a%00b"] {
        let none = yard
            .get(&format!("/api/salvage/{id}/file?path={path}"))
            .await;
        assert_eq!(none.status(), StatusCode::NOT_FOUND, "{path}");
    }

    // The branch is free again: the next build is of what the remote has.
    let events = yard.make("work", &["who"]).await;
    assert_eq!(warnings_of(&events), Vec::<&str>::new());
    let remote = git(&yard.store(), &["rev-parse", "refs/remotes/origin/work"]);
    assert_eq!(events.last().unwrap().data["commit"], remote);

    let taken = yard
        .post(
            &format!("/api/salvage/{id}/restore"),
            json!({"branch": "main"}),
        )
        .await;
    let (status, problem) = problem_of(taken).await;
    assert_eq!((status, &problem["code"]), (409, &json!("branch_exists")));
    let restored = yard
        .restore(&saved, json!({"branch": "rescued/work"}))
        .await;
    assert_eq!(restored["branch"], "rescued/work");
    assert_eq!(restored["commit"], head);
    let workspace = yard.workspace("rescued/work");
    assert_eq!(
        git(&workspace, &["symbolic-ref", "HEAD"]),
        "refs/heads/rescued/work"
    );
    assert_eq!(
        std::fs::read_to_string(workspace.join("notes.txt")).unwrap(),
        "mine too\n"
    );
    git(&workspace, &["push", "-q", "origin", "HEAD"]);

    yard.restore(&saved, json!({})).await;
    assert_eq!(snapshot(&yard, "work"), before);
    let dropped = yard.delete(&format!("/api/salvage/{id}")).await;
    assert_eq!(dropped.status(), StatusCode::NO_CONTENT);
    for path in [
        format!("/api/salvage/{id}"),
        format!("/api/salvage/{id}/file?path=x"),
    ] {
        let (status, problem) = problem_of(yard.get(&path).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (404, &json!("salvage_not_found"))
        );
    }
    let (status, problem) = problem_of(yard.get("/api/salvage/nonsense").await).await;
    assert_eq!((status, &problem["field"]), (400, &json!("salvage_id")));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_saved_is_named() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    write(&workspace, "notes/notes.txt", "mine\n");
    // The name of a socket has a hundred bytes at most.
    let socket = std::os::unix::net::UnixListener::bind(yard.dir.path().join("s")).unwrap();
    std::fs::rename(yard.dir.path().join("s"), workspace.join("notes/socket")).unwrap();
    git(&workspace, &["init", "-q", "inner"]);
    write(&workspace, "inner/file", "mine\n");
    let pipe = workspace.join("inner/pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let gone = yard
        .delete(&format!("{}?force=true", address("main")))
        .await;
    let salvage = json_of(gone).await["salvage"].clone();
    let mut named = salvage["not_saved"].as_array().unwrap().clone();
    named.sort_by_key(ToString::to_string);
    assert_eq!(named, ["inner/pipe", "notes/socket"], "{salvage}");
    drop(socket);
    // It stays known.
    let id = salvage["id"].as_str().unwrap();
    let shown = yard.get_json(&format!("/api/salvage/{id}")).await;
    assert_eq!(shown["not_saved"], salvage["not_saved"], "{shown}");
    yard.post_json(&format!("/api/salvage/{id}/restore"), json!({}))
        .await;
    for file in ["notes/notes.txt", "inner/file"] {
        let text = std::fs::read_to_string(workspace.join(file)).unwrap();
        assert_eq!(text, "mine\n", "{file}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_does_not_overwrite_other_work() {
    let mut yard = Yard::new().await;
    with_work(&yard).await;
    let first = snapshot(&yard, "work");
    yard.run(
        "make",
        "work",
        json!({"args": ["who"], "sync": "reset", "clean": true}),
    )
    .await;
    write(&yard.workspace("work"), "name.txt", "something else\n");
    write(&yard.workspace("work"), "another.txt", "something else\n");
    let second = snapshot(&yard, "work");
    let saved = yard.salvages("work").await;
    let path = format!("/api/salvage/{}/restore", saved[0]["id"].as_str().unwrap());
    let (status, problem) = problem_of(yard.post(&path, json!({})).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("workspace_has_work"))
    );
    assert_eq!(snapshot(&yard, "work"), second, "nothing was touched");

    let restored = yard.post_json(&path, json!({"force": true})).await;
    assert_eq!(restored["warnings"][0]["code"], "salvaged", "{restored}");
    assert_eq!(snapshot(&yard, "work"), first);
    let saved = yard.salvages("work").await;
    assert_eq!(saved.len(), 2);
    assert_eq!(saved[0]["reason"], "restore");
    yard.restore(&saved[0], json!({"force": true})).await;
    assert_eq!(snapshot(&yard, "work"), second);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_build_makes_is_nobodys_work_and_what_a_person_makes_is() {
    let mut yard = Yard::new().await;
    yard.origin.branch("work");
    yard.make("work", &["who"]).await;
    let workspace = yard.workspace("work");
    write(&workspace, "ignored/mine", "mine\n");
    // It makes out/, which git does not ignore, a file in ignored/, which was there before, and main.o.
    yard.make("work", &["build"]).await;
    let described = yard.get_json(&address("work")).await;
    assert_eq!(described["pins"], json!(["ignored files: ignored/"]));
    std::fs::remove_dir_all(workspace.join("ignored")).unwrap();
    yard.make("work", &["build"]).await;
    assert_eq!(yard.get_json(&address("work")).await["pins"], json!([]));

    // Touched by hand, it is a person's.
    write(&workspace, "main.c", "mine\n");
    let described = yard.get_json(&address("work")).await;
    assert_eq!(described["pins"], json!(["untracked files: main.c"]));
    std::fs::remove_file(workspace.join("main.c")).unwrap();

    // On its way out, what git shows is saved, and what it ignores is not.
    let saved = json_of(yard.delete(&address("work")).await).await["salvage"].clone();
    let shown = yard
        .get_json(&format!("/api/salvage/{}", saved["id"].as_str().unwrap()))
        .await;
    let files = shown["files"].as_array().unwrap();
    let paths: Vec<_> = files
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["out/result"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_keeps_what_it_need_not_touch_and_a_clean_build_is_pristine() {
    let mut yard = Yard::new().await;
    yard.origin.branch("work");
    yard.make("work", &["build"]).await;
    let workspace = yard.workspace("work");
    write(&workspace, "notes.txt", "mine\n");
    let built = std::fs::metadata(workspace.join("Makefile"))
        .unwrap()
        .modified()
        .unwrap();
    let events = yard
        .run("make", "work", json!({"args": ["who"], "sync": "reset"}))
        .await;
    assert_eq!(warnings_of(&events), Vec::<&str>::new());
    assert!(workspace.join("notes.txt").exists() && workspace.join("main.o").exists());
    assert_eq!(yard.salvages("work").await.len(), 0);

    // A file of one's own in the place of a new one of the branch.
    yard.origin.at("origin/work");
    yard.origin.write("notes.txt", "theirs\n");
    yard.origin.commit("theirs");
    yard.origin.push("work");
    let events = yard
        .run("make", "work", json!({"args": ["who"], "sync": "reset"}))
        .await;
    assert_eq!(warnings_of(&events), ["salvaged"]);
    assert_eq!(
        std::fs::read_to_string(workspace.join("notes.txt")).unwrap(),
        "theirs\n"
    );
    let id = yard.salvages("work").await[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let file = yard
        .get(&format!("/api/salvage/{id}/file?path=notes.txt"))
        .await;
    assert_eq!(file.text().await.unwrap(), "mine\n");
    let now = std::fs::metadata(workspace.join("Makefile"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(now, built, "files that are the same are not written again");

    std::fs::create_dir_all(workspace.join("empty/inner")).unwrap();
    yard.run("make", "work", json!({"args": ["who"], "clean": true}))
        .await;
    assert_eq!(git(&workspace, &["status", "--porcelain", "--ignored"]), "");
    assert!(!workspace.join("empty").exists());
    let refused = yard.post(
        "/stream/repos/demo/branches/work/make",
        json!({"clean": true, "sync": "none"}),
    );
    let (status, problem) = problem_of(refused.await).await;
    assert_eq!((status, &problem["field"]), (422, &json!("clean")));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_a_process_is_in_does_not_go() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    let mut inside = std::process::Command::new("sleep")
        .arg("1000")
        .current_dir(yard.workspace("main"))
        .spawn()
        .unwrap();
    for query in ["", "?force=true"] {
        let (status, problem) =
            problem_of(yard.delete(&format!("{}{query}", address("main"))).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (409, &json!("workspace_in_use")),
            "{query}"
        );
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(&inside.id().to_string()), "{detail}");
    }
    inside.kill().unwrap();
    inside.wait().unwrap();
    let gone = yard.delete(&address("main")).await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_only_a_log_knows_pin_nothing_and_are_saved_on_the_way_out() {
    let mut yard = Yard::new().await;
    yard.origin.branch("work");
    yard.make("work", &["who"]).await;
    let workspace = yard.workspace("work");
    commit_in(&workspace, "given up");
    let given_up = git(&workspace, &["rev-parse", "HEAD"]);
    git(&workspace, &["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(yard.get_json(&address("work")).await["pins"], json!([]));
    let saved = json_of(yard.delete(&address("work")).await).await["salvage"].clone();
    let name = format!("refs/branchyard/salvage/{}", saved["id"].as_str().unwrap());
    let ancestry = ["merge-base", "--is-ancestor", &given_up, &name];
    git(&yard.store(), &ancestry);

    // One that followed a force-push has nothing of its own.
    yard.make("work", &["who"]).await;
    yard.origin.at("main");
    yard.origin.commit("forced");
    yard.origin.push("work");
    yard.make("work", &["who"]).await;
    let gone = yard.delete(&address("work")).await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_on_a_commit_that_lost_its_objects_is_kept_or_comes_back() {
    for object in ["HEAD:name.txt", "HEAD^{tree}", "HEAD"] {
        let mut yard = Yard::new().await;
        yard.make("main", &["who"]).await;
        let workspace = yard.workspace("main");
        write(&workspace, "name.txt", "mine\n");
        git(&workspace, &["commit", "-q", "-am", "mine"]);
        // No file has it any more, from which it could be made again.
        write(&workspace, "name.txt", "later\n");
        write(&workspace, "notes.txt", "mine\n");
        let id = git(&workspace, &["rev-parse", object]);
        let (dir, file) = id.split_at(2);
        std::fs::remove_file(yard.store().join("objects").join(dir).join(file)).unwrap();
        let answer = yard
            .delete(&format!("{}?force=true", address("main")))
            .await;
        if answer.status() == StatusCode::OK {
            let salvage = json_of(answer).await["salvage"]["id"].clone();
            let salvage = salvage.as_str().unwrap().to_owned();
            let path = format!("/api/salvage/{salvage}/restore");
            yard.post_json(&path, json!({})).await;
        }
        let read = |name: &str| std::fs::read_to_string(workspace.join(name)).unwrap();
        let left = (read("name.txt"), read("notes.txt"));
        assert_eq!(left, ("later\n".into(), "mine\n".into()), "{object}");
        yard.stop().await;
    }
}
