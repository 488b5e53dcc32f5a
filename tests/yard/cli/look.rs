//! Runs looked at, repeated, shared and ended.

use rustix::process::Signal;

use super::{Underway, cli, command};
use crate::support::Yard;

/// A run that complains, and how it ended.
async fn complaining(yard: &Yard) -> String {
    yard.origin.at("main");
    let makefile = "bad:\n\t@echo 'a.c:3:5: error: first'; echo 'b.c:9: warning: hm'; \
                    echo 'a.c:4:1: error: second'; exit 1\n\
                    who:\n\t@cat name.txt\n\
                    gate:\n\t@echo waiting; for i in `seq 1500`; do [ -e open ] && break; sleep 0.02; done\n";
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("complaints");
    yard.origin.push("main");
    let bad = cli(yard, &["make", "demo", "main", "--", "bad"]).await;
    assert_eq!(bad.code, 2, "{bad:?}");
    let runs = cli(yard, &["runs", "--limit", "1"]).await.ok();
    runs.cells()[0][0].to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn diagnostics_are_lines_for_editors() {
    let mut yard = Yard::new().await;
    let id = complaining(&yard).await;
    let lines = cli(&yard, &["diagnostics", &id]).await.ok();
    assert_eq!(
        lines.text(),
        "a.c:3:5: error: first\na.c:4:1: error: second\nb.c:9: warning: hm\n"
    );
    assert_eq!(lines.stderr, "2 errors, 1 warning\n");
    let json = cli(&yard, &["diagnostics", &id, "--json"]).await.ok();
    assert_eq!(json.json()["items"].as_array().unwrap().len(), 3);
    let runs = cli(&yard, &["runs"]).await.ok();
    assert_eq!(runs.cells()[0][8], "a.c:3:5: error: first");
    let clean = cli(&yard, &["make", "demo", "main", "--detach", "who"])
        .await
        .ok();
    let clean = clean.text().trim_end();
    cli(&yard, &["follow", clean]).await.ok();
    let none = cli(&yard, &["diagnostics", clean]).await.ok();
    assert_eq!(
        (none.text(), none.stderr.as_str()),
        ("", "no errors or warnings\n")
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_comes_in_pages_and_by_what_is_asked() {
    let mut yard = Yard::new().await;
    let bad = complaining(&yard).await;
    for _ in 0..2 {
        cli(&yard, &["make", "demo", "main", "who"]).await.ok();
    }
    cli(&yard, &["git", "demo", "main", "status"]).await.ok();
    let first = cli(&yard, &["runs", "--kind", "make", "--limit", "2"])
        .await
        .ok();
    assert_eq!(first.cells().len(), 2);
    let next = first
        .stderr
        .strip_prefix("there are more: `branchyard ")
        .unwrap();
    let next: Vec<&str> = next.trim_end().trim_end_matches('`').split(' ').collect();
    assert_eq!(next[..5], ["runs", "--limit", "2", "--kind", "make"]);
    let second = cli(&yard, &next).await.ok();
    assert_eq!(second.cells().len(), 1);
    assert_eq!(
        (second.cells()[0][0], second.stderr.as_str()),
        (bad.as_str(), "")
    );
    let failed = cli(&yard, &["runs", "--state", "failed", "--since", "1h"])
        .await
        .ok();
    assert_eq!(failed.cells().len(), 1);
    let none = cli(&yard, &["runs", "--since", "2099-01-01T00:00:00Z"])
        .await
        .ok();
    assert_eq!((none.text(), none.stderr.as_str()), ("", "no runs\n"));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_repeated_and_a_request_is_not() {
    let mut yard = Yard::new().await;
    let bad = complaining(&yard).await;
    let again = cli(&yard, &["rerun", &bad]).await;
    assert_eq!(again.code, 2, "{again:?}");
    assert!(
        again.text().starts_with("a.c:3:5: error: first\n"),
        "{again:?}"
    );
    let detached = cli(&yard, &["rerun", &bad, "--detach"]).await.ok();
    let detached = detached.text().trim_end();
    assert_ne!(detached, bad);
    assert_eq!(cli(&yard, &["follow", detached]).await.code, 2);
    let unknown = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";
    cli(&yard, &["rerun", unknown])
        .await
        .refused(125, &[unknown]);
    let nowhere = cli(&yard, &["follow", unknown]).await;
    nowhere.refused(125, &["there is no run or group", "branchyard runs"]);

    let keyed = [
        "make",
        "demo",
        "main",
        "--idempotency-key",
        "once",
        "--",
        "who",
    ];
    for _ in 0..2 {
        assert_eq!(cli(&yard, &keyed).await.ok().text(), "main\n");
    }
    let runs = cli(&yard, &["runs"]).await.ok();
    assert_eq!(
        runs.cells().len(),
        4,
        "the key stands for one run: {runs:?}"
    );
    let other = [
        "make",
        "demo",
        "main",
        "--idempotency-key",
        "once",
        "--",
        "bad",
    ];
    cli(&yard, &other)
        .await
        .refused(2, &["with another request"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_run_goes_on_for_who_is_left() {
    let mut yard = Yard::new().await;
    let shared = ["make", "demo", "main", "--coalesce", "--", "gate"];
    let mut first = Underway::start(command(&yard, &shared));
    first.until(|line| line == "waiting").await;
    let mut second = Underway::start(command(&yard, &shared));
    second.until(|line| line == "waiting").await;
    let mut third = Underway::start(command(&yard, &shared));
    third.until(|line| line == "waiting").await;
    let runs = cli(&yard, &["runs"]).await.ok();
    assert_eq!(runs.cells().len(), 1, "{runs:?}");
    let id = runs.cells()[0][0].to_owned();

    // Who joined leaves at once: the run is not theirs alone.
    third.signal(Signal::INT);
    third.end().await.refused(130, &["it goes on without us"]);
    let cancelled = cli(&yard, &["cancel", &id]).await.ok();
    assert_eq!(
        cancelled.stderr,
        format!("{id} goes on: another one wants it still; --force ends it for all\n")
    );
    let unknown = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";
    let forced = cli(&yard, &["cancel", unknown, &id, "--force"]).await;
    assert!(
        forced.stderr.starts_with(&format!("cancelling {id}\n")),
        "{forced:?}"
    );
    forced.refused(125, &[unknown]);
    for viewer in [first, second] {
        assert_eq!(viewer.end().await.code, 130);
    }

    let mut older = Underway::start(command(&yard, &["make", "demo", "main", "--", "gate"]));
    older.until(|line| line == "waiting").await;
    let newer = ["make", "demo", "main", "--supersede", "--", "gate"];
    let mut newer = Underway::start(command(&yard, &newer));
    assert_eq!(older.end().await.code, 130);
    newer.until(|line| line == "waiting").await;
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    newer.end().await.ok();
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_named_by_a_part_of_its_id_by_its_branch_or_as_the_newest() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    let none = cli(&yard, &["log"]).await;
    none.refused(125, &["no run yet"]);
    let run = yard.make("topic", &["who"]).await[0].data["run_id"].clone();
    let run = run.as_str().unwrap().to_owned();
    cli(&yard, &["make", "demo", "main", "--", "who"])
        .await
        .ok();
    let (start, end) = (&run[..20], &run[30..]);
    for words in [
        &["log", &run][..],
        &["log", start],
        &["log", &end.to_uppercase()],
        &["log", "demo", "topic"],
        &["follow", end],
    ] {
        let log = cli(&yard, words).await.ok();
        assert_eq!(log.text(), "topic\n", "{words:?}");
    }
    for words in [
        &["log"][..],
        &["log", "@last"],
        &["follow"],
        &["follow", "demo", "main"],
    ] {
        let log = cli(&yard, words).await.ok();
        assert_eq!(log.text(), "main\n", "{words:?}");
    }
    // All runs of these weeks begin so.
    let many = cli(&yard, &["log", &run[..4]]).await;
    many.refused(125, &["more than one run", &run]);
    let unknown = cli(&yard, &["cancel", "ffffffff"]).await;
    unknown.refused(125, &["starts or ends with ffffffff", "branchyard runs"]);
    let nothing = cli(&yard, &["diagnostics", "demo", "nowhere"]).await;
    nothing.refused(125, &["no run of demo nowhere"]);
    let done = cli(&yard, &["cancel", end]).await.ok();
    assert!(done.stderr.contains("has ended already"), "{done:?}");
    let again = cli(&yard, &["rerun", "@last"]).await.ok();
    assert_eq!(again.text(), "main\n");
    yard.stop().await;
}
