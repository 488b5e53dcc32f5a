//! Files read in parts, by lines, by bytes and as they are: together they are the file, byte for byte.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ETAG, IF_NONE_MATCH, IF_RANGE, RANGE};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::{Agent, Yard, problem_of};
use crate::warm::equal::Dice;

const MAIN: &str = "/api/repos/demo/branches/main";

/// Files that have been trouble: of one byte, of one line, without a last newline, of bytes that are no text, and with
/// characters of several bytes at every place where a part may end.
pub fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let mut dice = Dice(7);
    let mut noise = |count: usize| -> Vec<u8> {
        let byte = |dice: &mut Dice| u8::try_from(dice.roll(256)).unwrap();
        (0..count).map(|_| byte(&mut dice)).collect()
    };
    vec![
        ("empty", Vec::new()),
        ("one", b"x".to_vec()),
        ("line", "é".repeat(1_300_000).into_bytes()),
        (
            "text",
            "a line of text, ünd so weiter\n"
                .repeat(50_000)
                .into_bytes(),
        ),
        (
            "open",
            [b"a\n".repeat(600_000), b"the end".to_vec()].concat(),
        ),
        ("noise", noise(2_500_000)),
        ("zeros", vec![0; 1_100_000]),
    ]
}

/// Text and bytes of each of these sizes.
pub fn of_sizes(sizes: &[usize]) -> Vec<(&'static str, Vec<u8>)> {
    let mut dice = Dice(23);
    let mut files = Vec::new();
    for size in sizes {
        let mut text = Vec::with_capacity(size + 100);
        while text.len() < *size {
            text.extend(format!("{} ünd so weiter\n", dice.roll(1 << 31)).as_bytes());
            if dice.roll(2_000) == 0 {
                text.extend([b'x'; 5_000]);
            }
        }
        text.truncate(*size);
        let bytes = (0..size.div_ceil(4)).flat_map(|_| {
            let word = u32::try_from(dice.roll(1 << 31)).unwrap();
            (word ^ (word << 9)).to_le_bytes()
        });
        let bytes = bytes.take(*size).collect();
        let name = |kind: &str| -> &'static str { format!("{kind}-{size}").leak() };
        files.push((name("text"), text));
        files.push((name("bytes"), bytes));
    }
    files
}

