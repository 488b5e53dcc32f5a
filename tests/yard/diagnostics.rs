//! Builds that fail, with the tools of this machine: what they complain about is told where it is.
//! (What tools printed elsewhere is in `fixtures/logs`.)

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Options, Yard, failing, text_of};

/// Where a build finds the tools themselves, not what a version manager puts in their place.
fn tools() -> String {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = String::from_utf8(sysroot.unwrap().stdout).unwrap();
    format!("/usr/bin:/bin:{}/bin", sysroot.trim())
}

/// Each item as `tool severity file:line`, with the files' own names.
fn places(found: &Value) -> Vec<String> {
    let place = |item: &Value| {
        let file = item["file"].as_str().unwrap_or_default();
        let file = file.rsplit('/').next().unwrap();
        let (tool, severity) = (item["tool"].as_str(), item["severity"].as_str());
        format!(
            "{} {} {file}:{}",
            tool.unwrap(),
            severity.unwrap(),
            item["line"]
        )
    };
    found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(place)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_build_says_what_is_wrong_and_where() {
    let mut yard = Yard::with(Options {
        tables: format!("[build]\npath = {:?}\n", tools()),
        ..Options::default()
    })
    .await;
    type Sample = (
        &'static str,
        Vec<(&'static str, &'static str)>,
        &'static [&'static str],
        &'static str,
    );
    let samples: [Sample; 4] = [
        (
            "c",
            failing::c(),
            &["gcc error main.c:5", "gcc warning main.c:4"],
            "undeclared",
        ),
        (
            "rust",
            failing::rust(),
            &["rustc error main.rs:3"],
            "mismatched types",
        ),
        (
            "python",
            failing::python(),
            &["python error main.py:6"],
            "RuntimeError: no number",
        ),
        (
            "pytest",
            failing::pytest(),
            &["pytest error test_calc.py:10", "pytest error calc.py:2"],
            "test_wrong: assert 2",
        ),
    ];
    for (branch, files, expected, message) in samples {
        yard.origin.at("main");
        for (path, content) in files {
            yard.origin.write(path, content);
        }
        yard.origin.commit(branch);
        yard.origin.push(branch);
        let events = yard.make(branch, &[]).await;
        let end = &events.last().unwrap().data;
        assert_eq!(end["state"], "failed", "{branch}: {}", text_of(&events));
        let id = events[0].data["run_id"].as_str().unwrap();
        let found = yard.get_json(&format!("/api/runs/{id}/diagnostics")).await;
        let places = places(&found);
        assert_eq!(places[..expected.len()], *expected, "{branch}: {found}");
        let first = &found["items"][0];
        assert!(
            first["message"].as_str().unwrap().contains(message),
            "{branch}: {first}"
        );

        // The end of the stream says the first of them, and the log has it on the line that is named.
        assert_eq!(end["diagnostics"], found["summary"], "{branch}");
        assert_eq!(&found["summary"]["first"], first, "{branch}");
        let line = first["log_line"].as_u64().unwrap();
        let log = yard.get(&format!("/api/runs/{id}/log?lines={line}")).await;
        let log = log.text().await.unwrap();
        let last_word = message.rsplit(' ').next().unwrap();
        assert!(
            log.contains(last_word) || log.contains(&format!(":{}", first["line"])),
            "{branch}: line {line} is {log:?}"
        );
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_complaints_has_none() {
    let mut yard = Yard::new().await;
    let events = yard.make("main", &["who"]).await;
    let id = events[0].data["run_id"].as_str().unwrap();
    let found = yard.get_json(&format!("/api/runs/{id}/diagnostics")).await;
    assert_eq!(found["items"], json!([]));
    assert_eq!(found["summary"], json!({"errors": 0, "warnings": 0}));
    assert!(events.last().unwrap().data.get("diagnostics").is_none());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_tells_what_it_complained_about_so_far() {
    let mut yard = Yard::new().await;
    let wait = |file: &str| {
        format!("echo {file}; for i in `seq 1500`; do [ -e {file} ] && break; sleep 0.02; done")
    };
    yard.origin.write("sub/b.c", "");
    yard.origin.write(
        "Makefile",
        format!(
            ".ONESHELL:\nall:\n\t@echo 'a.c:1:1: error: first'\n\t{}\n\techo 'make[1]: Entering directory '\\''{}/sub'\\'\n\
             \techo 'b.c:2:2: error: second'\n\t{}\n\texit 1\n",
            wait("one"),
            "$(CURDIR)",
            wait("two")
        ),
    );
    yard.origin.commit("it complains and waits");
    yard.origin.push("main");
    let mut run = yard.start_run("make", "main", json!({})).await;
    run.until_line("one").await;
    let path = format!("/api/runs/{}/diagnostics", run.run_id());
    let told = async |yard: &Yard| {
        let found = yard.get_json(&path).await;
        let items = found["items"].as_array().unwrap().iter();
        let items = items.map(|item| format!("{}: {}", item["file"], item["message"]));
        (found["so_far"].clone(), items.collect::<Vec<_>>())
    };
    let first = r#""a.c": "first""#.to_owned();
    let second = r#""sub/b.c": "second""#.to_owned();
    assert_eq!(told(&yard).await, (json!(true), vec![first.clone()]));
    std::fs::write(yard.workspace("main").join("one"), "").unwrap();
    run.until_line("two").await;
    let both = vec![first, second];
    assert_eq!(told(&yard).await, (json!(true), both.clone()));
    std::fs::write(yard.workspace("main").join("two"), "").unwrap();
    run.end().await;
    assert_eq!(told(&yard).await, (json!(null), both));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn recursive_make_names_files_where_they_are() {
    let mut yard = Yard::new().await;
    let broken = "int main(void) { return nowhere; }\n";
    let origin = &yard.origin;
    origin.write(
        "Makefile",
        ".PHONY: one two\nall: one two\none two:\n\t@$(MAKE) -C $@\n",
    );
    for part in ["one", "two"] {
        let compile = format!("all:\n\t@cc -c in_{part}.c -o /dev/null\n");
        origin.write(&format!("{part}/in_{part}.c"), broken);
        origin.write(&format!("{part}/Makefile"), compile);
    }
    origin.commit("two parts");
    origin.push("main");
    for args in [
        &["-k"][..],
        &["-k", "-j2"],
        &["-k", "-j2", "--output-sync=recurse"],
    ] {
        let run = yard
            .start_detached("main", json!({ "args": args, "detach": true }))
            .await;
        let ended = yard.ended(&run).await;
        assert_eq!(ended["state"], "failed");
        let found = yard.get_json(&format!("/api/runs/{run}/diagnostics")).await;
        let items = found["items"].as_array().unwrap();
        let mut files: Vec<_> = items
            .iter()
            .map(|item| item["file"].as_str().unwrap())
            .collect();
        files.sort_unstable();
        files.dedup();
        // In whatever order the words of both came: a file is where it exists.
        assert_eq!(files, ["one/in_one.c", "two/in_two.c"], "{args:?}");
    }
    yard.stop().await;
}
