//! `artifact list` and `get`, against a real daemon.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use super::{Said, command, said};
use crate::support::{Options, Yard};

const WORKFLOW: &str = "\
on: workflow_dispatch
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - run: mkdir -p out/bin && printf '#!/bin/sh\\n' > out/bin/app && chmod +x out/bin/app && cp name.txt out
      - uses: actions/upload-artifact@v4
        with: {name: dist, path: out}
";

/// A yard with a pipeline that succeeded, its id, and an empty directory to work in.
async fn yard() -> (Yard, String) {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.workflow("ci.yml", WORKFLOW);
    fs::create_dir(yard.dir.path().join("here")).unwrap();
    yard.start().await;
    let started = yard
        .post_json("/api/repos/demo/pipelines", json!({ "branch": "main" }))
        .await;
    let id = started["pipeline_id"].as_str().unwrap().to_owned();
    let path = format!("/api/pipelines/{id}?wait=50s");
    assert_eq!(yard.get_json(&path).await["state"], "succeeded");
    (yard, id)
}

fn here(yard: &Yard) -> std::path::PathBuf {
    yard.dir.path().join("here")
}

async fn artifact(yard: &Yard, args: &[&str]) -> Said {
    let mut command = command(yard, &[&["artifact"], args].concat());
    command.current_dir(here(yard));
    said(command).await
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_are_listed_and_fetched_into_a_directory() {
    let (mut yard, id) = yard().await;
    let listed = artifact(&yard, &["list", &id]).await.ok();
    assert_eq!(listed.cells()[0][..3], ["dist", "build", "2"]);
    let files = artifact(&yard, &["list", &id, "dist"]).await.ok();
    let cells = files.cells();
    assert_eq!((cells[0][1], cells[0][3]), ("755", "bin/app"), "{files:?}");

    let fetched = artifact(&yard, &["get", &id, "dist"]).await.ok();
    assert_eq!(fetched.text(), "dist\n");
    let dist = here(&yard).join("dist");
    assert_eq!(fs::read(dist.join("bin/app")).unwrap(), b"#!/bin/sh\n");
    assert_eq!(fs::read(dist.join("name.txt")).unwrap(), b"main\n");
    assert_eq!(
        (mode(&dist.join("bin/app")), mode(&dist.join("name.txt"))),
        (0o755, 0o644)
    );

    fs::write(dist.join("name.txt"), "mine\n").unwrap();
    let kept = artifact(&yard, &["get", &id, "dist"]).await;
    kept.refused(1, &["bin/app", "already", "--force"]);
    assert_eq!(fs::read(dist.join("name.txt")).unwrap(), b"mine\n");
    let forced = ["get", &id, "dist", "--force", "--json"];
    let forced = artifact(&yard, &forced).await.ok();
    assert_eq!(forced.json()["artifact"]["name"], "dist");
    assert_eq!(fs::read(dist.join("name.txt")).unwrap(), b"main\n");
    assert_eq!(fs::read_dir(&dist).unwrap().count(), 2, "no parts are left");

    // The newest of the branch, wherever it is wanted.
    let latest = ["get", "demo", "dist", "-o", "other/place"];
    artifact(&yard, &latest).await.ok();
    assert!(here(&yard).join("other/place/bin/app").exists());
    let none = artifact(&yard, &["get", "demo", "dist", "--branch", "none"]).await;
    none.refused(125, &["no pipeline of none that succeeded"]);
    let both = artifact(&yard, &["get", &id, "dist", "--branch", "main"]).await;
    both.refused(2, &["--branch"]);
    let unknown = artifact(&yard, &["get", &id, "none"]).await;
    unknown.refused(125, &["no artifact \"none\"", "branchyard artifact list"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_file_or_an_archive_goes_to_a_file_or_to_stdout() {
    let (mut yard, id) = yard().await;
    let stdout = ["get", &id, "dist", "name.txt", "-o", "-"];
    let stdout = artifact(&yard, &stdout).await.ok();
    assert_eq!((stdout.text(), stdout.stderr.as_str()), ("main\n", ""));
    artifact(&yard, &["get", &id, "dist", "bin/app"]).await.ok();
    assert_eq!(mode(&here(&yard).join("app")), 0o755);
    let named = ["get", &id, "dist", "bin/app", "-o", "it"];
    assert_eq!(artifact(&yard, &named).await.ok().text(), "it\n");
    let again = artifact(&yard, &named).await;
    again.refused(1, &["already"]);
    let missing = artifact(&yard, &["get", &id, "dist", "none"]).await;
    missing.refused(125, &["no file \"none\""]);

    let tar = ["get", &id, "dist", "--archive", "tar", "-o", "-"];
    let tar = artifact(&yard, &tar).await.ok();
    let mut archive = tar::Archive::new(&tar.stdout[..]);
    let names = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        entry.path().unwrap().to_str().unwrap().to_owned()
    });
    assert_eq!(names.collect::<Vec<_>>(), ["bin/app", "name.txt"]);
    artifact(&yard, &["get", &id, "dist", "--archive", "zip"])
        .await
        .ok();
    let zip = fs::read(here(&yard).join("dist.zip")).unwrap();
    assert!(zip.starts_with(b"PK"));
    let several = artifact(&yard, &["get", &id, "dist", "-o", "-"]).await;
    several.refused(2, &["stdout", "--archive"]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_in_the_directory_leads_nothing_out_of_it() {
    let (mut yard, id) = yard().await;
    let outside = yard.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let dist = here(&yard).join("dist");
    fs::create_dir(&dist).unwrap();
    symlink(&outside, dist.join("bin")).unwrap();
    let fetched = artifact(&yard, &["get", &id, "dist", "--force"]).await;
    fetched.refused(1, &["bin/app"]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_artifacts_of_a_run_are_had_by_its_id() {
    let mut yard = Yard::asleep(Options {
        repo: "artifacts = [\"dist/**\"]".to_owned(),
        ..Options::default()
    });
    let makefile = "all:\n\tmkdir -p dist/sub; echo made > dist/sub/a.txt\n";
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("makes");
    yard.origin.push("main");
    fs::create_dir(here(&yard)).unwrap();
    yard.start().await;
    let run = yard.start_detached("main", json!({"args": ["all"]})).await;
    yard.ended(&run).await;

    let listed = artifact(&yard, &["list", &run]).await.ok();
    assert_eq!(listed.cells()[0][..3], ["artifact", "", "1"]);
    let files = artifact(&yard, &["list", &run, "artifact"]).await.ok();
    assert_eq!(files.cells()[0][3], "sub/a.txt");
    artifact(&yard, &["get", &run, "artifact"]).await.ok();
    let fetched = here(&yard).join("artifact/sub/a.txt");
    assert_eq!(fs::read(fetched).unwrap(), b"made\n");
    let file = ["get", &run, "artifact", "sub/a.txt", "-o", "-"];
    assert_eq!(artifact(&yard, &file).await.ok().text(), "made\n");
    let tar = ["get", &run, "artifact", "--archive", "tar"];
    artifact(&yard, &tar).await.ok();
    assert!(here(&yard).join("artifact.tar").exists());

    let neither = uuid::Uuid::now_v7().to_string();
    for verb in ["list", "get"] {
        let refused = artifact(&yard, &[verb, &neither, "artifact"]).await;
        let said = ["no pipeline and no run", "branchyard runs"];
        refused.refused(125, &said);
    }
    yard.stop().await;
}
