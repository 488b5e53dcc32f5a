//! What the daemon is made to answer.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const COMMIT: &str = "1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b";
const ERROR: &str =
    "use of undeclared identifier 'session_timeout_in_seconds'; did you mean 'session_timeout'?";

/// So long ago that the age stays the same during a test.
fn ago(minutes: i64) -> String {
    let age = SignedDuration::from_mins(minutes) + SignedDuration::from_secs(20);
    (Timestamp::now() - age).to_string()
}

fn id(number: usize) -> String {
    format!("0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5{number:03x}")
}

fn found(file: &str) -> Value {
    json!({"errors": 2, "warnings": 1, "first": {"file": file, "line": 120, "column": 7, "severity": "error",
        "message": ERROR, "tool": "gcc", "log_line": 40}})
}

fn run(number: usize, branch: &str, argv: &[&str], state: &str, more: Value) -> Value {
    let minutes = i64::try_from(number).unwrap() * 7 + 3;
    let mut run = json!({"run_id": id(number), "kind": argv[0], "repo": "app", "branch": branch, "argv": argv,
        "timeout_ms": 1, "sync": "auto", "stale": false, "on_disconnect": "cancel", "principal": "token:ci-builder",
        "state": state, "exit_code": null, "created_at": ago(minutes), "duration_ms": null, "about": null});
    let Value::Object(more) = more else {
        unreachable!()
    };
    run.as_object_mut().unwrap().extend(more);
    run
}

fn runs() -> Vec<Value> {
    let long = "agent/20261119-rework-the-session-handling-of-logins";
    let days = ago(3 * 24 * 60 + 4 * 60 + 30);
    let mut runs = vec![
        run(
            0,
            "main",
            &["make", "-j8", "test"],
            "running",
            json!({"created_at": days}),
        ),
        run(
            1,
            long,
            &["make", "-j8", "test", "VERBOSE=1"],
            "failed",
            json!({"exit_code": 2, "duration_ms": 83_400,
            "diagnostics": found("src/session/handling.c")}),
        ),
        run(
            2,
            "feature/login",
            &["make", "check"],
            "succeeded",
            json!({"exit_code": 0, "duration_ms": 1_200}),
        ),
        run(
            3,
            "release/2.1",
            &["make"],
            "timed_out",
            json!({"duration_ms": 600_000, "reason": "it ran longer than 10m"}),
        ),
        run(
            4,
            "日本語のブランチ",
            &["make", "check"],
            "lost",
            json!({"reason": "its supervisor is gone", "duration_ms": 5_000}),
        ),
    ];
    let more = 5..12;
    runs.extend(more.map(|number| {
        let branch = format!("feature/{number}");
        run(
            number,
            &branch,
            &["make", "check"],
            "succeeded",
            json!({"exit_code": 0, "duration_ms": 4_000}),
        )
    }));
    runs
}

fn branches() -> Value {
    let long = "agent/20261119-rework-the-session-handling-of-logins";
    let last = json!({"run_id": id(1), "kind": "make", "argv": ["make", "-j8", "test"], "task": null, "state": "failed",
        "exit_code": 2, "created_at": ago(10), "ended_at": ago(9), "duration_ms": 83_400,
        "diagnostics": found("src/session/handling.c")});
    let workspace = |branch: &str, more: Value| {
        let path = format!("/home/me/build-workspaces/app/{}", branch.replace('/', "-"));
        let mut workspace = json!({"repo": "app", "branch": branch, "path": path, "commit": COMMIT, "tree": COMMIT,
            "dirty": false, "untracked": 0, "ahead": 0, "behind": 0, "fetched_at": null, "gone_upstream": false,
            "pins": [], "size": 734_003_200, "last_used": ago(25), "holder": null, "last_run": null});
        let Value::Object(more) = more else {
            unreachable!()
        };
        workspace.as_object_mut().unwrap().extend(more);
        workspace
    };
    json!({"next": null, "items": [
        workspace(long, json!({"dirty": true, "untracked": 12, "ahead": 3, "behind": 14, "pins": ["unpushed commits"],
            "last_run": last})),
        workspace("main", json!({"holder": {"what": "make -j8 test", "run_id": null, "who": "ci", "since": ago(1)}})),
        workspace("next", json!({"path": null, "size": null, "last_used": null})),
    ]})
}

fn pipeline() -> Value {
    let steps = json!([
        {"number": 1, "name": "check out", "state": "succeeded", "run_id": id(20), "exit_code": 0},
        {"number": 2, "name": "run all the tests of the session handling", "state": "failed", "run_id": id(21),
         "exit_code": 2, "reason": "exited with 2"},
    ]);
    json!({"pipeline_id": "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b", "repo": "app", "branch": "feature/login",
    "commit": COMMIT, "tree": COMMIT, "file": ".branchyard/workflows/integration.yml", "name": "integration",
    "event": "workflow_dispatch", "principal": "token:ci-builder", "state": "failed", "attempt": 1,
    "created_at": ago(30), "duration_ms": 83_400, "jobs": [
        {"job": "test-linux", "name": "test (linux, gcc)", "state": "failed", "attempt": 1, "steps": steps,
         "reason": "step 2 exited with 2", "artifacts": ["test-results", "coverage"],
         "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:01:20Z"},
        {"job": "deploy", "name": "deploy", "state": "skipped", "attempt": 1, "steps": [],
         "reason": "test-linux did not succeed"},
    ]})
}

