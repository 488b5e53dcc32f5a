//! One command on many branches.

use rustix::process::Signal;
use serde_json::Value;

use super::{Stderr, Underway, cli, command};
use crate::support::Yard;

/// `main`, `release/1` and `release/2` say their names; `broken` does not compile.
async fn yard() -> Yard {
    let yard = Yard::new().await;
    yard.origin.branch("release/1");
    yard.origin.branch("release/2");
    yard.origin.at("main");
    let broken = "who:\n\t@echo \"src/a.c:3:5: error: no such thing\" >&2; exit 1\n";
    yard.origin.write("Makefile", broken);
    yard.origin.commit("broken");
    yard.origin.push("broken");
    yard
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_says_how_each_branch_ended() {
    let mut yard = yard().await;
    let well = cli(&yard, &["make", "demo", "release/*", "main", "--", "who"])
        .await
        .ok();
    let mut rows: Vec<_> = well.cells().iter().map(|row| row[..3].join(" ")).collect();
    rows.sort();
    assert_eq!(
        rows,
        [
            "main succeeded 0",
            "release/1 succeeded 0",
            "release/2 succeeded 0"
        ]
    );
    assert!(
        well.stderr.contains(": release/1, release/2, main\n"),
        "{well:?}"
    );
    assert!(well.stderr.contains("all 3 succeeded in "), "{well:?}");

    let failed = cli(&yard, &["make", "demo", "broken", "main", "--", "who"]).await;
    assert_eq!(failed.code, 2, "make's own code: {failed:?}");
    let cells = failed.cells();
    let row = cells.iter().find(|row| row[0] == "broken").unwrap();
    assert_eq!(row[1..3], ["failed", "2"]);
    assert_eq!(row[5], "src/a.c:3:5: error: no such thing");
    let run = row[3];
    let summary = format!(" (branchyard log {run}): src/a.c:3:5: error: no such thing\n");
    assert!(failed.stderr.contains(&summary), "{failed:?}");
    let told = failed.stderr.matches("broken: failed").count();
    assert_eq!(told, 1, "{failed:?}");
    assert!(
        failed.stderr.contains("1 of 2 did not succeed in "),
        "{failed:?}"
    );
    let log = cli(&yard, &["log", run]).await.ok();
    assert!(log.text().starts_with("src/a.c:3:5: error: "), "{log:?}");

    // The group is found again by its id, with or without being called one.
    let group = failed.stderr.strip_prefix("group ").unwrap();
    let group = group.split_once(':').unwrap().0;
    for args in [&["follow", group][..], &["follow", "--group", group]] {
        let again = cli(&yard, args).await;
        assert_eq!((again.code, again.cells().len()), (2, 2), "{again:?}");
    }
    let runs = cli(&yard, &["runs", "--group", group]).await.ok();
    assert_eq!(runs.cells().len(), 2);
    let quiet = cli(&yard, &["-q", "follow", group]).await;
    assert_eq!((quiet.code, quiet.stderr.as_str()), (2, ""));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_many_is_told_apart_and_events_are_passed_through() {
    let mut yard = yard().await;
    let args = ["make", "demo", "main", "broken", "--output", "--", "who"];
    let said = cli(&yard, &args).await;
    assert_eq!((said.code, said.text()), (2, "main | main\n"));
    let complaint = "broken | src/a.c:3:5: error: no such thing\n";
    assert!(said.stderr.contains(complaint), "{said:?}");
    assert!(said.stderr.contains("main: succeeded in "), "{said:?}");
    let told = said.stderr.matches("broken: failed").count();
    assert_eq!(told, 1, "{said:?}");

    let json = cli(
        &yard,
        &["--json", "make", "demo", "main", "broken", "--", "who"],
    )
    .await;
    assert_eq!((json.code, json.stderr.as_str()), (2, ""));
    let events: Vec<Value> = json
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events[0]["type"], "group");
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["total"]),
        (&"summary".into(), &2.into())
    );

    let group = events[0]["group_id"].as_str().unwrap();
    let nothing = cli(
        &yard,
        &["follow", group, "--from", last["id"].as_str().unwrap()],
    )
    .await;
    assert_eq!((nothing.code, nothing.text()), (1, ""));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_names_no_branch_is_refused_and_nothing_starts() {
    let mut yard = yard().await;
    let none = cli(&yard, &["make", "demo", "hotfix/*"]).await;
    none.refused(
        125,
        &["no branch is named or matched by \"hotfix/*\"", "help: "],
    );
    let target = cli(&yard, &["make", "demo", "main", "who", "--", "-s"]).await;
    target.refused(125, &["no branch is named or matched by \"who\""]);
    let coalesce = cli(&yard, &["make", "demo", "release/*", "--coalesce"]).await;
    coalesce.refused(2, &["coalesce has no meaning"]);
    let runs = yard.get_json("/api/runs").await;
    assert_eq!(runs["items"].as_array().unwrap().len(), 0, "{runs}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_cancels_the_whole_group_and_so_does_cancel() {
    let mut yard = yard().await;
    let args = ["make", "demo", "release/*", "--", "gate"];
    let mut make = Underway::start(command(&yard, &args));
    let mut stderr = Stderr::of(&mut make);
    stderr.until("release/1: started").await;
    stderr.until("release/2: started").await;
    make.signal(Signal::INT);
    let said = make.end().await;
    assert_eq!(said.code, 130, "{said:?}");
    assert_eq!(said.text().matches("\tcancelled\t").count(), 2, "{said:?}");

    let args = ["make", "demo", "release/*", "--detach", "--", "gate"];
    let started = cli(&yard, &args).await.ok();
    let group = started.text().trim_end().to_owned();
    let mut follow = Underway::start(command(&yard, &["follow", "--group", &group]));
    let mut stderr = Stderr::of(&mut follow);
    stderr.until("release/1: started").await;
    stderr.until("release/2: started").await;
    let cancelled = cli(&yard, &["cancel", "--group", &group]).await.ok();
    assert_eq!(
        cancelled.stderr,
        format!("cancelling the runs of {group}\n")
    );
    let said = follow.end().await;
    assert_eq!(said.code, 130, "{said:?}");
    let again = cli(&yard, &["cancel", "--group", &group]).await.ok();
    assert_eq!(again.stderr, format!("{group} has ended already: failed\n"));
    yard.stop().await;
}
