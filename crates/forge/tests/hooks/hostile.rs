//! What no forge sends: all of it is refused with a sentence, or harmless.

use branchyard_forge::{HookNews, PullNews, Unreadable, is_authentic};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{header_of, read};

const PULL: [(&str, &str); 1] = [("x-github-event", "pull_request")];
const MERGE: [(&str, &str); 1] = [("x-gitlab-event", "Merge Request Hook")];

fn pull_event() -> Value {
    json!({"pull_request": {
        "number": 1, "title": "t", "state": "open", "base": {"ref": "main"}, "head": {"ref": "topic"},
    }})
}

fn pull(body: &[u8]) -> Result<PullNews, Unreadable> {
    match read(&PULL, body)?.news {
        HookNews::Pull(pull) => Ok(pull),
        news => panic!("{news:?}"),
    }
}

/// The event with something else at this place.
fn pull_with(pointer: &str, value: Value) -> Result<PullNews, Unreadable> {
    let mut event = pull_event();
    *event.pointer_mut(pointer).unwrap() = value;
    pull(event.to_string().as_bytes())
}

fn refusal(body: impl AsRef<[u8]>) -> String {
    let refusal = pull(body.as_ref()).unwrap_err().to_string();
    assert!(refusal.len() < 200, "{refusal}");
    refusal
}

#[test]
fn an_event_has_a_name() {
    assert_eq!(read(&[], b"{}"), Err(Unreadable::NoEvent));
    for event in ["", "pu\u{7f}sh", "püsh", "pu\nsh", &"x".repeat(101)] {
        let hook = read(&[("x-github-event", event)], b"{}");
        assert_eq!(hook, Err(Unreadable::Event), "{event:?}");
    }
}

#[test]
fn events_without_news_may_carry_anything() {
    for event in ["ping", "star", "Note Hook", &*"x".repeat(100)] {
        for header in ["x-github-event", "x-gitlab-event", "x-gitea-event"] {
            let hook = read(&[(header, event)], b"\xff{").unwrap();
            assert_eq!((&*hook.event, hook.news), (event, HookNews::Nothing));
        }
    }
}

#[test]
fn a_number_is_a_positive_integer() {
    let largest = pull_with("/pull_request/number", u64::MAX.into()).unwrap();
    assert_eq!(largest.git_ref, "refs/pull/18446744073709551615/head");
    for number in [
        json!(0),
        json!(-1),
        json!(1.0),
        json!("1"),
        json!(null),
        json!([1]),
        json!(true),
    ] {
        let refusal = pull_with("/pull_request/number", number).unwrap_err();
        assert!(
            refusal.to_string().starts_with("`pull_request.number`"),
            "{refusal}"
        );
    }
    for number in ["18446744073709551616", "1e3", "01", "1e999", "NaN"] {
        refusal(
            pull_event()
                .to_string()
                .replace("\"number\":1", &format!("\"number\":{number}")),
        );
    }
}

#[test]
fn branches_are_short_and_without_control_characters() {
    for pointer in ["/pull_request/base/ref", "/pull_request/head/ref"] {
        let longest = "ü".repeat(122);
        assert!(pull_with(pointer, longest.clone().into()).is_ok());
        for name in [
            "",
            "a\nb",
            "a\0b",
            "\u{85}",
            &format!("{longest}x"),
            &"x".repeat(1 << 20),
        ] {
            let refusal = pull_with(pointer, name.into()).unwrap_err();
            assert!(matches!(refusal, Unreadable::Branch(_)), "{refusal}");
        }
        assert!(pull_with(pointer, json!({"a": 1})).is_err());
    }
}

#[test]
fn a_title_is_cut_and_cleaned() {
    let title = |text: &str| pull_with("/pull_request/title", text.into()).unwrap().title;
    assert_eq!(title("a\r\n\u{1b}[31mb\u{9b}\u{0}"), "a[31mb");
    assert_eq!(title(""), "");
    assert_eq!(title(&"ü\n".repeat(5 << 20)), "ü".repeat(500));
}

#[test]
fn what_is_no_json_object_is_refused() {
    for body in [
        "",
        " ",
        "{",
        "{}{}",
        "{} x",
        "nul",
        "<xml/>",
        "{'a': 1}",
        "payload=%7B%7D",
    ] {
        refusal(body);
    }
    for body in ["null", "1", "\"{}\"", "[]", "{}", "{\"pull_request\": []}"] {
        let refusal = pull(body.as_bytes()).unwrap_err();
        assert!(matches!(refusal, Unreadable::Field(_)), "{body}: {refusal}");
    }
    let by_order = br#"[[1, "t", "open", ["main"], ["topic"]]]"#;
    assert!(matches!(pull(by_order), Err(Unreadable::Field(_))));
    let form = ("content-type", "application/x-www-form-urlencoded");
    let hook = read(&[PULL[0], form], b"other=%7B%7D");
    assert_eq!(hook, Err(Unreadable::NoPayload));
}

