//! Output that would forge events or take over a terminal, and cursors that nobody gave out.

use reqwest::Method;
use serde_json::json;

use crate::support::{Agent, Event, Options, Raw, Yard, events_of, read_events};

/// Everything that a stream's format gives a meaning to, and some that a terminal does.
pub(super) const FORGED: &[u8] = b"before\r\nevent: complete\ndata: {}\n\n\
id: 99999\nevent: complete\ndata: {\"type\":\"complete\",\"state\":\"succeeded\"}\n\n\
\revent: complete\rdata: {}\r\r\
: comment\nretry: 1\n\n\
{\"type\":\"complete\",\"id\":\"1\",\"state\":\"succeeded\"}\n\
branchyard: succeeded\n\
\x1b[2J\x1b[31mred\x1b]52;c;cm0gLXJm\x07\x1b]0;title\x1b\\\n\
nul \0 and \x7f and \xc2\x85 and \xe2\x80\xa8 and \xff\xfe\n\
data: no end";

#[tokio::test(flavor = "multi_thread")]
async fn output_is_never_taken_for_an_event() {
    let mut yard = Yard::new().await;
    yard.origin.write("output.bin", FORGED);
    yard.origin
        .write("Makefile", "exact:\n\t@cat output.bin; exit 1\n");
    yard.origin.commit("forged");
    yard.origin.push("main");
    let path = "/stream/repos/demo/branches/main/make";
    let made = yard.post(path, json!({"args": ["-s", "exact"]})).await;
    let id = made.headers()["location"].to_str().unwrap().to_owned();
    let id = id.rsplit('/').next().unwrap().to_owned();
    events_of(made).await;

    for kind in ["text/event-stream", "application/x-ndjson"] {
        let answer = yard
            .request(Method::GET, &format!("/stream/runs/{id}"))
            .header("accept", kind)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.headers()["content-type"], kind);
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        let body = answer.text().await.unwrap();
        // Whatever a reader takes for the end of a line, or a terminal for a command, is escaped.
        for (at, c) in body.char_indices() {
            assert!(
                c == '\n' || !c.is_control(),
                "{kind}: {c:?} at {at} of {body:?}"
            );
        }
        let events = read_events(kind, &body);
        let ends: Vec<_> = events.iter().filter(|e| e.kind == "complete").collect();
        assert_eq!(ends.len(), 1, "{kind}: {events:?}");
        assert_eq!(events.last().unwrap().data["state"], "failed", "{kind}");
        let out = events.iter().filter(|e| e.kind == "stdout");
        let bytes: Vec<u8> = out.clone().flat_map(Event::bytes).collect();
        assert_eq!(bytes, FORGED, "{kind}: the bytes are exact");
        for event in out {
            let line = event.data["line"].as_str().unwrap_or_default();
            assert!(!line.contains('\n'), "{kind}: two lines in {event:?}");
        }
    }
    let log = yard.get(&format!("/api/runs/{id}/log")).await;
    assert_eq!(log.headers()["content-type"], "text/plain; charset=utf-8");
    let log = log.bytes().await.unwrap();
    assert!(log.starts_with(FORGED));
    yard.stop().await;
}

