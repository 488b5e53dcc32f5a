//! branch: listed and created; worktree.

use serde_json::{Value, json};

use super::local::{at_work, refused};
use crate::support::work::{commit_in, write};
use crate::support::{Agent, Yard, git};

fn names(answer: &Value) -> Vec<&str> {
    let branches = answer["branches"].as_array().unwrap();
    branches
        .iter()
        .map(|branch| branch["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn branches_are_listed_with_what_they_are_about() {
    let mut yard = Yard::new().await;
    yard.origin.branch("other");
    for branch in ["main", "other"] {
        yard.make(branch, &["who"]).await;
    }
    commit_in(&yard.workspace("other"), "of its own");
    git(&yard.store(), &["branch", "without", "refs/heads/main"]);

    let all = yard
        .verb("main", "branch", json!({ "verbosity": "full" }))
        .await;
    assert_eq!(
        (names(&all), &all["total"]),
        (vec!["main", "other", "without"], &json!(3))
    );
    let other = &all["branches"][1];
    assert_eq!(
        (&other["subject"], &other["author"]),
        (&json!("of its own"), &json!("Test"))
    );
    assert_eq!(
        (&other["workspace"], &other["current"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        other["upstream"],
        json!({ "name": "origin/other", "ahead": 1, "behind": 0 })
    );
    assert_eq!(all["branches"][2]["workspace"], false);
    let agent = Agent::of_git(&yard, "main");
    for (body, expected) in [
        (json!({ "merged": "main" }), vec!["main", "without"]),
        (json!({ "unmerged": "main" }), vec!["other"]),
        (json!({ "contains": "other" }), vec!["other"]),
        (json!({ "not_contains": "other" }), vec!["main", "without"]),
        (
            json!({ "contains": "main", "not_contains": "other" }),
            vec!["main", "without"],
        ),
        (json!({ "pattern": "*t*" }), vec!["other", "without"]),
        (json!({ "remote": true }), vec!["main", "other"]),
        (json!({ "pattern": "nothing" }), vec![]),
    ] {
        let listed = agent.call("git_branch", body.clone()).await;
        assert_eq!(names(&listed), expected, "{body}");
    }
    let some = agent
        .call("git_branch", json!({ "count": 2, "verbosity": "minimal" }))
        .await;
    assert_eq!(
        (&some["next"], some["branches"][0].get("subject")),
        (&json!(2), None)
    );
    let rest = agent.call("git_branch", json!({ "skip": 2 })).await;
    assert_eq!((names(&rest), rest.get("next")), (vec!["without"], None));
    let shown = agent.call("git_branch", json!({ "action": "show" })).await;
    assert_eq!(
        (&shown["item"]["name"], &shown["item"]["current"]),
        (&json!("main"), &json!(true))
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_long_list_fits_and_says_where_it_goes_on() {
    let mut yard = at_work().await;
    let tip = git(&yard.store(), &["rev-parse", "refs/heads/main"]);
    let mut packed = String::new();
    for n in 0..1200 {
        packed.push_str(&format!(
            "create refs/heads/{}-{n:04} {tip}\n",
            "b".repeat(60)
        ));
    }
    let script = yard.dir.path().join("refs");
    std::fs::write(&script, packed).unwrap();
    let update = std::process::Command::new("git")
        .args(["update-ref", "--stdin"])
        .current_dir(yard.store())
        .stdin(std::fs::File::open(&script).unwrap())
        .status();
    assert!(update.unwrap().success());
    let agent = Agent::of_git(&yard, "main");
    let (mut seen, mut skip) = (0, 0);
    loop {
        let body = json!({ "skip": skip, "count": 1000, "verbosity": "minimal" });
        let page = agent.call("git_branch", body).await;
        seen += names(&page).len();
        assert_eq!(page["total"], 1201);
        match page["next"].as_u64() {
            Some(next) => skip = next,
            None => break,
        }
        assert_eq!(skip, u64::try_from(seen).unwrap());
    }
    assert_eq!(seen, 1201);
    yard.stop().await;
}

#[tokio::test]
async fn a_new_branch_has_a_workspace_of_its_own() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    commit_in(&workspace, "of my own");
    let tip = git(&workspace, &["rev-parse", "HEAD"]);
    git(&workspace, &["tag", "v1", "HEAD~1"]);
    let made = yard
        .verb(
            "main",
            "branch",
            json!({ "action": "create", "name": "feature/x" }),
        )
        .await;
    assert_eq!(
        (&made["item"]["id"], &made["item"]["workspace"]),
        (&json!(tip), &json!(true))
    );
    assert_eq!(made["path"], yard.workspace("feature/x").to_str().unwrap());
    assert_eq!(
        made["branch"], "main",
        "the answer is about the branch of the call"
    );
    let agent = Agent::of_git(&yard, "main");
    for (name, from, expected) in [
        ("of-main", "main", "HEAD"),
        ("of-tag", "v1", "v1"),
        ("back", "HEAD~1", "v1"),
    ] {
        let body = json!({ "action": "create", "name": name, "from": from });
        let made = agent.call("git_branch", body).await;
        let expected = git(&workspace, &["rev-parse", &format!("{expected}^0")]);
        assert_eq!(made["item"]["id"], json!(expected), "{name}");
    }
    for (body, expected) in [
        (json!({ "action": "create", "name": "back" }), (409, "name")),
        (
            json!({ "action": "create", "name": "main", "from": "v1" }),
            (409, "name"),
        ),
        (
            json!({ "action": "create", "name": "y", "from": "nowhere" }),
            (404, "from"),
        ),
        (
            json!({ "action": "create", "name": "y", "from": "--force" }),
            (400, "from"),
        ),
        (json!({ "action": "create", "name": "-D" }), (400, "name")),
        (
            json!({ "action": "create", "name": "refs/heads/y" }),
            (400, "name"),
        ),
        (json!({ "action": "create" }), (422, "name")),
        (json!({ "action": "list", "from": "v1" }), (422, "from")),
        (
            json!({ "action": "list", "pattern": "[" }),
            (400, "pattern"),
        ),
        (json!({ "action": "list", "merged": "-x" }), (400, "merged")),
        (json!({ "action": "list", "count": 0 }), (422, "limit")),
        (json!({ "action": "show", "name": "none" }), (404, "name")),
    ] {
        let (status, _, problem) = refused(&yard, "main", "branch", body.clone()).await;
        let told = (status, problem["field"].as_str().unwrap_or_default());
        assert_eq!(told, expected, "{body}: {problem}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn workspaces_are_listed() {
    let mut yard = at_work().await;
    yard.verb(
        "main",
        "branch",
        json!({ "action": "create", "name": "second" }),
    )
    .await;
    let run = yard
        .start_detached("second", json!({ "args": ["gate"] }))
        .await;
    let mut following = yard.follow(&run).await;
    following
        .until(|event| event.data.to_string().contains("waiting"))
        .await;
    let listed = yard.verb("main", "worktree", json!({})).await;
    let items = listed["worktrees"].as_array().unwrap();
    assert_eq!((items.len(), &listed["total"]), (2, &json!(2)));
    assert_eq!(
        (&items[0]["of"], &items[0]["current"]),
        (&json!("main"), &json!(true))
    );
    assert_eq!(items[0]["head"], listed["commit"]);
    assert_eq!(items[1]["path"], yard.workspace("second").to_str().unwrap());
    assert_eq!(items[1]["holder"]["what"], "make gate");
    assert!(listed["how"].as_str().unwrap().contains("git_branch"));
    write(&yard.workspace("second"), "open", "");
    yard.ended(&run).await;
    std::fs::remove_dir_all(yard.workspace("second")).unwrap();
    let agent = Agent::of_git(&yard, "main");
    let listed = agent
        .call("git_worktree", json!({ "verbosity": "minimal" }))
        .await;
    assert_eq!(
        (&listed["worktrees"][1]["prunable"], listed.get("how")),
        (&json!(true), None)
    );
    let (status, _, problem) =
        refused(&yard, "main", "worktree", json!({ "action": "prune" })).await;
    assert_eq!((status, &problem["field"]), (422, &json!("action")));
    yard.stop().await;
}
