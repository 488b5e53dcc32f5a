//! What is remembered of runs: lists, pages, retention, and an index that may be lost.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::{Options, PATIENCE, Yard, events_of, json_of, problem_of, text_of, until};

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|run| run["run_id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_found_by_what_they_are_and_page_by_page() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    let mut all = Vec::new();
    for (branch, target) in [
        ("main", "who"),
        ("topic", "who"),
        ("main", "fail"),
        ("main", "who"),
    ] {
        let events = yard.make(branch, &[target]).await;
        all.insert(0, events[0].data["run_id"].as_str().unwrap().to_owned());
    }
    let events = yard
        .run("git", "main", json!({"operation": "status"}))
        .await;
    all.insert(0, events[0].data["run_id"].as_str().unwrap().to_owned());
    let since = yard.get_json(&format!("/api/runs/{}", all[1])).await["created_at"].clone();
    let since = since.as_str().unwrap().to_owned();
    for (query, expected) in [
        (String::new(), vec![0, 1, 2, 3, 4]),
        ("?branch=topic".to_owned(), vec![3]),
        ("?repo=demo&state=failed".to_owned(), vec![2]),
        ("?kind=git".to_owned(), vec![0]),
        ("?state=succeeded&kind=make".to_owned(), vec![1, 3, 4]),
        ("?repo=other".to_owned(), vec![]),
        (format!("?since={since}"), vec![0, 1]),
        ("?since=1h".to_owned(), vec![0, 1, 2, 3, 4]),
        ("?since=0s".to_owned(), vec![]),
    ] {
        let found = ids(&yard.get_json(&format!("/api/runs{query}")).await);
        let expected: Vec<_> = expected.iter().map(|n: &usize| all[*n].clone()).collect();
        assert_eq!(found, expected, "{query}");
    }
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = yard.get_json(&format!("/api/runs?limit=2{next}")).await;
        seen.extend(ids(&page));
        match page["next"].as_str() {
            Some(before) => next = format!("&before={before}"),
            None => break,
        }
    }
    assert_eq!(seen, all);
    let (status, problem) = problem_of(yard.get("/api/runs?since=yesterday").await).await;
    assert_eq!((status, &problem["field"]), (422, &json!("since")));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_or_damaged_index_is_made_anew() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    yard.make("main", &["fail"]).await;
    let listed = yard.get_json("/api/runs").await;
    yard.stop().await;
    let db = yard.workspaces.join(".branchyard/yard.db");
    let damage: [&dyn Fn(); 4] = [
        &|| std::fs::write(&db, "not a database at all").unwrap(),
        &|| std::fs::remove_file(&db).unwrap(),
        &|| std::fs::write(&db, "").unwrap(),
        &|| {
            let whole = std::fs::read(&db).unwrap();
            std::fs::write(&db, &whole[..whole.len() / 2]).unwrap();
        },
    ];
    for (n, damage) in damage.iter().enumerate() {
        damage();
        yard.start().await;
        assert_eq!(yard.get_json("/api/runs").await, listed, "damage {n}");
        let events = yard.make("main", &["who"]).await;
        assert_eq!(text_of(&events), "main\n");
        let new = events[0].data["run_id"].as_str().unwrap().to_owned();
        yard.stop().await;
        std::fs::remove_dir_all(yard.run_dir(&new)).unwrap();
    }
    yard.start().await;
    assert_eq!(
        yard.get_json("/api/runs").await,
        listed,
        "what is gone from disk is gone"
    );
    yard.stop().await;
}

