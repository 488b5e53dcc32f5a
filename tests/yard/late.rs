//! What people write while their workspace is being reset, cleaned or removed is not lost: it is in the workspace, in a
//! salvage or in the quarantine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::chance::Chance;
use crate::support::{Options, Yard, git, try_git, until};

const BRANCH: &str = "/api/repos/demo/branches/main";
const WRITERS: usize = 3;
/// Of each writer.
const TRACKED: usize = 150;

/// A yard with a workspace of many files, and the words that were written into it.
struct Scene {
    yard: Yard,
    written: Arc<Mutex<Vec<String>>>,
}

fn tracked(writer: usize, number: usize) -> String {
    format!("of/{writer}/tracked-{number}.txt")
}

impl Scene {
    async fn new() -> Self {
        let mut yard = Yard::asleep(Options::default());
        for writer in 0..WRITERS {
            for number in 0..TRACKED {
                yard.origin.write(&tracked(writer, number), "as it was\n");
            }
        }
        yard.origin.commit("many files");
        yard.origin.push("main");
        yard.start().await;
        yard.put(BRANCH, json!({})).await;
        Self {
            yard,
            written: Arc::default(),
        }
    }

    /// All of what was written is somewhere where it can be found.
    async fn check(mut self, seed: u64) {
        // What is in the trash is looked through before it is deleted.
        let trash = self.yard.workspaces.join(".branchyard/trash");
        until("the trash is empty", || {
            fs::read_dir(&trash).unwrap().next().is_none()
        })
        .await;
        self.yard.stop().await;
        let store = self.yard.store();
        let mut found = BTreeSet::new();
        for dir in [
            self.yard.workspace("main"),
            self.yard.workspaces.join(".branchyard/quarantine"),
        ] {
            collect(&dir, &mut found);
        }
        let refs = git(
            &store,
            &[
                "for-each-ref",
                "--format=%(refname)",
                "refs/branchyard",
                "refs/heads",
            ],
        );
        for name in refs.lines() {
            let shown = try_git(&store, &["grep", "-h", "-I", "word-", name]);
            found.extend(words(&String::from_utf8_lossy(&shown.stdout)));
        }
        let written = self.written.lock().unwrap();
        let lost: Vec<_> = written
            .iter()
            .filter(|word| !found.contains(*word))
            .collect();
        println!("seed {seed}: {} words written", written.len());
        assert!(written.len() > 20, "only {} words", written.len());
        assert!(
            lost.is_empty(),
            "seed {seed}: {} of {} words are lost: {lost:?}",
            lost.len(),
            written.len()
        );
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace()
        .filter(|word| word.starts_with("word-"))
        .map(str::to_owned)
}

fn collect(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => collect(&entry.path(), found),
            false => {
                let text = fs::read(entry.path()).unwrap_or_default();
                found.extend(words(&String::from_utf8_lossy(&text)));
            }
        }
    }
}

/// Saves as editors do: a new file, renamed into place.
fn save(workspace: &Path, path: &str, word: &str) -> bool {
    let fresh: PathBuf = workspace.join(format!(".save-{word}"));
    let saved = fs::write(&fresh, format!("{word}\n"))
        .and_then(|()| fs::rename(&fresh, workspace.join(path)));
    saved.is_ok()
}

/// One person at work until told to stop: each file is written to once, so nothing is overwritten by its owner.
fn work(
    workspace: &Path,
    (writer, seed): (usize, u64),
    (stop, doing): (&AtomicBool, &AtomicUsize),
    written: &Mutex<Vec<String>>,
) {
    let mut chance = Chance::new(seed + writer as u64);
    let (mut edited, mut number) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let word = format!(
            "word-{seed}-{writer}-{number}-{}.",
            doing.load(Ordering::Relaxed)
        );
        let path = match chance.below(3) {
            0 if edited < TRACKED => {
                edited += 1;
                tracked(writer, edited - 1)
            }
            1 => format!("of/{writer}/new-{number}.txt"),
            _ => format!("new-of-{writer}-{number}.txt"),
        };
        if save(workspace, &path, &word) {
            written.lock().unwrap().push(word);
        }
        std::thread::sleep(Duration::from_micros(chance.below(20_000) as u64));
    }
}

async fn race(seed: u64, length: Duration) {
    let scene = Scene::new().await;
    let stop = Arc::new(AtomicBool::new(false));
    // What is being done to the workspace, so that a word that is lost says by what.
    let doing = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (workspace, stop) = (scene.yard.workspace("main"), stop.clone());
            let (written, doing) = (scene.written.clone(), doing.clone());
            std::thread::spawn(move || work(&workspace, (writer, seed), (&stop, &doing), &written))
        })
        .collect();
    let (mut chance, yard, end) = (Chance::new(seed), &scene.yard, Instant::now() + length);
    while Instant::now() < end {
        let next = chance.below(6);
        doing.store(next, Ordering::Relaxed);
        match next {
            0 => drop(
                yard.run("make", "main", json!({"args": ["who"], "sync": "reset"}))
                    .await,
            ),
            1 => drop(
                yard.run(
                    "make",
                    "main",
                    json!({"args": ["who"], "sync": "reset", "clean": true}),
                )
                .await,
            ),
            2 => drop(
                yard.try_verb("main", "clean", json!({"confirm": true, "ignored": true}))
                    .await,
            ),
            3 => drop(
                yard.try_verb("main", "reset", json!({"mode": "hard", "confirm": true}))
                    .await,
            ),
            4 => drop(yard.delete(&format!("{BRANCH}?force=true")).await),
            _ => drop(yard.put(BRANCH, json!({})).await),
        }
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().unwrap();
    }
    scene.check(seed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_who_write_meanwhile_lose_nothing() {
    let seed = std::env::var("BRANCHYARD_SEED").map_or(22, |seed| seed.parse().unwrap());
    race(seed, Duration::from_secs(15)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes more than an hour: make soak"]
async fn soak_people_who_write_meanwhile_lose_nothing() {
    for seed in 0..8 {
        race(seed, Duration::from_secs(600)).await;
    }
}
