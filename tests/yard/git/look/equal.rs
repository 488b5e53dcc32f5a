//! Status and diff, held against what the git command says of the same files.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::porcelain::{counts, lines, numstat, porcelain, printed};
use crate::git::random::Scribe;
use crate::support::{Yard, git};

const ROUNDS: usize = 6;
/// From here on the command is asked.
const MANY: usize = 3_000;

#[tokio::test]
async fn whatever_is_edited_status_and_diff_say_what_git_says() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    for seed in 0..4 {
        stay_equal(&yard, seed).await;
    }
    yard.stop().await;
}

#[tokio::test]
async fn among_many_files_they_say_it_too() {
    let mut yard = Yard::new().await;
    for number in 0..MANY {
        let path = format!("many/{}/{number}", number % 50);
        yard.origin.write(&path, format!("{number}\n"));
    }
    yard.origin.commit("many");
    yard.origin.push("main");
    yard.make("main", &[]).await;
    stay_equal(&yard, 100).await;
    let workspace = yard.workspace("main");
    git(&workspace, &["reset", "-q", "--hard", "origin/main"]);
    let none = yard.verb("main", "diff", json!({ "from": "HEAD" })).await;
    assert_eq!(
        none["totals"],
        json!({ "files": 0, "additions": 0, "deletions": 0 })
    );
    yard.stop().await;
}

/// Edits, and compares after a few of them.
async fn stay_equal(yard: &Yard, seed: u64) {
    let workspace = yard.workspace("main");
    git(&workspace, &["reset", "-q", "--hard", "origin/main"]);
    git(&workspace, &["clean", "-q", "-f", "-f", "-d", "-x"]);
    let mut scribe = Scribe::new(&workspace, seed);
    scribe.history(4);
    for round in 0..ROUNDS {
        scribe.edit_and_stage(6);
        let when = format!("seed {seed}, round {round}");
        same_status(yard, &workspace, &when).await;
        for (asked, args) in [
            (json!({}), &[][..]),
            (json!({ "staged": true }), &["--cached"]),
            (json!({ "from": "HEAD" }), &["HEAD"]),
            (json!({ "from": "HEAD~2" }), &["HEAD~2"]),
            (
                json!({ "from": "HEAD~3", "to": "HEAD" }),
                &["HEAD~3", "HEAD"],
            ),
        ] {
            same_diff(yard, &workspace, asked, args, &when).await;
        }
    }
}

async fn same_status(yard: &Yard, workspace: &Path, when: &str) {
    for (asked, args) in [
        (json!({}), &["--untracked-files=normal"][..]),
        (json!({ "each_file": true }), &["--untracked-files=all"]),
        (json!({ "untracked": false }), &["--untracked-files=no"]),
        (
            json!({ "ignored": true }),
            &["--untracked-files=normal", "--ignored=traditional"],
        ),
    ] {
        let told = yard.verb("main", "status", asked.clone()).await;
        let expected = porcelain(workspace, args);
        assert_eq!(lines(&told), expected, "{when}: {asked}");
        let changed = expected.iter().any(|line| !line.starts_with('!'));
        assert_eq!(told["clean"], !changed, "{when}");
        let dirty = expected.iter().any(|line| !line.starts_with(['!', '?']));
        assert_eq!(told["dirty"], dirty, "{when}");
    }
}

async fn same_diff(yard: &Yard, workspace: &Path, mut asked: Value, args: &[&str], when: &str) {
    let when = format!("{when}: {asked}");
    asked["stat"] = true.into();
    let told = yard.verb("main", "diff", asked.clone()).await;
    let counted: BTreeMap<_, _> = told["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(counts)
        .collect();
    assert_eq!(counted, numstat(workspace, args), "{when}");
    assert_eq!(told["totals"]["files"], counted.len(), "{when}");

    asked["stat"] = false.into();
    asked["name_only"] = true.into();
    let told = yard.verb("main", "diff", asked.clone()).await;
    let named = told["files"].as_array().unwrap().iter();
    let named: Vec<_> = named.map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(named, counted.keys().collect::<Vec<_>>(), "{when}");

    asked["name_only"] = false.into();
    let told = yard.verb("main", "diff", asked).await;
    let whole = printed(workspace, args);
    for file in told["files"].as_array().unwrap() {
        if file["binary"] == true || file["lossy"] == true {
            continue;
        }
        // The lines before the names come in another order, and git measures likeness in its own way.
        let patch = file["patch"].as_str().unwrap();
        let (header, body) = patch.split_at(patch.find("--- ").unwrap_or(patch.len()));
        assert!(whole.contains(body), "{when}: {body:?} in {whole:?}");
        for line in header
            .lines()
            .filter(|line| !line.starts_with("similarity"))
        {
            assert!(whole.contains(line), "{when}: {line:?} in {whole:?}");
        }
    }
}