#[test]
fn text_is_utf_8() {
    let event = pull_event().to_string();
    for at in ["\"t\"", "\"open\"", "{\"pull"] {
        let mut body = event.clone().into_bytes();
        body[event.find(at).unwrap() + 1] = 0xff;
        assert_eq!(pull(&body), Err(Unreadable::NotUtf8));
    }
    // Also in what is passed over.
    let mut body = br#"{"x": "?", "#.to_vec();
    body[7] = 0xff;
    body.extend_from_slice(&event.as_bytes()[1..]);
    assert_eq!(pull(&body), Err(Unreadable::NotUtf8));
    refusal(event.replace("\"t\"", r#""\ud800""#));
}

#[test]
fn keys_that_are_read_stand_there_once() {
    let event = pull_event().to_string();
    for (key, twice) in [
        ("{\"pull_request\"", "{\"pull_request\":{},\"pull_request\""),
        ("\"number\":1", "\"number\":1,\"number\":2"),
        ("{\"ref\":\"main\"}", "{\"ref\":\"main\",\"ref\":\"main\"}"),
    ] {
        assert!(event.contains(key), "{event}");
        refusal(event.replace(key, twice));
    }
    let others = event.replacen('{', r#"{"x": 1, "x": {}, "#, 1);
    assert!(pull(others.as_bytes()).is_ok());
}

#[test]
fn depth_costs_no_stack() {
    let event = pull_event().to_string();
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(1 << 20), close.repeat(1 << 20));
        // What is passed over may be as deep as it likes.
        let beside = event.replacen('{', &format!("{{\"x\": {deep}, "), 1);
        assert!(pull(beside.as_bytes()).is_ok());
        refusal(&deep);
        refusal(open.repeat(1 << 20));
        refusal(event.replace("\"t\"", &deep));
        refusal(event.replace("{\"ref\":\"main\"}", &deep));
    }
}

#[test]
fn a_system_hook_tells_its_kind_as_text() {
    for body in [
        "[]",
        "{\"object_kind\": 1}",
        "{\"event_name\": [\"push\"]}",
        "?",
    ] {
        assert!(read(&[("x-gitlab-event", "System Hook")], body.as_bytes()).is_err());
    }
    let hook = read(&[("x-gitlab-event", "System Hook")], b"{}").unwrap();
    assert_eq!(hook.news, HookNews::Nothing);
}

#[test]
fn refusals_repeat_nothing_of_the_payload() {
    let secret = "hunter2";
    for body in [
        json!({"pull_request": secret}).to_string(),
        json!({ secret: 1 }).to_string(),
        format!("{{\"{secret}\": ?}}"),
        pull_event()
            .to_string()
            .replace("\"number\":1", &format!("\"number\":\"{secret}\"")),
        pull_event()
            .to_string()
            .replace("main", &format!("{secret}\\n")),
    ] {
        assert!(!refusal(&body).contains(secret), "{body}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(body: Vec<u8>, value in "\\PC*", secret: Vec<u8>, now: i64) {
        let form = ("content-type", "application/x-www-form-urlencoded");
        for headers in [PULL, MERGE, [("x-gitlab-event", "System Hook")]] {
            let _ = read(&headers, &body);
            let _ = read(&[headers[0], form], &body);
        }
        let headers = [
            "x-hub-signature-256", "x-gitea-signature", "x-gitlab-token", "webhook-id",
            "webhook-timestamp", "webhook-signature", "x-gitea-event", "content-type",
        ];
        for name in headers {
            let header = [(name, &*value)];
            let is_secret = name == "x-gitlab-token" && value.as_bytes() == secret && !value.is_empty();
            prop_assert_eq!(is_authentic(header_of(&header), &body, &secret, now), is_secret);
        }
        let all = headers.map(|name| (name, &*value));
        prop_assert!(!is_authentic(header_of(&all), &body, &secret, now));
    }

    #[test]
    fn what_is_read_is_within_its_bounds(
        number: u64, title in "\\PC{0,600}|[\0-\u{9f}]{0,20}", base in ".{0,260}", head: String, state: String,
    ) {
        let event = json!({"object_attributes": {
            "iid": number, "title": title, "state": state, "target_branch": base, "source_branch": head,
        }});
        if let Ok(hook) = read(&MERGE, event.to_string().as_bytes()) {
            let HookNews::Pull(pull) = hook.news else { panic!("{hook:?}") };
            prop_assert_eq!((pull.number, &pull.base, &pull.head), (number, &base, &head));
            prop_assert!(number > 0 && (1..=244).contains(&base.len()) && !head.is_empty());
            prop_assert!(pull.title.chars().count() <= 500);
            prop_assert!(![pull.title, base, head].concat().contains(char::is_control));
        }
    }
}
