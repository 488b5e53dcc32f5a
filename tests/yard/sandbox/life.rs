//! The life of a contained run is that of any other: its ends, its stops, its leftovers, its output, and
//! what becomes of it when the daemon or its supervisor is killed.

use std::path::PathBuf;

use branchyard_process::{Mechanisms, who_is_in};
use serde_json::{Value, json};

use super::{contained, options};
use crate::support::{
    Options, Yard, is_alive, pids_in, processes_in, processes_of, text_of, until, warnings_of,
};

const MAKEFILE: &str = "\
.PHONY: polite hidden
who:
\t@cat name.txt
polite:
\t@trap 'echo term >> terms; exit 0' TERM; \\
\t(setsid sh -c 'trap \"echo term >> terms; exit 0\" TERM; echo x > polite; while :; do sleep 0.01; done' >/dev/null 2>&1 &); \\
\twhile [ ! -s polite ]; do sleep 0.01; done; echo started; while :; do sleep 0.01; done
deaf:
\t@trap '' TERM; echo started; while :; do sleep 1; done
hidden:
\t@(env -i /usr/bin/setsid /bin/sh -c 'trap \"\" TERM; echo x > hidden; while :; do /bin/sleep 300; done' >/dev/null 2>&1 &); \\
\twhile [ ! -s hidden ]; do sleep 0.01; done; echo started; sleep 1000
silent:
\t@(setsid sh -c 'exec sleep 1000' >/dev/null 2>&1 &); echo done
holds-on:
\t@(setsid sh -c 'trap \"\" HUP TERM; echo x > holding; exec sleep 1000' &); \\
\twhile [ ! -s holding ]; do sleep 0.01; done; echo done
late:
\t@(setsid sh -c 'sleep 0.1; echo late' &); echo done
flood:
\t@seq 1000000; seq 1000000 >&2
gate:
\t@echo $$BRANCHYARD_RUN_ID >> starts; n=0; while [ ! -e open ]; do n=$$((n+1)); echo line $$n; echo $$n > far; sleep 0.02; done; echo after $$n; exit 7
";

fn tasks() -> Options {
    Options {
        repo: "[repos.demo.tasks]\ncode = [\"sh\", \"-c\", \"exit 7\"]\nsegv = [\"sh\", \"-c\", \"kill -SEGV $$\"]\n\
               missing = [\"no-such-program\"]\n"
            .to_owned(),
        // Long enough for who prints late, on a machine that is busy.
        timeouts: "drain = \"2s\"\n".to_owned(),
        ..options("standard", "")
    }
}

async fn yard(options: Options) -> Yard {
    let mut yard = Yard::asleep(options);
    yard.origin.write("Makefile", MAKEFILE);
    yard.origin.commit("life");
    yard.origin.push("main");
    yard.start().await;
    yard
}

