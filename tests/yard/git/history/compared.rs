//! What the verbs say of random histories is what git's own porcelain says.

use std::path::Path;

use serde_json::{Value, json};

use super::each;
use super::tangle::{BEGAN, Dice, tangle};
use crate::support::{Yard, git};

const COMMITS: usize = 120;

async fn ids(yard: &Yard, mut query: Value) -> Vec<String> {
    query["verbosity"] = "minimal".into();
    if query.get("count").is_none() {
        query["count"] = 1000.into();
    }
    let log = yard.verb("tangle", "log", query).await;
    assert_eq!(log["truncated"], false);
    let ids = each(&log["commits"], "id");
    ids.into_iter().map(str::to_owned).collect()
}

fn porcelain(workspace: &Path, args: &[&str]) -> Vec<String> {
    let log = git(workspace, &[&["log", "--format=%H"], args].concat());
    log.lines().map(str::to_owned).collect()
}

fn at(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap().to_string()
}

async fn tangled(seed: u64) -> Yard {
    let yard = Yard::new().await;
    tangle(&yard.origin.bare, seed, COMMITS);
    for branch in ["tangle", "side"] {
        yard.verb(branch, "log", json!({})).await;
    }
    yard
}

#[tokio::test]
async fn logs_are_those_of_git() {
    for seed in [1, 2, 106] {
        let mut yard = tangled(seed).await;
        let workspace = yard.workspace("tangle");
        let (since, until) = (BEGAN + 20_000, BEGAN + 45_000);
        let (since_git, until_git) = (format!("--since=@{since}"), format!("--until=@{until}"));
        let (range, both) = ("HEAD~4..HEAD", "side...tangle");
        let cases: Vec<(Value, Vec<&str>)> = vec![
            (json!({}), vec![]),
            (json!({ "revision": "side" }), vec!["side"]),
            (json!({ "range": range }), vec![range]),
            (json!({ "range": "side.." }), vec!["side.."]),
            (json!({ "range": both }), vec![both]),
            (
                json!({ "all": true }),
                vec!["HEAD", "--branches", "--remotes"],
            ),
            (json!({ "first_parent": true }), vec!["--first-parent"]),
            (json!({ "merges": "exclude" }), vec!["--no-merges"]),
            (json!({ "merges": "only" }), vec!["--merges"]),
            (json!({ "author": "^Ada" }), vec!["--author=^Ada"]),
            (
                json!({ "committer": "eve@x>$" }),
                vec!["--committer=eve@x>$"],
            ),
            (
                json!({ "grep": "^feat.*[13]$" }),
                vec!["--grep=^feat.*[13]$"],
            ),
            (json!({ "grep": "^body of 2" }), vec!["--grep=^body of 2"]),
            (json!({ "skip": 3, "count": 5 }), vec!["--skip=3", "-5"]),
            (json!({ "since": at(since) }), vec![&since_git]),
            (json!({ "until": at(until) }), vec![&until_git]),
            (
                json!({ "since": at(since), "until": at(until), "range": both }),
                vec![&since_git, &until_git, both],
            ),
        ];
        for (query, args) in &cases {
            let expected = porcelain(&workspace, args);
            assert_eq!(
                ids(&yard, query.clone()).await,
                expected,
                "{seed}: {args:?}"
            );
            for path in ["a", "dir", "dir/deep/c", "d e", "gone", "."] {
                let mut query = query.clone();
                query["path"] = path.into();
                let args = [args, &["--", path][..]].concat();
                let expected = porcelain(&workspace, &args);
                assert_eq!(ids(&yard, query).await, expected, "{seed}: {args:?}");
            }
        }
        yard.stop().await;
    }
}

#[tokio::test]
async fn files_are_followed_as_by_git() {
    let mut renames = 0;
    for seed in 5..=7 {
        let mut yard = tangled(seed).await;
        let workspace = yard.workspace("tangle");
        for path in ["a", "b", "dir/a", "dir/b", "dir/deep/c", "d e"] {
            let query = json!({ "path": path, "follow": true, "count": 1000 });
            let log = yard.verb("tangle", "log", query).await;
            let expected = porcelain(&workspace, &["--follow", "--", path]);
            assert_eq!(each(&log["commits"], "id"), expected, "{seed}: {path}");
            let commits = log["commits"].as_array().unwrap().iter();
            renames += commits.filter(|commit| commit["path"] != path).count();
            let query = json!({ "path": path, "follow": true, "author": "Bob", "range": "side.." });
            let expected = porcelain(
                &workspace,
                &["--follow", "--author=Bob", "side..", "--", path],
            );
            assert_eq!(ids(&yard, query).await, expected, "{seed}: {path}");
        }
        yard.stop().await;
    }
    assert!(renames > 0, "histories without a rename test nothing");
}

