//! Whose the commits are that callers make.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::{Options, Yard, git, problem_of};

const ANN: &str = "Ann Agent <ann@example.org>";

struct Ann<'a> {
    yard: &'a Yard,
    token: String,
}

impl Ann<'_> {
    async fn post(&self, path: &str, body: Value) -> Response {
        let address = format!("{}{path}", self.yard.url);
        let request = self.yard.client.request(Method::POST, address);
        let request = request.bearer_auth(&self.token).json(&body);
        request.send().await.unwrap()
    }

    async fn done(&self, path: &str, body: Value) -> String {
        let response = self.post(path, body).await;
        assert!(
            response.status().is_success(),
            "{path}: {}",
            response.text().await.unwrap()
        );
        response.text().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_a_token_are_by_its_author() {
    let mut yard = Yard::asleep(Options {
        tables: "[sandbox]\nprofile = \"standard\"\n".to_owned(),
        ..Options::default()
    });
    for branch in ["feature", "other"] {
        yard.origin.at("main");
        yard.origin.write(&format!("{branch}.txt"), "x\n");
        yard.origin.commit(branch);
        yard.origin.push(branch);
    }
    yard.start().await;
    let token = json!({ "role": "dev", "author": ANN, "expires": "1h" });
    let ann = Ann {
        token: yard.token(token).await,
        yard: &yard,
    };
    let api = |verb: &str| format!("/api/repos/demo/branches/feature/{verb}");
    let stream = |kind: &str| format!("/stream/repos/demo/branches/feature/{kind}");
    ann.done(&api("write_file"), json!({ "path": "x", "content": "x\n" }))
        .await;
    ann.done(
        &api("git/commit"),
        json!({ "message": "one", "paths": ["x"] }),
    )
    .await;
    let raw = json!({ "operation": "commit", "args": ["--allow-empty", "-m", "two"] });
    ann.done(&stream("git"), raw).await;
    ann.done(&api("git/merge"), json!({ "from": "origin/other" }))
        .await;
    ann.done(&api("write_file"), json!({ "path": "y", "content": "y\n" }))
        .await;
    ann.done(
        &api("git/push"),
        json!({ "message": "four", "paths": ["y"] }),
    )
    .await;
    let log = git(
        &yard.workspace("feature"),
        &["log", "--first-parent", "-4", "--format=%an <%ae>|%cn"],
    );
    let committer = log.lines().next().unwrap().split_once('|').unwrap().1;
    assert_eq!(log.lines().count(), 4, "{log}");
    for line in log.lines() {
        assert_eq!(line, format!("{ANN}|{committer}"), "{log}");
    }
    assert_ne!(committer, "Ann Agent");

    let own = "git init -q /tmp/r && cd /tmp/r && git commit -q --allow-empty -m x && git log -1 --format='%an <%ae>|%cn'";
    let said = ann
        .done(&stream("exec"), json!({ "argv": ["sh", "-c", own] }))
        .await;
    assert!(said.contains(&format!("{ANN}|{committer}")), "{said}");

    let forged = json!({ "message": "x", "allow_empty": true, "author": "Ben <b@example.org>" });
    let (status, problem) = problem_of(ann.post(&api("git/commit"), forged).await).await;
    assert_eq!((status, &problem["field"]), (422, &json!("author")));
    let raw = json!({ "operation": "commit", "args": ["--allow-empty", "-m", "x", "--author=Ben <b@example.org>"] });
    let (status, problem) = problem_of(ann.post(&stream("git"), raw).await).await;
    assert!([400, 403, 422].contains(&status), "{problem}");
    let other = json!({ "role": "dev", "author": "Ben <b@example.org>" });
    let (status, problem) = problem_of(ann.post("/api/tokens", other).await).await;
    assert_eq!(
        (status, &problem["field"]),
        (403, &json!("author")),
        "{problem}"
    );
    // Others' commits are the daemon's.
    yard.verb(
        "feature",
        "commit",
        json!({ "message": "five", "allow_empty": true }),
    )
    .await;
    let last = git(
        &yard.workspace("feature"),
        &["log", "-1", "--format=%an|%cn"],
    );
    assert_eq!(last, format!("{committer}|{committer}"));
    yard.stop().await;
}
