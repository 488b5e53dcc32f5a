//! The daemon or a supervisor killed at every named moment of a run's life: what was on disk by then
//! must be enough.

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Event, Options, Yard, events_of, processes_in, processes_of, text_of, until};

/// Who is killed at a crash point. The other one lives on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    Daemon,
    Supervisor,
}

/// What must come of a run.
struct Fate {
    point: &'static str,
    victim: Victim,
    state: &'static str,
    /// How often its command was started: at least, at most.
    starts: (usize, usize),
    /// Whether all of its output is there; a part from the beginning where not.
    whole: bool,
}

const fn fate(point: &'static str, victim: Victim, state: &'static str, starts: usize) -> Fate {
    Fate {
        point,
        victim,
        state,
        starts: (starts, starts),
        whole: starts == 1,
    }
}

const FATES: [Fate; 12] = [
    // Nothing was started yet: the next daemon does it.
    fate("recorded", Victim::Daemon, "succeeded", 1),
    fate("running", Victim::Daemon, "succeeded", 1),
    // The supervisor was not told all, and says so by not giving its name.
    fate("locked", Victim::Daemon, "succeeded", 1),
    fate("spawned", Victim::Daemon, "succeeded", 1),
    // From here on the supervisor needs no daemon.
    fate("handed-over", Victim::Daemon, "succeeded", 1),
    // It may have started something, for all that anyone can tell.
    fate("supervisor-ready", Victim::Supervisor, "lost", 0),
    Fate {
        starts: (0, 1),
        whole: false,
        ..fate("command-started", Victim::Supervisor, "lost", 1)
    },
    fate("command-ended", Victim::Supervisor, "lost", 1),
    fate("exit-recorded", Victim::Supervisor, "succeeded", 1),
    fate("exit-seen", Victim::Daemon, "succeeded", 1),
    fate("end-recorded", Victim::Daemon, "succeeded", 1),
    fate("end-told", Victim::Daemon, "succeeded", 1),
];

const PRINTED: &str = "one\ntwo\nthree\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_moment_starts_nothing_twice_and_leaves_nothing_behind() {
    let mut yard = Yard::asleep(Options::default());
    let marks = yard.dir.path().join("marks");
    let makefile = format!(
        "once:\n\t@echo $$BRANCHYARD_RUN_ID >> {}; echo one; echo two; echo three\nwho:\n\t@cat name.txt\n",
        marks.display()
    );
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("marks");
    yard.origin.push("main");
    for fate in &FATES {
        println!("{}", fate.point);
        std::fs::write(&marks, "").unwrap();
        let mut daemon = yard
            .start_binary(&[("BRANCHYARD_CRASH_AT", fate.point)])
            .await;
        // The connection may be cut at any time, even before there is an answer.
        let asked = yard.run_unheeded("main", "once").await;
        if fate.victim == Victim::Supervisor {
            let events = asked.expect("the daemon lives");
            see_the_end(fate, &events);
            daemon.signal(Signal::KILL);
        }
        assert!(!daemon.ended().await.success(), "{}", fate.point);

        let mut daemon = yard.start_binary(&[]).await;
        let newest = &yard.get_json("/api/runs?limit=1").await["items"][0];
        let id = newest["run_id"].as_str().unwrap().to_owned();
        let events = events_of(yard.get(&format!("/stream/runs/{id}")).await).await;
        see_the_end(fate, &events);
        let record = yard.get_json(&format!("/api/runs/{id}")).await;
        assert_eq!(record["state"], fate.state, "{}: {record}", fate.point);
        let log = yard.get(&format!("/api/runs/{id}/log")).await;
        assert_eq!(
            log.text().await.unwrap(),
            text_of(&events),
            "{}",
            fate.point
        );
        let started = std::fs::read_to_string(&marks).unwrap();
        let expected = format!("{id}\n");
        assert_eq!(started, expected.repeat(started.lines().count()));
        let starts = started.lines().count();
        let (least, most) = fate.starts;
        assert!((least..=most).contains(&starts), "{}: {starts}", fate.point);

        assert_eq!(processes_of(&id), [""; 0], "{}", fate.point);
        assert_eq!(processes_in(&yard.workspaces), [""; 0], "{}", fate.point);
        assert_eq!(
            Yard::groups_of(&id),
            Vec::<PathBuf>::new(),
            "{}",
            fate.point
        );
        let tmp = yard.workspaces.join(".branchyard/tmp");
        until("its temporary files are gone", || {
            std::fs::read_dir(&tmp).map_or(true, |mut entries| entries.next().is_none())
        })
        .await;
        // The workspace is usable, and nothing comes after the end.
        assert_eq!(text_of(&yard.make("main", &["who"]).await), "main\n");
        daemon.stop().await;
        let mut daemon = yard.start_binary(&[]).await;
        let again = events_of(yard.get(&format!("/stream/runs/{id}")).await).await;
        see_the_end(fate, &again);
        assert_eq!(again.len(), events.len(), "{}", fate.point);
        assert_eq!(yard.get_json(&format!("/api/runs/{id}")).await, record);
        daemon.stop().await;
    }
}

