//! What an earlier version left on disk, written out here byte by byte as it documented it, is read by
//! this one. A change that breaks this test breaks every yard there is.

use crate::support::{Options, Yard, events_of, text_of};

const SALT: [u8; 8] = *b"saltsalt";
const RUN: &str = "01a1ddad-fed2-7634-aefa-c6697cbbfcbd";
const COMMIT: &str = "b32747393aa8f640fd97c9958e42a54aa836f0ae";

/// A journal of version 1: header, then frames whose checksums cover the salt and their own offset.
fn journal(frames: &[(u8, &str)]) -> Vec<u8> {
    let mut bytes = b"BYJOURN\x01".to_vec();
    bytes.extend_from_slice(&SALT);
    for (n, (kind, payload)) in frames.iter().enumerate() {
        let offset = u64::try_from(bytes.len()).unwrap();
        let mut fields = u32::try_from(payload.len()).unwrap().to_le_bytes().to_vec();
        fields.push(*kind);
        let micros = 1_794_720_000_000_000 + u64::try_from(n).unwrap();
        fields.extend_from_slice(&micros.to_le_bytes());
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&SALT);
        checksum.update(&offset.to_le_bytes());
        checksum.update(&fields);
        checksum.update(payload.as_bytes());
        bytes.extend_from_slice(&fields);
        bytes.extend_from_slice(&checksum.finalize().to_le_bytes());
        bytes.extend_from_slice(payload.as_bytes());
    }
    bytes
}

fn record(state: &str, rest: &str) -> String {
    format!(
        r#"{{"run_id":"{RUN}","kind":"make","repo":"demo","branch":"main","argv":["make","all"],"env":{{}},
        "timeout_ms":3600000,"sync":"auto","stale":false,"on_disconnect":"cancel","principal":"session",
        "state":"{state}","created_at":"2026-11-15T05:28:50.130597547Z",
        "started_at":"2026-11-15T05:28:50.181579549Z",
        "about":{{"commit":"{COMMIT}","tree":"{COMMIT}","dirty":false,"ahead":0,"behind":0,
        "fetched_at":"2026-11-15T05:28:50Z","stale":false}},"from_a_later_version":[1]{rest}}}"#
    )
}

const QUEUED: &str =
    r#"{"type":"status","state":"queued","run_id":"01a1ddad-fed2-7634-aefa-c6697cbbfcbd"}"#;
const RUNNING: &str = r#"{"type":"status","state":"running"}"#;
const COMPLETE: &str =
    r#"{"type":"complete","state":"failed","exit_code":2,"commit":null,"duration_ms":7}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_ended_under_an_earlier_version_is_read() {
    let mut yard = Yard::asleep(Options::default());
    let home = yard.run_dir(RUN);
    std::fs::create_dir_all(&home).unwrap();
    let end = r#","ended_at":"2026-11-15T05:28:51Z","exit_code":2,"duration_ms":7"#;
    std::fs::write(home.join("run.json"), record("failed", end)).unwrap();
    let frames = [
        (3, QUEUED),
        (3, RUNNING),
        (1, "cc one\ncc t"),
        (2, "a warning\n"),
        (1, "wo\n"),
        (3, COMPLETE),
    ];
    let bytes = journal(&frames);
    std::fs::write(home.join("journal"), &bytes).unwrap();
    yard.start().await;
    let shown = yard.get_json(&format!("/api/runs/{RUN}")).await;
    assert_eq!(shown["state"], "failed", "{shown}");
    assert_eq!(shown["exit_code"], 2, "{shown}");
    let listed = yard.get_json("/api/runs?state=failed").await;
    assert_eq!(listed["items"][0]["run_id"], RUN);
    assert_eq!(yard.log(RUN).await, "cc one\ncc ta warning\nwo\n");
    let events = events_of(yard.get(&format!("/stream/runs/{RUN}")).await).await;
    assert_eq!(events.last().unwrap().data["exit_code"], 2);
    assert_eq!(
        events.last().unwrap().id,
        bytes.len().to_string(),
        "a cursor is a place in the journal"
    );
    yard.stop().await;
}

/// The supervisor that wrote this is of another version; the daemon that comes to read it is ours.
#[tokio::test(flavor = "multi_thread")]
async fn an_exit_that_an_earlier_version_recorded_is_told() {
    let mut yard = Yard::asleep(Options::default());
    let home = yard.run_dir(RUN);
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("run.json"), record("running", "")).unwrap();
    std::fs::write(
        home.join("exit.json"),
        r#"{"version":1,"outcome":{"code":3},"ended_at":"2026-11-15T05:28:52Z","from_a_later_version":{}}"#,
    )
    .unwrap();
    let identity = r#"{"pid":1,"started":1,"boot":1,"from_a_later_version":true}"#;
    std::fs::write(home.join("alive"), identity).unwrap();
    let mut bytes = journal(&[(3, QUEUED), (3, RUNNING), (1, "all of it\n")]);
    // Whoever wrote it was killed in the middle of the next frame.
    bytes.extend_from_slice(&[5, 0, 0, 0, 1, 0, 0]);
    std::fs::write(home.join("journal"), bytes).unwrap();
    yard.start().await;
    let shown = yard.get_json(&format!("/api/runs/{RUN}")).await;
    assert_eq!(shown["state"], "failed", "{shown}");
    assert_eq!(shown["exit_code"], 3, "{shown}");
    assert_eq!(shown["ended_at"], "2026-11-15T05:28:52Z");
    let events = events_of(yard.get(&format!("/stream/runs/{RUN}")).await).await;
    assert_eq!(text_of(&events), "all of it\n");
    assert_eq!(events.last().unwrap().data["state"], "failed");
    yard.stop().await;
}
