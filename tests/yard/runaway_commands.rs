//! Commands that do not want to go, and commands that want too much. Whatever they do, they are gone
//! long before they would go by themselves, their end says why, and other runs are not harmed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Options, Yard, is_alive, processes_in, processes_of, until, warnings_of};

fn makefile(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "\
deaf:
\t@trap '' TERM; echo started; while :; do sleep 1; done
hidden:
\t@(env -i $$(which setsid) $$(which sh) -c 'trap \"\" TERM; echo $$$$ > {dir}/hidden; while :; do /bin/sleep 300; done' >/dev/null 2>&1 &); \\
\twhile [ ! -s {dir}/hidden ]; do sleep 0.01; done; echo started; sleep 1000
holds-on:
\t@(setsid sh -c 'trap \"\" HUP TERM; echo $$$$ > {dir}/holding; exec sleep 1000' &); \\
\twhile [ ! -s {dir}/holding ]; do sleep 0.01; done; echo done
bomb:
\t@echo started; while [ ! -e {dir}/armed ]; do sleep 0.01; done; \\
\tsleep 1000 & b() {{ b & b & while [ -e {dir}/armed ]; do (:); done; }}; b 2>/dev/null & wait
many:
\t@sleep 0.3; for i in `seq 60`; do sleep 5 & done; wait
hungry:
\t@sleep 0.3; head -c 400000000 /dev/zero | tr '\\0' x | sed s/x/y/ >/dev/null
gate:
\t@echo waiting; while [ ! -e {dir}/open ]; do sleep 0.02; done; echo passed
"
    )
}

async fn yard(tables: &str) -> (Yard, String) {
    let mut yard = Yard::asleep(Options {
        tables: tables.to_owned(),
        timeouts: "grace = \"1s\"\ndrain = \"500ms\"\n".to_owned(),
        ..Options::default()
    });
    yard.origin.write("Makefile", makefile(yard.dir.path()));
    yard.origin.commit("stubborn");
    yard.origin.push("main");
    yard.origin.branch("bystander");
    yard.start().await;
    // Somebody else's run, which goes on while all of this happens.
    let bystander = yard
        .start_detached("bystander", json!({"args": ["gate"]}))
        .await;
    yard.follow(&bystander).await.until_line("waiting").await;
    (yard, bystander)
}

/// The bystander was not disturbed.
async fn see_nothing_harmed(mut yard: Yard, bystander: &str) {
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    let record = yard.ended(bystander).await;
    assert_eq!(record["state"], "succeeded", "{record}");
    assert_eq!(yard.log(bystander).await, "waiting\npassed\n");
    yard.stop().await;
}

fn pid_in(file: PathBuf) -> i32 {
    let text = std::fs::read_to_string(file).unwrap();
    text.trim().parse().unwrap()
}

/// Starts a target and cancels it once it has started; its last record.
async fn cancel(yard: &Yard, target: &str) -> Value {
    let run = yard.start_detached("main", json!({"args": [target]})).await;
    yard.follow(&run).await.until_line("started").await;
    end_by_cancel(yard, &run).await
}

async fn end_by_cancel(yard: &Yard, run: &str) -> Value {
    yard.post_json(&format!("/api/runs/{run}/cancel"), json!({}))
        .await;
    let record = yard.ended(run).await;
    see_it_gone(yard, run);
    assert_eq!(record["state"], "cancelled", "{record}");
    assert_eq!(record["reason"], "cancelled by session", "{record}");
    record
}

