//! Traps that a build leaves under names that git reads: what waits for a writer, never ends, leads nowhere, or is too
//! large. Whoever looks at the workspace gets an answer, others are not slowed, and the workspace can be reset and
//! removed.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mkfifoat, mknodat};
use serde_json::{Value, json};

use crate::support::{Options, Yard, encode, git, problem_of, until};

/// Far more than any of it takes; without it a test that fails would not end.
const BOUND: Duration = Duration::from_secs(45);
const NAMES: [&str; 4] = [".gitignore", ".gitattributes", ".gitmodules", "tracked.txt"];
const PLACES: [&str; 3] = ["", "src/", "new/"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trap {
    Fifo,
    Socket,
    /// Endless zeros.
    Device,
    /// A link to itself.
    Loop,
    /// A link to a device that never ends.
    Link,
    Directory,
    Sparse,
    Unreadable,
}

const ALL: [Trap; 8] = [
    Trap::Fifo,
    Trap::Socket,
    Trap::Device,
    Trap::Loop,
    Trap::Link,
    Trap::Directory,
    Trap::Sparse,
    Trap::Unreadable,
];

impl Trap {
    fn plant(self, at: &Path) {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let _ = fs::remove_file(at);
        match self {
            Self::Fifo => mkfifoat(CWD, at, Mode::from_raw_mode(0o666)).unwrap(),
            Self::Socket => drop(UnixListener::bind(at).unwrap()),
            // Only root makes devices, and not in every container.
            Self::Device => {
                let mode = Mode::from_raw_mode(0o666);
                let made = mknodat(CWD, at, FileType::CharacterDevice, mode, makedev(1, 5));
                if made.is_err() {
                    mkfifoat(CWD, at, mode).unwrap();
                }
            }
            Self::Loop => symlink(at.file_name().unwrap(), at).unwrap(),
            Self::Link => symlink("/dev/zero", at).unwrap(),
            Self::Directory => fs::create_dir_all(at.join("inside")).unwrap(),
            Self::Sparse => File::create(at).unwrap().set_len(10 << 30).unwrap(),
            Self::Unreadable => {
                fs::write(at, "*\n").unwrap();
                fs::set_permissions(at, std::os::unix::fs::PermissionsExt::from_mode(0o000))
                    .unwrap();
            }
        }
    }
}

fn branch_of(trap: Trap) -> String {
    format!("trap/{trap:?}").to_lowercase()
}

fn address(branch: &str) -> String {
    format!("/api/repos/demo/branches/{}", encode(branch))
}

/// An answer within the bound.
async fn answer(what: &str, asking: impl Future<Output = Response>) -> Response {
    let answer = tokio::time::timeout(BOUND, asking).await;
    answer.unwrap_or_else(|_| panic!("{what}: no answer"))
}

/// One of these statuses, and the body.
async fn one_of(what: &str, response: Response, statuses: &[u16]) -> Value {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    assert!(statuses.contains(&status), "{what}: {status} {text}");
    serde_json::from_str(&text).unwrap_or_default()
}

/// Tracked files in the places where traps go.
fn fill(yard: &Yard) {
    for place in &PLACES[..2] {
        yard.origin
            .write(&format!("{place}tracked.txt"), "tracked\n");
        yard.origin.write(&format!("{place}other.c"), "int a;\n");
    }
    yard.origin.write("src/.gitattributes", "*.txt text\n");
    yard.origin.commit("more");
    yard.origin.push("main");
}

async fn prepare(yard: &Yard, branch: &str) {
    let prepared = yard.put(&address(branch), json!({})).await;
    assert_eq!(prepared.status(), StatusCode::OK, "{branch}");
}

/// Everything that only looks at a workspace answers, and rightly where it can.
async fn look_at_all(yard: &Yard, branch: &str) {
    let at = address(branch);
    let shown = answer("describe", yard.get(&at)).await;
    let shown = one_of("describe", shown, &[200]).await;
    assert_eq!(shown["dirty"], true, "{branch}: {shown}");
    let verbs = [
        ("status", json!({"each_file": true})),
        ("status", json!({"verbosity": "full"})),
        ("diff", json!({"include_untracked": true})),
        ("diff", json!({"from": "HEAD"})),
        ("show", json!({"revision": "HEAD"})),
    ];
    for (verb, body) in verbs {
        let what = format!("{branch}: {verb} {body}");
        let said = answer(&what, yard.try_verb(branch, verb, body)).await;
        one_of(&what, said, &[200, 404, 409, 422]).await;
    }
    let reads = [
        ("ls", json!({})),
        ("ls", json!({"path": "src"})),
        ("read_file", json!({"path": "src/other.c"})),
        ("read_file", json!({"path": ".gitignore"})),
        ("read_file", json!({"path": "new/.gitignore"})),
        ("grep", json!({"pattern": "int"})),
    ];
    for (read, body) in reads {
        let what = format!("{branch}: {read} {body}");
        let said = answer(&what, yard.post(&format!("{at}/{read}"), body)).await;
        one_of(&what, said, &[200, 400, 403, 404]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_stands_under_a_name_that_git_reads_nobody_waits_for_it() {
    let mut yard = Yard::asleep(Options::default());
    fill(&yard);
    for trap in ALL {
        yard.origin.branch(&branch_of(trap));
    }
    yard.start().await;
    prepare(&yard, "main").await;
    for trap in ALL {
        let branch = branch_of(trap);
        prepare(&yard, &branch).await;
        let workspace = yard.workspace(&branch);
        for place in PLACES {
            for name in NAMES {
                trap.plant(&workspace.join(place).join(name));
            }
        }
        trap.plant(&workspace.join("new/nested/.git"));
        look_at_all(&yard, &branch).await;
    }
    let listed = answer("list", yard.get("/api/repos/demo/branches")).await;
    let listed = one_of("list", listed, &[200]).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), ALL.len() + 1);
    assert_eq!(listed["unavailable"], Value::Null);

    // A daemon that starts beside them is ready.
    yard.stop().await;
    tokio::time::timeout(BOUND, yard.start()).await.unwrap();
    let reaped = answer("reap", yard.post("/api/reap?dry_run=true", json!({}))).await;
    one_of("reap", reaped, &[200]).await;

    for trap in ALL {
        let branch = branch_of(trap);
        // A run begins where the files are dirty, and where they are brought back.
        let mut bodies = vec![json!({"args": ["who"], "sync": "reset", "clean": true})];
        if trap == Trap::Fifo {
            bodies.insert(0, json!({"args": ["who"]}));
        }
        for body in bodies {
            let what = format!("{branch}: {body}");
            let run = tokio::time::timeout(BOUND, yard.run("make", &branch, body)).await;
            let events = run.unwrap_or_else(|_| panic!("{what}: no end"));
            assert_eq!(events.last().unwrap().data["state"], "succeeded", "{what}");
        }
        let status = yard.verb(&branch, "status", json!({})).await;
        assert_eq!(status["clean"], true, "{branch}: {status}");
        // Trapped again, it goes, with what can be saved.
        for place in PLACES {
            for name in NAMES {
                let at = yard.workspace(&branch).join(place).join(name);
                trap.plant(&at);
            }
        }
        let gone = answer(
            "remove",
            yard.delete(&format!("{}?force=true", address(&branch))),
        )
        .await;
        one_of(&branch, gone, &[200, 204]).await;
        assert!(!yard.workspace(&branch).exists(), "{branch}");
    }
    yard.stop().await;
}

/// Swaps a file and a FIFO, and a directory and a link, until it is told to stop.
fn swap(workspace: &Path, stop: &AtomicBool) {
    let fifo = workspace.join("ready-fifo");
    let names = [
        ".gitignore",
        "src/.gitattributes",
        "src/tracked.txt",
        "src/.gitignore",
    ];
    while !stop.load(Ordering::Relaxed) {
        for name in names {
            let at = workspace.join(name);
            let _ = mkfifoat(CWD, &fifo, Mode::from_raw_mode(0o666));
            let _ = fs::rename(&fifo, &at);
            let file = workspace.join("ready-file");
            let _ = fs::write(&file, "*.txt text\n");
            let _ = fs::rename(&file, &at);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_that_becomes_a_fifo_while_it_is_looked_at_stops_nothing() {
    let mut yard = Yard::asleep(Options::default());
    fill(&yard);
    yard.origin.branch("swapped");
    yard.start().await;
    prepare(&yard, "main").await;
    prepare(&yard, "swapped").await;
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let (workspace, stop) = (yard.workspace("swapped"), stop.clone());
        move || swap(&workspace, &stop)
    });
    for round in 0..6 {
        for (verb, body) in [
            ("status", json!({"each_file": true})),
            ("diff", json!({"include_untracked": true})),
            ("diff", json!({"from": "HEAD"})),
        ] {
            let what = format!("{round}: {verb}");
            let said = answer(&what, yard.try_verb("swapped", verb, body)).await;
            assert_ne!(said.status().as_u16(), 503, "{what}");
        }
        answer("describe", yard.get(&address("swapped"))).await;
        let listed = answer("list", yard.get("/api/repos/demo/branches")).await;
        let listed = one_of("list", listed, &[200]).await;
        let items = listed["items"].as_array().unwrap();
        assert!(
            items.iter().any(|item| item["branch"] == "main"),
            "{listed}"
        );
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    let gone = answer(
        "remove",
        yard.delete(&format!("{}?force=true", address("swapped"))),
    )
    .await;
    one_of("remove", gone, &[200, 204]).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn seven_hundred_looks_at_a_trapped_workspace_leave_the_daemon_to_others() {
    let mut yard = Yard::new().await;
    yard.origin.branch("trapped");
    prepare(&yard, "main").await;
    prepare(&yard, "trapped").await;
    Trap::Fifo.plant(&yard.workspace("trapped").join(".gitignore"));
    Trap::Fifo.plant(&yard.workspace("trapped").join(".gitattributes"));
    // Without a sandbox a build reaches the store as well: nothing but libgit2 reads this file.
    let tip = yard.store().join("refs/heads/trapped");
    fs::remove_file(&tip).unwrap();
    mkfifoat(CWD, &tip, Mode::from_raw_mode(0o666)).unwrap();

    let mut asking = tokio::task::JoinSet::new();
    for n in 0..700 {
        let request = match n % 2 {
            0 => yard.request(Method::GET, &address("trapped")),
            _ => yard
                .request(Method::POST, &format!("{}/ls", address("trapped")))
                .json(&json!({})),
        };
        asking.spawn(request.send());
    }
    until("all places are taken", || looks() >= 64).await;
    assert_eq!(looks(), 64);
    let events = tokio::time::timeout(BOUND, yard.make("main", &["who"]))
        .await
        .unwrap();
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    let status = yard.verb("main", "status", json!({})).await;
    assert_eq!(status["clean"], true);
    // Those who asked leave; what was begun for them still hangs.
    asking.shutdown().await;
    let listed = answer("list", yard.get("/api/repos/demo/branches")).await;
    let listed = one_of("list", listed, &[200]).await;
    assert_eq!(listed["items"][0]["branch"], "main", "{listed}");
    let missing = &listed["unavailable"][0];
    assert_eq!(missing["branch"], "trapped", "{listed}");
    assert_eq!(missing["code"], "workspace_unresponsive", "{listed}");
    assert_eq!(looks(), 64);
    let told = problem_of(answer("describe", yard.get(&address("trapped"))).await).await;
    assert_eq!(told.0, 503, "{told:?}");

    until("the FIFO has no reader", || {
        let flags = OFlags::RDWR | OFlags::NONBLOCK;
        drop(rustix::fs::open(&tip, flags, Mode::empty()));
        looks() == 0
    })
    .await;
    yard.stop().await;
}

/// The threads of this process that look at a workspace.
fn looks() -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    threads
        .filter(|thread| {
            fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name == "look\n")
        })
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn gits_own_files_are_no_traps_either() {
    let mut yard = Yard::new().await;
    prepare(&yard, "main").await;
    let at = address("main");
    let (admin, store) = (yard.store().join("worktrees/main"), yard.store());
    let some = [Trap::Fifo, Trap::Loop];
    for (place, traps) in [
        (yard.workspace("main").join(".git"), &ALL[..]),
        (store.join("info/exclude"), &ALL),
        (store.join("info/attributes"), &ALL),
        (admin.join("index"), &some),
        (admin.join("commondir"), &some),
        (admin.join("config.worktree"), &some),
        (store.join("config"), &some),
    ] {
        for trap in traps {
            if place.is_dir() {
                fs::remove_dir_all(&place).unwrap();
            }
            let what = format!("{trap:?} at {}", place.display());
            trap.plant(&place);
            let shown = answer(&what, yard.get(&at)).await;
            assert_ne!(shown.status().as_u16(), 503, "{what}");
            let run = tokio::time::timeout(BOUND, yard.make("main", &["who"])).await;
            let events = run.unwrap_or_else(|_| panic!("{what}: no end"));
            assert_eq!(events.last().unwrap().data["state"], "succeeded", "{what}");
            one_of(&what, answer(&what, yard.get(&at)).await, &[200]).await;
        }
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ordinary_users_daemon_is_not_stopped_by_what_a_build_leaves() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.write(
        "Makefile",
        "trap:\n\trm -f .gitignore; mkfifo .gitignore; mkdir -p new; mkfifo new/.gitattributes\n\
         \tln -s .gitmodules .gitmodules; truncate -s 10G .gitattributes\nwho:\n\t@echo me\n",
    );
    yard.origin.commit("trap");
    yard.origin.push("main");
    let mut daemon = yard.start_ordinary().await;
    let events = yard.make("main", &["trap"]).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    let listed = answer("list", yard.get("/api/repos/demo/branches")).await;
    let listed = one_of("list", listed, &[200]).await;
    assert_eq!(listed["items"][0]["dirty"], true, "{listed}");
    let body = json!({"args": ["who"], "sync": "reset", "clean": true});
    let run = tokio::time::timeout(BOUND, yard.run("make", "main", body))
        .await
        .unwrap();
    assert_eq!(run.last().unwrap().data["state"], "succeeded");
    yard.make("main", &["trap"]).await;
    let gone = answer(
        "remove",
        yard.delete(&format!("{}?force=true", address("main"))),
    )
    .await;
    one_of("remove", gone, &[200, 204]).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gits_own_files_are_not_served_through_links() {
    let mut yard = Yard::new().await;
    prepare(&yard, "main").await;
    let workspace = yard.workspace("main");
    fs::create_dir_all(workspace.join("nested/.git/refs")).unwrap();
    fs::write(workspace.join("nested/.git/config"), "secret\n").unwrap();
    for (link, target) in [
        ("to-file", ".git"),
        ("to-nested", "nested/.git"),
        ("to-config", "nested/.git/config"),
        ("chain", "to-nested"),
    ] {
        symlink(target, workspace.join(link)).unwrap();
    }
    for path in [
        "to-file",
        "to-nested/config",
        "to-config",
        "chain/config",
        ".git",
        "nested/.git/config",
    ] {
        let read = yard
            .post(
                &format!("{}/read_file", address("main")),
                json!({"path": path}),
            )
            .await;
        let (status, problem) = problem_of(read).await;
        assert_eq!(
            (status, &problem["code"]),
            (403, &json!("git_directory")),
            "{path}"
        );
    }
    for path in ["to-nested", "chain/refs"] {
        let read = yard
            .post(&format!("{}/ls", address("main")), json!({"path": path}))
            .await;
        assert_eq!(problem_of(read).await.0, 403, "{path}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_planted_beside_a_stores_objects_goes() {
    let mut yard = Yard::new().await;
    prepare(&yard, "main").await;
    let info = yard.store().join("objects/info");
    fs::create_dir_all(&info).unwrap();
    let foreign = yard.dir.path().join("foreign.git");
    git(
        yard.dir.path(),
        &["init", "-q", "--bare", foreign.to_str().unwrap()],
    );
    for name in ["alternates", "http-alternates"] {
        fs::write(
            info.join(name),
            format!("{}\n", foreign.join("objects").display()),
        )
        .unwrap();
    }
    fs::create_dir_all(yard.store().join("info")).unwrap();
    fs::write(yard.store().join("info/grafts"), "").unwrap();
    let events = yard.make("main", &["who"]).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    for name in [
        "objects/info/alternates",
        "objects/info/http-alternates",
        "info/grafts",
    ] {
        assert!(!yard.store().join(name).exists(), "{name}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_git_does_not_accept_is_the_pushers_fault() {
    let mut yard = Yard::new().await;
    prepare(&yard, "main").await;
    let blob = yard.origin.git(&["rev-parse", "HEAD:name.txt"]);
    let tree = yard.origin.git(&["rev-parse", "HEAD^{tree}"]);
    let entries: Vec<(&str, Vec<u8>)> = vec![
        ("dot-git", entry("100644 .git", &blob)),
        ("dot-dot", entry("40000 ..", &tree)),
        ("slash", entry("100644 a/b", &blob)),
        ("empty-name", entry("100644 ", &blob)),
        ("no-mode", entry("x name", &blob)),
        ("short", b"100644 cut\0short".to_vec()),
    ];
    for (name, tree) in entries {
        let branch = format!("bad/{name}");
        plant_tree(&yard, &branch, &tree);
        let asked = [
            answer(name, yard.put(&address(&branch), json!({}))).await,
            answer(
                name,
                yard.try_verb(
                    "main",
                    "show",
                    json!({"revision": format!("origin/{branch}")}),
                ),
            )
            .await,
            answer(
                name,
                yard.try_verb(
                    "main",
                    "diff",
                    json!({"from": "HEAD", "to": format!("origin/{branch}")}),
                ),
            )
            .await,
        ];
        for response in asked {
            let status = response.status().as_u16();
            let text = response.text().await.unwrap();
            // A git that serves such a tree may refuse to: that is the remote's failure.
            assert!(status < 500 || status == 502, "{name}: {status} {text}");
        }
    }
    yard.stop().await;
}

/// Has the upstream have a branch with this tree, which no git would make.
fn plant_tree(yard: &Yard, branch: &str, tree: &[u8]) {
    let (origin, file) = (
        yard.dir.path().join("origin.git"),
        yard.dir.path().join("tree"),
    );
    fs::write(&file, tree).unwrap();
    let file = file.to_str().unwrap();
    let tree = git(
        &origin,
        &["hash-object", "-t", "tree", "--literally", "-w", file],
    );
    let commit = git(&origin, &["commit-tree", "-m", "bad", &tree]);
    git(
        &origin,
        &["update-ref", &format!("refs/heads/{branch}"), &commit],
    );
}

/// An entry of a tree: mode, name and id as git keeps them.
fn entry(head: &str, id: &str) -> Vec<u8> {
    let mut bytes = head.as_bytes().to_vec();
    bytes.push(0);
    let digits: Vec<u8> = id.bytes().collect();
    for pair in digits.chunks(2) {
        let pair = std::str::from_utf8(pair).unwrap();
        bytes.push(u8::from_str_radix(pair, 16).unwrap());
    }
    bytes
}
