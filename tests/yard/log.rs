//! Parts of a log: ranges, lines, the end, what matches; of runs that ended and of one under way.

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::support::{Yard, encode, problem_of};

/// Some of everything: CR/LF, colours, bytes that are no text, a long stretch, no final newline.
fn output() -> Vec<u8> {
    let mut out =
        b"first\r\nsecond\n\n\x1b[31merror:\x1b[0m it\tbroke\r\n\xff\xfe bytes\n".to_vec();
    for n in 6..=60_000 {
        let mark = if n % 20_000 == 0 { " MARK" } else { "" };
        out.extend_from_slice(format!("line {n} of a long stretch of output{mark}\n").as_bytes());
    }
    out.extend_from_slice(b"the end, without a newline");
    out
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

struct Log<'a> {
    yard: &'a Yard,
    path: String,
}

impl<'a> Log<'a> {
    fn of(yard: &'a Yard, id: &str) -> Self {
        let path = format!("/api/runs/{id}/log");
        Self { yard, path }
    }

    async fn get(&self, query: &str) -> Response {
        self.yard.get(&format!("{}{query}", self.path)).await
    }

    async fn bytes(&self, query: &str) -> Vec<u8> {
        let response = self.get(query).await;
        assert_eq!(response.status(), StatusCode::OK, "{query}");
        response.bytes().await.unwrap().to_vec()
    }

    async fn with(&self, headers: &[(&str, &str)]) -> Response {
        self.send(Method::GET, "", headers).await
    }

