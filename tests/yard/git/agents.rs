//! Agents on branches: a workspace for each task, and all their pushes arrive.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard, git, json_of, problem_of};

async fn begin(yard: &Yard, body: Value) -> Value {
    json_of(yard.post("/api/git/clone", body).await).await
}

#[tokio::test]
async fn a_task_has_one_workspace_however_often_it_asks() {
    let mut yard = Yard::new().await;
    yard.origin.branch("base");
    let body = json!({ "repo": "demo", "agent_id": "claude-7", "task_id": "login" });
    let begun = begin(&yard, body.clone()).await;
    assert_eq!(begun["branch"], "agent-claude-7-login");
    assert_eq!(
        (&begun["created"], &begun["base"]),
        (&json!(true), &json!("main"))
    );
    let workspace = yard.workspace("agent-claude-7-login");
    assert_eq!(begun["workspace"], workspace.to_str().unwrap());
    assert_eq!(begun["commit"], git(&workspace, &["rev-parse", "HEAD"]));
    std::fs::write(workspace.join("mine"), "work\n").unwrap();

    let agent = Agent::of_git(&yard, "main");
    let again = agent.call("git_clone", body.clone()).await;
    assert_eq!(
        (&again["workspace"], &again["created"]),
        (&begun["workspace"], &json!(false))
    );
    assert!(workspace.join("mine").exists());

    // Pushed, removed and asked for again, it is still the same branch.
    let branch = "agent-claude-7-login";
    let pushed = yard
        .verb(branch, "push", json!({ "message": "Mine" }))
        .await;
    yard.delete(&format!("/api/repos/demo/branches/{branch}"))
        .await;
    assert!(!workspace.exists());
    let again = begin(&yard, body).await;
    assert_eq!(
        (&again["commit"], &again["created"]),
        (&pushed["commit"], &json!(false))
    );

    let based = json!({ "repo": "demo", "agent_id": "b", "task_id": "2", "base": "base" });
    let begun = begin(&yard, based).await;
    assert_eq!(
        begun["commit"],
        git(&yard.origin.bare, &["rev-parse", "base"])
    );
    yard.stop().await;
}

