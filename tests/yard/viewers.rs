//! Viewers that come, vanish and come back: each of them sees every byte once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio_stream::StreamExt;

use crate::support::{Event, Options, PATIENCE, Yard, problem_of, read_events, until};

/// Random numbers that are the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Output of every kind: short and long lines, bytes that are no text, lines without an end.
fn output(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < 250_000 {
        let length = match dice.roll(20) {
            0 => 20_000,
            1..4 => 0,
            _ => dice.roll(120),
        };
        let raw = dice.roll(10) == 0;
        for _ in 0..length {
            bytes.push(match raw {
                true => u8::try_from(dice.roll(256)).unwrap(),
                false => b'a' + u8::try_from(dice.roll(26)).unwrap(),
            });
        }
        bytes.extend_from_slice(
            [&b"\n"[..], b"\r\n", b"\r", b"\n\n"][usize::try_from(dice.roll(4)).unwrap()],
        );
    }
    bytes.extend_from_slice(b"no end of line");
    bytes
}

/// Reads a run to its end over connections that break after a random number of bytes.
async fn watch(follow: RequestBuilder, mut dice: Dice) -> (Vec<Event>, usize) {
    let (mut events, mut cuts): (Vec<Event>, usize) = (Vec::new(), 0);
    loop {
        let mut request = follow.try_clone().unwrap();
        if let Some(last) = events.last() {
            request = request.header("last-event-id", &last.id);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{:?}", events.last());
        let enough = usize::try_from(dice.roll(60_000)).unwrap();
        let mut seen = Vec::new();
        let mut pieces = answer.bytes_stream();
        let mut over = false;
        while seen.len() < enough {
            match pieces.next().await {
                Some(piece) => seen.extend_from_slice(&piece.unwrap()),
                None => {
                    over = true;
                    break;
                }
            }
        }
        if !over {
            // What came beyond the cut was never seen, and half an event counts for nothing.
            seen.truncate(enough);
            let whole = seen
                .iter()
                .rposition(|b| *b == b'\n')
                .map_or(0, |at| at + 1);
            seen.truncate(whole);
            cuts += 1;
        }
        let text = String::from_utf8(seen).unwrap();
        events.extend(read_events("application/x-ndjson", &text));
        if events.last().is_some_and(|event| event.kind == "complete") {
            return (events, cuts);
        }
        assert!(!over, "a stream ended without the end of its run");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_viewers_who_are_cut_off_see_every_byte_once() {
    let mut yard = Yard::asleep(Options::default());
    let output = output(&mut Dice(0x5EED));
    // In pieces, so that some see it come and some come late.
    let dir = yard.dir.path().display().to_string();
    for (n, piece) in output.chunks(10_000).enumerate() {
        std::fs::write(format!("{dir}/piece{n:03}"), piece).unwrap();
    }
    let makefile = format!("print:\n\t@for p in {dir}/piece*; do cat $$p; sleep 0.04; done\n");
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("pieces");
    yard.origin.push("main");
    yard.start().await;
    let run = yard
        .start_detached("main", json!({"args": ["print"]}))
        .await;
    let follow = yard
        .request(Method::GET, &format!("/stream/runs/{run}"))
        .header("accept", "application/x-ndjson");
    let viewers: Vec<_> = (1..=50)
        .map(|n| tokio::spawn(watch(follow.try_clone().unwrap(), Dice(0x1234_5678 * n))))
        .collect();
    let mut all_cuts = 0;
    for (n, viewer) in viewers.into_iter().enumerate() {
        let watched = tokio::time::timeout(PATIENCE, viewer).await;
        let (events, cuts) = watched.expect("it comes to an end").unwrap();
        let seen: Vec<u8> = events.iter().flat_map(Event::bytes).collect();
        assert!(seen == output, "viewer {n} saw something else");
        let ends = events.iter().filter(|event| event.kind == "complete");
        assert_eq!(ends.count(), 1, "viewer {n}");
        all_cuts += cuts;
    }
    println!("{all_cuts} connections were cut");
    assert!(all_cuts > 50, "{all_cuts}");
    let log = yard.get(&format!("/api/runs/{run}/log")).await;
    assert!(log.bytes().await.unwrap() == output, "the log is exact");
    yard.stop().await;
}

/// Reads a stream to its end; counts itself among those who have come to the gate.
async fn read_past(request: RequestBuilder, at_the_gate: Arc<AtomicUsize>) -> Vec<u8> {
    let mut pieces = request.send().await.unwrap().bytes_stream();
    let (mut seen, mut has_come) = (Vec::new(), false);
    while let Some(piece) = pieces.next().await {
        seen.extend_from_slice(&piece.unwrap());
        let end = &seen[seen.len().saturating_sub(200)..];
        if !has_come && String::from_utf8_lossy(end).contains("waiting") {
            has_come = true;
            at_the_gate.fetch_add(1, Ordering::Relaxed);
        }
    }
    seen
}

/// What a stream in a format told: the output of every kind, and each event that is no output. A line that was
/// unfinished for long is shown in two parts to one who watches it come: it is the bytes that count.
fn told(format: &str, seen: &[u8]) -> (HashMap<String, Vec<u8>>, Vec<Value>) {
    let (mut output, mut others) = (HashMap::<_, Vec<u8>>::new(), Vec::new());
    if format == "text/plain" {
        output.insert("text".to_owned(), seen.to_vec());
        return (output, others);
    }
    for event in read_events(format, std::str::from_utf8(seen).unwrap()) {
        match event.kind.as_str() {
            "stdout" | "stderr" => {
                let bytes = event.bytes();
                output.entry(event.kind).or_default().extend(bytes);
            }
            _ => others.push(event.data),
        }
    }
    (output, others)
}

/// Those who view one run have its journal open once, and each of them is told what it would be told alone.
#[tokio::test(flavor = "multi_thread")]
async fn viewers_of_one_run_share_its_journal() {
    let mut yard = Yard::asleep(Options::default());
    let gate = yard.dir.path().join("open");
    yard.origin.write(
        "Makefile",
        format!(
            "print:\n\t@seq 1 30000; printf waiting; while [ ! -e {} ]; do sleep 0.02; done; \\\n\
             \techo; seq 30001 60000; printf 'a \"tab\"\\there\\r\\n'; seq 60001 61000 >&2\n",
            gate.display()
        ),
    );
    yard.origin.commit("print");
    yard.origin.push("main");
    yard.start().await;
    let run = yard
        .start_detached("main", json!({"args": ["print"]}))
        .await;
    let formats = ["text/event-stream", "application/x-ndjson", "text/plain"];
    let view = |format| {
        yard.request(Method::GET, &format!("/stream/runs/{run}"))
            .header("accept", format)
    };
    let at_the_gate = Arc::new(AtomicUsize::new(0));
    let viewers: Vec<_> = (0..60)
        .map(|n| formats[n % formats.len()])
        .map(|format| {
            let reading = read_past(view(format), at_the_gate.clone());
            (format, tokio::spawn(reading))
        })
        .collect();
    until("all of them are at the gate", || {
        at_the_gate.load(Ordering::Relaxed) == viewers.len()
    })
    .await;
    let journal = yard.run_dir(&run).join("journal");
    let open_files = std::fs::read_dir("/proc/self/fd").unwrap();
    let of_journal = open_files
        .filter_map(|file| std::fs::read_link(file.unwrap().path()).ok())
        .filter(|target| *target == journal);
    assert_eq!(of_journal.count(), 2, "one to view it, one to watch it");
    std::fs::write(&gate, "").unwrap();

    yard.ended(&run).await;
    let mut alone = Vec::new();
    for format in formats {
        let answer = view(format).send().await.unwrap();
        alone.push((format, told(format, &answer.bytes().await.unwrap())));
    }
    // Most of them have seen the very same.
    let mut distinct = HashSet::new();
    for (format, viewer) in viewers {
        let watched = tokio::time::timeout(PATIENCE, viewer).await;
        distinct.insert((format, watched.expect("it comes to an end").unwrap()));
    }
    for (format, seen) in distinct {
        let (_, expected) = alone.iter().find(|alone| alone.0 == format).unwrap();
        let same = told(format, &seen) == *expected;
        assert!(same, "{format}: {} bytes", seen.len());
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_no_journal_gave_out_is_refused() {
    let mut yard = Yard::new().await;
    let mut gate = yard
        .start_run("make", "main", json!({"args": ["gate"]}))
        .await;
    gate.until_line("waiting").await;
    yard.origin.branch("other");
    let ended = yard.make("other", &["who"]).await;
    let ids = [
        gate.run_id(),
        ended[0].data["run_id"].as_str().unwrap().to_owned(),
    ];
    let wild = [
        "",
        "x",
        "-1",
        "1",
        "15",
        "17",
        "16.1",
        "16.99999999",
        "99999999999",
        "1e3",
        "0x10",
        "16,5",
        "16.",
        ".16",
        "18446744073709551615",
        "18446744073709551616",
        "\u{e9}",
    ];
    let last: u64 = gate.events.last().unwrap().id.parse().unwrap();
    let near = [last - 1, last + 1].map(|place| place.to_string());
    for run in &ids {
        for from in wild.into_iter().chain(near.iter().map(String::as_str)) {
            let answer = yard
                .request(Method::GET, &format!("/stream/runs/{run}"))
                .header("last-event-id", from)
                .send();
            let answer = answer.await.unwrap();
            assert_eq!(answer.status(), 400, "{from:?} of {run}");
            let (_, problem) = problem_of(answer).await;
            assert_eq!(problem["field"], "from", "{from:?}: {problem}");
        }
    }
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    assert_eq!(gate.end().await.data["state"], "succeeded");
    yard.stop().await;
}
