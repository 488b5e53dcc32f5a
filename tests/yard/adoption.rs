//! A run that the daemon did not start itself is a run like any other.

use serde_json::json;

use crate::support::{Options, Yard, is_alive, processes_of, text_of, until};

#[tokio::test(flavor = "multi_thread")]
async fn it_can_be_cancelled_and_an_end_that_nobody_saw_keeps_its_reason() {
    let mut yard = Yard::asleep(Options::default());
    for branch in ["late", "asked"] {
        yard.origin.branch(branch);
    }
    let mut daemon = yard.start_binary(&[]).await;
    let body = json!({"args": ["background"]});
    let adopted = yard.start_detached("main", body.clone()).await;
    let asked = yard.start_detached("asked", body).await;
    let body = json!({"args": ["background"], "timeout": "1s"});
    let late = yard.start_detached("late", body).await;
    for run in [&adopted, &asked, &late] {
        yard.follow(run).await.until_line("started").await;
    }
    let supervisor = yard.supervisor_of(&late);
    // The daemon goes before the end that it asked for, or even before it could ask.
    yard.post_json(&format!("/api/runs/{asked}/cancel"), json!({}))
        .await;
    let noted = yard.run_dir(&asked).join("run.json");
    until("the cancel is on record", || {
        std::fs::read_to_string(&noted).is_ok_and(|text| text.contains("cancelled by"))
    })
    .await;
    daemon.kill().await;
    until("its time is up", || !is_alive(supervisor)).await;

    let mut daemon = yard.start_binary(&[]).await;
    let record = yard.ended(&late).await;
    assert_eq!(record["state"], "timed_out", "{record}");
    assert_eq!(record["reason"], "it ran longer than 1s", "{record}");
    let record = yard.ended(&asked).await;
    assert_eq!(record["state"], "cancelled", "{record}");
    assert_eq!(record["reason"], "cancelled by session", "{record}");

    yard.post_json(&format!("/api/runs/{adopted}/cancel"), json!({}))
        .await;
    let record = yard.ended(&adopted).await;
    assert_eq!(record["state"], "cancelled", "{record}");
    assert_eq!(record["reason"], "cancelled by session", "{record}");
    for run in [&adopted, &asked, &late] {
        assert_eq!(processes_of(run), [""; 0]);
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_its_turn_and_those_behind_it_keep_their_order() {
    let mut yard = Yard::asleep(Options::default());
    let order = yard.dir.path().join("order");
    let makefile = format!(
        "gate:\n\t@echo waiting; while [ ! -e open ]; do sleep 0.02; done\n\
         one two three four five:\n\t@echo $@ >> {}\n",
        order.display()
    );
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("order");
    yard.origin.push("main");
    let mut daemon = yard.start_binary(&[]).await;
    let gate = yard.start_detached("main", json!({"args": ["gate"]})).await;
    yard.follow(&gate).await.until_line("waiting").await;
    let mut queued = Vec::new();
    for target in ["one", "two", "three", "four"] {
        queued.push(yard.start_detached("main", json!({"args": [target]})).await);
    }
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    let mut last = yard
        .start_run("make", "main", json!({"args": ["five"]}))
        .await;
    let waits = last.until(|event| event.data["position"].is_number()).await;
    let record = yard.get_json(&format!("/api/runs/{gate}")).await;
    assert_eq!(record["state"], "running", "{record}");
    assert_eq!(waits.data["position"], 5, "{waits:?}");
    assert_eq!(waits.data["holder"]["run_id"], gate.as_str(), "{waits:?}");
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    for run in &queued {
        assert_eq!(yard.ended(run).await["state"], "succeeded");
    }
    assert_eq!(last.end().await.data["state"], "succeeded");
    let ran = std::fs::read_to_string(&order).unwrap();
    assert_eq!(ran, "one\ntwo\nthree\nfour\nfive\n");
    daemon.stop().await;
}

/// Whoever joins a run must not get an older commit than the remote has.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_joined_only_while_it_is_at_the_remotes_commit() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    let body = json!({"args": ["gate"], "coalesce": true});
    let adopted = yard.start_detached("main", body.clone()).await;
    yard.follow(&adopted).await.until_line("waiting").await;
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    let same = yard.start_detached("main", body.clone()).await;
    assert_eq!(same, adopted);

    yard.origin.write("name.txt", "newer\n");
    let newer = yard.origin.commit("newer");
    yard.origin.push("main");
    let other = yard.start_detached("main", body).await;
    assert_ne!(other, adopted);
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    assert_eq!(yard.ended(&adopted).await["state"], "succeeded");
    let record = yard.ended(&other).await;
    assert_eq!(record["about"]["commit"], newer.as_str(), "{record}");
    let events = yard.make("main", &["who"]).await;
    assert_eq!(text_of(&events), "newer\n");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_that_was_answered_is_known_to_the_next_daemon() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    for round in 0..8 {
        let running = yard
            .start_detached("main", json!({"args": ["background"]}))
            .await;
        yard.follow(&running).await.until_line("started").await;
        let waiting = yard.start_detached("main", json!({"args": ["who"]})).await;
        for run in [&waiting, &running] {
            let path = format!("/api/runs/{run}/cancel");
            let answer = yard.post(&path, json!({})).await;
            assert_eq!(answer.status(), 202, "{round}");
        }
        daemon.kill().await;
        daemon = yard.start_binary(&[]).await;
        for run in [&running, &waiting] {
            let record = yard.ended(run).await;
            assert_eq!(record["state"], "cancelled", "{round}: {record}");
            assert_eq!(record["reason"], "cancelled by session", "{round}");
        }
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_record_is_lost_keeps_its_turn() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    type Damage = fn(&std::path::Path, &std::path::Path);
    let damages: [(&str, Damage); 4] = [
        ("garbage", |record, _| std::fs::write(record, "{").unwrap()),
        ("empty", |record, _| std::fs::write(record, "").unwrap()),
        ("gone", |record, _| std::fs::remove_file(record).unwrap()),
        ("gone with the index", |record, state| {
            std::fs::remove_file(record).unwrap();
            for name in ["yard.db", "yard.db-wal", "yard.db-shm"] {
                let _ = std::fs::remove_file(state.join(name));
            }
        }),
    ];
    for (what, damage) in damages {
        let running = yard
            .start_detached("main", json!({"args": ["background"]}))
            .await;
        yard.follow(&running).await.until_line("started").await;
        daemon.kill().await;
        let state = yard.workspaces.join(".branchyard");
        damage(&yard.run_dir(&running).join("run.json"), &state);
        daemon = yard.start_binary(&[]).await;
        let next = yard.start_detached("main", json!({"args": ["who"]})).await;
        let record = yard.get_json(&format!("/api/runs/{next}")).await;
        assert_eq!(record["state"], "queued", "{what}: {record}");
        let record = yard.get_json(&format!("/api/runs/{running}")).await;
        assert_eq!(record["state"], "running", "{what}: {record}");
        yard.post_json(&format!("/api/runs/{running}/cancel"), json!({}))
            .await;
        assert_eq!(yard.ended(&running).await["state"], "cancelled", "{what}");
        assert_eq!(yard.ended(&next).await["state"], "succeeded", "{what}");
    }
    daemon.stop().await;
}
