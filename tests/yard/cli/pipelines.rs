//! `pipeline check`, which asks no daemon.

use std::fs;

use super::{bare, said};

const GOOD: &str = "\
on: {push: {branches: [main]}}
jobs:
  build:
    runs-on: ubuntu-latest
    strategy: {matrix: {level: [1, 2]}}
    steps:
      - uses: actions/checkout@v4
      - run: make -O${{ matrix.level }}
  ship:
    needs: build
    runs-on: ubuntu-latest
    steps: [{run: ./ship.sh}]
";
const BAD: &str = "\
on: push
jobs:
  build:
    runs-on: ubuntu-latest
    needs: tests
    steps:
      - run: echo ${{ github.evnt }}
      - uses: codecov/codecov-action@v5
";

/// Those of the repository that the file is in, as a commit of it would have them.
#[tokio::test]
async fn actions_of_the_repository_are_checked_with_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let file = ".branchyard/workflows/ci.yml";
    write(
        file,
        "on: push\njobs: {one: {runs-on: linux, steps: [{uses: ./actions/x}]}}\n",
    );
    let check = async || {
        let mut command = bare(dir.path(), &["pipeline", "check", file]);
        command.current_dir(dir.path());
        said(command).await
    };
    let outside = check().await;
    assert!(
        outside.text().contains("in no git repository"),
        "{outside:?}"
    );
    fs::create_dir(dir.path().join(".git")).unwrap();
    let missing = check().await;
    assert_eq!(missing.code, 1);
    let expected = "ci.yml:2:45: neither action.yml nor action.yaml";
    assert!(missing.text().contains(expected), "{missing:?}");
    let action = "actions/x/action.yml";
    write(action, "runs: {using: composite, steps: [{run: make}]}\n");
    let wrong = check().await;
    let expected = "actions/x/action.yml:1:34: ";
    assert!(wrong.text().starts_with(expected), "{wrong:?}");
    write(
        action,
        "runs: {using: composite, steps: [{run: make, shell: sh}]}\n",
    );
    let good = check().await.ok();
    let expected = "one: 2 steps, 1 of them scripts";
    assert!(good.text().contains(expected), "{good:?}");
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(dir.path().join("actions/x"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, dir.path().join("actions/x")).unwrap();
    assert_eq!(check().await.text(), missing.text());
}

#[tokio::test]
async fn a_file_is_said_to_do_something_or_to_be_wrong_in_every_place() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("good.yml"), GOOD).unwrap();
    fs::write(at("bad.yml"), BAD).unwrap();
    let check = async |more: &[&str]| {
        let mut command = bare(dir.path(), &[&["pipeline", "check"], more].concat());
        command.current_dir(dir.path());
        said(command).await
    };
    let good = check(&["good.yml"]).await.ok();
    assert_eq!(
        good.text(),
        "good.yml: push on main starts 3 job(s)\n  \
         build (1): 2 steps, 1 of them scripts\n  \
         build (2): 2 steps, 1 of them scripts\n  \
         ship: 1 steps, 1 of them scripts, after build\n"
    );
    let other = check(&["good.yml", "--branch", "topic"]).await.ok();
    assert_eq!(other.text(), "good.yml: push on topic starts nothing\n");

    let bad = check(&["good.yml", "bad.yml"]).await;
    assert_eq!(bad.code, 1, "{bad:?}");
    let lines: Vec<_> = bad
        .text()
        .lines()
        .filter(|line| line.starts_with("bad"))
        .collect();
    for (line, place, words) in [
        (0, "bad.yml:5:12: ", "tests"),
        (1, "bad.yml:7:", "evnt"),
        (2, "bad.yml:8:", "(action_not_supported)"),
    ] {
        assert!(
            lines[line].starts_with(place) && lines[line].contains(words),
            "{lines:?}"
        );
    }
    assert_eq!(lines.len(), 3, "{lines:?}");
    let json = check(&["bad.yml", "--json", "--skip-action", "codecov/*"]).await;
    assert_eq!(json.code, 1);
    let said = json.json();
    assert_eq!(
        (&said["valid"], &said["files"][0]["plan"]),
        (&false.into(), &().into())
    );
    assert_eq!(
        said["files"][0]["problems"].as_array().unwrap().len(),
        2,
        "{said}"
    );
    let missing = check(&["none.yml"]).await;
    missing.refused(1, &["none.yml"]);
    let usage = check(&["good.yml", "--event", "release"]).await;
    usage.refused(2, &["release", "pull_request"]);
}
