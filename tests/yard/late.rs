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
use crate::support::{Options, Yard, try_git, until};

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
        found.extend(words(&reachable(&store)));
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

/// Everything that a ref or a stash of the store leads to.
fn reachable(store: &Path) -> String {
    let listed = |args: &[&str]| {
        let shown = try_git(store, args).stdout;
        String::from_utf8_lossy(&shown).into_owned()
    };
    let stashes = listed(&["log", "-g", "--format=%H", "refs/stash", "--"]);
    let mut args = vec!["rev-list", "--objects", "--all"];
    args.extend(stashes.lines());
    let objects = listed(&args);
    let ids: String = objects
        .lines()
        .filter_map(|line| Some(line.split(' ').next()?.to_owned() + "\n"))
        .collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, ids).unwrap();
    let shown = std::process::Command::new("git")
        .args(["cat-file", "--batch"])
        .current_dir(store)
        .stdin(file.reopen().unwrap())
        .output()
        .unwrap();
    String::from_utf8_lossy(&shown.stdout).into_owned()
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

/// One person at work until told to stop: writes, commits, stashes, renames and deletes. Each file is written to once, so
/// nothing is overwritten by its owner.
struct Writer {
    number: usize,
    workspace: PathBuf,
    chance: Chance,
    /// New files that were not deleted, with their words.
    own: Vec<(PathBuf, String)>,
    edited: usize,
    written: Arc<Mutex<Vec<String>>>,
}

impl Writer {
    fn go_on(&mut self, word: &str) {
        match self.chance.below(12) {
            0 => self.rename(word),
            1 => self.delete(),
            2 => self.commit(format!("{word}commit.")),
            3 => {
                let own = format!("of/{}", self.number);
                self.git(&["stash", "push", "-q", "-u", "--", &own]);
            }
            4..7 if self.edited < TRACKED => {
                self.edited += 1;
                let path = tracked(self.number, self.edited - 1);
                self.save(path, format!("{word}tracked."));
            }
            other => {
                let dir = match other {
                    ..10 => String::new(),
                    _ => format!("of/{}/", self.number),
                };
                self.save(format!("{dir}new-{word}txt"), format!("{word}new."));
            }
        }
    }

    fn save(&mut self, path: String, word: String) {
        if !save(&self.workspace, &path, &word) {
            return;
        }
        self.written.lock().unwrap().push(word.clone());
        if path.contains("new-") {
            self.own.push((self.workspace.join(path), word));
        }
    }

    fn rename(&mut self, word: &str) {
        if let Some((path, _)) = self.own.last_mut() {
            let to = path.with_file_name(format!("new-renamed-{word}txt"));
            if fs::rename(&*path, &to).is_ok() {
                *path = to;
            }
        }
    }

    /// What its owner deletes is not missed; what was gone before is.
    fn delete(&mut self) {
        let Some((path, word)) = self.own.pop() else {
            return;
        };
        let mut written = self.written.lock().unwrap();
        if fs::remove_file(path).is_ok() {
            written.retain(|known| *known != word);
        }
    }

    fn commit(&mut self, word: String) {
        let own = format!("of/{}", self.number);
        self.git(&["add", "-A", "--", &own]);
        // Not in the message: of two who commit at the same time, git may take the other's.
        let author = format!("--author={word} <writer@localhost>");
        if self.git(&["commit", "-q", "--allow-empty", "-m", "mine", &author]) {
            self.written.lock().unwrap().push(word);
        }
    }

    /// Whether it was done; the workspace may be gone, or go meanwhile.
    fn git(&self, args: &[&str]) -> bool {
        let workspace = self.workspace.to_str().unwrap();
        let args = [&["-C", workspace], args].concat();
        try_git(Path::new("/"), &args).status.success()
    }
}

/// One of the things that replace or remove files. It may be refused: the workspace is in use.
async fn do_to_workspace(yard: &Yard, which: usize) {
    let make = async |asked| drop(yard.run("make", "main", asked).await);
    let verb = async |name, asked| drop(yard.try_verb("main", name, asked).await);
    match which {
        0 => make(json!({"args": ["who"], "sync": "reset"})).await,
        1 => make(json!({"args": ["who"], "sync": "reset", "clean": true})).await,
        2 => verb("clean", json!({"confirm": true, "ignored": true})).await,
        3 => verb("reset", json!({"mode": "hard", "confirm": true})).await,
        4 => drop(yard.delete(&format!("{BRANCH}?force=true")).await),
        5 => verb("checkout", json!({"paths": ["of"], "confirm": true})).await,
        6 => {
            if let Some(salvage) = yard.salvages("main").await.first() {
                let id = salvage["id"].as_str().unwrap();
                let restore =
                    yard.request(reqwest::Method::POST, &format!("/api/salvage/{id}/restore"));
                drop(restore.json(&json!({"force": true})).send().await.unwrap());
            }
        }
        7 => verb("commit", json!({"all": true, "message": "all"})).await,
        8 => {
            let asked = json!({"action": "push", "include_untracked": true});
            verb("stash", asked).await;
        }
        9 => verb("stash", json!({"action": "pop"})).await,
        10 => drop(yard.post_json("/api/reap", json!({})).await),
        _ => drop(yard.put(BRANCH, json!({})).await),
    }
}

async fn race(seed: u64, length: Duration) {
    let scene = Scene::new().await;
    let stop = Arc::new(AtomicBool::new(false));
    // What is being done to the workspace, so that a word that is lost says by what.
    let doing = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (stop, doing) = (stop.clone(), doing.clone());
            let mut writer = Writer {
                number: writer,
                workspace: scene.yard.workspace("main"),
                chance: Chance::new(seed + writer as u64),
                own: Vec::new(),
                edited: 0,
                written: scene.written.clone(),
            };
            std::thread::spawn(move || {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    let (who, doing) = (writer.number, doing.load(Ordering::Relaxed));
                    writer.go_on(&format!("word-{seed}-{who}-{number}-{doing}."));
                    let pause = writer.chance.below(20_000) as u64;
                    std::thread::sleep(Duration::from_micros(pause));
                }
            })
        })
        .collect();
    let (mut chance, yard, end) = (Chance::new(seed), &scene.yard, Instant::now() + length);
    while Instant::now() < end {
        let next = chance.below(12);
        doing.store(next, Ordering::Relaxed);
        do_to_workspace(yard, next).await;
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
