//! Parts of a yard that are not where they were: copied, moved, mounted, linked or exchanged, while the daemon runs and
//! while it does not. Whatever is asked of it then, no word is lost, and what lies outside stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use reqwest::Method;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::support::words::{words_in, words_of_store};
use crate::support::{Binary, Options, Yard, each_file, git, give_to_ordinary, problem_of};

/// One whose work is moved about, and one beside it.
const BRANCHES: [&str; 2] = ["main", "other"];
/// Longer than any request here takes.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Yard,
    Workspace,
    Store,
    State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// A copy is in its place, and it itself outside.
    Copied,
    /// The same with hard links.
    Linked,
    /// It is outside, and nothing is in its place.
    Moved,
    /// The same, and is to be seen in its place.
    Mounted,
    /// A symbolic link leads to it.
    Pointed,
    /// It is where another one was, and that one in its place.
    Swapped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Root,
    Ordinary,
}

struct Scene {
    /// Goes first.
    mount: Option<Mount>,
    yard: Yard,
    who: Who,
    daemon: Option<Binary>,
    key: String,
    /// The part that is not where it was, and where it is now.
    part: PathBuf,
    outside: PathBuf,
}

fn run(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).status().unwrap().success()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A directory that is to be seen at a second place, until this goes.
struct Mount(PathBuf);

impl Mount {
    fn new(dir: &Path, at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let done = run("mount", &["--bind", text(dir), text(at)]);
        if !done {
            println!("skipped: nothing can be mounted here");
        }
        done.then(|| Self(at.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if !run("umount", &[text(&self.0)]) {
            println!("{} stays mounted", self.0.display());
        }
    }
}

/// What is in each file.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    each_file(dir, &mut |path, content| {
        found.insert(path.to_owned(), content.to_owned());
    });
    found
}

/// A word for each kind of work that can carry one.
fn work(workspace: &Path, branch: &str) -> Vec<String> {
    let kinds = ["commit", "stash", "staged", "tracked", "new", "ignored"];
    let words = kinds.map(|kind| format!("word-{branch}-{kind}"));
    let write = |path: &str, word: &str| {
        let path = workspace.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{word}\n")).unwrap();
    };
    let [commit, stash, staged, tracked, new, ignored] = &words;
    write("committed.txt", commit);
    git(workspace, &["add", "committed.txt"]);
    git(workspace, &["commit", "-qm", "mine"]);
    write("name.txt", stash);
    git(workspace, &["stash", "push", "-q"]);
    write("staged.txt", staged);
    git(workspace, &["add", "staged.txt"]);
    write("name.txt", tracked);
    write("new.txt", new);
    write("ignored/settings", ignored);
    words.to_vec()
}

impl Scene {
    async fn new(who: Who) -> (Self, BTreeSet<String>) {
        let yard = Yard::asleep(Options::default());
        yard.origin.branch("other");
        let outside = yard.dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let mut scene = Self {
            part: PathBuf::new(),
            outside: outside.join("original"),
            mount: None,
            daemon: None,
            key: String::new(),
            who,
            yard,
        };
        scene.start().await;
        let mut words = BTreeSet::new();
        for branch in BRANCHES {
            scene.yard.make(branch, &["who"]).await;
            words.extend(work(&scene.yard.workspace(branch), branch));
        }
        if who == Who::Ordinary {
            give_to_ordinary(scene.yard.dir.path());
        }
        (scene, words)
    }

    async fn start(&mut self) {
        self.daemon = Some(match self.who {
            Who::Root => self.yard.start_binary(&[]).await,
            Who::Ordinary => self.yard.start_ordinary().await,
        });
        self.key = self.yard.key();
    }

    async fn stop(&mut self) {
        self.daemon.take().unwrap().stop().await;
    }

    fn path_of(&self, part: Part) -> PathBuf {
        match part {
            Part::Yard => self.yard.workspaces.clone(),
            Part::Workspace => self.yard.workspace("main"),
            Part::Store => self.yard.store(),
            Part::State => self.yard.workspaces.join(".branchyard"),
        }
    }

