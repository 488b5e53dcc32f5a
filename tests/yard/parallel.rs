//! How many jobs make has: what was asked for, the operator's default, or a share of the cores.

use serde_json::{Value, json};

use crate::support::{Options, Yard, text_of};

const MAKEFILE: &str = "\
flags:
\t@echo 'flags: $(MAKEFLAGS)'
gate:
\t@echo waiting; for i in `seq 1500`; do [ -e open ] && break; sleep 0.02; done; echo passed
";

/// Runs `make flags`; its record, once it is known that make was told what that says.
async fn flags(yard: &Yard, args: &[&str]) -> Value {
    let args: Vec<_> = args.iter().chain(&["flags"]).collect();
    let events = yard
        .run("make", "main", json!({"args": args, "sync": "none"}))
        .await;
    let run = events[0].data["run_id"].as_str().unwrap();
    let record = yard.get_json(&format!("/api/runs/{run}")).await;
    let said = text_of(&events);
    let told = said.split_whitespace().find(|word| word.starts_with("-j"));
    let words = record["argv"].as_array().unwrap().iter();
    let mut shown = words.filter_map(|word| {
        let (before, number) = word.as_str()?.split_once('j')?;
        before.starts_with('-').then(|| format!("-j{number}"))
    });
    assert_eq!(shown.next_back().as_deref(), told, "{record}: {said}");
    record
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_said_of_jobs_is_filled_in_and_shown() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let mut yard = Yard::asleep(Options {
        tables: "[limits]\nmax_jobs = 64\n[build]\njobs = 9\n".to_owned(),
        repo: "jobs = 3\n".to_owned(),
        ..Options::default()
    });
    yard.origin.write("Makefile", MAKEFILE);
    yard.origin.commit("flags");
    yard.origin.push("main");
    yard.origin.push("other");
    yard.start().await;
    yard.make("main", &["flags"]).await;

    let record = flags(&yard, &[]).await;
    assert_eq!(record["argv"], json!(["make", "-j3", "flags"]));
    assert_eq!(record["asked_argv"], json!(["make", "flags"]));
    let record = flags(&yard, &["-j2"]).await;
    assert_eq!(record["argv"], json!(["make", "-j2", "flags"]));
    assert_eq!(record.get("asked_argv"), None);
    let share = format!("-j{}", cores.min(64));
    let record = flags(&yard, &["-j"]).await;
    assert_eq!(record["argv"], json!(["make", share, "flags"]));
    assert_eq!(record["asked_argv"], json!(["make", "-j", "flags"]));

    // With another run at work, each has half.
    let gate = json!({"args": ["-j", "gate"], "coalesce": true});
    let other = yard.start_detached("other", gate.clone()).await;
    yard.follow(&other).await.until_line("waiting").await;
    let share = format!("-kj{}", (cores / 2).clamp(1, 64));
    let record = flags(&yard, &["-kj"]).await;
    assert_eq!(record["argv"], json!(["make", share, "flags"]));

    // Who asks for the same finds it, whatever number it was given meanwhile.
    assert_eq!(yard.start_detached("other", gate).await, other);
    let named = json!({"args": [format!("-j{cores}"), "gate"], "coalesce": true});
    let second = yard.start_detached("other", named).await;
    assert_ne!(second, other);
    std::fs::write(yard.workspace("other").join("open"), "").unwrap();
    for run in [other, second] {
        assert_eq!(yard.ended(&run).await["state"], "succeeded");
    }

    // Without a default of its own the repo has the general one; without any, make's.
    yard.stop().await;
    for (tables, argv) in [
        ("[build]\njobs = 2\n", json!(["make", "-j2", "flags"])),
        (
            "[limits]\nmax_jobs = 1\n[build]\njobs = 2\n",
            json!(["make", "-j1", "flags"]),
        ),
        ("", json!(["make", "flags"])),
    ] {
        yard.configure(Options {
            tables: tables.to_owned(),
            ..Options::default()
        });
        yard.start().await;
        assert_eq!(flags(&yard, &[]).await["argv"], argv, "{tables}");
        yard.stop().await;
    }
}
