//! Artifacts as they are served: byte for byte, in parts, as archives, and never so that a browser runs what is in them.

use std::path::Path;
use std::process::{Command, Output};

use reqwest::Method;
use serde_json::json;

use super::{Ended, text};
use crate::support::{Options, Yard, problem_of};

const WORKFLOW: &str = r#"
  build:
    runs-on: linux
    steps:
      - run: |
          mkdir -p "dist/sub dir"; seq 1000 > dist/numbers.txt; : > dist/empty
          printf '#!/bin/sh\necho runs\n' > "dist/sub dir/run.sh"; chmod +x "dist/sub dir/run.sh"
          echo '<script>alert(1)</script>' > dist/page.html; cp dist/page.html dist/page.svg
          printf 'ü' > 'dist/sub dir/ü&"x".txt'
      - uses: actions/upload-artifact@v4
        with: {name: dist, path: dist}
"#;

fn numbers() -> String {
    (1..=1000).map(|n| format!("{n}\n")).collect()
}

/// curl, as the holder of the session key.
fn curl(yard: &Yard, args: &[&str], path: &str) -> Output {
    let key = format!("authorization: Bearer {}", yard.key());
    Command::new("curl")
        .args(["-sS", "--noproxy", "*", "-H", &key])
        .args(args)
        .arg(format!("{}{path}", yard.url))
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn run(dir: &Path, program: &str, args: &[&str]) -> String {
    said(
        &Command::new(program)
            .args(args)
            .current_dir(dir)
            .output()
            .unwrap(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_archives_are_what_the_job_made() {
    let mut yard = Yard::new().await;
    let ended = yard.run_jobs(WORKFLOW).await.green();
    let base = format!("/api/pipelines/{}/artifacts/dist", ended.id());
    let file = |name: &str| format!("{base}/files/{name}");
    assert_eq!(said(&curl(&yard, &[], &file("numbers.txt"))), numbers());
    assert_eq!(
        said(&curl(&yard, &["-r", "2-5"], &file("numbers.txt"))),
        numbers()[2..6]
    );
    assert_eq!(
        said(&curl(&yard, &["-r", "-4"], &file("numbers.txt"))),
        "000\n"
    );
    assert_eq!(said(&curl(&yard, &[], &file("empty"))), "");
    let beyond = curl(
        &yard,
        &["-r", "100000-", "-w", "%{http_code}", "-o", "/dev/null"],
        &file("numbers.txt"),
    );
    assert_eq!(said(&beyond), "416");

    let out = yard.mark("out");
    std::fs::create_dir(&out).unwrap();
    let zip = curl(
        &yard,
        &["-o", out.join("dist.zip").to_str().unwrap()],
        &format!("{base}/archive"),
    );
    said(&zip);
    run(&out, "unzip", &["-tq", "dist.zip"]);
    run(&out, "unzip", &["-q", "dist.zip", "-d", "unzipped"]);
    let tar = curl(
        &yard,
        &["-o", out.join("dist.tar").to_str().unwrap()],
        &format!("{base}/archive?format=tar"),
    );
    said(&tar);
    let mut listed: Vec<_> = run(&out, "tar", &["tf", "dist.tar", "--quoting-style=literal"])
        .lines()
        .filter(|line| !line.ends_with('/'))
        .map(str::to_owned)
        .collect();
    listed.sort();
    let expected = [
        "empty",
        "numbers.txt",
        "page.html",
        "page.svg",
        "sub dir/run.sh",
        "sub dir/ü&\"x\".txt",
    ];
    assert_eq!(listed, expected);
    std::fs::create_dir(out.join("untarred")).unwrap();
    run(&out, "tar", &["xf", "dist.tar", "-C", "untarred"]);
    run(&out, "diff", &["-r", "unzipped", "untarred"]);
    for dir in ["unzipped", "untarred"] {
        let read = |name: &str| std::fs::read_to_string(out.join(dir).join(name)).unwrap();
        assert_eq!(read("numbers.txt"), numbers());
        assert_eq!(
            run(
                &out,
                out.join(dir).join("sub dir/run.sh").to_str().unwrap(),
                &[]
            ),
            "runs\n"
        );
    }
    for (path, status) in [
        (file("none"), 404),
        (file("..%2f..%2fpipeline.json"), 404),
        (file("%2e%2e/%2e%2e/pipeline.json"), 404),
        (file(""), 404),
        (format!("/api/pipelines/{}/artifacts/none", ended.id()), 404),
        (
            format!("/api/pipelines/{}/artifacts/..%2fdist", ended.id()),
            404,
        ),
        (format!("{base}/archive?format=rar"), 422),
    ] {
        let args = ["--path-as-is", "-w", "%{http_code}", "-o", "/dev/null"];
        assert_eq!(
            said(&curl(&yard, &args, &path)),
            status.to_string(),
            "{path}"
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_browser_runs_nothing_of_them_on_the_daemons_origin() {
    let mut yard = Yard::new().await;
    let ended = yard.run_jobs(WORKFLOW).await.green();
    let base = format!("/api/pipelines/{}/artifacts/dist", ended.id());
    for name in ["page.html", "page.svg", "numbers.txt"] {
        let response = yard.get(&format!("{base}/files/{name}")).await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert!(
            header("content-disposition").starts_with("attachment"),
            "{name}"
        );
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-security-policy").contains("sandbox"));
        let kind = header("content-type");
        assert!(
            !kind.contains("html") && !kind.contains("svg") && !kind.contains("xml"),
            "{kind}"
        );
        let tag = header("etag");
        let request = yard.request(Method::GET, &format!("{base}/files/{name}"));
        let again = request.header("if-none-match", tag).send().await.unwrap();
        assert_eq!(again.status(), 304);
    }
    for more in ["/archive", "/archive?format=tar"] {
        let response = yard.get(&format!("{base}{more}")).await;
        let disposition = response.headers()["content-disposition"].to_str().unwrap();
        assert!(disposition.starts_with("attachment"), "{disposition}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    }
    let summary = format!("/api/pipelines/{}/jobs/build/summary", ended.id());
    let response = yard.get(&summary).await;
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    assert!(
        response.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/plain")
    );
    yard.stop().await;
}

#[tokio::test]
async fn the_latest_green_one_of_a_branch_is_found() {
    let mut yard = Yard::new().await;
    let latest = "/api/repos/demo/artifacts/dist";
    let jobs = |word: &str, end: &str| {
        format!(
            "  build:\n    runs-on: linux\n    steps:\n      - run: echo {word} > x\n      - uses: actions/upload-artifact@v4\n        \
             with: {{name: dist, path: x}}\n      - run: {end}\n"
        )
    };
    let first = yard.run_jobs(&jobs("one", "exit 0")).await.green();
    let (status, _) = problem_of(yard.get("/api/repos/demo/artifacts/none").await).await;
    assert_eq!(status, 404);
    let red = yard.run_jobs(&jobs("two", "exit 1")).await;
    assert_eq!(red.state(), "failed");
    assert_eq!(yard.artifact_file(red.id(), "dist", "x").await, "two\n");
    let pipeline = |set: &serde_json::Value| text(&set["pipeline"]).to_owned();
    assert_eq!(pipeline(&yard.get_json(latest).await), first.id());
    let third = yard.run_jobs(&jobs("three", "exit 0")).await.green();
    let found = yard.get_json(&format!("{latest}?branch=main")).await;
    assert_eq!(pipeline(&found), third.id());
    assert_eq!(
        yard.get(&format!("{latest}?branch=other")).await.status(),
        404
    );
    yard.stop().await;
}

/// What is too old goes at the next look, but for the newest green ones of the default branch.
#[tokio::test]
async fn old_artifacts_go_and_the_newest_green_ones_stay() {
    let mut yard = Yard::with(Options {
        tables: "[artifacts]\nkeep = \"1ms\"".to_owned(),
        ..Options::default()
    })
    .await;
    let jobs = |word: &str| {
        format!(
            "  build:\n    runs-on: linux\n    steps:\n      - run: echo {word} > x\n      - {{uses: actions/upload-artifact@v4, with: {{name: dist, path: x}}}}\n"
        )
    };
    let old = yard.run_jobs(&jobs("old")).await.green();
    let new = yard.run_jobs(&jobs("new")).await.green();
    let sets = async |ended: &Ended| {
        let path = format!("/api/pipelines/{}/artifacts", ended.id());
        yard.get_json(&path).await["items"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(sets(&new).await, 1);
    yard.stop().await;
    yard.start().await;
    let gone = async {
        loop {
            let path = format!("/api/pipelines/{}/artifacts/dist", old.id());
            if yard.get(&path).await.status() == 404 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(crate::support::PATIENCE, gone)
        .await
        .expect("it goes");
    assert_eq!(yard.artifact_file(new.id(), "dist", "x").await, "new\n");
    let record = yard.get_json(&format!("/api/pipelines/{}", old.id())).await;
    assert_eq!(record["jobs"][0]["artifacts"], json!(["dist"]));
    yard.stop().await;
}