    /// Returns whether it could be done.
    fn displace(&mut self, part: Part, manner: Manner) -> bool {
        self.part = self.path_of(part);
        let (here, there) = (&self.part, &self.outside);
        if manner == Manner::Swapped {
            assert!(run("cp", &["-a", text(here), text(there)]));
            fs::write(there.join("foreign"), "not the yard's\n").unwrap();
            renameat_with(CWD, here, CWD, there, RenameFlags::EXCHANGE).unwrap();
            return true;
        }
        fs::rename(here, there).unwrap();
        match manner {
            Manner::Copied => assert!(run("cp", &["-a", text(there), text(here)])),
            Manner::Linked => assert!(run("cp", &["-al", text(there), text(here)])),
            Manner::Moved => {}
            Manner::Mounted => {
                self.mount = Mount::new(there, here);
                return self.mount.is_some();
            }
            Manner::Pointed => symlink(there, here).unwrap(),
            Manner::Swapped => unreachable!(),
        }
        true
    }

    /// Puts what is outside back, whatever was made in its place meanwhile.
    fn put_back(&mut self) {
        self.mount = None;
        if fs::symlink_metadata(&self.part).is_ok() {
            let newer = self.outside.with_file_name("newer");
            fs::rename(&self.part, newer).unwrap();
        }
        fs::rename(&self.outside, &self.part).unwrap();
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, String) {
        let url = format!("{}{path}", self.yard.url);
        let request = self.yard.client.request(method, url).bearer_auth(&self.key);
        let answer = request.timeout(PATIENCE).json(&body).send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.text().await.unwrap())
    }

    /// Whatever can be asked of a workspace, the mildest first. It may be refused; it must not be a riddle.
    async fn ask_everything(&self, what: &str) {
        for branch in BRANCHES {
            let api = format!("/api/repos/demo/branches/{branch}");
            let make = format!("/stream/repos/demo/branches/{branch}/make");
            let verb = |name: &str| format!("{api}/git/{name}");
            let asked = [
                (Method::GET, api.clone(), json!({})),
                (Method::POST, verb("status"), json!({})),
                (Method::DELETE, api.clone(), json!({})),
                (Method::POST, make.clone(), json!({"args": ["who"]})),
                (Method::GET, "/api/findings".to_owned(), json!({})),
                (Method::POST, "/api/reap".to_owned(), json!({})),
                (
                    Method::POST,
                    verb("reset"),
                    json!({"mode": "hard", "confirm": true}),
                ),
                (
                    Method::POST,
                    verb("clean"),
                    json!({"dry_run": false, "confirm": true, "directories": true, "ignored": true}),
                ),
                (
                    Method::POST,
                    make,
                    json!({"args": ["who"], "sync": "reset", "clean": true}),
                ),
                (Method::POST, "/api/findings/mend".to_owned(), json!({})),
                (Method::DELETE, format!("{api}?force=true"), json!({})),
                (Method::PUT, api.clone(), json!({})),
            ];
            for (method, path, body) in asked {
                let (status, said) = self.ask(method.clone(), &path, body).await;
                assert_ne!(status, 500, "{what}: {method} {path}: {said}");
            }
        }
    }
}

/// What is outside and not as it was, but for what a daemon still writes to where it has been moved to.
fn changed(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<PathBuf> {
    let paths: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        // Its databases, open since before.
        let is_open = ["trust.", "yard.db"]
            .iter()
            .any(|own| name.starts_with(own));
        !is_open && before.get(*path) != after.get(*path)
    });
    changed.cloned().collect()
}