/// A yard in whose workspace these files lie.
pub async fn yard_with(files: &[(&'static str, Vec<u8>)]) -> Yard {
    let yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    for (name, bytes) in files {
        std::fs::write(yard.workspace("main").join(name), bytes).unwrap();
    }
    yard
}

pub fn bytes_of(part: &Value) -> Vec<u8> {
    let text = part["text"].as_str().unwrap();
    match part["encoding"].as_str() {
        Some("base64") => STANDARD.decode(text).unwrap(),
        _ => text.as_bytes().to_vec(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_over_http_make_up_the_file() {
    let files = samples();
    let mut yard = yard_with(&files).await;
    let read = |asked: Value| async { yard.post_json(&format!("{MAIN}/read_file"), asked).await };
    for (name, bytes) in &files {
        // As the answers say, from the first line on.
        let (mut whole, mut asked) = (Vec::new(), json!({ "path": name, "start_line": 1 }));
        loop {
            let part = read(asked).await;
            assert_eq!(part["start_byte"], whole.len(), "{name}");
            whole.extend(bytes_of(&part));
            assert_eq!(part["end_byte"], whole.len(), "{name}");
            assert_eq!(part["size"], bytes.len());
            if part["truncated"] == false {
                break;
            }
            asked = json!({ "path": name, "start_byte": part["end_byte"] });
        }
        assert!(whole == *bytes, "{name}");
        // In steps of any length.
        let (mut dice, mut whole) = (Dice(3), Vec::new());
        while whole.len() < bytes.len() {
            let step = 1 + usize::try_from(dice.roll(400_000)).unwrap();
            let asked =
                json!({ "path": name, "start_byte": whole.len(), "end_byte": whole.len() + step });
            let part = read(asked).await;
            assert_eq!(part["truncated"], false, "{name}");
            whole.extend(bytes_of(&part));
        }
        assert!(whole == *bytes, "{name}");
    }
    // A line that is cut is not said to have been read.
    let part = read(json!({ "path": "line" })).await;
    assert_eq!(
        (&part["end_line"], &part["total_lines"]),
        (&json!(0), &json!(1))
    );
    let part = read(json!({ "path": "text" })).await;
    let read_lines = bytes_of(&part)
        .iter()
        .filter(|byte| **byte == b'\n')
        .count();
    assert_eq!(part["end_line"], read_lines);
    for (asked, field) in [
        (
            json!({ "path": "one", "start_line": 1, "start_byte": 0 }),
            "start_byte",
        ),
        (
            json!({ "path": "one", "end_line": 1, "end_byte": 0 }),
            "end_byte",
        ),
        (
            json!({ "path": "one", "start_byte": 2, "end_byte": 1 }),
            "end_byte",
        ),
    ] {
        let (status, problem) =
            problem_of(yard.post(&format!("{MAIN}/read_file"), asked).await).await;
        assert_eq!((status, problem["field"].as_str()), (422, Some(field)));
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_any_size_is_served_as_it_is() {
    let files = samples();
    let mut yard = yard_with(&files).await;
    for (name, bytes) in &files {
        let whole = yard.get(&format!("{MAIN}/raw/{name}")).await;
        assert_eq!(whole.status(), 200, "{name}");
        assert_eq!(whole.content_length(), Some(bytes.len() as u64));
        assert!(whole.bytes().await.unwrap() == bytes[..], "{name}");
    }
    let huge = std::fs::File::create(yard.workspace("main").join("huge")).unwrap();
    huge.set_len(100 << 20).unwrap();
    let part = with(&yard, "huge", &[(RANGE.as_str(), "bytes=104857000-")]).await;
    assert_eq!(
        (part.status().as_u16(), part.content_length()),
        (206, Some(600))
    );
    assert_eq!(
        part.headers()["content-range"],
        "bytes 104857000-104857599/104857600"
    );
    let asked = json!({ "path": "huge", "start_byte": 104_857_590 });
    let end = yard.post_json(&format!("{MAIN}/read_file"), asked).await;
    assert_eq!(
        (bytes_of(&end), &end["total_lines"]),
        (vec![0; 10], &Value::Null)
    );

    let text = &files.iter().find(|(name, _)| *name == "text").unwrap().1;
    let mut dice = Dice(11);
    for _ in 0..20 {
        let first = usize::try_from(dice.roll(text.len() as u64)).unwrap();
        let last = first + usize::try_from(dice.roll(100_000)).unwrap();
        let range = format!("bytes={first}-{last}");
        let part = with(&yard, "text", &[(RANGE.as_str(), &range)]).await;
        assert_eq!(part.status(), 206);
        let expected = &text[first..text.len().min(last + 1)];
        assert!(part.bytes().await.unwrap() == *expected, "{range}");
    }
    let beyond = with(&yard, "text", &[(RANGE.as_str(), "bytes=99999999-")]).await;
    assert_eq!(beyond.status(), 416);
    yard.stop().await;
}

async fn with(yard: &Yard, name: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = yard.request(Method::GET, &format!("{MAIN}/raw/{name}"));
    for (header, value) in headers {
        request = request.header(*header, *value);
    }
    request.send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_a_file_is_told_so_until_it_is_written() {
    let mut yard = yard_with(&[("file", b"one\n".to_vec())]).await;
    let tag = loop {
        let answer = with(&yard, "file", &[]).await;
        // One that was written just now may be written again without a trace, and has none.
        if let Some(tag) = answer.headers().get(ETAG) {
            break tag.to_str().unwrap().to_owned();
        }
    };
    let same = with(&yard, "file", &[(IF_NONE_MATCH.as_str(), &tag)]).await;
    assert_eq!(
        (same.status().as_u16(), same.content_length()),
        (304, Some(0))
    );
    let range = (RANGE.as_str(), "bytes=1-2");
    let part = with(&yard, "file", &[range, (IF_RANGE.as_str(), &tag)]).await;
    assert_eq!(part.status(), 206);
    assert_eq!(part.text().await.unwrap(), "ne");
    std::fs::write(yard.workspace("main").join("file"), "two\n").unwrap();
    let other = with(&yard, "file", &[(IF_NONE_MATCH.as_str(), &tag)]).await;
    assert_eq!(other.status(), 200);
    // A part of the new one would not go with what the caller has.
    let whole = with(&yard, "file", &[range, (IF_RANGE.as_str(), &tag)]).await;
    assert_eq!(whole.status(), 200);
    assert_eq!(whole.text().await.unwrap(), "two\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_runs_nothing_of_a_file() {
    let mut yard = yard_with(&[
        (
            "page.html",
            b"<script>fetch('/api/repos')</script>".to_vec(),
        ),
        (
            "image.svg",
            b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>".to_vec(),
        ),
        ("image.png", b"\x89PNG\r\n\x1a\n".to_vec()),
        ("program", b"\x7fELF\0\0".to_vec()),
    ])
    .await;
    let workspace = yard.workspace("main");
    std::os::unix::fs::symlink("/etc/passwd", workspace.join("passwd")).unwrap();
    std::os::unix::fs::symlink("page.html", workspace.join("inside")).unwrap();
    for (name, kind) in [
        ("page.html", "text/plain; charset=utf-8"),
        ("inside", "text/plain; charset=utf-8"),
        ("image.svg", "text/plain; charset=utf-8"),
        ("image.png", "image/png"),
        ("program", "application/octet-stream"),
    ] {
        let answer = with(&yard, name, &[]).await;
        let headers = answer.headers();
        assert_eq!(headers["content-type"], kind, "{name}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("sandbox;"), "{policy}");
        let disposition = headers["content-disposition"].to_str().unwrap();
        let expected = format!("attachment; filename=\"{name}\"");
        assert!(disposition.starts_with(&expected), "{disposition}");
    }
    for (path, expected) in [
        ("passwd", 403),
        (".git", 403),
        (".git/config", 403),
        ("%2e%2e/other/name.txt", 404),
        ("missing", 404),
        ("", 404),
        ("%2fetc%2fpasswd", 400),
    ] {
        let answer = with(&yard, path, &[]).await;
        assert_eq!(answer.status(), expected, "{path}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_over_mcp_make_up_the_file() {
    let mut files = samples();
    for (_, bytes) in &mut files {
        // A character of two bytes may be cut by this, and is bytes then.
        bytes.truncate(100_001);
    }
    parts_over_mcp(files).await;
}

async fn parts_over_mcp(files: Vec<(&'static str, Vec<u8>)>) {
    let mut yard = yard_with(&files).await;
    let both = Agent::with(&yard, &[]);
    let structured = Agent::with(&yard, &[("branchyard-content", "structured")]);
    for agent in [&both, &structured] {
        for (name, bytes) in &files {
            let place = |rest: Value| {
                let mut asked = json!({ "repo": "demo", "branch": "main", "path": name });
                asked
                    .as_object_mut()
                    .unwrap()
                    .extend(rest.as_object().unwrap().clone());
                asked
            };
            let (mut whole, mut asked) = (Vec::new(), place(json!({ "start_byte": 0 })));
            loop {
                let part = agent.call("read_file", asked).await;
                match part["base64"].as_str() {
                    Some(base64) => whole.extend(STANDARD.decode(base64).unwrap()),
                    None => whole.extend(part["text"].as_str().unwrap().as_bytes()),
                }
                assert_eq!(part["end_byte"], whole.len(), "{name}");
                if part["next_cursor"].is_null() {
                    break;
                }
                asked = place(json!({ "cursor": part["next_cursor"] }));
            }
            assert!(whole == *bytes, "{name}");
        }
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_a_hundred_megabytes_in_parts_of_any_size() {
    let files = of_sizes(&[1, 1_000, 65_537, 1 << 20, 10 << 20, 100_000_000]);
    let mut yard = yard_with(&files).await;
    let mut dice = Dice(29);
    for (name, bytes) in &files {
        let (mut read, mut raw) = (Vec::new(), Vec::new());
        while read.len() < bytes.len() {
            // Also more than one answer holds: then it says where it ended.
            let end = read.len() + 1 + usize::try_from(dice.roll(2_000_000)).unwrap();
            let asked = json!({ "path": name, "start_byte": read.len(), "end_byte": end });
            let part = yard.post_json(&format!("{MAIN}/read_file"), asked).await;
            read.extend(bytes_of(&part));
            assert_eq!(part["end_byte"], read.len(), "{name}");
        }
        while raw.len() < bytes.len() {
            let last = raw.len() + usize::try_from(dice.roll(30_000_000)).unwrap();
            let range = format!("bytes={}-{last}", raw.len());
            let part = with(&yard, name, &[(RANGE.as_str(), &range)]).await;
            raw.extend(part.bytes().await.unwrap());
        }
        assert!(read == *bytes && raw == *bytes, "{name}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute: make soak"]
async fn soak_a_megabyte_over_mcp() {
    parts_over_mcp(of_sizes(&[1, 65_537, 1 << 20])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_form_alone_holds_twice_as_much_and_several_files_come_at_once() {
    let text = "0123456789abcdef\n".repeat(2_000);
    let small = ("small", b"few\nlines\n".to_vec());
    let mut yard = yard_with(&[("long", text.clone().into_bytes()), small]).await;
    let asked = json!({ "repo": "demo", "branch": "main", "path": "long" });
    let mut lengths = Vec::new();
    for form in ["both", "text", "structured"] {
        let agent = Agent::with(&yard, &[("branchyard-content", form)]);
        let result = agent.tool("read_file", asked.clone()).await;
        let said = result["content"][0]["text"].as_str();
        let shown = result["structuredContent"]["text"].as_str();
        assert_eq!(said.is_some(), form != "structured");
        assert_eq!(shown.is_some(), form != "text");
        lengths.push(said.or(shown).unwrap().len());
        let tools = agent.request("tools/list", json!({})).await.unwrap();
        let has_schema = tools["tools"][0].get("outputSchema").is_some();
        assert_eq!(has_schema, form != "text");
    }
    assert!(
        lengths[1] > 17_000 && lengths[2] > 17_000 && lengths[0] < 10_000,
        "{lengths:?}"
    );

    let agent = Agent::new(&yard);
    let files = json!([{ "path": "small" }, { "path": "long", "start_line": 3, "end_line": 4 }, { "path": "long" }]);
    let several = json!({ "repo": "demo", "branch": "main", "files": files });
    let result = agent.tool("read_file", several).await;
    let read = &result["structuredContent"]["files"];
    assert_eq!(read[0]["text"], "few\nlines\n");
    assert_eq!(read[1]["text"], "0123456789abcdef\n".repeat(2));
    assert_eq!(
        (&read[1]["start_line"], &read[1]["truncated"]),
        (&json!(3), &json!(false))
    );
    assert_eq!(read[2]["truncated"], true);
    let cursor = &read[2]["next_cursor"];
    let on = json!({ "repo": "demo", "branch": "main", "path": "long", "cursor": cursor });
    let on = agent.call("read_file", on).await;
    assert_eq!(on["start_byte"], read[2]["end_byte"]);
    let said = result["content"][0]["text"].as_str().unwrap();
    assert!(
        said.starts_with("== small\nfew\nlines\n== long\n0123"),
        "{said}"
    );
    yard.stop().await;
}