/// Exactly one end, and it is the last event; the output is what was printed.
fn see_the_end(fate: &Fate, events: &[Event]) {
    let ends = events
        .iter()
        .filter(|event| ["complete", "error"].contains(&event.kind.as_str()));
    assert_eq!(ends.count(), 1, "{}: {events:#?}", fate.point);
    let last = events.last().unwrap();
    assert_eq!(last.data["state"], fate.state, "{}: {last:?}", fate.point);
    let text = text_of(events);
    assert!(PRINTED.starts_with(&text), "{}: {text:?}", fate.point);
    if fate.whole {
        assert_eq!(text, PRINTED, "{}", fate.point);
    }
}

/// A run that was on its way to a second start can still be stopped there.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_queued_again_is_shown_as_such_and_can_be_cancelled() {
    let options = || Options {
        tables: "[limits]\nmax_concurrent_runs = 1\n".to_owned(),
        ..Options::default()
    };
    let mut yard = Yard::asleep(options());
    yard.origin.branch("other");
    let mut daemon = yard.start_binary(&[]).await;
    let mut holds_the_slot = yard
        .start_run("make", "main", json!({"args": ["gate"], "detach": true}))
        .await;
    holds_the_slot.until_line("waiting").await;
    daemon.kill().await;

    // With two slots another run comes as far as being called running.
    yard.configure(Options::default());
    let mut daemon = yard
        .start_binary(&[("BRANCHYARD_CRASH_AT", "running")])
        .await;
    assert!(yard.run_unheeded("other", "who").await.is_none());
    assert!(!daemon.ended().await.success());
    yard.configure(options());
    let mut daemon = yard.start_binary(&[]).await;
    let newest = &yard.get_json("/api/runs?limit=1").await["items"][0];
    let path = format!("/api/runs/{}", newest["run_id"].as_str().unwrap());
    let record = yard.get_json(&path).await;
    assert_eq!(record["branch"], "other");
    assert_eq!(record["state"], "queued", "{record}");
    assert_eq!(record["started_at"], json!(null), "{record}");
    yard.post_json(&format!("{path}/cancel"), json!({})).await;
    let record = yard.get_json(&format!("{path}?wait=10s")).await;
    assert_eq!(record["state"], "cancelled", "{record}");

    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    let path = format!("/api/runs/{}?wait=50s", holds_the_slot.run_id());
    assert_eq!(yard.get_json(&path).await["state"], "succeeded");
    daemon.stop().await;
}

impl Yard {
    /// A run of a target by somebody who takes what comes: its events, if the answer came to its end.
    pub async fn run_unheeded(&self, branch: &str, target: &str) -> Option<Vec<Event>> {
        let path = format!("/stream/repos/demo/branches/{branch}/make");
        let request = self
            .request(reqwest::Method::POST, &path)
            .json(&json!({"args": [target], "detach": true}));
        let text = request.send().await.ok()?.text().await.ok()?;
        Some(crate::support::read_events("text/event-stream", &text))
    }
}