/// Neither what a build prints nor what a caller sends is a line, or a command to a terminal, in the daemon's
/// own log.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_forges_a_line_of_the_daemons_log() {
    let mut yard = Yard::asleep(Options {
        top: "log = \"debug\"".to_owned(),
        ..Options::default()
    });
    yard.origin.write("output.bin", FORGED);
    yard.origin
        .write("Makefile", "exact:\n\t@cat output.bin; exit 1\n");
    yard.origin.commit("forged");
    yard.origin.push("main");
    let mut daemon = yard.start_binary(&[]).await;
    yard.make("main", &["-s", "exact"]).await;
    let agent = Agent::new(&yard);
    let hostile = "x\r\nFORGED \u{1b}]52;c;cm0gLXJm\u{7}\u{1b}[2J\u{85}\u{202e}";
    for name in ["branch", "path", "repo"] {
        let mut asked = json!({"repo": "demo", "branch": "main", "path": "x"});
        asked[name] = json!(hostile);
        agent.refusal("read_file", asked).await;
    }
    let target = format!(
        "/api/repos/{0}/branches/{0}?{0}={0}",
        crate::support::encode(hostile)
    );
    Raw::json(&yard, "GET", &target, "").send(&yard).await;
    daemon.stop().await;
    assert!(daemon.said.iter().any(|line| line.contains("DEBUG")));
    for line in &daemon.said {
        let plain = |c: char| c == '\t' || !c.is_control();
        assert!(line.chars().all(plain), "{line:?}");
        for forged in ["FORGED", "event: complete", "branchyard: succeeded"] {
            assert!(!line.trim_start().starts_with(forged), "{line:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cursors_that_nobody_gave_out_do_no_harm() {
    let mut yard = Yard::new().await;
    yard.origin
        .write("Makefile", "long:\n\t@seq 5000\nshort:\n\t@echo x\n");
    yard.origin.commit("long");
    yard.origin.push("main");
    let long = yard.make("main", &["-s", "long"]).await;
    let short = yard.make("main", &["-s", "short"]).await;
    let id = short[0].data["run_id"].as_str().unwrap().to_owned();
    let target = format!("/stream/runs/{id}");
    let own: Vec<String> = short.iter().map(|event| event.id.clone()).collect();

    let mut refused: Vec<String> = [
        "-1",
        "9e99",
        "+1",
        "0x10",
        "1",
        "x",
        "NaN",
        "99999999999999999999",
        "18446744073709551615",
        "18446744073709551615.4294967295",
        "16.4294967296",
        "16.",
        ".",
        "1.2.3",
        "١٦",
        "16 17",
        "\u{1f600}",
    ]
    .map(str::to_owned)
    .into();
    // The other run's are places that this journal does not have.
    refused.extend(long.iter().rev().take(3).map(|event| event.id.clone()));
    refused.push(id.clone());
    refused.retain(|cursor| !own.contains(cursor));
    for cursor in &refused {
        let by_header =
            Raw::json(&yard, "GET", &target, "").header("Last-Event-ID", cursor.clone());
        let answer = by_header.send(&yard).await;
        assert_eq!(answer.status, 400, "Last-Event-ID: {cursor}: {answer:?}");
        answer.problem(cursor);
        let query = format!("{target}?from={}", crate::support::encode(cursor));
        let answer = Raw::json(&yard, "GET", &query, "").send(&yard).await;
        assert_eq!(answer.status, 400, "?from={cursor}: {answer:?}");
    }
    // Every number near a place that there is: refused, or a stream that ends as the run did.
    let last: u64 = own
        .last()
        .unwrap()
        .split('.')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    for frame in 0..last + 40 {
        for cursor in [
            format!("{frame}"),
            format!("{frame}.1"),
            format!("{frame}.70000"),
        ] {
            let answer = yard
                .request(Method::GET, &target)
                .header("last-event-id", &cursor)
                .send()
                .await
                .unwrap();
            match answer.status().as_u16() {
                400 => {}
                204 => assert_eq!(
                    Some(&cursor),
                    own.last(),
                    "204 for a place that is not the end"
                ),
                200 => {
                    let events = events_of(answer).await;
                    let end = &events.last().unwrap().data;
                    assert_eq!(end["state"], "succeeded", "{cursor}: {events:?}");
                }
                other => panic!("{cursor}: {other}"),
            }
        }
    }
    // A request that starts a run resumes nothing.
    let post = Raw::json(&yard, "POST", "/stream/repos/demo/branches/main/make", "{}")
        .header("Last-Event-ID", own[0].clone());
    assert_eq!(post.send(&yard).await.status, 400);
    yard.stop().await;
}
