//! Variables that a caller puts into a run's environment: their values stay with the caller, and go with the run's end.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{PROGRAM, Yard, each_file, events_of, json_of, text_of, until};

const VALUE: &str = "va1ue-of-a-caller";

fn yard() -> Yard {
    let yard = Yard::asleep(crate::support::Options::default());
    yard.origin.write(
        "Makefile",
        "show:\n\t@echo \"v=$$V\"\n\
         gate:\n\t@echo waiting; for i in `seq 1500`; do [ -e open ] && break; sleep 0.02; done\n",
    );
    yard.origin.commit("shows");
    yard.origin.push("main");
    yard.origin.push("topic");
    yard
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// In how many of the daemon's own files the value stands.
fn kept(yard: &Yard) -> Vec<String> {
    let mut found = Vec::new();
    each_file(&yard.workspaces.join(".branchyard"), &mut |path, bytes| {
        if bytes
            .windows(VALUE.len())
            .any(|window| window == VALUE.as_bytes())
        {
            found.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    });
    found.sort();
    found
}

async fn start(yard: &Yard, token: &str, path: &str, body: &Value) -> (u16, Value) {
    let request = yard
        .client
        .request(Method::POST, format!("{}{path}", yard.url));
    let request = request.bearer_auth(token).header("prefer", "respond-async");
    let answer = request.json(body).send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap())
}

fn id(record: &Value) -> String {
    record["run_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn values_stay_with_their_principal_and_go_with_the_end() {
    let mut yard = yard();
    let mut daemon = yard.start_ordinary().await;
    let dev = json!({"role": "dev", "expires": "1h"});
    let (one, other) = (yard.token(dev.clone()).await, yard.token(dev).await);
    let make = "/stream/repos/demo/branches/topic/make";
    let body = json!({"args": ["gate"], "env": {"V": VALUE}});
    let (_, record) = start(&yard, &one, make, &body).await;
    let run = id(&record);
    yard.follow(&run).await.until_line("waiting").await;
    let dir = yard.run_dir(&run);
    assert_eq!(mode(&dir), 0o700);
    for file in ["request.json", "run.json"] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
    assert_eq!(kept(&yard), ["request.json", "run.json"]);
    let shown = yard.get_json(&format!("/api/runs/{run}")).await;
    assert_eq!(shown["env"], json!({"V": "(hidden)"}));

    // While it runs, its own principal has it run again as it is; another brings values of their own.
    let again = format!("/stream/runs/{run}/rerun");
    let (status, problem) = start(&yard, &other, &again, &json!({})).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("env_gone")),
        "{problem}"
    );
    assert_eq!(problem["field"], "env");
    assert!(!problem.to_string().contains(VALUE), "{problem}");
    let incomplete = json!({"env": {"W": "x"}});
    let (status, problem) = start(&yard, &other, &again, &incomplete).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("env_gone")),
        "{problem}"
    );
    let (status, own) = start(&yard, &one, &again, &json!({})).await;
    assert_eq!(status, 202, "{own}");
    let (status, theirs) = start(&yard, &other, &again, &json!({"env": {"V": "other"}})).await;
    assert_eq!(status, 202, "{theirs}");

    std::fs::write(yard.workspace("topic").join("open"), "").unwrap();
    for run in [&run, &id(&own), &id(&theirs)] {
        assert_eq!(yard.ended(run).await["state"], "succeeded");
        let request = std::fs::read_to_string(yard.run_dir(run).join("request.json")).unwrap();
        let request: Value = serde_json::from_str(&request).unwrap();
        assert_eq!(request["request"]["env"], json!({}), "{request}");
        let digest = request["dropped_env"]["V"].as_str().unwrap();
        assert_eq!(digest.len(), 64, "{digest}");
        assert_eq!(mode(&yard.run_dir(run).join("request.json")), 0o600);
    }
    assert_eq!(kept(&yard), Vec::<String>::new());

    // After its end it is gone for all.
    for token in [&one, &other, &yard.key()] {
        let (status, problem) = start(&yard, token, &again, &json!({})).await;
        assert_eq!(
            (status, &problem["code"]),
            (409, &json!("env_gone")),
            "{problem}"
        );
    }
    let (status, sent) = start(&yard, &one, &again, &json!({"env": {"V": VALUE}})).await;
    assert_eq!(status, 202, "{sent}");
    yard.ended(&id(&sent)).await;
    let rerun = tokio::process::Command::new(PROGRAM)
        .args(["rerun", &run, "--env", "V=by-hand"])
        .env_clear()
        .env("PATH", env!("PATH"))
        .env("HOME", yard.dir.path())
        .env("BRANCHYARD_URL", &yard.url)
        .env(
            "BRANCHYARD_KEY_FILE",
            yard.workspaces.join(".branchyard/auth.header"),
        )
        .output()
        .await
        .unwrap();
    assert!(rerun.status.success(), "{rerun:?}");

    let group = json!({"branches": ["main", "topic"], "args": ["show"], "env": {"V": VALUE}, "output": true});
    let events = events_of(yard.post("/stream/repos/demo/make", group).await).await;
    assert_eq!(text_of(&events), format!("v={VALUE}\n").repeat(2));
    let group = events[0].data["group_id"].as_str().unwrap();
    let file = yard
        .workspaces
        .join(format!(".branchyard/groups/{group}/group.json"));
    assert_eq!(mode(&file), 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(VALUE), "{text}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_leaves_the_values_to_the_next_and_that_drops_them() {
    let mut yard = yard();
    // One that waits has its values when it starts, whatever becomes of the daemon.
    let mut daemon = yard.start_binary(&[]).await;
    let holding = yard
        .start_detached("topic", json!({"args": ["gate"]}))
        .await;
    yard.follow(&holding).await.until_line("waiting").await;
    let body = json!({"args": ["show"], "env": {"V": VALUE}});
    let waiting = yard.start_detached("topic", body.clone()).await;
    daemon.kill().await;
    assert_eq!(mode(&yard.run_dir(&waiting).join("request.json")), 0o600);
    let mut daemon = yard.start_binary(&[]).await;
    std::fs::write(yard.workspace("topic").join("open"), "").unwrap();
    yard.ended(&waiting).await;
    assert_eq!(yard.log(&waiting).await, format!("v={VALUE}\n"));
    let request = std::fs::read_to_string(yard.run_dir(&waiting).join("request.json")).unwrap();
    assert!(!request.contains(VALUE), "{request}");
    daemon.stop().await;

    // One that died right after it had recorded an end.
    let mut doomed = yard
        .start_binary(&[("BRANCHYARD_CRASH_AT", "end-recorded")])
        .await;
    let path = "/stream/repos/demo/branches/main/make";
    let answer = yard.post(path, body.clone()).await;
    drop(answer.text().await);
    doomed.ended().await;
    assert!(kept(&yard).contains(&"request.json".to_owned()));
    // And one of an earlier version, which kept all of it in the open.
    let (dir, file) = (
        yard.run_dir(&waiting),
        yard.run_dir(&waiting).join("request.json"),
    );
    let mut request: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    request["request"]["env"] = json!({"V": VALUE});
    request.as_object_mut().unwrap().remove("dropped_env");
    std::fs::write(&file, request.to_string()).unwrap();
    for (path, mode) in [(&dir, 0o755), (&file, 0o644)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut daemon = yard.start_binary(&[]).await;
    until("no request has them any more", || {
        !kept(&yard).contains(&"request.json".to_owned())
    })
    .await;
    assert_eq!((mode(&dir), mode(&file)), (0o700, 0o600));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_tells_what_another_principal_set() {
    let mut yard = yard();
    yard.start().await;
    let dev = json!({"role": "dev", "expires": "1h"});
    let (one, other) = (yard.token(dev.clone()).await, yard.token(dev).await);
    let make = "/stream/repos/demo/branches/topic/make";
    let holding = yard
        .start_detached("topic", json!({"args": ["gate"]}))
        .await;
    yard.follow(&holding).await.until_line("waiting").await;
    let body = json!({"args": ["show"], "env": {"V": VALUE}, "coalesce": true});
    let (_, first) = start(&yard, &one, make, &body).await;
    let (_, joined) = start(&yard, &one, make, &body).await;
    let (_, apart) = start(&yard, &other, make, &body).await;
    assert_eq!(id(&first), id(&joined));
    assert_ne!(id(&first), id(&apart));
    // Without values of anybody's, one run does for both.
    let plain = json!({"args": ["show"], "coalesce": true});
    let (_, first) = start(&yard, &one, make, &plain).await;
    let (_, joined) = start(&yard, &other, make, &plain).await;
    assert_eq!(id(&first), id(&joined));
    std::fs::write(yard.workspace("topic").join("open"), "").unwrap();
    yard.ended(&id(&apart)).await;
    yard.ended(&id(&first)).await;

    let body = json!({"args": ["show"], "env": {"V": VALUE}, "reuse": true});
    let main = "/stream/repos/demo/branches/main/make";
    for (token, is_cached) in [(&one, false), (&other, false), (&one, true), (&other, true)] {
        let (_, record) = start(&yard, token, main, &body).await;
        let record = yard.ended(&id(&record)).await;
        assert_eq!(record["cached"].is_string(), is_cached, "{record}");
    }
    // The same key with other values is another request.
    let keyed = |value: &str| {
        let body = json!({"args": ["show"], "env": {"V": value}});
        yard.request(Method::POST, main)
            .header("prefer", "respond-async")
            .header("idempotency-key", "k")
            .json(&body)
            .send()
    };
    let first = json_of(keyed(VALUE).await.unwrap()).await;
    yard.ended(&id(&first)).await;
    let again = json_of(keyed(VALUE).await.unwrap()).await;
    assert_eq!(id(&first), id(&again));
    assert_eq!(keyed("another").await.unwrap().status(), 422);
    yard.stop().await;
}