async fn see(part: Part, manner: Manner, runs: bool, who: Who) {
    let what = format!("{part:?} {manner:?}, daemon running: {runs}, {who:?}");
    let (mut scene, words) = Scene::new(who).await;
    if !runs {
        scene.stop().await;
    }
    let is_done = scene.displace(part, manner);
    if !runs {
        scene.start().await;
    }
    if !is_done {
        scene.stop().await;
        return;
    }
    let before = contents(&scene.outside);
    scene.ask_everything(&what).await;
    let mut changed = changed(&before, &contents(&scene.outside));
    // It is the part itself, only by another way. A link in the place of a workspace is none.
    let is_itself = manner == Manner::Mounted
        || (manner == Manner::Pointed && matches!(part, Part::Yard | Part::State));
    if part == Part::Store && manner == Manner::Linked {
        // Git appends to its logs.
        changed.retain(|path| {
            !path
                .iter()
                .any(|name| name == "logs" || name == "branchyard.made")
        });
    }
    if !is_itself {
        assert_eq!(changed, Vec::<PathBuf>::new(), "{what}");
    }
    scene.stop().await;
    let is_replaced = matches!(manner, Manner::Copied | Manner::Linked);
    if !is_replaced {
        scene.put_back();
    }
    let mut found = scene.yard.words();
    let newer = scene.outside.with_file_name("newer");
    found.extend(words_in(&newer));
    if part == Part::Store && newer.exists() {
        found.extend(words_of_store(&newer));
    }
    let lost: Vec<_> = words.difference(&found).collect();
    assert_eq!(lost, Vec::<&String>::new(), "{what}");
    scene.start().await;
    for branch in BRANCHES {
        let path = format!("/stream/repos/demo/branches/{branch}/make");
        let asked = json!({"args": ["who"]});
        let (_, said) = scene.ask(Method::POST, &path, asked).await;
        assert!(said.contains("succeeded"), "{what}: {branch}: {said}");
    }
    scene.stop().await;
}

const MANNERS: [Manner; 6] = [
    Manner::Copied,
    Manner::Linked,
    Manner::Moved,
    Manner::Mounted,
    Manner::Pointed,
    Manner::Swapped,
];

/// Everything that can happen to it, in turn to the yard of root's daemon while that does not run, and to another user's
/// while it does.
async fn see_some(part: Part) {
    for (at, manner) in MANNERS.into_iter().enumerate() {
        match at % 2 {
            0 => see(part, manner, true, Who::Ordinary).await,
            _ => see(part, manner, false, Who::Root).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_workspace() {
    see_some(Part::Workspace).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_store() {
    see_some(Part::Store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_yards_own_state() {
    see_some(Part::State).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_whole_yard() {
    see_some(Part::Yard).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_of_every_part_in_every_manner() {
    for part in [Part::Workspace, Part::Store, Part::State, Part::Yard] {
        for manner in MANNERS {
            for runs in [false, true] {
                for who in [Who::Root, Who::Ordinary] {
                    see(part, manner, runs, who).await;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_mounted_in_a_workspace_is_not_discarded() {
    let mut yard = Yard::with(Options::default()).await;
    yard.make("main", &["who"]).await;
    let (workspace, outside) = (yard.workspace("main"), yard.dir.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("theirs.txt"), "theirs\n").unwrap();
    let api = "/api/repos/demo/branches/main";
    // An untracked directory, and an ignored one.
    for at in ["data", "ignored/deep/data"] {
        let Some(mount) = Mount::new(&outside, &workspace.join(at)) else {
            break;
        };
        let clean =
            json!({"dry_run": false, "confirm": true, "directories": true, "ignored": true});
        let cleaned = yard.try_verb("main", "clean", clean).await;
        let removed = yard.delete(&format!("{api}?force=true")).await;
        for refused in [cleaned, removed] {
            let (status, problem) = problem_of(refused).await;
            let expected = (409, &json!("workspace_in_use"));
            assert_eq!((status, &problem["code"]), expected, "{at}: {problem}");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains(at), "{detail}");
        }
        let asked = json!({"args": ["who"], "sync": "reset", "clean": true});
        let events = yard.run("make", "main", asked).await;
        let end = &events.last().unwrap().data;
        assert_eq!(end["code"], "workspace_in_use", "{at}: {events:?}");
        assert!(outside.join("theirs.txt").exists(), "{at}");
        drop(mount);
    }
    assert!(
        yard.delete(&format!("{api}?force=true"))
            .await
            .status()
            .is_success()
    );
    yard.stop().await;
}
