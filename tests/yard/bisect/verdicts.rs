//! What the end of a command means for its commit, and for the bisect.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{bisected, ended, found, line, started, text, verdict, yard_with};
use crate::support::{Yard, kill, processes_in, until};

/// A command that looks at the number in the file `state`.
fn command(script: &str) -> Value {
    let script = format!("n=$(tail -n 1 state); {script}; grep -q '^good' state");
    json!(["sh", "-c", script])
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_cannot_be_tested_are_skipped() {
    let (mut yard, ids) = yard_with(&line(40, 12)).await;
    // Where none of them matters in the end.
    let skipping = command("case $n in 2?) exit 125;; esac");
    let record = bisected(&yard, json!({"good": ids[0], "argv": skipping})).await;
    assert_eq!(found(&record), ids[12]);
    let skipped = record["bisect"]["answer"]["skipped"].as_array().unwrap();
    assert!(!skipped.is_empty(), "{record:#}");
    for commit in skipped {
        assert_eq!(verdict(&record, text(&commit["commit"])), "skip");
    }

    // Where one of them may be the first bad one.
    let skipping = command("case $n in 11|12|13) exit 125;; esac");
    let record = bisected(&yard, json!({"good": ids[0], "argv": skipping})).await;
    assert_eq!(record["state"], "failed", "{record:#}");
    let answer = &record["bisect"]["answer"];
    assert_eq!(answer["first_bad"], Value::Null);
    let suspects = answer["suspects"].as_array().unwrap().iter();
    let suspects: Vec<_> = suspects.map(|it| text(&it["commit"])).collect();
    assert_eq!(suspects, [&ids[14], &ids[13], &ids[12], &ids[11]]);

    // An end that cannot be tested is believed.
    let skipping = command("[ $n != 0 ] || exit 125");
    let record = bisected(&yard, json!({"good": ids[0], "argv": skipping})).await;
    assert_eq!(found(&record), ids[12]);
    assert_eq!(record["warnings"][0]["code"], "end_not_tested");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_that_are_not_as_they_were_said_to_be_stop_it() {
    let (mut yard, ids) = yard_with(&line(40, 12)).await;
    for (argv, code, field) in [
        (json!(["false"]), "good_is_bad", "good"),
        (json!(["true"]), "bad_is_good", "bad"),
        // There is no such program: that says nothing of a commit.
        (json!(["no-such-program"]), "no_verdict", ""),
    ] {
        let record = bisected(&yard, json!({"good": ids[0], "argv": argv})).await;
        assert_eq!(record["state"], "failed", "{record:#}");
        assert_eq!(record["error"]["code"], code, "{record:#}");
        assert_eq!(record["error"]["field"].as_str().unwrap_or_default(), field);
        // Nothing more is tested.
        assert_eq!(record["bisect"]["rounds"], 1);
    }
    yard.stop().await;
}

/// What says nothing of a commit stops the bisect; a retry goes on with what is known.
#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_command_stops_it_and_a_retry_goes_on() {
    let (mut yard, ids) = yard_with(&line(40, 12)).await;
    let dir = yard.dir.path().display().to_string();
    let calm = yard.dir.path().join("calm");
    for hostile in [
        // It leaves a process of its own session behind and ends by a signal.
        "setsid sleep 300 >/dev/null 2>&1 & kill -9 $$",
        "exit 200",
        "sleep 300",
    ] {
        // The ends are tested before it begins.
        let script = format!(
            "echo $n >> {dir}/starts; case $n in 0|39) ;; *) [ -e {dir}/calm ] || {{ {hostile}; }};; esac"
        );
        let mut body = json!({"good": ids[0], "argv": command(&script), "parallel": 1});
        if hostile.starts_with("sleep") {
            body["timeout"] = json!("2s");
        }
        let record = bisected(&yard, body).await;
        assert_eq!(record["state"], "failed", "{hostile}: {record:#}");
        assert_eq!(
            record["error"]["code"], "no_verdict",
            "{hostile}: {record:#}"
        );
        let id = text(&record["pipeline_id"]);
        assert_eq!(processes_in(&yard.workspaces), Vec::<String>::new());
        let started = || std::fs::read_to_string(yard.dir.path().join("starts")).unwrap();
        let first = started();
        std::fs::write(&calm, "").unwrap();
        yard.post_json(&format!("/api/pipelines/{id}/retry"), json!({}))
            .await;
        let record = ended(&yard, id).await;
        assert_eq!(found(&record), ids[12], "{hostile}");
        std::fs::remove_file(&calm).unwrap();
        // What ended without a verdict is started again, and nothing else.
        let all = started();
        let mut twice: Vec<_> = all.lines().collect();
        twice.sort_unstable();
        let mut once = twice.clone();
        once.dedup();
        assert_eq!(twice.len(), once.len() + 1, "{all}");
        assert_eq!(all.lines().nth(3), first.lines().nth(2), "{all}");
        std::fs::remove_file(yard.dir.path().join("starts")).unwrap();
    }
    yard.stop().await;
}

/// A bisect whose first commits are being tested, and for how long is up to the test.
async fn under_way(yard: &Yard, good: &str) -> String {
    let dir = yard.dir.path().display();
    let waiting = format!("touch {dir}/at-$n; while [ ! -e {dir}/open ]; do sleep 0.01; done");
    let body = json!({"good": good, "argv": command(&waiting)});
    let id = started(yard, body).await;
    let at = |n: usize| yard.dir.path().join(format!("at-{n}")).exists();
    until("the ends are tested", || at(0) && at(39)).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_what_is_under_way_and_a_retry_goes_on() {
    let (mut yard, ids) = yard_with(&line(40, 12)).await;
    let id = under_way(&yard, &ids[0]).await;
    let path = format!("/api/pipelines/{id}");
    yard.post_json(&format!("{path}/cancel"), json!({})).await;
    let record = ended(&yard, &id).await;
    assert_eq!(record["state"], "cancelled", "{record:#}");
    assert_eq!(record["bisect"]["answer"], Value::Null);
    assert_eq!(processes_in(&yard.workspaces), Vec::<String>::new());

    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    yard.post_json(&format!("{path}/retry"), json!({})).await;
    let record = ended(&yard, &id).await;
    assert_eq!(found(&record), ids[12]);
    assert_eq!(record["attempt"], 2);
    yard.stop().await;
}

/// A commit whose supervisor is gone is neither good nor bad.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_run_is_no_verdict() {
    let (mut yard, ids) = yard_with(&line(40, 12)).await;
    let id = under_way(&yard, &ids[0]).await;
    let record = yard.get_json(&format!("/api/pipelines/{id}")).await;
    let good = &record["jobs"][0];
    let run = text(&good["steps"][0]["run_id"]);
    kill(yard.supervisor_of(run), Signal::KILL);
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    let record = ended(&yard, &id).await;
    assert_eq!(record["error"]["code"], "no_verdict", "{record:#}");
    assert_eq!(record["jobs"][0]["state"], "lost");
    yard.stop().await;
}
