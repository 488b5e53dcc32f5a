//! Output arrives exactly, whatever it is, in every format, from every place.

use reqwest::Method;
use serde_json::json;

use crate::support::{Event, Yard, events_of, read_events};

const EVENT_FORMATS: [&str; 2] = ["text/event-stream", "application/x-ndjson"];

/// Blank lines, lone carriage returns, CRLF, NUL, invalid UTF-8, a forged event, a 10 MB line, no final newline.
fn awkward() -> Vec<u8> {
    let mut out = b"first\n\n\nblank before\ra bare return\r\r\ncrlf\r\nnul\0inside\n".to_vec();
    out.extend_from_slice(b"\xff\xfe invalid \xc3\n\xe2\x82\n");
    out.extend_from_slice(
        b"\r\nevent: complete\ndata: {\"type\":\"complete\",\"state\":\"succeeded\"}\n\n\nid: 1\n",
    );
    out.extend_from_slice("grün 日本語 \u{1f600}\n".as_bytes());
    out.extend_from_slice(b"\x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07\n");
    out.extend("日本".bytes().cycle().take(10 * 1024 * 1024));
    out.extend_from_slice(b"\nno newline at the end");
    out
}

fn bytes_of(events: &[Event]) -> Vec<u8> {
    events.iter().flat_map(Event::bytes).collect()
}

async fn yard_with(output: &[u8]) -> (Yard, String) {
    let yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write("output.bin", output);
    yard.origin.commit("output");
    yard.origin.push("main");
    let events = yard.make("main", &["exact"]).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    let id = events[0].data["run_id"].as_str().unwrap().to_owned();
    (yard, id)
}

async fn follow(yard: &Yard, id: &str, accept: &str, from: Option<&str>) -> reqwest::Response {
    let mut request = yard
        .request(Method::GET, &format!("/stream/runs/{id}"))
        .header("accept", accept);
    if let Some(from) = from {
        request = request.header("last-event-id", from);
    }
    request.send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_byte_arrives_in_every_format() {
    let expected = awkward();
    let (mut yard, id) = yard_with(&expected).await;
    for format in EVENT_FORMATS {
        let events = events_of(follow(&yard, &id, format, None).await).await;
        assert!(bytes_of(&events) == expected, "{format} differs");
        assert!(events.iter().all(|e| e.bytes().len() <= 64 * 1024 + 2));
    }
    let text = follow(&yard, &id, "text/plain", None)
        .await
        .bytes()
        .await
        .unwrap();
    let end = text
        .windows(13)
        .rposition(|window| window == b"\nbranchyard: ")
        .unwrap();
    assert!(text[..end] == expected, "text differs");
    let last = std::str::from_utf8(&text[end + 1..]).unwrap();
    assert!(
        last.starts_with("branchyard: succeeded, exit code 0"),
        "{last}"
    );
    assert!(last.ends_with("[no newline at end of output]\n"), "{last}");
    let log = yard
        .get(&format!("/api/runs/{id}/log"))
        .await
        .bytes()
        .await
        .unwrap();
    assert!(log == expected, "the log differs");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_cannot_forge_an_event() {
    let (mut yard, id) = yard_with(&awkward()).await;
    for format in EVENT_FORMATS {
        let response = follow(&yard, &id, format, None).await;
        let body = response.text().await.unwrap();
        let events = read_events(format, &body);
        assert_eq!(
            events.iter().filter(|e| e.kind == "complete").count(),
            1,
            "{format}"
        );
        assert_eq!(events.last().unwrap().kind, "complete");
        assert!(
            events.last().unwrap().data["duration_ms"].is_u64(),
            "and it is the real one"
        );
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_resumes_after_any_event_without_loss_or_repetition() {
    let mut output = awkward();
    output.truncate(2000);
    let (mut yard, id) = yard_with(&output).await;
    let all = events_of(follow(&yard, &id, EVENT_FORMATS[0], None).await).await;
    for cut in 0..all.len() - 1 {
        let rest = events_of(follow(&yard, &id, EVENT_FORMATS[0], Some(&all[cut].id)).await).await;
        let mut put_together = bytes_of(&all[..=cut]);
        put_together.extend(bytes_of(&rest));
        assert!(put_together == output, "cut after {}", all[cut].id);
        assert_eq!(rest.last().unwrap().kind, "complete");
    }
    let done = follow(&yard, &id, EVENT_FORMATS[0], Some(&all.last().unwrap().id)).await;
    assert_eq!(done.status(), 204, "so that EventSource stops");
    let by_query = yard
        .get(&format!("/stream/runs/{id}?from={}", all[1].id))
        .await;
    assert_eq!(bytes_of(&events_of(by_query).await), output);
    for wild in ["-1", "9e99", "1", "17", "abc", "99999999", "16.99999999"] {
        assert_eq!(
            follow(&yard, &id, EVENT_FORMATS[0], Some(wild))
                .await
                .status(),
            400,
            "{wild}"
        );
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_line_is_shown_before_it_ends() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write(
        "Makefile",
        "ask:\n\t@printf 'Password: '; for i in `seq 1500`; do [ -e open ] && break; sleep 0.02; done; echo given\n",
    );
    yard.origin.commit("ask");
    yard.origin.push("main");
    let mut build = yard
        .start_run("make", "main", json!({"args": ["ask"]}))
        .await;
    let partial = build.until(|e| e.kind == "stdout").await;
    assert_eq!(
        (&partial.data["line"], &partial.data["eol"]),
        (&json!("Password: "), &json!(""))
    );
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    build.end().await;
    assert_eq!(bytes_of(&build.events), b"Password: given\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_grows_slowly_is_shown_while_it_grows() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write(
        "Makefile",
        "dots:\n\t@for i in `seq 1500`; do [ -e open ] && break; printf .; sleep 0.02; done; echo end\n",
    );
    yard.origin.commit("dots");
    yard.origin.push("main");
    let mut build = yard
        .start_run("make", "main", json!({"args": ["dots"]}))
        .await;
    // Dots come faster than an unfinished line is held back for, and still some are shown.
    let partial = build.until(|e| e.kind == "stdout").await;
    assert_eq!(partial.data["eol"], "");
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    build.end().await;
    let shown = bytes_of(&build.events);
    let dots = shown.strip_suffix(b"end\n").unwrap();
    assert!(
        !dots.is_empty() && dots.iter().all(|byte| *byte == b'.'),
        "{shown:?}"
    );
    yard.stop().await;
}