#[tokio::test]
async fn changes_are_counted_as_by_git() {
    let mut yard = tangled(8).await;
    let workspace = yard.workspace("tangle");
    for (query, args) in [
        (json!({ "stat": true }), vec![]),
        (
            json!({ "stat": true, "first_parent": true }),
            vec!["--first-parent"],
        ),
        (json!({ "stat": true, "path": "dir" }), vec!["--", "dir"]),
    ] {
        let mut query = query;
        query["count"] = 1000.into();
        let log = yard.verb("tangle", "log", query).await;
        let args = [&["log", "--format=#%H", "--numstat", "-M"], &args[..]].concat();
        let mut expected: Vec<(String, [u64; 3])> = Vec::new();
        for line in git(&workspace, &args).lines() {
            if let Some(id) = line.strip_prefix('#') {
                expected.push((id.to_owned(), [0; 3]));
            } else if let [more, less, _] = line.split('\t').collect::<Vec<_>>()[..] {
                let stat = &mut expected.last_mut().unwrap().1;
                stat[0] += 1;
                stat[1] += more.parse::<u64>().unwrap();
                stat[2] += less.parse::<u64>().unwrap();
            }
        }
        assert!(expected.iter().any(|(_, stat)| stat[2] > 0));
        for (commit, (id, stat)) in log["commits"].as_array().unwrap().iter().zip(&expected) {
            assert_eq!(commit["id"], id.as_str());
            let told = ["files", "additions", "deletions"]
                .map(|field| commit["stat"][field].as_u64().unwrap_or(0));
            assert_eq!(&told, stat, "{args:?}: {id}");
        }
    }
    yard.stop().await;
}

#[tokio::test]
async fn lines_are_blamed_as_by_git() {
    let mut yard = tangled(9).await;
    let workspace = yard.workspace("tangle");
    let mut dice = Dice::new(9);
    let mut lines = 0;
    for revision in ["HEAD", "HEAD~3", "side"] {
        let files = git(
            &workspace,
            &["ls-tree", "-r", "--name-only", "-z", revision],
        );
        for path in files.split('\0').filter(|path| !path.is_empty()) {
            let moves = ["ignore", "within_file", "across_files"][dice.roll(3)];
            let query = json!({ "path": path, "revision": revision, "moves": moves });
            let blame = yard.verb("tangle", "blame", query).await;
            let mut told = Vec::new();
            for hunk in blame["hunks"].as_array().unwrap() {
                let text = hunk["text"].as_str().unwrap();
                let (first, last) = (hunk["start_line"].as_u64(), hunk["end_line"].as_u64());
                for (n, (line, text)) in (first.unwrap()..=last.unwrap())
                    .zip(text.lines())
                    .enumerate()
                {
                    let id = hunk["id"].as_str().unwrap();
                    let there = hunk["original_line"].as_u64().unwrap() + n as u64;
                    let name = hunk["original_path"].as_str().unwrap();
                    told.push(format!("{id} {name} {there} {line} {text}"));
                }
            }
            let expected = blamed(&workspace, revision, path, moves);
            assert_eq!(told, expected, "{revision}: {path}");
            assert_eq!(blame["total_lines"], expected.len());
            lines += expected.len();
        }
    }
    assert!(lines > 20, "{lines} lines test little");
    yard.stop().await;
}

/// `git blame`, told in the same way, from the format that repeats everything for each line.
fn blamed(workspace: &Path, revision: &str, path: &str, moves: &str) -> Vec<String> {
    let moves: &[&str] = match moves {
        "ignore" => &[],
        "within_file" => &["-M"],
        _ => &["-M", "-C"],
    };
    let args = [
        &["blame", "--line-porcelain"],
        moves,
        &[revision, "--", path],
    ]
    .concat();
    let output = git(workspace, &args);
    let (mut lines, mut header, mut name) = (Vec::new(), "", "");
    for line in output.lines() {
        if let Some(text) = line.strip_prefix('\t') {
            let mut words = header.split(' ');
            let (id, there, here) = (words.next(), words.next(), words.next());
            let (id, there, here) = (id.unwrap(), there.unwrap(), here.unwrap());
            lines.push(format!("{id} {name} {there} {here} {text}"));
            header = "";
        } else if header.is_empty() {
            header = line;
        } else if let Some(file) = line.strip_prefix("filename ") {
            name = file;
        }
    }
    lines
}
