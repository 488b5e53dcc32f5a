//! Nothing that anyone made is ever lost: a person and a daemon do whatever comes to their mind, in any
//! order, and after each step every piece of work is where it was, or in a salvage.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use git2::{ObjectType, Oid};
use reqwest::{Method, Response};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::work::write;
use crate::support::{Binary, Options, Yard, encode, git, try_git};

const BRANCHES: [&str; 3] = ["main", "one", "two/deep"];

/// What a build leaves behind: known by glob, known by having been made by a run, ignored and not.
const MAKEFILE: &str = "\
who:
\t@cat name.txt
build:
\t@mkdir -p target ignored/made out
\t@echo target $$BRANCHYARD_RUN_ID > target/lib
\t@echo ignored $$BRANCHYARD_RUN_ID > ignored/made/result
\t@echo object $$BRANCHYARD_RUN_ID > main.o
\t@echo shown $$BRANCHYARD_RUN_ID > out/result
";
const IGNORED_OUTPUT: [&str; 3] = ["target", "ignored", "object"];

/// Moments at which a daemon may be killed by its own hand.
const CRASHES: [&str; 20] = [
    "create-asked",
    "create-registered",
    "create-filled",
    "move-begun",
    "move-moved",
    "reset-begun",
    "reset-moved",
    "salvage-archived",
    "salvage-written",
    "salvage-named",
    "clean-saved",
    "remove-saved",
    "remove-marked",
    "remove-moved",
    "remove-unnamed",
    "restore-files",
    "restore-head",
    "running",
    "spawned",
    "handed-over",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_random_walk_loses_nothing() {
    for seed in 1..=3 {
        Walk::new(seed).await.go(25).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_random_walk_loses_nothing() {
    for seed in 4..=6 {
        Walk::new(seed).await.go(25).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long; `make soak` runs it"]
async fn soak_many_random_walks_lose_nothing() {
    let from = std::env::var("BRANCHYARD_SEED").ok();
    let from: u64 = from.map_or(1000, |seed| seed.parse().unwrap());
    for seed in from..from + 100 {
        Walk::new(seed).await.go(60).await;
    }
}

/// SplitMix64: all of a walk follows from its seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        usize::try_from(x % limit as u64).unwrap()
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

struct Walk {
    seed: u64,
    chance: Chance,
    yard: Yard,
    daemon: Option<Binary>,
    /// Every piece of work that is to be found somewhere, by its object, with how it came to be.
    work: BTreeMap<Oid, String>,
    /// Build output that git ignores, which nobody is to keep.
    output: HashSet<Oid>,
    made: usize,
    steps: Vec<String>,
}

impl Walk {
    async fn new(seed: u64) -> Self {
        let mut yard = Yard::asleep(Options::default());
        yard.origin.write("Makefile", MAKEFILE);
        yard.origin
            .write(".gitignore", "ignored/\n*.o\ntarget/\n.env\n");
        yard.origin.commit("makefile");
        yard.origin.push("main");
        for branch in ["one", "two/deep", "clash"] {
            yard.origin.branch(branch);
        }
        let daemon = yard.start_binary(&[]).await;
        Self {
            seed,
            chance: Chance(seed),
            yard,
            daemon: Some(daemon),
            work: BTreeMap::new(),
            output: HashSet::new(),
            made: 0,
            steps: Vec::new(),
        }
    }

    async fn go(mut self, steps: usize) {
        for branch in BRANCHES {
            self.yard.make(branch, &["who"]).await;
        }
        for _ in 0..steps {
            let branch = self.chance.of(&BRANCHES);
            if self.chance.below(2) == 0 && self.yard.workspace(branch).exists() {
                self.person(branch);
                // What a person throws away by their own hand is nobody's loss.
                let (found, _) = self.look();
                self.work.retain(|id, _| found.contains(id));
            } else {
                self.ask(branch).await;
                self.check();
            }
        }
        self.restore_all().await;
        self.check();
        let mut daemon = self.daemon.take().unwrap();
        daemon.stop().await;
        self.check();
        self.check_stopped();
    }

    /// A new piece of content, unlike any other.
    fn piece(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{what} {} of walk {}\n", self.made, self.seed)
    }

    fn note(&mut self, id: Oid, what: &str) {
        self.work
            .insert(id, format!("{what} ({})", self.steps.len()));
    }

    /// Writes a new piece of work into a file.
    fn put(&mut self, workspace: &Path, path: &str, what: &str) {
        let content = self.piece(what);
        let full = workspace.join(path);
        // An operation under way may have made something else of it.
        if full.is_dir() || full.parent().is_some_and(Path::is_file) {
            return;
        }
        write(workspace, path, &content);
        let id = Oid::hash_object(ObjectType::Blob, content.as_bytes()).unwrap();
        self.note(id, &format!("{what} in {}", full.display()));
    }

    /// A person does something in a workspace, as well as git lets them.
    fn person(&mut self, branch: &str) {
        let w = self.yard.workspace(branch);
        let deed = self.chance.of(&[
            "edit",
            "edit",
            "untracked",
            "in-output",
            "ignored",
            "env",
            "stage",
            "stage-and-go-on",
            "commit",
            "commit",
            "push",
            "stash",
            "merge",
            "rebase",
            "overlook",
            "nested",
            "detach",
            "upstream",
        ]);
        self.steps.push(format!("{branch}: {deed}"));
        let n = self.chance.below(3);
        let tracked = ["name.txt", "src/theirs-0", "src/mine"][n];
        match deed {
            "edit" => self.put(&w, tracked, "an edit"),
            "untracked" => self.put(&w, &format!("notes/{n}/x"), "a note"),
            "in-output" => self.put(
                &w,
                &format!("ignored/made/mine-{n}"),
                "a note beside output",
            ),
            "ignored" => self.put(&w, &format!("ignored/mine-{n}"), "an ignored file"),
            "env" => self.put(&w, ".env", "an environment"),
            "stage" => {
                self.put(&w, tracked, "a staged edit");
                try_git(&w, &["add", "-A", "--", "src"]);
                try_git(&w, &["add", "-u"]);
            }
            "stage-and-go-on" => {
                self.put(&w, "name.txt", "a staged edit");
                try_git(&w, &["add", "name.txt"]);
                self.put(&w, "name.txt", "an edit over a staged one");
            }
            "commit" => {
                self.put(&w, tracked, "a committed edit");
                let message = self.piece("commit");
                try_git(&w, &["add", "-A", "--", "src"]);
                try_git(&w, &["commit", "-q", "-a", "-m", &message]);
                self.note_commit(&w, "HEAD", "a commit");
            }
            "push" => {
                try_git(&w, &["push", "-q", "origin", branch]);
            }
            "stash" => {
                self.put(&w, "name.txt", "a stashed edit");
                let message = self.piece("stash");
                try_git(&w, &["stash", "push", "-q", "-u", "-m", &message]);
                self.note_commit(&w, "refs/stash", "a stash");
            }
            "merge" | "rebase" => {
                let _ = try_git(&w, &[deed, "origin/clash"]);
            }
            "overlook" => {
                try_git(&w, &["update-index", "--assume-unchanged", "Makefile"]);
                self.put(&w, "Makefile.more", "a note");
                let makefile = format!("{MAKEFILE}# {}", self.piece("an overlooked edit"));
                write(&w, "Makefile", &makefile);
                let id = Oid::hash_object(ObjectType::Blob, makefile.as_bytes()).unwrap();
                self.note(id, "an overlooked edit");
            }
            "nested" => {
                let nested = w.join(format!("nested-{n}"));
                fs::create_dir_all(&nested).unwrap();
                git(&nested, &["init", "-q"]);
                self.put(&nested, "file", "a nested file");
                git(&nested, &["add", "-A"]);
                let message = self.piece("nested commit");
                git(&nested, &["commit", "-q", "-m", &message]);
                self.note_commit(&nested, "HEAD", "a nested commit");
            }
            "detach" => {
                try_git(&w, &["checkout", "-q", "--detach"]);
                let message = self.piece("detached commit");
                try_git(&w, &["commit", "-q", "--allow-empty", "-m", &message]);
                self.note_commit(&w, "HEAD", "a detached commit");
            }
            _ => {
                let origin = &self.yard.origin;
                origin.git(&["fetch", "-q", "origin"]);
                origin.at(&format!("origin/{branch}"));
                origin.write(&format!("src/theirs-{n}"), self.steps.len().to_string());
                origin.commit("theirs");
                origin.push(branch);
            }
        }
    }

    fn note_commit(&mut self, dir: &Path, name: &str, what: &str) {
        let found = try_git(dir, &["rev-parse", "--verify", "-q", name]);
        if let Ok(id) = Oid::from_str(String::from_utf8_lossy(&found.stdout).trim()) {
            self.note(id, &format!("{what} in {}", dir.display()));
        }
    }

    /// Something is asked of the daemon, which may be killed over it.
    async fn ask(&mut self, branch: &str) {
        let crash = match self.chance.below(4) {
            0 => Some(self.chance.of(&CRASHES)),
            _ => None,
        };
        let asked = self.chance.of(&[
            "build",
            "build",
            "auto",
            "reset",
            "clean",
            "pristine",
            "delete",
            "force",
            "reap",
            "restore",
            "restore-own",
            "restart",
            "kill",
        ]);
        self.steps.push(format!("{branch}: {asked} {crash:?}"));
        if let Some(point) = crash {
            self.start(&[("BRANCHYARD_CRASH_AT", point)]).await;
        }
        let address = format!("/api/repos/demo/branches/{}", encode(branch));
        match asked {
            "build" => self.run(branch, json!({"args": ["build"]})).await,
            "auto" => self.run(branch, json!({"args": ["who"]})).await,
            "reset" => {
                self.run(branch, json!({"args": ["who"], "sync": "reset"}))
                    .await;
            }
            "clean" => {
                self.run(branch, json!({"args": ["build"], "clean": true}))
                    .await;
            }
            "pristine" => {
                self.run(
                    branch,
                    json!({"args": ["build"], "sync": "reset", "clean": true}),
                )
                .await;
            }
            "delete" => self.send(Method::DELETE, &address, Value::Null).await,
            "force" => {
                let path = format!("{address}?force=true");
                self.send(Method::DELETE, &path, Value::Null).await;
            }
            "reap" => self.send(Method::POST, "/api/reap", Value::Null).await,
            "restore" | "restore-own" => self.restore(asked == "restore-own").await,
            "restart" => self.start(&[]).await,
            _ => {
                self.daemon.as_mut().unwrap().kill().await;
                self.daemon = None;
            }
        }
        if crash.is_some() || self.daemon.is_none() {
            self.start(&[]).await;
        }
    }

    /// A daemon in place of the one before, which is stopped unless it has been killed already.
    async fn start(&mut self, env: &[(&str, &str)]) {
        if let Some(mut daemon) = self.daemon.take() {
            if daemon.is_alive() {
                daemon.signal(Signal::TERM);
            }
            daemon.ended().await;
        }
        self.daemon = Some(self.yard.start_binary(env).await);
        self.quiet().await;
    }

    /// Waits until all runs have ended, also those that a daemon queued again; a daemon may be killed
    /// over one of these.
    async fn quiet(&mut self) {
        let Some(page) = self.get("/api/runs?limit=10").await else {
            return;
        };
        for run in page["items"].as_array().unwrap() {
            let id = run["run_id"].as_str().unwrap();
            self.note_output(id);
            self.get(&format!("/api/runs/{id}?wait=50s")).await;
        }
    }

    async fn get(&self, path: &str) -> Option<Value> {
        let answer = self.yard.request(Method::GET, path).send().await.ok()?;
        serde_json::from_str(&answer.text().await.ok()?).ok()
    }

    fn note_output(&mut self, run: &str) {
        for what in IGNORED_OUTPUT {
            let content = format!("{what} {run}\n");
            self.output
                .insert(Oid::hash_object(ObjectType::Blob, content.as_bytes()).unwrap());
        }
    }

    async fn run(&mut self, branch: &str, wish: Value) {
        let path = format!("/stream/repos/demo/branches/{}/make", encode(branch));
        let request = self.yard.request(Method::POST, &path).json(&wish);
        let answer = request.send().await;
        self.judge(answer).await;
        self.quiet().await;
    }

    async fn send(&mut self, method: Method, path: &str, body: Value) {
        let request = self.yard.request(method, path);
        let request = match body {
            Value::Null => request,
            body => request.json(&body),
        };
        let answer = request.send().await;
        self.judge(answer).await;
    }

    /// A daemon that lives may refuse, but never fail.
    async fn judge(&mut self, answer: reqwest::Result<Response>) {
        let Ok(answer) = answer else {
            return;
        };
        let status = answer.status();
        let text = answer.text().await.unwrap_or_default();
        let failed = status.is_server_error() || text.contains("\"code\":\"internal");
        assert!(!failed, "{status} {text}\n{}", self.story());
    }

    async fn salvages(&self) -> Vec<Value> {
        let page = self.get("/api/salvage").await;
        page.map_or(Vec::new(), |page| page["items"].as_array().unwrap().clone())
    }

    async fn restore(&mut self, into_its_own: bool) {
        let all = self.salvages().await;
        if all.is_empty() {
            return;
        }
        let id = all[self.chance.below(all.len())]["id"].as_str().unwrap();
        let body = match into_its_own {
            true => json!({ "force": true }),
            false => json!({ "branch": format!("restored-{}", self.steps.len()) }),
        };
        self.send(Method::POST, &format!("/api/salvage/{id}/restore"), body)
            .await;
    }

    /// Every salvage comes back as a new branch, with the files that it says it has.
    async fn restore_all(&mut self) {
        for (n, salvage) in self.salvages().await.iter().enumerate() {
            let id = salvage["id"].as_str().unwrap();
            let branch = format!("at-last-{n}");
            let path = format!("/api/salvage/{id}/restore");
            let answer = self.yard.post(&path, json!({ "branch": branch })).await;
            let status = answer.status();
            let text = answer.text().await.unwrap();
            assert!(status.is_success(), "{salvage}: {text}\n{}", self.story());
            let detail = self.yard.get_json(&format!("/api/salvage/{id}")).await;
            for file in detail["files"].as_array().unwrap() {
                let path = file["path"].as_str().unwrap();
                let place = self.yard.workspace(&branch).join(path);
                if file["change"] == "deleted" {
                    assert!(!place.is_file(), "{path} of {salvage}\n{}", self.story());
                } else if path.ends_with('/') {
                    assert!(place.is_dir(), "{path} of {salvage}\n{}", self.story());
                } else {
                    let address = format!("/api/salvage/{id}/file?path={}", encode(path));
                    let saved = self.yard.get(&address).await.bytes().await.unwrap();
                    let there = fs::read(&place).unwrap();
                    assert_eq!(there, saved, "{path} of {salvage}\n{}", self.story());
                }
            }
        }
    }

    fn check(&self) {
        let (found, saved) = self.look();
        for (id, what) in &self.work {
            assert!(found.contains(id), "{what} is lost: {id}\n{}", self.story());
        }
        let kept: Vec<_> = self.output.intersection(&saved).collect();
        assert!(kept.is_empty(), "build output: {kept:?}\n{}", self.story());
    }

    fn check_stopped(&self) {
        let state = self.yard.workspaces.join(".branchyard");
        for dir in ["trash", "staging", "tmp"] {
            let left = fs::read_dir(state.join(dir)).map_or(0, Iterator::count);
            assert_eq!(left, 0, "{dir}\n{}", self.story());
        }
        let fsck = try_git(
            &self.yard.store(),
            &["fsck", "--no-dangling", "--no-progress"],
        );
        let said = String::from_utf8_lossy(&fsck.stderr).into_owned();
        assert!(fsck.status.success(), "{said}\n{}", self.story());
    }

    fn story(&self) -> String {
        format!("seed {}: {:#?}", self.seed, self.steps)
    }

    /// All objects that somebody could find, and those of them that are in a salvage.
    fn look(&self) -> (HashSet<Oid>, HashSet<Oid>) {
        let mut found = HashSet::new();
        reach(&self.yard.origin.bare, &["--all"], &mut found);
        let store = self.yard.store();
        if store.exists() {
            // The HEAD and the index of every workspace are looked at, but no log.
            reach(&store, &["--all", "--indexed-objects"], &mut found);
        }
        in_files(&self.yard.workspaces.join("demo"), &mut found);
        let mut saved = HashSet::new();
        if store.exists() {
            let salvages = ["--no-walk", "--glob=refs/branchyard/salvage/*"];
            let commits = git(&store, &[&["rev-list"], &salvages[..]].concat());
            for commit in commits.lines() {
                let files = git(&store, &["ls-tree", "-r", "--format=%(objectname)", commit]);
                saved.extend(files.lines().map(|id| Oid::from_str(id).unwrap()));
            }
        }
        let archives = self.yard.workspaces.join(".branchyard/salvage");
        for archive in fs::read_dir(archives).into_iter().flatten() {
            let path = archive.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "tar") {
                in_archive(&path, &mut saved);
            }
        }
        found.extend(&saved);
        (found, saved)
    }
}

fn reach(repo: &Path, from: &[&str], found: &mut HashSet<Oid>) {
    let listed = git(repo, &[&["rev-list", "--objects"], from].concat());
    let ids = listed.lines().filter_map(|line| line.get(..40));
    found.extend(ids.filter_map(|id| Oid::from_str(id).ok()));
}

/// The content of every file below, and what the repositories among them have.
fn in_files(dir: &Path, found: &mut HashSet<Oid>) {
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            // The store's own objects count only where something leads to them.
            if !path.join("branchyard.json").exists() {
                in_files(&path, found);
            }
        } else {
            found.insert(Oid::hash_file(ObjectType::Blob, &path).unwrap());
            found.extend(loose(&path));
        }
    }
}

fn in_archive(path: &Path, found: &mut HashSet<Oid>) {
    let mut archive = tar::Archive::new(fs::File::open(path).unwrap());
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        found.extend(loose(&entry.path().unwrap()));
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
        found.insert(Oid::hash_object(ObjectType::Blob, &content).unwrap());
    }
}

/// The object that a file in a repository's `objects` is.
fn loose(path: &Path) -> Option<Oid> {
    let mut parts = path.iter().rev().map(|part| part.to_str());
    let (rest, first, place) = (parts.next()??, parts.next()??, parts.next()??);
    let is_object = place == "objects" && first.len() == 2;
    is_object.then(|| Oid::from_str(&format!("{first}{rest}")).ok())?
}
