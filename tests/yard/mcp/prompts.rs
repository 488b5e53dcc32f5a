//! Prompts, filled with what is the case.

use serde_json::json;

use crate::support::{Agent, Yard, failing, git};

async fn both(yard: &Yard) -> [Agent; 2] {
    [Agent::new(yard), Agent::older(yard, &[]).await]
}

async fn made(yard: &Yard, target: &str) -> String {
    let events = yard.make("main", &[target]).await;
    events[0].data["run_id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[tokio::test]
async fn a_failed_build_comes_with_its_complaints_its_output_and_what_to_do() {
    let mut yard = Yard::new().await;
    for (file, content) in failing::c() {
        yard.origin.write(file, content);
    }
    let commit = yard.origin.commit("broken");
    yard.origin.push("main");
    let run = made(&yard, "main.o").await;
    let diagnostics = yard.get_json(&format!("/api/runs/{run}/diagnostics")).await;
    let first = &diagnostics["items"][0];
    let place = format!("{}:{}:", first["file"].as_str().unwrap(), first["line"]);
    let line = format!("(log line {})", first["log_line"]);
    let path = yard.workspace("main").display().to_string();
    for agent in both(&yard).await {
        for arguments in [
            json!({ "run_id": run }),
            json!({ "repo": "demo", "branch": "main" }),
            json!({ "repo": "demo", "branch": "", "run_id": "" }),
        ] {
            let text = agent.prompt("fix_build", arguments).await.unwrap();
            assert_says(
                &text,
                &[
                    &run,
                    "`make main.o` on demo/main",
                    "failed with exit code 2",
                    &commit,
                ],
            );
            assert_says(
                &text,
                &[
                    &place,
                    first["message"].as_str().unwrap(),
                    &line,
                    "| make: *** ",
                ],
            );
            assert_says(
                &text,
                &[
                    "`read_file`",
                    "`grep`",
                    "`run_wait`",
                    "`diagnostics`",
                    &path,
                ],
            );
        }
    }
    let fixed = Agent::with(
        &yard,
        &[("branchyard-repo", "demo"), ("branchyard-branch", "main")],
    );
    assert_says(
        &fixed.prompt("fix_build", json!({})).await.unwrap(),
        &[&run],
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_prompt_is_no_larger_than_any_answer_whatever_was_printed() {
    let mut yard = Yard::new().await;
    let message = "\"\\\u{1}é".repeat(600);
    let errors: String = (1..=50)
        .map(|n| format!("src/{}.c:{n}:1: error: {message} {n}\n", "deep/".repeat(50)))
        .collect();
    yard.origin
        .write("printed.txt", errors + &"\n".repeat(9_000));
    yard.origin
        .write("Makefile", "all:\n\t@cat printed.txt; exit 1\n");
    yard.origin.commit("loud");
    yard.origin.push("main");
    made(&yard, "all").await;
    for agent in both(&yard).await {
        let place = json!({ "repo": "demo", "branch": "main" });
        let text = agent.prompt("fix_build", place).await.unwrap();
        assert_says(&text, &["50 error(s)", "(log line 1)", "How to go on"]);
        let wrong = "\u{1}".repeat(9_000);
        let refused = agent.prompt("fix_build", json!({ "run_id": wrong })).await;
        assert_says(
            refused.unwrap_err()["message"].as_str().unwrap(),
            &["bad_request"],
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_build_that_did_not_fail_is_said_to_be_well() {
    let mut yard = Yard::new().await;
    let agent = Agent::new(&yard);
    let main = json!({ "repo": "demo", "branch": "main" });
    let text = agent.prompt("fix_build", main.clone()).await.unwrap();
    assert_says(
        &text,
        &["No build of demo/main failed", "Nothing was built"],
    );
    let passed = made(&yard, "who").await;
    let text = agent
        .prompt("fix_build", json!({ "run_id": passed }))
        .await
        .unwrap();
    assert_says(&text, &["succeeded", "nothing to fix"]);
    let text = agent.prompt("fix_build", main.clone()).await.unwrap();
    assert_says(&text, &["No build of demo/main failed", &passed]);

    let failed = made(&yard, "fail").await;
    let later = made(&yard, "who").await;
    let text = agent.prompt("fix_build", main).await.unwrap();
    assert_says(
        &text,
        &[
            &failed,
            "exit code 2",
            "| going wrong",
            "a later run",
            &later,
        ],
    );

    let running = yard
        .start_detached("main", json!({ "args": ["gate"] }))
        .await;
    let text = agent
        .prompt("fix_build", json!({ "run_id": running }))
        .await
        .unwrap();
    assert_says(&text, &["has not ended", "`run_wait`"]);
    yard.follow(&running).await.until_line("waiting").await;
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    yard.ended(&running).await;
    yard.stop().await;
}

#[tokio::test]
async fn an_argument_that_is_wrong_or_missing_is_named() {
    let mut yard = Yard::new().await;
    for agent in both(&yard).await {
        for (prompt, arguments, said) in [
            ("fix_build", json!({}), "field: repo"),
            ("fix_build", json!({ "run_id": "x" }), "not a run id"),
            (
                "fix_build",
                json!({ "run_id": "0190d5a0-0000-7000-8000-000000000000" }),
                "there is no run",
            ),
            (
                "fix_build",
                json!({ "repo": "none" }),
                "no repository named none",
            ),
            (
                "fix_build",
                json!({ "repo": "demo", "brnch": "x" }),
                "field: brnch",
            ),
            ("wrap_up", json!({ "repo": "demo" }), "field: branch"),
            (
                "wrap_up",
                json!({ "repo": "demo", "branch": "main" }),
                "no workspace",
            ),
            (
                "wrap_up",
                json!({ "repo": "demo", "branch": ["main"] }),
                "not a text",
            ),
            ("else", json!({}), "fix_build"),
        ] {
            let error = agent.prompt(prompt, arguments).await.unwrap_err();
            assert_eq!(error["code"], -32602, "{error}");
            assert_says(error["message"].as_str().unwrap(), &[said]);
        }
    }
    yard.stop().await;
}

#[tokio::test]
async fn the_loop_of_a_test_first_is_taught_to_agents_that_write_code() {
    let mut yard = Yard::new().await;
    let main = json!({ "repo": "demo", "branch": "main" });
    for (sets, is_there) in [("code", true), ("build", false)] {
        let agent = Agent::with(&yard, &[("branchyard-toolsets", sets)]);
        let listed = agent.request("prompts/list", json!({})).await.unwrap();
        let prompts = listed["prompts"].as_array().unwrap();
        let has = prompts.iter().any(|prompt| prompt["name"] == "test_first");
        assert_eq!(has, is_there, "{sets}: {listed}");
        let prompt = agent.prompt("test_first", main.clone()).await;
        assert_eq!(prompt.is_ok(), is_there, "{sets}: {prompt:?}");
        let Ok(text) = prompt else {
            continue;
        };
        assert_says(&text, &["repo demo, branch main", "`write_file`"]);
        assert_says(&text, &["`exec`", "`install_dependencies`", "`git_push`"]);
    }
    yard.stop().await;
}

#[tokio::test]
async fn what_is_left_to_do_is_told_by_the_state_of_the_workspace() {
    let mut yard = Yard::new().await;
    let head = yard.origin.head();
    yard.get_json("/api/repos/demo/branches/main/env").await;
    let agent = Agent::new(&yard);
    let main = json!({ "repo": "demo", "branch": "main" });
    let say = async || agent.prompt("wrap_up", main.clone()).await.unwrap();

    let text = say().await;
    assert_says(
        &text,
        &[
            &head,
            "nothing is changed",
            "nothing was built",
            "nothing to commit",
        ],
    );
    assert_says(&text, &["the remote has all commits", "is protected"]);
    assert_says(&text, &["1 commit(s) in all", "no earlier version"]);

    let run = made(&yard, "who").await;
    assert_says(
        &say().await,
        &[&run, "succeeded", "That is what is here now"],
    );

    let workspace = yard.workspace("main");
    std::fs::write(workspace.join("name.txt"), "changed\n").unwrap();
    std::fs::write(workspace.join("fresh.txt"), "new\n").unwrap();
    let text = say().await;
    assert_says(
        &text,
        &[
            "|  M name.txt",
            "| ?? fresh.txt",
            "1 untracked",
            "build again",
            "`git add`",
        ],
    );

    git(&workspace, &["add", "name.txt"]);
    git(&workspace, &["commit", "-q", "-m", "changed"]);
    let commit = git(&workspace, &["rev-parse", "HEAD"]);
    let text = say().await;
    assert_says(
        &text,
        &[
            &commit,
            "That is not what is here now",
            "only untracked files",
            "1 commit(s) are not on the remote",
        ],
    );

    git(&workspace, &["checkout", "-q", "-b", "aside", "HEAD~1"]);
    std::fs::write(workspace.join("name.txt"), "other\n").unwrap();
    git(&workspace, &["commit", "-q", "-a", "-m", "other"]);
    git(&workspace, &["checkout", "-q", "main"]);
    crate::support::try_git(&workspace, &["merge", "-q", "aside"]);
    assert_says(&say().await, &["A merge is under way", "UU name.txt"]);

    for (file, content) in (0..2000).map(|n| (format!("untracked-with-a-name-{n}"), "x")) {
        std::fs::write(workspace.join(file), content).unwrap();
    }
    assert_says(&say().await, &["and more"]);
    yard.stop().await;
}

#[tokio::test]
async fn prompts_are_listed_with_what_they_need() {
    let mut yard = Yard::new().await;
    let required = async |agent: &Agent| {
        let listed = agent.request("prompts/list", json!({})).await.unwrap();
        let prompts = listed["prompts"].as_array().unwrap().clone();
        let names: Vec<_> = prompts
            .iter()
            .map(|prompt| prompt["name"].clone())
            .collect();
        assert_eq!(names, ["fix_build", "wrap_up"]);
        prompts[1]["arguments"][0]["required"].clone()
    };
    for agent in both(&yard).await {
        assert_eq!(required(&agent).await, true);
    }
    let fixed = Agent::with(&yard, &[("branchyard-repo", "demo")]);
    assert_eq!(required(&fixed).await, false);
    yard.stop().await;
}

#[tokio::test]
async fn a_release_is_prepared_from_what_was_committed() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    yard.make("topic", &[]).await;
    let workspace = yard.workspace("topic");
    git(&workspace, &["tag", "v1.2.3"]);
    git(
        &workspace,
        &["commit", "-q", "--allow-empty", "-m", "feat(ui): show it"],
    );
    let agent = Agent::new(&yard);
    let topic = json!({ "repo": "demo", "branch": "topic" });
    let text = agent.prompt("wrap_up", topic).await.unwrap();
    assert_says(
        &text,
        &[
            "1 commit(s) since v1.2.3, none of them breaking",
            "v1.3.0 (minor)",
            "`git_push`",
        ],
    );
    yard.stop().await;
}