#[tokio::test]
async fn names_are_checked_and_collisions_told() {
    let mut yard = Yard::new().await;
    begin(
        &yard,
        json!({ "repo": "demo", "agent_id": "a-b", "task_id": "c" }),
    )
    .await;
    for (body, status, code, field) in [
        (
            json!({ "repo": "demo", "agent_id": "a", "task_id": "b-c" }),
            409,
            "branch_taken",
            "task_id",
        ),
        (
            json!({ "repo": "demo", "agent_id": "../x", "task_id": "1" }),
            400,
            "bad_request",
            "agent_id",
        ),
        (
            json!({ "repo": "demo", "agent_id": "a", "task_id": "--upload-pack=x" }),
            400,
            "bad_request",
            "task_id",
        ),
        (
            json!({ "repo": "demo", "agent_id": "a", "task_id": "1", "base": "none" }),
            404,
            "branch_not_found",
            "base",
        ),
        (
            json!({ "repo": "none", "agent_id": "a", "task_id": "1" }),
            404,
            "repo_not_found",
            "repo",
        ),
        (
            json!({ "agent_id": "a", "task_id": "1" }),
            422,
            "unprocessable",
            "repo",
        ),
        (
            json!({ "repo": "demo", "task_id": "1" }),
            422,
            "unprocessable",
            "agent_id",
        ),
        (
            json!({ "url": "ext::sh -c id", "agent_id": "a", "task_id": "1" }),
            400,
            "bad_request",
            "url",
        ),
        (
            json!({ "url": "https://127.0.0.1/x.git", "agent_id": "a", "task_id": "1" }),
            400,
            "bad_request",
            "url",
        ),
    ] {
        let (got, problem) = problem_of(yard.post("/api/git/clone", body.clone()).await).await;
        assert_eq!(
            (got, problem["code"].as_str().unwrap()),
            (status, code),
            "{body}: {problem}"
        );
        assert_eq!(problem["field"], field, "{body}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_url_is_registered_once() {
    let mut yard = Yard::new().await;
    let known = json!({ "url": yard.origin.url(), "agent_id": "a", "task_id": "1" });
    let begun = begin(&yard, known).await;
    assert_eq!(
        (&begun["repo"], &begun["registered"]),
        (&json!("demo"), &json!(false))
    );

    let copy = yard.dir.path().join("copy.git");
    git(
        yard.dir.path(),
        &[
            "clone",
            "-q",
            "--bare",
            &yard.origin.url(),
            copy.to_str().unwrap(),
        ],
    );
    let url = copy.to_str().unwrap();
    for registered in [true, false] {
        let body = json!({ "url": url, "agent_id": "a", "task_id": "1" });
        let begun = begin(&yard, body).await;
        assert_eq!(
            (&begun["repo"], &begun["registered"]),
            (&json!("copy"), &json!(registered))
        );
    }
    // Another one of the same name has to be given another.
    let other = yard.dir.path().join("other/copy.git");
    std::fs::create_dir(other.parent().unwrap()).unwrap();
    std::fs::rename(&copy, &other).unwrap();
    let mut body = json!({ "url": other, "agent_id": "a", "task_id": "2" });
    let (status, problem) = problem_of(yard.post("/api/git/clone", body.clone()).await).await;
    assert_eq!((status, &problem["field"]), (409, &json!("repo")));
    body["repo"] = json!("copy-2");
    assert_eq!(begin(&yard, body).await["repo"], "copy-2");
    yard.stop().await;
}

#[tokio::test]
async fn a_new_repository_can_be_built_on_at_once() {
    let mut yard = Yard::new().await;
    let body = json!({ "repo": "fresh", "default_branch": "trunk" });
    let begun = json_of(yard.post("/api/git/init", body.clone()).await).await;
    assert_eq!(
        (&begun["repo"], &begun["branch"]),
        (&json!("fresh"), &json!("trunk"))
    );
    let (status, _) = problem_of(yard.post("/api/git/init", body).await).await;
    assert_eq!(status, 409);
    let task = json!({ "repo": "fresh", "agent_id": "a", "task_id": "1" });
    let agent = begin(&yard, task).await;
    assert_eq!(
        (&agent["base"], &agent["commit"]),
        (&json!("trunk"), &begun["commit"])
    );
    std::fs::write(
        format!("{}/Makefile", agent["workspace"].as_str().unwrap()),
        "all:\n\t@echo built\n",
    )
    .unwrap();
    let path = "/api/repos/fresh/branches/agent-a-1/git/push";
    let pushed = yard.post_json(path, json!({ "message": "Build" })).await;
    assert_eq!(pushed["state"], "pushed");
    yard.stop().await;

    let mut bare = Yard::with(Options {
        bare: true,
        ..Options::default()
    })
    .await;
    let (status, problem) =
        problem_of(bare.post("/api/git/init", json!({ "repo": "x" })).await).await;
    assert_eq!(status, 400);
    assert!(
        problem["help"].as_str().unwrap().contains("allow_local"),
        "{problem}"
    );
    bare.stop().await;
}

/// Every agent commits to its branch, follows a base that moves, and pushes; what it is told is on the
/// remote.
async fn agents_at_work(agents: usize, rounds: usize) {
    let mut yard = Yard::new().await;
    yard.origin.branch("base");
    let work = async |n: usize| {
        let task =
            json!({ "repo": "demo", "agent_id": n.to_string(), "task_id": "t", "base": "base" });
        let begun = begin(&yard, task).await;
        let branch = begun["branch"].as_str().unwrap().to_owned();
        let agent = Agent::of_git(&yard, &branch);
        let mut told = Vec::new();
        for round in 0..rounds {
            let file = yard.workspace(&branch).join(format!("{n}-{round}"));
            std::fs::write(file, "work\n").unwrap();
            let message = format!("agent {n} round {round}");
            if round % 2 == 1 {
                let committed = agent.call("git_push", json!({ "message": message })).await;
                told.push(committed["remote_commit"].as_str().unwrap().to_owned());
            } else {
                agent.call("git_add", json!({ "paths": ["."] })).await;
                let commit = json!({ "operation": "commit", "args": ["-m", message] });
                agent.call("git", commit).await;
            }
            let pulled = agent.call("git_pull", json!({ "from": "base" })).await;
            assert_ne!(pulled["state"], "conflicts", "{pulled}");
            let pushed = agent.call("git_push", json!({})).await;
            assert_ne!(pushed["state"], "conflicts", "{pushed}");
            assert_eq!(pushed["remote_commit"], pushed["commit"]);
            told.push(pushed["remote_commit"].as_str().unwrap().to_owned());
        }
        (n, branch, told)
    };
    let base = async {
        for round in 0..rounds {
            yard.origin.write(&format!("base-{round}"), "moved\n");
            yard.origin.commit(&format!("base round {round}"));
            yard.origin.push("base");
            tokio::task::yield_now().await;
        }
    };
    let all = futures_of((0..agents).map(work));
    let (all, ()) = tokio::join!(all, base);
    for (n, branch, told) in all {
        let subjects = git(
            &yard.origin.bare,
            &["log", "--format=%s", &format!("base..{branch}")],
        );
        let own: Vec<_> = subjects
            .lines()
            .filter(|s| s.starts_with("agent "))
            .collect();
        let distinct: BTreeSet<_> = own.iter().collect();
        assert_eq!(
            (own.len(), distinct.len()),
            (rounds, rounds),
            "agent {n}: {subjects}"
        );
        // The last is the branch's head; what a rebase replaced was there when it was told.
        assert_eq!(
            git(&yard.origin.bare, &["rev-parse", &branch]),
            *told.last().unwrap()
        );
        for commit in told {
            git(&yard.origin.bare, &["cat-file", "-e", &commit]);
        }
    }
    yard.stop().await;
}

async fn futures_of<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = all.map(Box::pin).collect();
    let mut done: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    std::future::poll_fn(move |cx| {
        for (future, done) in waiting.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(cx)
            {
                *done = Some(value);
            }
        }
        match done.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(done.iter_mut().filter_map(Option::take).collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_agents_push_and_everything_arrives() {
    agents_at_work(16, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "about a minute: part of `make soak`"]
async fn soak_sixteen_agents_for_a_minute() {
    agents_at_work(16, 60).await;
}
