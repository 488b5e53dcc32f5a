//! Files that git-lfs keeps: their contents are in workspaces and jobs, fetched once, checked, and uploaded with what is pushed.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use crate::first_clones::join_all;
use crate::support::remotes::{Auth, HttpRemote, LfsFault, pointer};
use crate::support::{Event, Options, Yard, each_file, git, text_of, warnings_of};

pub const ATTRIBUTES: &str = "*.bin filter=lfs diff=lfs merge=lfs -text\n";
pub const CONTENT: &[u8] = b"the first content\n";
pub const OTHER: &[u8] = b"another content, which is longer\n";

/// A yard whose demo is served with LFS contents. On `main` is one such file, which builds print.
pub async fn served(auth: Auth, tables: &str) -> (Yard, HttpRemote) {
    let mut yard = Yard::asleep(Options::default());
    let remote = HttpRemote::start(&yard.origin, auth).await;
    yard.configure(remote.options(tables));
    yard.origin.write(".gitattributes", ATTRIBUTES);
    let pointer = remote.lfs().keep(CONTENT);
    yard.origin.write("assets/one.bin", pointer);
    yard.origin.write("Makefile", "t:\n\t@cat assets/one.bin\n");
    yard.origin.commit("a file that git-lfs keeps");
    yard.origin.push("main");
    (yard, remote)
}

async fn awake() -> (Yard, HttpRemote) {
    let (mut yard, remote) = served(Auth::Anyone, "").await;
    yard.start().await;
    (yard, remote)
}

/// Git with git-lfs, as people have it.
fn lfs_git(dir: &Path, args: &[&str]) -> String {
    let filter = [
        "-c",
        "filter.lfs.clean=git-lfs clean -- %f",
        "-c",
        "filter.lfs.smudge=git-lfs smudge -- %f",
        "-c",
        "filter.lfs.process=git-lfs filter-process",
        "-c",
        "filter.lfs.required=true",
    ];
    git(dir, &[&filter[..], args].concat())
}

fn assert_clean(yard: &Yard, branch: &str) {
    let workspace = yard.workspace(branch);
    // The index knows the files as they are: nothing has to be converted to see that.
    assert_eq!(git(&workspace, &["status", "--porcelain", "--ignored"]), "");
    let status = ["status", "--porcelain", "--ignored"];
    assert_eq!(lfs_git(&workspace, &status), "");
}

/// What refused a run.
fn rejection(events: &[Event]) -> (String, String) {
    let last = events.last().unwrap();
    assert_eq!(last.kind, "error", "{events:#?}");
    let text = |field: &str| last.data[field].as_str().unwrap().to_owned();
    (text("code"), text("detail"))
}