/// While the daemon uses it; the runs that go on meanwhile are in the new one, too.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_breaks_while_it_is_used_is_made_anew() {
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    yard.make("main", &["fail"]).await;
    yard.origin.branch("other");
    let state = yard.workspaces.join(".branchyard");
    let db = state.join("yard.db");
    let overwrite = |bytes: &[u8]| {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::options().write(true).open(&db).unwrap();
        file.write_all_at(bytes, 0).unwrap();
    };
    let whole = || std::fs::read(&db).unwrap().len();
    let damage: [&dyn Fn(); 3] = [
        &|| overwrite(&vec![0xa5; whole()]),
        // Only the header stays.
        &|| {
            let mut bytes = std::fs::read(&db).unwrap();
            bytes[100..].fill(0);
            overwrite(&bytes);
        },
        &|| overwrite(b"not a database at all"),
    ];
    for (n, damage) in damage.iter().enumerate() {
        let gate = yard
            .start_detached("other", json!({"args": ["gate"]}))
            .await;
        yard.follow(&gate).await.until_line("waiting").await;
        let listed = yard.get_json("/api/runs").await;
        // What is only in the log would be read from there.
        let wal = rusqlite::Connection::open(&db).unwrap();
        wal.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))
            .unwrap();
        drop(wal);
        damage();
        let whole_again = async {
            loop {
                let answer = yard.get("/api/runs").await;
                if answer.status().is_success() && json_of(answer).await == listed {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, whole_again).await;
        waited.unwrap_or_else(|_| panic!("damage {n} is not mended"));
        let kept = std::fs::read_dir(&state).unwrap().filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with("yard.db.damaged-")
        });
        assert!(kept.count() > n, "what was damaged is kept aside");
        std::fs::write(yard.workspace("other").join("open"), "").unwrap();
        yard.ended(&gate).await;
        std::fs::remove_file(yard.workspace("other").join("open")).unwrap();
        let found = yard.get_json("/api/runs?branch=other").await;
        assert_eq!(found["items"][0]["state"], "succeeded", "{found}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_old_goes_when_the_daemon_starts() {
    let mut yard = Yard::new().await;
    for _ in 0..3 {
        yard.make("main", &["who"]).await;
    }
    let all = ids(&yard.get_json("/api/runs").await);
    yard.stop().await;
    yard.configure(Options {
        tables: "[history]\nmax_runs = 1\n".to_owned(),
        ..Options::default()
    });
    yard.start().await;
    let newest = format!("/api/runs/{}", all[0]);
    let gone = async {
        while ids(&yard.get_json("/api/runs").await).len() > 1 {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, gone).await;
    waited.expect("what is too old goes");
    assert_eq!(ids(&yard.get_json("/api/runs").await), all[..1]);
    yard.get_json(&newest).await;
    let (status, _) = problem_of(yard.get(&format!("/api/runs/{}/log", all[2])).await).await;
    assert_eq!(status, 404);
    let oldest = yard.run_dir(&all[2]);
    until("its directory goes too", || !oldest.exists()).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_can_be_done_again_and_a_newer_one_can_take_its_place() {
    let mut yard = Yard::new().await;
    let body = json!({"args": ["who"], "env": {"V": "1"}, "timeout": "5m"});
    let first = yard.run("make", "main", body).await;
    let id = first[0].data["run_id"].as_str().unwrap();
    let path = format!("/stream/runs/{id}/rerun");
    let (status, problem) = problem_of(yard.post(&path, json!({})).await).await;
    assert_eq!((status, &problem["code"]), (409, &json!("env_gone")));
    let again = events_of(yard.post(&path, json!({"env": {"V": "1"}})).await).await;
    assert_eq!(text_of(&again), "main\n");
    let new = again[0].data["run_id"].as_str().unwrap();
    assert_ne!(new, id);
    let (old, new) = (
        yard.get_json(&format!("/api/runs/{id}")).await,
        yard.get_json(&format!("/api/runs/{new}")).await,
    );
    for field in [
        "argv",
        "env",
        "timeout_ms",
        "repo",
        "branch",
        "kind",
        "sync",
    ] {
        assert_eq!(old[field], new[field], "{field}");
    }

    let gate = json!({"args": ["gate"], "detach": true});
    let mut running = yard.start_run("make", "main", gate.clone()).await;
    running.until_line("waiting").await;
    let mut queued = yard.start_run("make", "main", gate).await;
    queued.until(|event| event.data["position"] == 1).await;
    let other = json!({"args": ["who"], "detach": true});
    let mut bystander = yard.start_run("make", "main", other).await;
    let newer = json!({"args": ["gate"], "supersede": true});
    let mut newest = yard.start_run("make", "main", newer).await;
    for older in [&mut running, &mut queued] {
        let end = older.end().await;
        assert_eq!(end.data["state"], "cancelled");
        let reason = end.data["reason"].as_str().unwrap();
        assert!(reason.starts_with("superseded by run "), "{reason}");
    }
    assert_eq!(bystander.end().await.data["state"], "succeeded");
    newest.until_line("waiting").await;
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    assert_eq!(newest.end().await.data["state"], "succeeded");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_in_no_log() {
    let secret = "s3cr3t-value-of-a-token";
    let mut yard = Yard::with(Options {
        repo: format!("env = {{ API_TOKEN = \"{secret}\", COLOUR = \"green-and-plain\" }}\n"),
        ..Options::default()
    })
    .await;
    yard.origin.at("main");
    let makefile = "all:\n\t@echo \"$$API_TOKEN $$COLOUR\"; printf '%s' \"$${API_TOKEN%-*}\"; sleep 0.3; printf '%s\\n' \"-token\"\n";
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("print it");
    yard.origin.push("main");
    let events = yard.make("main", &[]).await;
    assert_eq!(text_of(&events), "*** green-and-plain\n***\n");
    let found = std::process::Command::new("grep")
        .args(["-r", "-l", secret])
        .arg(yard.workspaces.join(".branchyard"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(found.stdout).unwrap(), "");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_read_is_no_reason_to_remove_a_run() {
    let mut yard = Yard::new().await;
    let events = yard.make("main", &["who"]).await;
    let run = events[0].data["run_id"].as_str().unwrap();
    yard.stop().await;
    let state = yard.workspaces.join(".branchyard");
    let home = yard.run_dir(run);
    let record = std::fs::read(home.join("run.json")).unwrap();
    std::fs::write(home.join("run.json"), "{\"of\":\"a later version\"}").unwrap();
    std::fs::remove_file(state.join("yard.db")).unwrap();

    yard.start().await;
    assert_eq!(yard.get(&format!("/api/runs/{run}")).await.status(), 404);
    yard.stop().await;
    std::fs::write(home.join("run.json"), record).unwrap();
    yard.start().await;
    assert_eq!(yard.log(run).await, text_of(&events));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_far_ahead_makes_nothing_old() {
    let mut yard = Yard::asleep(Options::default());
    yard.start().await;
    let run = yard.start_detached("main", json!({"args": ["who"]})).await;
    yard.ended(&run).await;
    yard.stop().await;
    let state = yard.workspaces.join(".branchyard");
    // As if the clock had been set ahead by 40 days since.
    let then = Timestamp::now() - SignedDuration::from_hours(40 * 24);
    let record = yard.run_dir(&run).join("run.json");
    let mut json: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    json["created_at"] = json!(then.to_string());
    std::fs::write(&record, json.to_string()).unwrap();
    for name in ["yard.db", "yard.db-wal", "yard.db-shm"] {
        let _ = std::fs::remove_file(state.join(name));
    }
    let clock = state.join("clock.json");
    std::fs::write(&clock, json!({"believed": then, "doubted": 0}).to_string()).unwrap();
    let doubted = || {
        let text = std::fs::read_to_string(&clock).unwrap_or_default();
        serde_json::from_str::<Value>(&text).is_ok_and(|kept| kept["doubted"] != 0)
    };
    for _ in 0..2 {
        yard.start().await;
        until("it was looked for old runs", doubted).await;
        assert_eq!(
            yard.get_json(&format!("/api/runs/{run}")).await["state"],
            "succeeded"
        );
        yard.stop().await;
    }
    // Once the daemon has run by it for a day, it is believed.
    std::fs::write(
        &clock,
        json!({"believed": then, "doubted": 86_400}).to_string(),
    )
    .unwrap();
    yard.start().await;
    until("the old run is gone", || !record.exists()).await;
    yard.stop().await;
}
