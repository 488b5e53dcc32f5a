//! What people write while their workspace is being reset, cleaned or removed is not lost: it is in the workspace, in a
//! salvage or in the quarantine.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use tokio::sync::RwLock;

use crate::support::chance::Chance;
use crate::support::words::words;
use crate::support::{Options, Yard, try_git, until};

const BRANCH: &str = "/api/repos/demo/branches/main";
const WRITERS: usize = 3;
/// Of each writer.
const TRACKED: usize = 150;

/// A yard with a workspace of many files, and the words that were written into it.
struct Scene {
    yard: Yard,
    written: Arc<Mutex<Vec<String>>>,
    /// Held by each writer while it writes; exclusively, while none may.
    writing: Arc<RwLock<()>>,
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
            writing: Arc::default(),
        }
    }

    /// Changes every file that people write to, on the remote's `branch`.
    fn change_upstream(&self, branch: &str) {
        let (origin, now) = (&self.yard.origin, format!("{:?}\n", Instant::now()));
        for writer in 0..WRITERS {
            for number in 0..TRACKED {
                origin.write(&tracked(writer, number), &now);
            }
        }
        origin.commit("changed");
        origin.push(branch);
        if branch != "main" {
            origin.git(&["reset", "-q", "--hard", "HEAD~1"]);
        }
    }

    /// Does something to a workspace that is as the remote has it, and lets people write again after a while.
    async fn do_to_clean(&self, pause: Duration, act: impl Future<Output = ()>) {
        let hush = self.writing.write().await;
        let reset = json!({"args": ["who"], "sync": "reset"});
        drop(self.yard.run("make", "main", reset).await);
        self.change_upstream("other");
        drop(self.yard.try_verb("main", "fetch", json!({})).await);
        let release = async {
            tokio::time::sleep(pause).await;
            drop(hush);
        };
        tokio::join!(act, release);
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
        let found = self.yard.words();
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

/// Saves as editors do: a new file, put into place as one step. Returns what its owner overwrote by it.
fn save(workspace: &Path, path: &str, word: &str) -> std::io::Result<Vec<String>> {
    let (fresh, path) = (
        workspace.join(format!(".save-{word}")),
        workspace.join(path),
    );
    fs::write(&fresh, format!("{word}\n"))?;
    let place = |how| renameat_with(CWD, &fresh, CWD, &path, how);
    if place(RenameFlags::NOREPLACE).is_ok() {
        return Ok(Vec::new());
    }
    place(RenameFlags::EXCHANGE)?;
    // The daemon may have discarded it by now.
    let before = fs::read(&fresh).unwrap_or_default();
    let _ = fs::remove_file(&fresh);
    Ok(words(&before))
}

/// One person at work until told to stop: writes, commits, stashes, renames and deletes.
struct Writer {
    number: usize,
    workspace: PathBuf,
    chance: Chance,
    /// New files that were not deleted, with their words.
    own: Vec<(PathBuf, String)>,
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
            4..7 => {
                let path = tracked(self.number, self.chance.below(TRACKED));
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
        let mut written = self.written.lock().unwrap();
        let Ok(overwritten) = save(&self.workspace, &path, &word) else {
            return;
        };
        written.retain(|known| !overwritten.contains(known));
        written.push(word.clone());
        drop(written);
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

/// So many things replace or remove files.
const ACTS: usize = 19;

/// One of them. It may be refused: the workspace is in use.
async fn do_to_workspace(scene: &Scene, which: usize, pause: Duration) {
    let yard = &scene.yard;
    let make = async |asked| drop(yard.run("make", "main", asked).await);
    let verb = async |name, asked| drop(yard.try_verb("main", name, asked).await);
    match which {
        0 => make(json!({"args": ["who"], "sync": "reset"})).await,
        1 => make(json!({"args": ["who"], "sync": "reset", "clean": true})).await,
        2 => {
            let mut asked = json!({"directories": true, "ignored": true});
            asked["dry_run"] = false.into();
            asked["confirm"] = true.into();
            verb("clean", asked).await;
        }
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
        9 => drop(yard.post_json("/api/reap", json!({})).await),
        10 => {
            // Only a workspace without work follows its remote.
            let hush = scene.writing.write().await;
            make(json!({"args": ["who"], "sync": "reset"})).await;
            scene.change_upstream("main");
            drop(hush);
            make(json!({"args": ["who"]})).await;
        }
        11 => verb("stash", json!({"action": "pop"})).await,
        12 => {
            let (put, get) = (json!({"action": "push"}), json!({"action": "pop"}));
            let pop = async {
                verb("stash", put).await;
                verb("stash", get).await;
            };
            scene.do_to_clean(pause, pop).await;
        }
        13 | 14 => {
            let how = ["merge", "rebase"][which - 13];
            let asked = json!({"from": "other", "how": how, "abort_on_conflict": false});
            scene.do_to_clean(pause, verb("pull", asked)).await;
        }
        15 => {
            let asked = json!({"commits": ["origin/other"]});
            scene.do_to_clean(pause, verb("cherry_pick", asked)).await;
        }
        16 => {
            let asked = json!({"commits": ["HEAD"]});
            scene.do_to_clean(pause, verb("revert", asked)).await;
        }
        17 => {
            for operation in ["merge", "rebase", "cherry_pick", "revert"] {
                verb(operation, json!({"action": "abort"})).await;
            }
        }
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
            let (stop, doing, writing) = (stop.clone(), doing.clone(), scene.writing.clone());
            let mut writer = Writer {
                number: writer,
                workspace: scene.yard.workspace("main"),
                chance: Chance::new(seed + writer as u64),
                own: Vec::new(),
                written: scene.written.clone(),
            };
            std::thread::spawn(move || {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    let (who, doing) = (writer.number, doing.load(Ordering::Relaxed));
                    let turn = writing.blocking_read();
                    writer.go_on(&format!("word-{seed}-{who}-{number}-{doing}."));
                    drop(turn);
                    let pause = writer.chance.below(20_000) as u64;
                    std::thread::sleep(Duration::from_micros(pause));
                }
            })
        })
        .collect();
    let (mut chance, end) = (Chance::new(seed), Instant::now() + length);
    while Instant::now() < end {
        let next = chance.below(ACTS);
        doing.store(next, Ordering::Relaxed);
        let pause = Duration::from_millis(chance.below(300) as u64);
        do_to_workspace(&scene, next, pause).await;
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
    race(seed, Duration::from_secs(60)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes more than an hour: make soak"]
async fn soak_people_who_write_meanwhile_lose_nothing() {
    for seed in 0..8 {
        race(seed, Duration::from_secs(600)).await;
    }
}