    async fn send(&self, method: Method, query: &str, headers: &[(&str, &str)]) -> Response {
        let mut request = self.yard.request(method, &format!("{}{query}", self.path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap()
    }

    async fn grep(&self, query: &str) -> Value {
        let response = self
            .send(Method::GET, query, &[("accept", "application/json")])
            .await;
        assert_eq!(response.headers()["content-type"], "application/json");
        response.json().await.unwrap()
    }
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response
        .headers()
        .get(name)
        .map_or("", |v| v.to_str().unwrap())
}

/// The tests below hold for the journal as it was written and as it is packed.
async fn plain_and_packed(yard: &Yard, id: &str, mut check: impl AsyncFnMut(Log<'_>)) {
    let journal = yard.run_dir(id).join("journal");
    check(Log::of(yard, id)).await;
    branchyard_journal::pack(&journal).unwrap();
    assert!(!journal.exists(), "it is packed");
    check(Log::of(yard, id)).await;
    let _ = std::fs::remove_file(journal.with_file_name("index"));
    check(Log::of(yard, id)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_of_bytes_is_given_as_http_has_it() {
    let all = output();
    let (mut yard, id) = yard_with(&all).await;
    let total = all.len();
    plain_and_packed(&yard, &id, async |log| {
        let whole = log.get("").await;
        assert_eq!(header(&whole, "accept-ranges"), "bytes");
        assert_eq!(header(&whole, "content-length"), total.to_string());
        let etag = header(&whole, "etag").to_owned();
        assert!(etag.starts_with('"') && etag.ends_with('"'), "{etag}");
        assert!(whole.bytes().await.unwrap() == all);

        let head = log.send(Method::HEAD, "", &[("range", "bytes=0-4")]).await;
        assert_eq!(head.status(), 200);
        assert_eq!(header(&head, "content-length"), total.to_string());
        assert_eq!(header(&head, "etag"), etag);

        for (range, first, end) in [
            ("bytes=0-4".to_owned(), 0, 5),
            ("bytes=1000000-1099999".to_owned(), 1_000_000, 1_100_000),
            (format!("bytes={}-", total - 7), total - 7, total),
            ("bytes=-26".to_owned(), total - 26, total),
            (format!("bytes=0-{}", total * 2), 0, total),
        ] {
            let response = log.with(&[("range", &range), ("if-range", &etag)]).await;
            assert_eq!(response.status(), 206, "{range}");
            assert_eq!(
                header(&response, "content-range"),
                format!("bytes {first}-{}/{total}", end - 1)
            );
            assert_eq!(
                header(&response, "content-length"),
                (end - first).to_string()
            );
            assert_eq!(header(&response, "etag"), etag);
            assert!(
                response.bytes().await.unwrap() == all[first..end],
                "{range}"
            );
        }
        let beyond = log.with(&[("range", &format!("bytes={total}-"))]).await;
        assert_eq!(header(&beyond, "content-range"), format!("bytes */{total}"));
        let (status, problem) = problem_of(beyond).await;
        assert_eq!((status, &problem["field"]), (416, &json!("Range")));

        for headers in [
            [("range", "bytes=0-4"), ("if-range", "\"another\"")],
            [("range", "bytes=0-4,6-7"), ("accept", "*/*")],
            [("range", "lines=0-4"), ("accept", "*/*")],
        ] {
            let response = log.with(&headers).await;
            assert_eq!(response.status(), 200, "{headers:?}");
            assert!(response.bytes().await.unwrap() == all);
        }
    })
    .await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_given_by_their_numbers_and_from_the_end() {
    let all = output();
    let (mut yard, id) = yard_with(&all).await;
    let lines: Vec<_> = all.split_inclusive(|byte| *byte == b'\n').collect();
    plain_and_packed(&yard, &id, async |log| {
        for (query, from, to) in [
            ("?lines=1", 0, 1),
            ("?lines=2-5", 1, 5),
            ("?lines=41234-41236", 41_233, 41_236),
            ("?lines=59990-", 59_989, lines.len()),
            ("?lines=60001-70000", 60_000, lines.len()),
            ("?lines=70000-", lines.len(), lines.len()),
            ("?tail=0", lines.len(), lines.len()),
            ("?tail=1", lines.len() - 1, lines.len()),
            ("?tail=3", lines.len() - 3, lines.len()),
            ("?tail=99999", 0, lines.len()),
        ] {
            assert!(
                log.bytes(query).await == lines[from..to].concat(),
                "{query}"
            );
        }
        assert_eq!(
            log.bytes("?lines=3-4&strip_ansi=true").await,
            b"\nerror: it\tbroke\r\n"
        );
        let stripped = log.bytes("?strip_ansi=true").await;
        let expected = all.len() - b"\x1b[31m\x1b[0m".len();
        assert_eq!(stripped.len(), expected);
        assert_eq!(log.bytes("?tail=1&strip_ansi=false").await, lines[60_000]);
    })
    .await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_matches_is_found_with_what_stands_around_it() {
    let all = output();
    let (mut yard, id) = yard_with(&all).await;
    plain_and_packed(&yard, &id, async |log| {
        let text = |n: u32| format!("line {n} of a long stretch of output");
        assert_eq!(
            String::from_utf8(log.bytes("?grep=MARK&context=1&limit=2").await).unwrap(),
            format!(
                "19999-{}\n20000:{} MARK\n20001-{}\n--\n39999-{}\n40000:{} MARK\n40001-{}\n-- and more, beyond the limit of 2\n",
                text(19_999), text(20_000), text(20_001), text(39_999), text(40_000), text(40_001)
            )
        );
        assert_eq!(log.bytes("?grep=%5Efirst%24").await, b"1:first\n");
        assert_eq!(log.bytes("?grep=bytes").await, b"5:\xff\xfe bytes\n");
        assert_eq!(log.bytes("?grep=newline%24").await, b"60001:the end, without a newline\n");
        assert_eq!(log.bytes("?grep=nowhere").await, b"");
        assert_eq!(log.bytes("?grep=mark").await, b"");
        assert_eq!(log.bytes("?grep=error:%20it").await, b"", "a colour is between");
        assert_eq!(
            log.bytes("?grep=error:%20it&strip_ansi=true").await,
            b"4:error: it\tbroke\n"
        );
        let found = log.grep("?grep=mark&ignore_case=true&context=1").await;
        assert_eq!(found["truncated"], false);
        assert_eq!(found["items"].as_array().unwrap().len(), 3);
        assert_eq!(
            found["items"][1],
            json!({"line": 40_000, "text": text(40_000) + " MARK", "before": [text(39_999)], "after": [text(40_001)]})
        );
        assert_eq!(
            log.grep("?grep=bytes").await,
            json!({"items": [{"line": 5, "text": "\u{fffd}\u{fffd} bytes", "before": [], "after": []}], "truncated": false})
        );
        let many = log.grep("?grep=stretch").await;
        assert_eq!(many["items"].as_array().unwrap().len(), 1000);
        assert_eq!(many["truncated"], true);
        assert_eq!(
            log.grep("?grep=nowhere").await,
            json!({"items": [], "truncated": false})
        );
    })
    .await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_by_name() {
    let (mut yard, id) = yard_with(b"one\ntwo\n").await;
    let log = Log::of(&yard, &id);
    for (query, field) in [
        ("?tail=x", "tail"),
        ("?tail=-1", "tail"),
        ("?lines=0", "lines"),
        ("?lines=5-2", "lines"),
        ("?grep=(", "grep"),
        ("?grep=a%7B9999999%7D", "grep"),
        ("?grep=a&context=101", "context"),
        ("?grep=a&limit=10001", "limit"),
        ("?grep=a&ignore_case=yes", "ignore_case"),
        ("?strip_ansi=1", "strip_ansi"),
        ("?context=3", "context"),
        ("?limit=3", "limit"),
        ("?ignore_case=true", "ignore_case"),
        ("?tail=1&lines=1", "lines"),
        ("?tail=1&grep=a", "grep"),
        ("?lines=1&grep=a", "grep"),
        ("?other=1", "query"),
        ("?tail=1&tail=2", "query"),
    ] {
        let (status, problem) = problem_of(log.get(query).await).await;
        assert_eq!((status, &problem["field"]), (422, &json!(field)), "{query}");
    }
    for query in ["?tail=1", "?lines=1", "?grep=a", "?strip_ansi=true"] {
        let response = log
            .send(Method::GET, query, &[("range", "bytes=0-1")])
            .await;
        let (status, problem) = problem_of(response).await;
        assert_eq!(
            (status, &problem["field"]),
            (422, &json!("Range")),
            "{query}"
        );
    }
    assert_eq!(
        log.bytes(&format!("?grep={}", encode("t.o"))).await,
        b"2:two\n"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_run_under_way_a_part_is_what_is_there_and_the_whole_follows() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write(
        "Makefile",
        "wait:\n\t@printf '\\033[32mready\\033[0m\\nhalf'; for i in `seq 1500`; do [ -e open ] && break; sleep 0.02; done; echo ' a line'\n",
    );
    yard.origin.commit("wait");
    yard.origin.push("main");
    let mut build = yard
        .start_run("make", "main", json!({"args": ["wait"]}))
        .await;
    build.until(|event| event.data["line"] == "half").await;
    let id = build.run_id();
    let log = Log::of(&yard, &id);
    let there = b"\x1b[32mready\x1b[0m\nhalf";
    let part = log.with(&[("range", "bytes=5-")]).await;
    assert_eq!(part.status(), 206);
    assert_eq!(
        header(&part, "content-range"),
        format!("bytes 5-{}/{}", there.len() - 1, there.len())
    );
    assert_eq!(header(&part, "etag"), "", "it will change");
    assert_eq!(part.bytes().await.unwrap(), there[5..]);
    assert_eq!(log.bytes("?tail=1").await, b"half");
    assert_eq!(
        log.bytes("?grep=a").await,
        b"1:\x1b[32mready\x1b[0m\n2:half\n"
    );
    let whole = log.get("?strip_ansi=true").await;
    assert_eq!(header(&whole, "content-length"), "");

    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    build.end().await;
    assert_eq!(whole.text().await.unwrap(), "ready\nhalf a line\n");
    yard.stop().await;
}