fn see_it_gone(yard: &Yard, run: &str) {
    assert_eq!(processes_of(run), [""; 0]);
    assert_eq!(processes_in(&yard.workspace("main")), [""; 0]);
    assert_eq!(Yard::groups_of(run), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_ignores_term_or_hides_is_gone_after_the_grace() {
    let (yard, bystander) = yard("").await;
    cancel(&yard, "deaf").await;
    cancel(&yard, "hidden").await;
    assert!(!is_alive(pid_in(yard.dir.path().join("hidden"))));

    for target in ["deaf", "hidden"] {
        let body = json!({"args": [target], "timeout": "500ms"});
        let run = yard.start_detached("main", body).await;
        yard.follow(&run).await.until_line("started").await;
        let record = yard.ended(&run).await;
        see_it_gone(&yard, &run);
        assert_eq!(record["state"], "timed_out", "{record}");
        assert_eq!(record["reason"], "it ran longer than 500ms", "{record}");
    }
    see_nothing_harmed(yard, &bystander).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_keeps_the_output_open_is_cut_off_and_spoken_of() {
    let (yard, bystander) = yard("").await;
    let events = yard.make("main", &["holds-on"]).await;
    assert_eq!(warnings_of(&events), ["output_held_open"]);
    let end = events.last().unwrap();
    assert_eq!(end.data["state"], "succeeded", "{end:?}");
    assert_eq!(crate::support::text_of(&events), "done\n");
    assert!(!is_alive(pid_in(yard.dir.path().join("holding"))));
    see_nothing_harmed(yard, &bystander).await;
}

/// Whether a limit is in force for a run; waits until the run is enclosed.
async fn limited(run: &str, files: &[&str], limit: &str) -> bool {
    let held = branchyard_process::Mechanisms::probe().describe();
    let what = if files.contains(&"pids.max") {
        "processes: cgroup"
    } else {
        "memory: cgroup"
    };
    if !held.contains(what) {
        println!("skipped: {held}");
        return false;
    }
    let in_force = |group: &PathBuf| {
        let of_file = |file: &&str| std::fs::read_to_string(group.join(file));
        let members = std::fs::read_to_string(group.join("cgroup.procs"));
        members.is_ok_and(|members| !members.is_empty())
            && files
                .iter()
                .filter_map(|f| of_file(f).ok())
                .any(|text| text.trim() == limit)
    };
    until("the limit is in force", || {
        Yard::groups_of(run).iter().any(in_force)
    })
    .await;
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_harms_nobody_and_goes_whole() {
    let (yard, bystander) = yard("[limits]\nmax_processes = 30\n").await;
    let run = yard
        .start_detached("main", json!({"args": ["bomb"], "timeout": "20s"}))
        .await;
    yard.follow(&run).await.until_line("started").await;
    if !limited(&run, &["pids.max"], "30").await {
        // Without a limit it is not set off.
        end_by_cancel(&yard, &run).await;
        return see_nothing_harmed(yard, &bystander).await;
    }
    let armed = yard.dir.path().join("armed");
    std::fs::write(&armed, "").unwrap();
    let refused = |group: &PathBuf| {
        std::fs::read_to_string(group.join("pids.events"))
            .is_ok_and(|events| events.trim() != "max 0")
    };
    until("it has hit the limit", || {
        Yard::groups_of(&run).iter().any(refused)
    })
    .await;
    end_by_cancel(&yard, &run).await;
    std::fs::remove_file(&armed).unwrap();

    // One that ends by itself says what it ran into.
    let run = yard.start_detached("main", json!({"args": ["many"]})).await;
    let record = yard.ended(&run).await;
    assert_eq!(record["state"], "failed", "{record}");
    let reason = record["reason"].as_str().unwrap();
    assert!(reason.contains("limits.max_processes"), "{reason}");
    assert_eq!(processes_of(&run), [""; 0]);
    see_nothing_harmed(yard, &bystander).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_eats_memory_is_ended_and_told_why() {
    let (yard, bystander) = yard("[limits]\nmax_memory = \"64MiB\"\n").await;
    let run = yard
        .start_detached("main", json!({"args": ["hungry"]}))
        .await;
    let files = ["memory.max", "memory.limit_in_bytes"];
    let limited = limited(&run, &files, "67108864").await;
    let record = yard.ended(&run).await;
    assert_eq!(record["state"], "failed", "{record}");
    if limited {
        let reason = record["reason"].as_str().unwrap();
        assert!(reason.contains("64MiB"), "{reason}");
        assert!(reason.contains("limits.max_memory"), "{reason}");
    }
    assert_eq!(processes_of(&run), [""; 0]);
    see_nothing_harmed(yard, &bystander).await;
}
