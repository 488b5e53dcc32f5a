//! What verbs tell of submodules, and how another commit of one is recorded.

use serde_json::{Value, json};

use super::{assert_as_cloned, push, target};
use crate::support::beside::{Beside, add, work};
use crate::support::work::{commit_in, write};
use crate::support::{Agent, Options, Yard, git, problem_of};

/// A yard whose branch `topic` has the submodule `lib`.
async fn yard() -> (Yard, Beside) {
    let yard = Yard::with(Options::default()).await;
    let lib = Beside::new(&yard, "lib");
    add(&work(&yard), "../lib.git", "lib");
    target(&yard, "cat lib/file");
    push(&yard, "one");
    yard.origin.push("topic");
    yard.put("/api/repos/demo/branches/topic", json!({})).await;
    (yard, lib)
}

fn state(answer: &Value) -> &Value {
    &answer["submodules"][0]
}

#[tokio::test(flavor = "multi_thread")]
async fn verbs_tell_of_submodules_that_are_not_as_recorded() {
    let (mut yard, lib) = yard().await;
    let place = yard.workspace("topic").join("lib");
    let recorded = git(&lib.work, &["rev-parse", "HEAD"]);
    let status = yard.verb("topic", "status", json!({})).await;
    assert_eq!(
        (&status["clean"], &status["submodules"]),
        (&json!(true), &Value::Null)
    );
    write(&place, "file", "mine");
    write(&place, "notes", "mine");
    for verb in ["status", "diff"] {
        let told = yard.verb("topic", verb, json!({})).await;
        let state = state(&told);
        assert_eq!(state["path"], "lib", "{told:#}");
        assert_eq!(
            (&state["recorded"], &state["present"]),
            (&json!(recorded), &json!(recorded))
        );
        assert!(
            state["work"].is_string() && state["untracked"] == 1,
            "{state}"
        );
    }
    git(&place, &["checkout", "-q", "file"]);
    commit_in(&place, "own");
    let own = git(&place, &["rev-parse", "HEAD"]);
    let told = yard.verb("topic", "status", json!({})).await;
    assert_eq!(
        (&state(&told)["recorded"], &state(&told)["present"]),
        (&json!(recorded), &json!(own))
    );
    // A commit says what it leaves out.
    std::fs::write(yard.workspace("topic").join("name.txt"), "mine\n").unwrap();
    let (agent, workspace) = (Agent::of_git(&yard, "topic"), yard.workspace("topic"));
    for (tool, more) in [
        ("git_add", json!({ "all": true })),
        ("git_commit", json!({ "message": "mine" })),
    ] {
        let answer = agent.tool(tool, more).await;
        let said = answer.to_string();
        assert!(
            said.contains("submodules_left_out") && said.contains(&own),
            "{answer:#}"
        );
        let staged = git(&workspace, &["ls-files", "--stage", "lib"]);
        assert!(staged.contains(&recorded), "{tool}: {staged}");
    }
    let tree = git(&yard.workspace("topic"), &["ls-tree", "HEAD", "lib"]);
    assert!(tree.contains(&recorded), "{tree}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_commit_of_a_submodule_is_staged_and_its_files_follow() {
    let (mut yard, lib) = yard().await;
    let place = yard.workspace("topic").join("lib");
    let newer = lib.commit("newer");
    let set = |more: Value| {
        let mut asked = json!({ "action": "set", "path": "lib" });
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        asked
    };
    let told = yard
        .verb("topic", "submodule", set(json!({ "commit": newer })))
        .await;
    assert_eq!(told["staged"], json!(newer), "{told:#}");
    assert_eq!(
        std::fs::read_to_string(place.join("file")).unwrap(),
        "newer"
    );
    assert_eq!(state(&told)["present"], json!(newer));
    let committed = yard
        .verb("topic", "commit", json!({ "message": "newer lib" }))
        .await;
    assert_eq!(committed["files_changed"], 1, "{committed:#}");
    let pushed = yard.verb("topic", "push", json!({})).await;
    assert_eq!(pushed["state"], "pushed");
    yard.make("topic", &["t"]).await;
    assert_as_cloned(&yard, "topic");

    // What somebody has checked out there, and what nobody else has.
    let newest = lib.commit("newest");
    git(&place, &["fetch", "-q"]);
    git(&place, &["checkout", "-q", &newest]);
    let told = yard.verb("topic", "submodule", set(json!({}))).await;
    assert_eq!(told["staged"], json!(newest), "{told:#}");
    assert_eq!(state(&told)["work"], Value::Null, "{told:#}");
    commit_in(&place, "own");
    let own = git(&place, &["rev-parse", "HEAD"]);
    let answer = yard
        .try_verb("topic", "submodule", set(json!({ "commit": own })))
        .await;
    let (status, problem) = problem_of(answer).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("submodule_commit_missing"))
    );
    // Work stays where it is, and the commit is staged all the same.
    let told = yard
        .verb("topic", "submodule", set(json!({ "commit": newer })))
        .await;
    assert_eq!(
        (&state(&told)["recorded"], &state(&told)["present"]),
        (&json!(newer), &json!(own))
    );

    for (asked, code, field) in [
        (json!({ "action": "set" }), "unprocessable", "path"),
        (
            json!({ "action": "set", "path": "lib", "commit": "main" }),
            "bad_request",
            "commit",
        ),
        (
            json!({ "action": "set", "path": "other" }),
            "no_such_submodule",
            "path",
        ),
        (
            json!({ "action": "set", "path": "../lib" }),
            "outside_workspace",
            "path",
        ),
        (
            json!({ "action": "sync", "path": "lib" }),
            "unprocessable",
            "path",
        ),
    ] {
        let answer = yard.try_verb("topic", "submodule", asked.clone()).await;
        let (_, problem) = problem_of(answer).await;
        assert_eq!(
            (&problem["code"], &problem["field"]),
            (&json!(code), &json!(field)),
            "{asked}: {problem}"
        );
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn submodules_follow_when_they_are_told_to() {
    let (mut yard, lib) = yard().await;
    let workspace = yard.workspace("topic");
    let newer = lib.commit("newer");
    git(
        &workspace,
        &[
            "update-index",
            "--cacheinfo",
            &format!("160000,{newer},lib"),
        ],
    );
    git(&workspace, &["commit", "-q", "-m", "newer lib"]);
    let told = yard.verb("topic", "status", json!({})).await;
    assert_eq!(state(&told)["recorded"], json!(newer));
    assert_ne!(state(&told)["present"], json!(newer));
    let told = yard
        .verb("topic", "submodule", json!({ "action": "sync" }))
        .await;
    assert_eq!(state(&told)["present"], json!(newer), "{told:#}");
    assert_eq!(
        std::fs::read_to_string(workspace.join("lib/file")).unwrap(),
        "newer"
    );
    let told = yard.verb("topic", "status", json!({})).await;
    assert_eq!(told["clean"], json!(true), "{told:#}");
    yard.stop().await;
}