#[tokio::test(flavor = "multi_thread")]
async fn five_branches_at_once_have_contents_that_are_fetched_once() {
    for tables in ["", "[sandbox]\nprofile = \"standard\""] {
        let (mut yard, remote) = served(Auth::Anyone, tables).await;
        yard.start().await;
        let branches: Vec<_> = (0..5).map(|n| format!("b{n}")).collect();
        for branch in &branches {
            yard.origin.write("name.txt", branch);
            yard.origin.commit(branch);
            yard.origin.push(branch);
        }
        let runs = branches.iter().map(|branch| yard.make(branch, &["t"]));
        for (events, branch) in join_all(runs).await.iter().zip(&branches) {
            assert_eq!(text_of(events).as_bytes(), CONTENT, "{branch}: {events:#?}");
            assert_eq!(warnings_of(events), [""; 0], "{branch}");
            assert_clean(&yard, branch);
            let address = format!("/api/repos/demo/branches/{branch}");
            assert_eq!(yard.get_json(&address).await["dirty"], json!(false));
        }
        assert_eq!(remote.lfs().given(), [1]);
        yard.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_follow_the_commits() {
    let (mut yard, remote) = awake().await;
    assert_eq!(
        text_of(&yard.make("main", &["t"]).await).as_bytes(),
        CONTENT
    );
    yard.origin
        .write("assets/one.bin", remote.lfs().keep(OTHER));
    yard.origin.write("assets/plain.txt", pointer(OTHER));
    yard.origin.commit("another content");
    yard.origin.push("main");
    let events = yard.make("main", &["t"]).await;
    assert_eq!(
        (text_of(&events).as_bytes(), warnings_of(&events)),
        (OTHER, vec![])
    );
    assert_clean(&yard, "main");
    // What no attribute gives to git-lfs is what it is.
    let plain = std::fs::read_to_string(yard.workspace("main").join("assets/plain.txt"));
    assert_eq!(plain.unwrap(), pointer(OTHER));
    // Back again, of what was fetched.
    yard.origin.git(&["reset", "-q", "--hard", "HEAD~"]);
    yard.origin.push("main");
    let events = yard
        .run("make", "main", json!({ "args": ["t"], "sync": "reset" }))
        .await;
    assert_eq!(text_of(&events).as_bytes(), CONTENT);
    assert_clean(&yard, "main");
    assert_eq!(remote.lfs().given(), [1, 1]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_fails_is_told_and_leaves_no_wrong_file() {
    let (mut yard, remote) = served(Auth::Anyone, "").await;
    let mut options = remote.options("");
    options.timeouts = "fetch_stall = \"6s\"".to_owned();
    yard.configure(options);
    yard.start().await;
    let file = yard.workspace("main").join("assets/one.bin");
    for (fault, code) in [
        (LfsFault::Status(503), "remote_busy"),
        (LfsFault::Status(404), "remote_not_found"),
        (LfsFault::WrongContent, "remote_failed"),
        (LfsFault::Cut, "remote_cut_off"),
        (LfsFault::Hang, "remote_timed_out"),
    ] {
        remote.lfs().fail(fault.clone());
        let (found, detail) = rejection(&yard.make("main", &["t"]).await);
        assert_eq!(found, code, "{fault:?}: {detail}");
        assert!(detail.starts_with("LFS files: "), "{detail}");
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            pointer(CONTENT),
            "{fault:?}"
        );
    }
    remote.lfs().fail(LfsFault::None);
    // What somebody put there meanwhile stays, and the index says nothing of it.
    std::fs::write(&file, "mine\n").unwrap();
    assert_eq!(text_of(&yard.make("main", &["t"]).await), "mine\n");
    let asked = json!({ "args": ["t"], "sync": "reset" });
    let events = yard.run("make", "main", asked).await;
    assert_eq!(text_of(&events).as_bytes(), CONTENT);
    assert_clean(&yard, "main");
    // Content that the server does not know at all.
    yard.origin.write("assets/one.bin", pointer(OTHER));
    yard.origin.commit("nobody uploaded it");
    yard.origin.push("main");
    let (code, detail) = rejection(&yard.make("main", &["t"]).await);
    assert_eq!(code, "remote_not_found", "{detail}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pushed_is_uploaded_first() {
    let (mut yard, remote) = awake().await;
    yard.origin.branch("topic");
    yard.make("topic", &["t"]).await;
    std::fs::write(yard.workspace("topic").join("assets/two.bin"), OTHER).unwrap();
    let pushed = yard
        .verb("topic", "push", json!({ "message": "a large file" }))
        .await;
    assert_eq!(pushed["state"], "pushed", "{pushed:#}");
    assert!(remote.lfs().has(OTHER));
    let committed = yard.origin.bare.clone();
    let committed = git(&committed, &["show", "topic:assets/two.bin"]);
    assert_eq!(committed, pointer(OTHER).trim_end());
    let status = lfs_git(&yard.workspace("topic"), &["status", "--porcelain"]);
    assert_eq!(status, "");
    let there = std::fs::read(yard.workspace("topic").join("assets/two.bin"));
    assert_eq!(there.unwrap(), OTHER);
    assert_eq!(remote.lfs().taken(), 1);
    // By git's own commands as well.
    std::fs::write(yard.workspace("topic").join("three.bin"), "three\n").unwrap();
    for args in [
        &["add", "three.bin"][..],
        &["commit", "-m", "three"],
        &["push", "origin", "HEAD"],
    ] {
        let asked = json!({ "operation": args[0], "args": args[1..] });
        let events = yard.run("git", "topic", asked).await;
        assert_eq!(events.last().unwrap().data["exit_code"], 0, "{events:#?}");
    }
    assert!(remote.lfs().has(b"three\n"));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_wrote_there_is_work_and_what_is_only_touched_is_none() {
    let (mut yard, _remote) = awake().await;
    yard.make("main", &["t"]).await;
    let file = yard.workspace("main").join("assets/one.bin");
    let dirty = async || yard.get_json("/api/repos/demo/branches/main").await["dirty"].clone();
    // The same once more, at another time.
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, CONTENT).unwrap();
    assert_eq!(dirty().await, json!(false));
    std::fs::write(&file, OTHER).unwrap();
    assert_eq!(dirty().await, json!(true));
    let events = yard
        .run("make", "main", json!({ "args": ["t"], "sync": "reset" }))
        .await;
    assert_eq!(text_of(&events).as_bytes(), CONTENT);
    let salvage = yard.salvages("main").await.remove(0);
    yard.restore(&salvage, json!({})).await;
    assert_eq!(std::fs::read(&file).unwrap(), OTHER);
    // As long as the content, and not it.
    std::fs::write(&file, vec![b'x'; CONTENT.len()]).unwrap();
    assert_eq!(dirty().await, json!(true));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_content_in_the_store_is_fetched_again() {
    let (mut yard, remote) = awake().await;
    yard.make("main", &["t"]).await;
    let mut objects = Vec::new();
    each_file(&yard.store().join("lfs/objects"), &mut |path, _| {
        objects.push(path.to_owned());
    });
    assert_eq!(objects.len(), 1);
    std::fs::write(&objects[0], vec![b'x'; CONTENT.len()]).unwrap();
    yard.origin.branch("other");
    let events = yard.make("other", &["t"]).await;
    assert_eq!(text_of(&events).as_bytes(), CONTENT);
    assert_eq!(remote.lfs().given(), [2]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_does_not_say_which_server_is_asked() {
    let (mut yard, remote) = served(Auth::Anyone, "").await;
    let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let url = format!("http://{}/x", trap.local_addr().unwrap());
    yard.origin
        .write(".lfsconfig", format!("[lfs]\n\turl = {url}\n"));
    yard.origin.commit("elsewhere");
    yard.origin.push("main");
    yard.start().await;
    let (code, detail) = rejection(&yard.make("main", &["t"]).await);
    assert_eq!(code, "lfs_refused", "{detail}");
    assert!(trap.accept().is_err(), "somebody came");
    // Where the repository itself is, any place will do.
    let own = format!("{}/info/lfs", remote.url());
    yard.origin
        .write(".lfsconfig", format!("[lfs]\n\turl = {own}\n"));
    yard.origin.commit("here");
    yard.origin.push("main");
    assert_eq!(
        text_of(&yard.make("main", &["t"]).await).as_bytes(),
        CONTENT
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_git_lfs_or_the_wish_pointers_stay_and_that_is_told() {
    let (mut yard, remote) = served(Auth::Anyone, "").await;
    let lacking = yard.dir.path().join("bin");
    std::fs::create_dir(&lacking).unwrap();
    for dir in std::env::split_paths(env!("PATH")) {
        for program in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            if program.file_name() != "git-lfs" {
                // The first of that name counts.
                let _ = symlink(program.path(), lacking.join(program.file_name()));
            }
        }
    }
    let path = [("PATH", lacking.to_str().unwrap())];
    let mut daemon = yard.start_binary(&path).await;
    let events = yard.make("main", &["t"]).await;
    assert_eq!(text_of(&events), pointer(CONTENT));
    assert_eq!(warnings_of(&events), ["lfs_pointers"]);
    daemon.stop().await;
    let mut options = remote.options("");
    options.repo = "lfs = \"require\"".to_owned();
    yard.configure(options);
    let mut daemon = yard.start_binary(&path).await;
    let (code, detail) = rejection(&yard.make("main", &["t"]).await);
    assert!(
        code == "lfs_required" && detail.contains("assets/one.bin"),
        "{code} {detail}"
    );
    daemon.stop().await;
    // With it, all is there.
    yard.start().await;
    assert_eq!(
        text_of(&yard.make("main", &["t"]).await).as_bytes(),
        CONTENT
    );
    yard.stop().await;
    let mut options = remote.options("");
    options.repo = "lfs = \"off\"".to_owned();
    yard.configure(options);
    yard.start().await;
    yard.origin.branch("plain");
    let events = yard
        .run("make", "plain", json!({ "args": ["t"], "cold": true }))
        .await;
    assert_eq!(
        (text_of(&events), warnings_of(&events)),
        (pointer(CONTENT), vec![])
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_credential_of_the_remote_opens_its_contents_too() {
    const TOKEN: &str = "t0ken+of/somebody=";
    let (mut yard, remote) = served(Auth::Basic("x-access-token", TOKEN), "").await;
    let file = yard.dir.path().join("token");
    std::fs::write(&file, TOKEN).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let host = remote.host();
    let table = format!("[git.credentials.{host:?}]\ntoken_file = {file:?}\n");
    yard.configure(remote.options(&table));
    yard.origin.branch("topic");
    yard.start().await;
    let events = yard.make("topic", &["t"]).await;
    assert_eq!(text_of(&events).as_bytes(), CONTENT, "{events:#?}");
    std::fs::write(yard.workspace("topic").join("assets/two.bin"), OTHER).unwrap();
    let asked = json!({ "message": "a large file" });
    assert_eq!(yard.verb("topic", "push", asked).await["state"], "pushed");
    assert!(remote.lfs().has(OTHER));
    // Git-lfs noted nothing in the store that would have to be put back.
    let events = yard.make("topic", &["t"]).await;
    assert_eq!(warnings_of(&events), [""; 0], "{events:#?}");
    let config = std::fs::read_to_string(yard.store().join("config")).unwrap();
    assert!(!config.contains("access"), "{config}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verbs_and_gits_own_commands_know_them() {
    let contained = "[sandbox]\nprofile = \"standard\"";
    for tables in ["", contained] {
        let (mut yard, remote) = served(Auth::Anyone, tables).await;
        yard.origin.branch("topic");
        yard.origin.at("main");
        yard.origin
            .write("assets/one.bin", remote.lfs().keep(OTHER));
        yard.origin.commit("another content");
        yard.origin.push("other");
        yard.start().await;
        yard.make("topic", &["t"]).await;
        let file = yard.workspace("topic").join("assets/one.bin");
        let content = || std::fs::read(&file).unwrap();
        // What comes by a verb is there at once.
        let merged = yard
            .verb("topic", "merge", json!({ "from": "origin/other" }))
            .await;
        assert_eq!(content(), OTHER, "{merged:#}");
        assert_eq!(
            yard.verb("topic", "status", json!({})).await["clean"],
            json!(true)
        );
        std::fs::write(&file, "mine\n").unwrap();
        let raw = async |args: &[&str]| {
            let events = yard
                .run(
                    "git",
                    "topic",
                    json!({ "operation": args[0], "args": args[1..] }),
                )
                .await;
            assert_eq!(events.last().unwrap().data["exit_code"], 0, "{events:#?}");
            text_of(&events)
        };
        let difference = raw(&["diff"]).await;
        assert!(difference.contains("+size 5\n"), "{difference}");
        raw(&["add", "assets/one.bin"]).await;
        let staged = raw(&["show", ":assets/one.bin"]).await;
        assert_eq!(staged, pointer(b"mine\n"));
        yard.verb("topic", "stash", json!({ "action": "push" }))
            .await;
        assert_eq!(content(), OTHER);
        yard.verb("topic", "stash", json!({ "action": "pop" }))
            .await;
        assert_eq!(content(), b"mine\n");
        let back = json!({ "paths": ["assets/one.bin"], "from": "HEAD", "confirm": true });
        yard.verb("topic", "checkout", back).await;
        assert_eq!(content(), OTHER);
        yard.stop().await;
    }
}
