//! Histories of many commits, made at once.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::chance::Chance;
use crate::support::{Origin, git};

/// A commit by the places of its parents, the first of which its files come from.
pub struct Commit {
    pub parents: Vec<usize>,
    /// The first lines of the file `state`.
    pub state: String,
}

/// Has `main` of an upstream be at the last of these commits; their ids.
pub fn made(origin: &Origin, commits: &[Commit]) -> Vec<String> {
    let mut script = String::new();
    for (nth, commit) in commits.iter().enumerate() {
        let message = format!("commit {nth}");
        let content = format!("{}\n{nth}\n", commit.state);
        let time = 1_700_000_000 + nth * 60;
        script += &format!(
            "commit refs/heads/main\nmark :{}\ncommitter Test <test@localhost> {time} +0000\ndata {}\n{message}\n",
            nth + 1,
            message.len()
        );
        for (which, parent) in commit.parents.iter().enumerate() {
            let word = if which == 0 { "from" } else { "merge" };
            script += &format!("{word} :{}\n", parent + 1);
        }
        let dir = if nth % 2 == 0 { "even" } else { "odd" };
        for path in ["state", &format!("{dir}/last")] {
            script += &format!(
                "M 100644 inline {path}\ndata {}\n{content}\n",
                content.len()
            );
        }
    }
    let marks = origin.bare.join("marks");
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet", "--force"])
        .arg(format!("--export-marks={}", marks.display()))
        .current_dir(&origin.bare)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = import.stdin.take().unwrap();
    input.write_all(script.as_bytes()).unwrap();
    drop(input);
    assert!(import.wait().unwrap().success());
    let marks = std::fs::read_to_string(marks).unwrap();
    let mut ids = vec![String::new(); commits.len()];
    for line in marks.lines() {
        let (mark, id) = line.split_once(' ').unwrap();
        let mark: usize = mark[1..].parse().unwrap();
        id.clone_into(&mut ids[mark - 1]);
    }
    assert_eq!(
        git(&origin.bare, &["rev-parse", "main"]),
        ids[ids.len() - 1]
    );
    ids
}

/// A main line with branches of some commits that are merged again. Each commit has a line for each first bad one.
pub fn with_merges(commits: usize, first_bad: &[usize], seed: u64) -> Vec<Commit> {
    let mut chance = Chance::new(seed);
    let mut parents: Vec<Vec<usize>> = vec![Vec::new()];
    let (mut tip, mut side) = (0, None);
    for nth in 1..commits {
        let is_last = nth + 1 == commits;
        parents.push(match (side, chance.below(5)) {
            (Some(branch), 0) => {
                side = None;
                vec![std::mem::replace(&mut tip, nth), branch]
            }
            (Some(branch), _) if is_last => vec![std::mem::replace(&mut tip, nth), branch],
            (Some(branch), 1 | 2) => {
                side = Some(nth);
                vec![branch]
            }
            (None, 0) => {
                side = Some(nth);
                vec![tip]
            }
            _ => vec![std::mem::replace(&mut tip, nth)],
        });
    }
    let mut bad = vec![vec![false; first_bad.len()]; commits];
    for nth in 0..commits {
        for (which, first) in first_bad.iter().enumerate() {
            bad[nth][which] = nth == *first || parents[nth].iter().any(|it| bad[*it][which]);
        }
    }
    let all = parents.into_iter().zip(bad).map(|(parents, bad)| {
        let lines = bad.into_iter().enumerate().map(|(which, is_bad)| {
            let word = if is_bad { "bad" } else { "good" };
            format!("{which} {word}")
        });
        Commit {
            parents,
            state: lines.collect::<Vec<_>>().join("\n"),
        }
    });
    all.collect()
}