fn see_it_gone(yard: &Yard, run: &str) {
    assert_eq!(processes_of(run), [""; 0]);
    assert_eq!(processes_in(&yard.workspace("main")), [""; 0]);
    assert_eq!(Yard::groups_of(run), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_end_is_told_as_it_was() {
    let mut yard = yard(tasks()).await;
    let task = async |name: &str| {
        let events = yard.run("task", "main", json!({"task": name})).await;
        events.last().unwrap().data.clone()
    };
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");
    let end = task("code").await;
    assert_eq!(
        (&end["state"], &end["exit_code"]),
        (&json!("failed"), &json!(7)),
        "{end}"
    );
    let end = task("segv").await;
    assert_eq!(
        (&end["state"], &end["signal"]),
        (&json!("signalled"), &json!(11)),
        "{end}"
    );
    let end = task("missing").await;
    assert_eq!(end["code"], "command_not_started", "{end}");
    assert!(
        end["help"].as_str().unwrap().contains("binds_read_only"),
        "{end}"
    );
    // What is left behind and says nothing goes unspoken of; what holds on to the output is given its time.
    for (target, text, warnings) in [
        ("silent", "done\n", &[][..]),
        ("late", "done\nlate\n", &[]),
        ("holds-on", "done\n", &["output_held_open"]),
    ] {
        let events = yard.make("main", &[target]).await;
        assert_eq!(text_of(&events), text, "{target}");
        assert_eq!(warnings_of(&events), warnings, "{target}");
        assert_eq!(
            events.last().unwrap().data["state"],
            "succeeded",
            "{target}"
        );
        assert_eq!(processes_in(&yard.workspace("main")), [""; 0], "{target}");
    }
    let run = yard
        .start_detached("main", json!({"args": ["flood"]}))
        .await;
    assert_eq!(yard.ended(&run).await["state"], "succeeded");
    let log = yard.log(&run).await;
    assert_eq!(log.lines().count(), 2_000_000);
    assert_eq!(log.len(), 2 * 6_888_896);
    see_it_gone(&yard, &run);
    yard.stop().await;
}

async fn cancel(yard: &Yard, target: &str) -> Value {
    let run = yard.start_detached("main", json!({"args": [target]})).await;
    yard.follow(&run).await.until_line("started").await;
    yard.post_json(&format!("/api/runs/{run}/cancel"), json!({}))
        .await;
    let record = yard.ended(&run).await;
    see_it_gone(yard, &run);
    assert_eq!(record["state"], "cancelled", "{record}");
    record
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_stopped_is_asked_once_and_then_ended() {
    let mut yard = yard(options("standard", "")).await;
    cancel(&yard, "polite").await;
    let terms = std::fs::read_to_string(yard.workspace("main").join("terms")).unwrap();
    assert_eq!(terms, "term\nterm\n", "each once");
    cancel(&yard, "deaf").await;
    cancel(&yard, "hidden").await;
    std::fs::remove_file(yard.workspace("main").join("hidden")).unwrap();
    let body = json!({"args": ["hidden"], "timeout": "500ms"});
    let run = yard.start_detached("main", body).await;
    let record = yard.ended(&run).await;
    assert_eq!(record["state"], "timed_out", "{record}");
    see_it_gone(&yard, &run);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_outlives_its_daemon_and_goes_with_its_supervisor() {
    let mut yard = Yard::asleep(options("standard", ""));
    yard.origin.write("Makefile", MAKEFILE);
    yard.origin.commit("life");
    yard.origin.push("main");
    yard.origin.at("main");
    yard.origin.branch("lost");
    let mut daemon = yard.start_binary(&[]).await;
    let run = yard.start_detached("main", json!({"args": ["gate"]})).await;
    let lost = yard.start_detached("lost", json!({"args": ["gate"]})).await;
    for run in [&run, &lost] {
        yard.follow(run).await.until_line("line 2").await;
    }
    // Seen from outside: who is in a workspace, and in which groups.
    let workspace = yard.workspace("lost");
    let inside = pids_in(&workspace);
    assert!(!inside.is_empty());
    let seen = who_is_in(&workspace).and_then(|pid| i32::try_from(pid).ok());
    assert!(seen.is_some(), "{inside:?}");
    match Mechanisms::probe().groups() {
        Ok(_) => {
            let member = inside[0].to_string();
            until("it is enclosed", || {
                Yard::groups_of(&lost).iter().any(|group| {
                    std::fs::read_to_string(group.join("cgroup.procs"))
                        .is_ok_and(|pids| pids.lines().any(|pid| pid == member))
                })
            })
            .await;
        }
        Err(why) => println!("groups are not looked at: {why}"),
    }
    daemon.kill().await;
    // The kernel ends what is inside with it, before any daemon comes to look.
    yard.kill_supervisor(&lost).await;
    until("nobody is inside any more", || {
        !inside.iter().any(|pid| is_alive(*pid))
    })
    .await;
    let far = || std::fs::read_to_string(yard.workspace("main").join("far")).unwrap_or_default();
    let before = far();
    until("the other goes on", || far() != before).await;

    let mut daemon = yard.start_binary(&[]).await;
    let record = yard.get_json(&format!("/api/runs/{lost}")).await;
    assert_eq!(record["state"], "lost", "{record}");
    assert_eq!(processes_of(&lost), [""; 0]);
    assert_eq!(Yard::groups_of(&lost), Vec::<PathBuf>::new());
    let record = yard.get_json(&format!("/api/runs/{run}")).await;
    assert_eq!(
        (&record["state"], &record["sandbox"]),
        (&json!("running"), &json!("standard"))
    );
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    let record = yard.ended(&run).await;
    assert_eq!(
        (&record["state"], &record["exit_code"]),
        (&json!("failed"), &json!(2)),
        "{record}"
    );
    let starts = std::fs::read_to_string(yard.workspace("main").join("starts")).unwrap();
    assert_eq!(starts.trim(), run, "it was started once");
    let log = yard.log(&run).await;
    let lines = log
        .lines()
        .take_while(|line| line.starts_with("line "))
        .count();
    assert!(
        log.contains(&format!("line {lines}\nafter {lines}\n")),
        "{log}"
    );
    see_it_gone(&yard, &run);
    daemon.stop().await;
}

/// Limits hold inside as they do outside.
#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_inside() {
    let mut yard = contained(
        "standard",
        "[limits]\nmax_open_files = 64\nmax_processes = 40\n",
        "files:\n\t@ulimit -Sn; ulimit -Hn\nmany:\n\t@while [ ! -e go ]; do sleep 0.01; done; for i in `seq 60`; do sleep 5 & done; wait\n",
    )
    .await;
    assert_eq!(text_of(&yard.make("main", &["files"]).await), "64\n64\n");
    if Mechanisms::probe().describe().contains("processes: cgroup") {
        let run = yard.start_detached("main", json!({"args": ["many"]})).await;
        // What it takes to contain the command is not the command's.
        until("the limit is in force", || {
            Yard::groups_of(&run).iter().any(|group| {
                let limit = std::fs::read_to_string(group.join("pids.max"));
                let members = std::fs::read_to_string(group.join("cgroup.procs"));
                limit.is_ok_and(|limit| limit.trim() == "42")
                    && members.is_ok_and(|members| members.lines().count() > 2)
            })
        })
        .await;
        std::fs::write(yard.workspace("main").join("go"), "").unwrap();
        let record = yard.ended(&run).await;
        assert_eq!(record["state"], "failed", "{record}");
        let reason = record["reason"].as_str().unwrap();
        assert!(reason.contains("limits.max_processes"), "{reason}");
        see_it_gone(&yard, &run);
    } else {
        println!("processes are not looked at: no group limits them here");
    }
    yard.stop().await;
}
