//! An agent whose daemon is killed.

use serde_json::json;

use crate::support::{Agent, Yard, until};

#[tokio::test]
async fn a_run_is_waited_for_across_a_kill_of_the_daemon() {
    let mut yard = Yard::asleep(Default::default());
    let dir = yard.dir.path().to_owned();
    yard.origin.write(
        "Makefile",
        format!(
            "all:\n\t@echo began; touch {dir}/began; while [ ! -e {dir}/open ]; do sleep 0.05; done; \
             echo 'a.c:7:1: error: bad'; exit 3\n",
            dir = dir.display()
        ),
    );
    yard.origin.commit("slow");
    yard.origin.push("main");
    let mut daemon = yard.start_binary(&[]).await;
    for mut agent in [Agent::new(&yard), Agent::older(&yard, &[]).await] {
        agent.move_to(&yard);
        let asked = json!({ "repo": "demo", "branch": "main", "wait": 0 });
        let started = agent.call("make", asked).await;
        until("it runs", || dir.join("began").exists()).await;
        daemon.kill().await;
        daemon = yard.start_binary(&[]).await;
        agent.move_to(&yard);
        let id = &started["run_id"];
        let waiting = agent
            .call("run_wait", json!({ "run_id": id, "wait": 0.2 }))
            .await;
        assert_eq!(waiting["ended"], false);
        std::fs::write(dir.join("open"), "").unwrap();
        let cursor = &waiting["next_cursor"];
        let ended = agent
            .call("run_wait", json!({ "run_id": id, "cursor": cursor }))
            .await;
        assert_eq!(
            (&ended["state"], &ended["exit_code"]),
            (&json!("failed"), &json!(2))
        );
        assert_eq!(ended["diagnostics"][0]["line"], 7);
        let log = agent.call("run_log", json!({ "run_id": id })).await;
        assert!(log["text"].as_str().unwrap().starts_with("began\n"));
        for file in ["open", "began"] {
            std::fs::remove_file(dir.join(file)).unwrap();
        }
    }
    daemon.stop().await;
}
