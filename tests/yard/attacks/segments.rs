//! Names in the path of the URL.

use serde_json::json;

use super::{find, refused, untouched};
use crate::support::{Raw, Yard, encode, problem_of};

/// Every address that takes a branch, with a body that would do for an honest one.
const AT_BRANCH: &[(&str, &str, &str, &str)] = &[
    ("GET", "/api", "", ""),
    ("PUT", "/api", "", "{}"),
    ("DELETE", "/api", "", ""),
    ("GET", "/api", "/env", ""),
    ("POST", "/api", "/ls", "{}"),
    ("POST", "/api", "/read_file", r#"{"path":"name.txt"}"#),
    ("POST", "/api", "/git/quick", r#"{"operation":"status"}"#),
    ("POST", "/api", "/git/status", "{}"),
    ("POST", "/api", "/git/push", "{}"),
    ("POST", "/stream", "/make", r#"{"args":["who"]}"#),
    ("POST", "/stream", "/git", r#"{"operation":"status"}"#),
    ("POST", "/stream", "/task", r#"{"task":"x"}"#),
];

/// No branch can be called that; 300 and 241 bytes are too many as well.
pub(super) const BRANCHES: &[&str] = &[
    "-x",
    "--upload-pack=touch p",
    "..",
    "a/../../x",
    "../main",
    "@{u}",
    "@{-1}",
    "main@{0}",
    "@",
    "HEAD",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "x.lock",
    "x.lock/y",
    "a//b",
    "a/",
    "/a",
    "a.",
    ".a",
    "a/.b",
    ".",
    "a\u{1}b",
    "a\nb",
    "a\r\nb",
    "a\tb",
    "a\u{7f}b",
    "a\u{202e}b",
    "a\u{200b}b",
    "a\u{feff}b",
    "a\u{2028}b",
    "a b",
    "a\u{a0}b",
    "0123456789abcdef0123456789abcdef01234567",
    "0123456789ABCDEF0123456789ABCDEF01234567",
    "refs/heads/x",
    "refs/x",
    "main~0",
    "main^",
    "main^{tree}",
    "main:Makefile",
    ":/x",
    "a?",
    "a*",
    "a[b",
    "a\\b",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_branch_is_refused_at_every_address() {
    let mut yard = Yard::new().await;
    let mut segments: Vec<String> = BRANCHES.iter().copied().map(encode).collect();
    segments.push("x".repeat(300));
    segments.push("x".repeat(241));
    // What no string can hold: NUL, and bytes that are not UTF-8.
    segments.extend(
        [
            "%00",
            "a%00b",
            "main%00",
            "%ff",
            "a%ffb",
            "%c0%ae%c0%ae",
            "%ed%a0%80",
            "%80",
        ]
        .map(str::to_owned),
    );
    for segment in &segments {
        for (method, root, rest, body) in AT_BRANCH {
            let target = format!("{root}/repos/demo/branches/{segment}{rest}");
            let input = format!("{method} {target}");
            let answer = Raw::json(&yard, method, &target, *body).send(&yard).await;
            refused(&answer, &[400], "branch", &input);
        }
    }
    untouched(&yard).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_repo_is_refused_at_every_address() {
    let mut yard = Yard::new().await;
    for segment in [
        "..",
        "%2e%2e",
        "%2E%2E",
        ".%2e",
        "..%2f",
        "..%2f..",
        "%2f",
        "%2fetc",
        ".",
        "%2e",
        "%252e",
        "%252e%252e",
        "%00",
        "demo%00",
        "%ff",
        ".git",
        ".branchyard",
        "demo%2f..%2f..",
        "-x",
        "demo%0a",
        "demo%20",
        "%24(id)",
        "d%C3%A9mo",
    ] {
        for (method, root, rest, body) in AT_BRANCH {
            let target = format!("{root}/repos/{segment}/branches/main{rest}");
            let input = format!("{method} {target}");
            let answer = Raw::json(&yard, method, &target, *body).send(&yard).await;
            refused(&answer, &[400], "repo", &input);
        }
        for (method, rest) in [("GET", ""), ("DELETE", ""), ("GET", "/branches")] {
            let target = format!("/api/repos/{segment}{rest}");
            let answer = Raw::json(&yard, method, &target, "").send(&yard).await;
            refused(&answer, &[400], "repo", &format!("{method} {target}"));
        }
    }
    untouched(&yard).await;
    yard.stop().await;
}

/// Decoded exactly once: what is still encoded after that is an ordinary, unknown name.
#[tokio::test(flavor = "multi_thread")]
async fn dots_slashes_and_nothing_in_a_path_lead_nowhere() {
    let mut yard = Yard::new().await;
    for (segment, status, code) in [
        ("%2e%2e", 400, "bad_request"),
        ("..", 400, "bad_request"),
        ("..%2f", 400, "bad_request"),
        ("..%2fmain", 400, "bad_request"),
        ("%252e", 404, "branch_not_found"),
        ("%252e%252e", 404, "branch_not_found"),
        ("%252e%252e%252fmain", 404, "branch_not_found"),
        ("%2500", 404, "branch_not_found"),
        ("main%252f", 404, "branch_not_found"),
    ] {
        for (method, root, rest, body) in AT_BRANCH {
            let target = format!("{root}/repos/demo/branches/{segment}{rest}");
            let input = format!("{method} {target}");
            let answer = Raw::json(&yard, method, &target, *body).send(&yard).await;
            let problem = answer.problem(&input);
            assert_eq!(answer.status, status, "{input}: {problem}");
            // Without a workspace, some say that there is none before they ask for the branch.
            let codes = [code, "no_workspace", "task_not_found"];
            let code = problem["code"].as_str().unwrap();
            assert!(status == 400 || codes.contains(&code), "{input}: {problem}");
        }
    }
    for target in [
        "/api/repos/demo/branches//read_file",
        "/api/repos//branches/main/read_file",
        "/stream/repos/demo/branches//make",
        "/stream/repos//branches/main/make",
        "//api/repos/demo/branches/main/read_file",
        "/api/repos/demo/branches/main/read_file/",
        "/api/repos/demo/branches/main/../main/read_file",
        "/api/repos/demo/branches/a/b/read_file",
        "/api/repos/demo/branches/main/git/../read_file",
    ] {
        let body = r#"{"path":"name.txt"}"#;
        let answer = Raw::json(&yard, "POST", target, body).send(&yard).await;
        assert!([400, 404].contains(&answer.status), "{target}: {answer:?}");
        answer.problem(target);
    }
    untouched(&yard).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shell_syntax_in_a_branch_is_only_a_name() {
    let mut yard = Yard::new().await;
    for name in [
        "$(touch${IFS}PWNED)",
        "`touch${IFS}PWNED`",
        "a;touch${IFS}PWNED",
        "a|touch${IFS}PWNED",
        "a&&touch${IFS}PWNED",
        "$(shell,touch,PWNED)",
        "a>PWNED",
        "%n%s'\"",
    ] {
        let target = format!("/stream/repos/demo/branches/{}/make", encode(name));
        let (status, problem) = problem_of(yard.post(&target, json!({})).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (404, &json!("branch_not_found")),
            "{name}"
        );
        let commit = yard.origin.branch(name);
        let events = yard.make(name, &["who"]).await;
        let last = &events.last().unwrap().data;
        assert_eq!(last["state"], "succeeded", "{name}: {events:?}");
        assert_eq!(last["commit"], commit.as_str(), "{name}");
        let pwned = find(yard.dir.path(), "PWNED");
        assert!(pwned.is_empty(), "{name} was executed: {pwned:?}");
    }
    yard.stop().await;
}
