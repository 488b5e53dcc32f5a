//! `reuse: true`: an earlier run that succeeded answers, as long as nothing that it saw differs.

mod branches;
mod cut_off;
mod differences;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{Options, Yard, encode};

/// Each command says outside of the workspace that it was run.
fn makefile(dir: &std::path::Path) -> String {
    let ran = format!("@echo ran >> {}/ran", dir.display());
    let open = dir.join("open");
    let open = open.display();
    format!(
        "\
check:
\t{ran}; echo checked; echo on stderr >&2; echo main.c:1:2: warning: odd >&2
build:
\t{ran}; mkdir -p out; date +%N > out/stamp; echo built
touchy:
\t{ran}; echo changed >> name.txt
fail:
\t{ran}; exit 1
gate:
\t{ran}; echo waiting; for i in `seq 1500`; do [ -e {open} ] && break; sleep 0.02; done; echo passed
"
    )
}

/// A daemon whose demo has a tool, which says what stands in the file `version`.
fn yard() -> Yard {
    let mut yard = Yard::asleep(Options {
        tables: "[sandbox]\nprofile = \"none\"\n".to_owned(),
        ..Options::default()
    });
    let dir = yard.dir.path();
    let tool = dir.join("tool");
    std::fs::write(
        &tool,
        format!("#!/bin/sh\nexec cat {}/version\n", dir.display()),
    )
    .unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(dir.join("version"), "1").unwrap();
    yard.origin.write("Makefile", makefile(dir));
    yard.origin.commit("checks");
    yard.origin.push("main");
    yard.configure(options(&yard, ""));
    yard
}

/// The usual configuration, and these lines for the repo.
fn options(yard: &Yard, repo: &str) -> Options {
    let tool = yard.dir.path().join("tool");
    let usual = format!(
        "toolchain = [[{tool:?}, \"--version\"]]\n\
         tasks = {{ one = [\"make\", \"check\"], two = [\"make\", \"check\"] }}\n"
    );
    Options {
        tables: "[sandbox]\nprofile = \"none\"\n".to_owned(),
        repo: format!("{usual}{repo}"),
        ..Options::default()
    }
}

/// How often a command was run so far.
fn times_ran(yard: &Yard) -> usize {
    let ran = std::fs::read_to_string(yard.dir.path().join("ran"));
    ran.unwrap_or_default().lines().count()
}

/// Asks for a run with `reuse`; its record at its end.
async fn ask(yard: &Yard, kind: &str, branch: &str, mut body: Value) -> Value {
    body["reuse"] = json!(true);
    let path = format!("/stream/repos/demo/branches/{}/{kind}", encode(branch));
    let request = yard.request(reqwest::Method::POST, &path);
    let request = request.header("prefer", "respond-async").json(&body);
    let record = crate::support::json_of(request.send().await.unwrap()).await;
    yard.ended(record["run_id"].as_str().unwrap()).await
}

/// Asks for `make` on main, which must be answered by an earlier run; that run's id.
#[track_caller]
fn answered(record: &Value) -> String {
    assert_eq!(
        (&record["state"], &record["exit_code"]),
        (&json!("succeeded"), &json!(0)),
        "{record}"
    );
    match record["cached"].as_str() {
        Some(earlier) => earlier.to_owned(),
        None => panic!("it was run: {record}"),
    }
}

/// It was run; its id.
#[track_caller]
fn ran(record: &Value) -> String {
    assert_eq!(record.get("cached"), None, "{record}");
    record["run_id"].as_str().unwrap().to_owned()
}

async fn make(yard: &Yard, target: &str) -> Value {
    ask(yard, "make", "main", json!({"args": [target]})).await
}
