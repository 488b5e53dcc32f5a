//! One command on many branches.

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Event, Options, Yard, events_of, problem_of, until};

const PATH: &str = "/stream/repos/demo/make";

async fn yard_with(branches: &[&str]) -> Yard {
    let yard = Yard::new().await;
    for branch in branches {
        yard.origin.branch(branch);
    }
    yard
}

fn of_kind<'a>(events: &'a [Event], kind: &str) -> Vec<&'a Value> {
    let wanted = events.iter().filter(|event| event.kind == kind);
    wanted.map(|event| &event.data).collect()
}

fn branches_of(members: &Value) -> Vec<&str> {
    let members = members.as_array().unwrap().iter();
    members.map(|m| m["branch"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_command_runs_on_every_branch_that_is_named_or_matched() {
    let mut yard = yard_with(&["release/1", "release/2", "release/3/fix", "topic"]).await;
    let body = json!({"branches": ["topic", "release/*", "topic"], "args": ["who"]});
    let events = events_of(yard.post(PATH, body).await).await;

    let group = &of_kind(&events, "group")[0];
    assert_eq!(
        branches_of(&group["members"]),
        ["topic", "release/1", "release/2"]
    );
    assert_eq!(of_kind(&events, "started").len(), 3);
    assert_eq!(of_kind(&events, "ended").len(), 3);
    let summary = &events.last().unwrap().data;
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["state"], "succeeded");
    assert_eq!(summary["counts"], json!({"succeeded": 3}));
    for result in summary["results"].as_array().unwrap() {
        let id = result["run_id"].as_str().unwrap();
        let log = yard.get(&format!("/api/runs/{id}/log")).await;
        let branch = result["branch"].as_str().unwrap();
        assert_eq!(log.text().await.unwrap(), format!("{branch}\n"));
        let run = yard.get_json(&format!("/api/runs/{id}")).await;
        assert_eq!(run["group"], group["group_id"]);
    }

    // The group is followed, shown and listed like a run, from any place in it.
    let id = group["group_id"].as_str().unwrap();
    let shown = yard.get_json(&format!("/api/groups/{id}?wait=1s")).await;
    assert_eq!(shown["state"], "succeeded");
    let runs = yard.get_json(&format!("/api/runs?group={id}")).await;
    assert_eq!(runs["items"].as_array().unwrap().len(), 3);
    for (n, event) in events.iter().enumerate() {
        let answer = yard
            .request(Method::GET, &format!("/stream/groups/{id}"))
            .header("last-event-id", &event.id)
            .send()
            .await
            .unwrap();
        if n + 1 == events.len() {
            assert_eq!(answer.status().as_u16(), 204);
        } else {
            assert_eq!(events_of(answer).await.len(), events.len() - n - 1);
        }
    }
    let deep = json!({"branches": ["release/**"], "args": ["who"]});
    let events = events_of(yard.post(PATH, deep).await).await;
    let members = &events[0].data["members"];
    assert_eq!(
        branches_of(members),
        ["release/1", "release/2", "release/3/fix"]
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failure_fails_the_group_and_the_others_go_on() {
    let mut yard = yard_with(&["good"]).await;
    yard.origin.at("main");
    yard.origin
        .write("Makefile", "who:\n\t@echo broken >&2; exit 4\n");
    yard.origin.commit("break it");
    yard.origin.push("bad");
    let body = json!({"branches": ["bad", "good", "main"], "args": ["who"]});
    let events = events_of(yard.post(PATH, body.clone()).await).await;
    let summary = &events.last().unwrap().data;
    assert_eq!(summary["state"], "failed");
    assert_eq!(summary["counts"], json!({"failed": 1, "succeeded": 2}));
    assert_eq!(summary["results"][0]["exit_code"], 2, "make's own code");

    let id = events[0].data["group_id"].as_str().unwrap();
    let answer = yard
        .get(&format!("/api/groups/{id}?wait=1s&fail=true"))
        .await;
    assert_eq!(answer.status().as_u16(), 422);
    let text = yard
        .request(Method::POST, PATH)
        .header("accept", "text/plain");
    let text = text.json(&body).send().await.unwrap().text().await.unwrap();
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("branchyard: failed: 1 failed, 2 succeeded"),
        "{text}"
    );
    assert!(text.contains("bad: failed, exit code 2"), "{text}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_comes_along_where_it_is_asked_for() {
    let mut yard = yard_with(&["a", "b"]).await;
    let body = json!({"branches": ["a", "b"], "args": ["who"], "output": true});
    let ndjson = yard
        .request(Method::POST, PATH)
        .header("accept", "application/x-ndjson");
    let answer = ndjson
        .json(&body)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let lines: Vec<Value> = answer
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut printed: Vec<_> = lines
        .iter()
        .filter(|line| line["type"] == "stdout")
        .map(|line| {
            (
                line["branch"].as_str().unwrap(),
                line["line"].as_str().unwrap(),
            )
        })
        .collect();
    printed.sort_unstable();
    assert_eq!(printed, [("a", "a"), ("b", "b")]);
    assert!(lines.iter().any(|line| line["type"] == "summary"));

    let text = yard
        .request(Method::POST, PATH)
        .header("accept", "text/plain");
    let text = text.json(&body).send().await.unwrap().text().await.unwrap();
    assert!(
        text.contains("a | a\n") && text.contains("b | b\n"),
        "{text}"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_refused_before_anything_starts() {
    let mut yard = yard_with(&["a"]).await;
    for (body, status, field) in [
        (json!({"branches": []}), 422, "branches"),
        (json!({}), 422, "branches"),
        (json!({"branches": ["nothing/*"]}), 404, "branches"),
        (json!({"branches": ["a", "nowhere"]}), 404, "branches"),
        (json!({"branches": ["-x"]}), 400, "branches"),
        (json!({"branches": ["a["]}), 422, "branches"),
        (json!({"branches": ["a"], "branch": "a"}), 422, "branch"),
        (
            json!({"branches": ["a"], "coalesce": true}),
            422,
            "coalesce",
        ),
        (
            json!({"branches": ["a"], "args": ["-f", "/etc/passwd"]}),
            400,
            "args",
        ),
        (
            json!({"branches": ["a"], "timeout": "never"}),
            422,
            "timeout",
        ),
    ] {
        let (got, problem) = problem_of(yard.post(PATH, body.clone()).await).await;
        assert_eq!(got, status, "{body}: {problem}");
        assert!(
            problem["field"].as_str().unwrap().starts_with(field),
            "{body}: {problem}"
        );
    }
    let one = json!({"branches": ["a"]});
    let path = "/stream/repos/demo/branches/a/make";
    let (status, problem) = problem_of(yard.post(path, one).await).await;
    assert_eq!((status, &problem["field"]), (422, &json!("branches")));
    assert_eq!(yard.get_json("/api/runs").await["items"], json!([]));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_all_of_it() {
    let mut yard = yard_with(&["a", "b"]).await;
    let body = json!({"branches": ["a", "b"], "args": ["background"]});
    let answer = yard
        .request(Method::POST, PATH)
        .header("prefer", "respond-async");
    let answer = answer.json(&body).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 202);
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let group: Value = answer.json().await.unwrap();
    for member in group["members"].as_array().unwrap() {
        let id = member["run_id"].as_str().unwrap();
        let stream = yard.request(Method::GET, &format!("/stream/runs/{id}"));
        let stream = stream.header("accept", "application/x-ndjson").send().await;
        let mut run = crate::support::Following::new(stream.unwrap());
        run.until_line("started").await;
    }
    yard.post_json(&format!("{location}/cancel"), json!({}))
        .await;
    let ended = yard.get_json(&format!("{location}?wait=30s")).await;
    assert_eq!(ended["state"], "failed");
    for member in group["members"].as_array().unwrap() {
        let id = member["run_id"].as_str().unwrap();
        let run = yard.get_json(&format!("/api/runs/{id}")).await;
        assert_eq!(run["state"], "cancelled");
        assert_eq!(run["reason"], "cancelled by session");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_survives_the_daemon_and_its_key_finds_it_again() {
    let mut yard = Yard::asleep(Options::default());
    let branches = ["a", "b", "c"];
    for branch in branches {
        yard.origin.branch(branch);
    }
    let mut daemon = yard.start_binary(&[]).await;
    let body = json!({"branches": branches, "args": ["gate"]});
    let ask = async |yard: &Yard| {
        let request = yard
            .request(Method::POST, PATH)
            .header("prefer", "respond-async");
        let request = request.header("idempotency-key", "nightly-1").json(&body);
        request.send().await.unwrap().json::<Value>().await.unwrap()
    };
    let group = ask(&yard).await;
    let id = group["group_id"].as_str().unwrap().to_owned();
    let stream = yard.request(Method::GET, &format!("/stream/groups/{id}"));
    let stream = stream.header("accept", "application/x-ndjson").send().await;
    let mut following = crate::support::Following::new(stream.unwrap());
    following.until(|event| event.kind == "started").await;
    daemon.signal(Signal::KILL);
    daemon.ended().await;

    let mut daemon = yard.start_binary(&[]).await;
    assert_eq!(ask(&yard).await["group_id"], id.as_str(), "one group");
    let request = yard
        .request(Method::POST, PATH)
        .header("idempotency-key", "nightly-1");
    let streamed = request.json(&body).send().await.unwrap();
    assert_eq!(
        streamed.status(),
        200,
        "whether one watches is no part of it"
    );
    drop(streamed);
    let other = json!({"branches": ["a"]});
    let request = yard
        .request(Method::POST, PATH)
        .header("idempotency-key", "nightly-1");
    let (status, problem) = problem_of(request.json(&other).send().await.unwrap()).await;
    assert_eq!(
        (status, &problem["code"]),
        (422, &json!("idempotency_key_reused"))
    );
    for branch in branches {
        // It may not have been made yet.
        let gate = yard.workspace(branch);
        until("it is made", || gate.join("Makefile").exists()).await;
        std::fs::write(gate.join("open"), "").unwrap();
    }
    let events = events_of(yard.get(&format!("/stream/groups/{id}")).await).await;
    assert_eq!(of_kind(&events, "ended").len(), 3, "{events:?}");
    assert_eq!(of_kind(&events, "summary").len(), 1);
    assert_eq!(
        events.last().unwrap().data["counts"],
        json!({"succeeded": 3})
    );
    for result in events.last().unwrap().data["results"].as_array().unwrap() {
        let run = result["run_id"].as_str().unwrap();
        let log = yard.get(&format!("/api/runs/{run}/log")).await;
        assert_eq!(log.text().await.unwrap(), "waiting\npassed\n");
    }
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_ended_and_was_let_go_of_is_not_started_again_for_its_group() {
    let mut yard = Yard::asleep(Options::default());
    for branch in ["a", "b"] {
        yard.origin.branch(branch);
    }
    let mut daemon = yard.start_binary(&[]).await;
    let request = yard
        .request(Method::POST, PATH)
        .header("prefer", "respond-async")
        .json(&json!({"branches": ["a", "b"], "args": ["gate"]}));
    let group: Value = request.send().await.unwrap().json().await.unwrap();
    let id = group["group_id"].as_str().unwrap();
    let stream = yard.request(Method::GET, &format!("/stream/groups/{id}"));
    let stream = stream.header("accept", "application/x-ndjson").send().await;
    let mut following = crate::support::Following::new(stream.unwrap());
    for _ in 0..2 {
        following.until(|event| event.kind == "started").await;
    }
    std::fs::write(yard.workspace("a").join("open"), "").unwrap();
    let ended = following.until(|event| event.kind == "ended").await;
    assert_eq!(ended.data["branch"], "a");
    daemon.signal(Signal::KILL);
    daemon.ended().await;
    let run = ended.data["run_id"].as_str().unwrap();
    std::fs::remove_dir_all(yard.run_dir(run)).unwrap();

    let mut daemon = yard.start_binary(&[]).await;
    assert_eq!(yard.get(&format!("/api/runs/{run}")).await.status(), 404);
    std::fs::write(yard.workspace("b").join("open"), "").unwrap();
    let events = events_of(yard.get(&format!("/stream/groups/{id}?output=true")).await).await;
    assert_eq!(of_kind(&events, "ended").len(), 2, "{events:?}");
    let summary = of_kind(&events, "summary");
    assert_eq!(summary[0]["counts"], json!({"succeeded": 2}));
    assert_eq!(yard.get(&format!("/api/runs/{run}")).await.status(), 404);
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_runs_on_many_branches_as_make_does() {
    let mut yard = Yard::with(Options {
        repo: "tasks = { name = [\"cat\", \"name.txt\"] }\n".to_owned(),
        ..Options::default()
    })
    .await;
    for branch in ["release/1", "release/2"] {
        yard.origin.branch(branch);
    }
    let path = "/stream/repos/demo/task";
    let body = json!({"branches": ["release/*"], "task": "name", "output": true});
    let events = events_of(yard.post(path, body).await).await;
    let summary = &events.last().unwrap().data;
    assert_eq!(
        (&summary["state"], &summary["total"]),
        (&json!("succeeded"), &json!(2))
    );
    for ended in of_kind(&events, "ended") {
        let run = ended["run_id"].as_str().unwrap();
        let record = yard.get_json(&format!("/api/runs/{run}")).await;
        assert_eq!(
            (&record["kind"], &record["task"]),
            (&json!("task"), &json!("name"))
        );
    }
    for (path, body, field) in [
        (path, json!({"branches": ["main"]}), "task"),
        (path, json!({"branches": ["main"], "task": "none"}), "task"),
        (PATH, json!({"branches": ["main"], "task": "name"}), "task"),
    ] {
        let (status, problem) = problem_of(yard.post(path, body).await).await;
        assert!(status == 422 || status == 404, "{problem}");
        assert_eq!(problem["field"], field);
    }
    yard.stop().await;
}