fn listed(items: &[Value]) -> Value {
    json!({"items": items, "next": null})
}

fn deliveries() -> Value {
    listed(&[
        json!({"delivery_id": id(30), "kind": "status", "to": "https://api.forge.example.org/repos/me/app/statuses",
            "says": "branchyard/make: failure", "repo": "app", "state": "failed", "failures": 8, "made_at": ago(50),
            "problem": "the forge answered 403 Forbidden: the token may not write statuses of this repository"}),
        json!({"delivery_id": id(31), "kind": "webhook", "to": "https://chat.example.org/hook", "says": "run ended",
            "repo": "app", "state": "delivered", "failures": 0, "made_at": ago(55)}),
    ])
}

fn audit() -> Value {
    let record = |id: i64, more: Value| {
        let mut record = json!({"id": id, "at": ago(12), "principal": "token:ci-builder", "peer": "127.0.0.1",
            "via": "http", "action": "make", "repo": "app", "branch": "feature/login", "run": null, "request": null,
            "outcome": "allowed", "status": 200, "code": null, "count": 1, "detail": null});
        let Value::Object(more) = more else {
            unreachable!()
        };
        record.as_object_mut().unwrap().extend(more);
        record
    };
    listed(&[
        record(1207, json!({"run": id(1)})),
        record(
            1206,
            json!({"action": "branch.remove", "outcome": "refused", "status": 409, "code": "workspace_pinned",
            "branch": "agent/20261119-rework-the-session-handling-of-logins"}),
        ),
        record(
            1205,
            json!({"principal": null, "peer": "2001:db8:1::20", "outcome": "refused", "status": 401,
            "code": "unauthorized", "count": 120, "repo": null, "branch": null}),
        ),
    ])
}

fn salvage(number: usize) -> Value {
    json!({"id": if number == 0 { "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b".to_owned() } else { id(40 + number) },
        "repo": "app", "branch": "feature/login", "at": ago(70), "reason": "reset", "by": "token:ci-builder",
        "commit": COMMIT, "expires_in": 86_400,
        "work": ["3 commits that the remote does not have", "12 changed files", "2 untracked files"]})
}

fn salvage_detail() -> Value {
    let mut detail = salvage(0);
    detail["files"] = json!([
        {"path": "src/session/handling.c", "change": "changed", "size": 18_432},
        {"path": format!("test/{}/results.xml", "deep/".repeat(24).trim_end_matches('/')), "change": "added", "size": 120},
        {"path": "old.c", "change": "deleted", "size": 40},
    ]);
    detail
}

fn tokens() -> Value {
    let token = |name: &str, more: Value| {
        let mut token = json!({"id": "tok_4f5a6b7c", "name": name, "role": null, "state": "live",
            "scopes": ["repo:read", "git:read", "build:run"], "toolsets": [],
            "areas": [{"repos": ["app"], "branches": ["feature/*", "release/*"]}], "expires": "2027-01-01T00:00:00Z",
            "created_at": ago(24 * 60 * 9), "created_by": "session", "last_used": ago(4), "revoked_at": null});
        let Value::Object(more) = more else {
            unreachable!()
        };
        token.as_object_mut().unwrap().extend(more);
        token
    };
    listed(&[
        token("ci-builder", json!({})),
        token(
            "dev",
            json!({"role": "dev", "areas": [], "expires": null, "state": "revoked"}),
        ),
    ])
}

fn reaping() -> Value {
    json!({"dry_run": true, "items": [
        {"repo": "app", "branch": "agent/20261119-rework-the-session-handling-of-logins", "action": "remove",
         "why": "nobody used it for 14 days, and the remote has all of its commits", "pins": [],
         "sizes": {"source": 1_048_576, "build_output": 734_003_200, "droppable": 0, "measured_at": "2026-01-01T00:00:00Z"},
         "idle": 1_209_600, "last_used": "2026-01-01T00:00:00Z", "pinned": null, "outcome": null},
        {"repo": "app", "branch": "main", "action": "keep", "why": "it is the default branch", "pins": [], "sizes": null,
         "idle": 5, "last_used": "2026-01-01T00:00:00Z", "pinned": null, "outcome": null}],
        "branches": [{"repo": "app", "branch": "agent-1-2", "why": "main has it", "remote": true, "outcome": null}],
        "stores": [{"repo": "app", "action": "keep", "why": "it has workspaces", "size": 4096, "idle": 0, "outcome": null}],
        "disk": {"free": 1_048_576, "total": 1, "low_water": 1, "high_water": 1, "yard": 6144, "max_size": null},
        "totals": {"keep": 2, "drop_build_output": 0, "remove": 1, "discard_store": 0, "bytes": 2048}})
}

