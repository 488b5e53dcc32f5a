//! What cannot be bisected is refused at once, and said of which field.

use serde_json::{Value, json};

use super::{PATH, bisected, found, line, yard_with};
use crate::support::problem_of;

#[tokio::test]
async fn every_refusal_names_its_field_and_what_to_do() {
    let (mut yard, ids) = yard_with(&line(10, 4)).await;
    // A branch that parted from main at commit 2, and a history of its own.
    yard.origin.git(&["fetch", "-q", "origin"]);
    yard.origin.at(&ids[2]);
    let parted = yard.origin.commit("parted");
    yard.origin.push("parted");
    yard.origin.git(&["checkout", "-q", "--orphan", "other"]);
    let other = yard.origin.commit("other");
    yard.origin.push("other");
    // What is only at the remote is not known by its id.
    for branch in ["parted", "other"] {
        let path = format!("/api/repos/demo/branches/{branch}");
        assert!(yard.put(&path, json!({})).await.status().is_success());
    }
    let argv = json!(["true"]);
    let absent = "1".repeat(40);
    let refusals = [
        (json!({"argv": argv}), "good", "good is missing"),
        (json!({"good": ids[0]}), "argv", "`task` or `argv`"),
        (
            json!({"good": ids[0], "argv": argv, "task": "x"}),
            "argv",
            "choose one",
        ),
        (
            json!({"good": ids[0], "task": "none"}),
            "task",
            "no task named",
        ),
        (
            json!({"good": ids[0], "argv": argv, "args": ["x"]}),
            "args",
            "part of argv",
        ),
        (
            json!({"good": ids[0], "argv": argv, "timeout": "soon"}),
            "timeout",
            "duration",
        ),
        (
            json!({"good": ids[0], "argv": argv, "parallel": 9}),
            "parallel",
            "from 1 to 8",
        ),
        (
            json!({"good": ids[0], "argv": argv, "paths": ["../x"]}),
            "paths",
            "no path within",
        ),
        (
            json!({"good": ids[0], "argv": argv, "paths": ["none"]}),
            "paths",
            "changes one of the paths",
        ),
        (
            json!({"good": absent, "argv": argv}),
            "good",
            "there is no 1111",
        ),
        (
            json!({"good": ids[0], "bad": "no-branch", "argv": argv}),
            "bad",
            "there is no no-branch",
        ),
        (
            json!({"good": "-x", "argv": argv}),
            "good",
            "cannot begin with",
        ),
        (json!({"good": "a..b", "argv": argv}), "good", "range"),
        (json!({"good": ids[9], "argv": argv}), "good", "same commit"),
        (
            json!({"good": ids[8], "bad": ids[3], "argv": argv}),
            "good",
            "comes after",
        ),
        (
            json!({"good": parted, "argv": argv}),
            "good",
            ids[2].as_str(),
        ),
        (
            json!({"good": other, "argv": argv}),
            "good",
            "no history in common",
        ),
        (
            json!({"good": ids[0], "bad": parted, "argv": argv}),
            "bad",
            "the branch main has no commit",
        ),
        (
            json!({"good": ids[0], "branch": "none", "argv": argv}),
            "branch",
            "none",
        ),
    ];
    for (body, field, words) in refusals {
        let mut body = body;
        if body["branch"] == Value::Null {
            body["branch"] = json!("main");
        }
        let (_, problem) = problem_of(yard.post(PATH, body.clone()).await).await;
        assert_eq!(problem["field"], field, "{body}: {problem:#}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(words), "{body}: {detail}");
    }
    let unknown = yard
        .post(PATH, json!({"good": ids[0], "argvs": argv}))
        .await;
    assert!(unknown.status().is_client_error());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_commits_that_change_the_paths_are_suspected() {
    let (mut yard, ids) = yard_with(&line(21, 8)).await;
    let argv = json!(["grep", "-q", "^good", "state"]);
    let body = json!({"good": ids[0], "bad": "main", "paths": ["even"], "argv": argv});
    let record = bisected(&yard, body).await;
    assert_eq!(found(&record), ids[8]);
    assert_eq!(record["bisect"]["commits"], 10);
    assert_eq!(
        record["bisect"]["answer"]["good_parents"][0]["commit"],
        ids[6].as_str()
    );

    // The first bad commit does not change them: the next that does is taken for it.
    let body = json!({"good": ids[0], "bad": "main", "paths": ["odd"], "argv": argv});
    assert_eq!(found(&bisected(&yard, body).await), ids[9]);
    yard.stop().await;
}