fn test_history() -> Value {
    let last = json!({"branch": "feature/login", "commit": COMMIT, "at": ago(33), "run_id": id(1)});
    listed(&[
        json!({"suite": "session", "name": "a login that is given up is forgotten after the time limit", "state": "failed",
            "passed": 120, "failed": 3, "skipped": 0, "flaky": true, "new": true, "median_ms": 1_250,
            "failing_since": last, "last": last}),
        json!({"suite": "session", "name": "logout", "state": "passed", "passed": 123, "failed": 0, "skipped": 0,
            "flaky": false, "new": false, "median_ms": 10, "last": last}),
    ])
}

fn check() -> Value {
    json!({"valid": true, "file": ".branchyard/workflows/ci.yml", "jobs": [
        {"job": "test", "name": "test (linux, gcc)", "would": "run",
         "reason": "src/session/handling.c, src/session/limits.c and 14 other files that it reads have changed since"},
        {"job": "lint", "name": "lint", "would": "skip", "reason": "its condition is false"},
    ]})
}

fn artifact(name: &str) -> Value {
    let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    json!({"name": name, "pipeline": "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b", "job": "test-linux", "attempt": 1,
        "files": [
            {"path": "bin/app", "size": 18_432_000, "mode": 493, "sha256": digest},
            {"path": format!("share/{}/help.html", "deep/".repeat(24).trim_end_matches('/')), "size": 120, "mode": 420,
             "sha256": digest}],
        "bytes": 18_432_120, "created_at": ago(31), "expires_at": "2027-01-01T00:00:00Z", "digest": digest})
}

fn environment() -> Value {
    json!({"repo": "app", "branch": "main", "commit": COMMIT, "tree": COMMIT, "ahead": 0, "behind": 0,
        "machine": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 8, "memory_bytes": 17_179_869_184_u64,
            "disk_free_bytes": 1_099_511_627_776_u64},
        "tools": [{"name": "make", "path": "/usr/bin/make", "version": "GNU Make 4.3"},
            {"name": "cc", "path": "/usr/bin/cc", "version": "cc (Debian 12.2.0-14+deb12u1) 12.2.0 with a name that goes on and on"}],
        "environment": {"CI": "true", "PATH": "/home/me/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/tool/bin",
            "BRANCHYARD_RUN_ID": "(the run's id)"}})
}

fn machine() -> Value {
    json!({"cores": 8, "load": [1.5, 2.25, 0.5], "memory": {"total": 17_179_869_184_u64, "available": 8_589_934_592_u64},
        "disk": {"total": 1_099_511_627_776_u64, "free": 549_755_813_888_u64},
        "runs": {"running": 1, "waiting": 2, "at_once": 8}, "waiting": [],
        "background": [{"name": "reaper", "state": "running", "restarts": 0}],
        "repos": [{"repo": "app", "workspaces": 3, "clone": 1_048_576, "source": 1_048_576, "build_output": 1_048_576}]})
}

fn files() -> Value {
    json!({"repo": "app", "branch": "main", "commit": COMMIT, "tree": COMMIT, "ahead": 0, "behind": 0, "path": ".",
        "entries": [
            {"path": "src", "kind": "dir", "size": 4096, "mode": "040000"},
            {"path": format!("test/{}/results.xml", "deep/".repeat(24).trim_end_matches('/')), "kind": "file",
             "size": 123_456, "mode": "100644"},
            {"path": "latest", "kind": "symlink", "size": 6, "mode": "120000", "target": "test/results.xml"}],
        "truncated": false})
}

fn repos() -> Value {
    listed(&[
        json!({"name": "app", "url": "https://git.example.org/some/group/with/a/long/path/of/projects/and/more/of/it/app.git",
            "default_branch": "main", "source": "config", "cloned": true, "workspaces": 3, "tasks": []}),
        json!({"name": "tools", "url": "/srv/git/tools.git", "default_branch": null, "source": "registered", "cloned": false,
            "workspaces": 0, "tasks": []}),
    ])
}

/// By path.
pub fn all() -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("/api/runs", listed(&runs())),
        ("/api/machine", machine()),
        ("/stream/events", json!({"type": "hello", "id": "1-0"})),
        ("/api/repos", repos()),
        ("/api/repos/app/branches", branches()),
        ("/api/repos/app/branches/main/ls", files()),
        ("/api/repos/app/branches/main/env", environment()),
        ("/api/audit", audit()),
        ("/api/repos/app/deliveries", deliveries()),
        ("/api/salvage", listed(&[salvage(0), salvage(1)])),
        (
            "/api/salvage/0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b",
            salvage_detail(),
        ),
        ("/api/tokens", tokens()),
        ("/api/reap", reaping()),
        ("/api/repos/app/tests", test_history()),
        ("/api/repos/app/pipelines", listed(&[pipeline()])),
        (
            "/api/pipelines/0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b",
            pipeline(),
        ),
        ("/api/repos/app/pipelines/check", check()),
        (
            "/api/pipelines/0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b/artifacts",
            listed(&[
                artifact("dist"),
                artifact("test-results-of-the-session-handling"),
            ]),
        ),
        (
            "/api/pipelines/0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b/artifacts/dist",
            artifact("dist"),
        ),
    ])
}
