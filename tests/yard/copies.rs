//! A yard that was copied or moved, and workspaces that are not where they were made: nothing is lost, nothing that is
//! another's is looked at, changed or signalled, and what was moved works again.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::work::{WORK, snapshot, upstream, write};
use crate::support::{Options, Yard, encode, is_alive, problem_of, until};

fn address(branch: &str) -> String {
    format!("/api/repos/demo/branches/{}", encode(branch))
}

/// Everything below a directory: what is in each file, where each link leads.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let (path, kind) = entry.map(|e| (e.path(), e.file_type().unwrap())).unwrap();
            if kind.is_dir() {
                pending.push(path);
            } else if kind.is_symlink() {
                let to = fs::read_link(&path).unwrap();
                found.insert(path, to.into_os_string().into_encoded_bytes());
            } else if kind.is_file() {
                let content = fs::read(&path).unwrap();
                found.insert(path, content);
            }
        }
    }
    found
}

fn run(program: &str, args: &[&str]) {
    let done = Command::new(program).args(args).status().unwrap();
    assert!(done.success(), "{program} {args:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A yard with a workspace for each kind of work; its branches.
async fn at_work() -> (Yard, Vec<String>) {
    let mut yard = Yard::asleep(Options::default());
    let branches: Vec<_> = (0..WORK.len()).map(|n| format!("work/{n}")).collect();
    upstream(&yard, &branches);
    yard.start().await;
    for (branch, (_, make, _)) in branches.iter().zip(WORK) {
        yard.put(&address(branch), json!({})).await;
        make(&yard, &yard.workspace(branch), branch);
    }
    yard.stop().await;
    (yard, branches)
}

/// Each workspace shows its work, does not go, and goes by force with a salvage.
async fn sees_its_own(yard: &Yard, branches: &[String]) {
    for (branch, (kind, _, says)) in branches.iter().zip(WORK) {
        let (status, problem) = problem_of(yard.delete(&address(branch)).await).await;
        let expected = (409, &json!("workspace_has_work"));
        assert_eq!((status, &problem["code"]), expected, "{kind}: {problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(says), "{kind}: {detail}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_a_yard_of_its_own() {
    let (mut yard, branches) = at_work().await;
    let original = yard.workspaces.clone();
    let before = contents(&original);
    for (how, place) in [("-a", "copied"), ("-al", "linked")] {
        let copy = yard.dir.path().join(place);
        run("cp", &[how, text(&original), text(&copy)]);
        yard.workspaces = copy;
        yard.start().await;
        sees_its_own(&yard, &branches).await;
        for branch in &branches {
            let gone = yard
                .delete(&format!("{}?force=true", address(branch)))
                .await;
            let saved: Value = gone.json().await.unwrap();
            assert!(saved["salvage"].is_object(), "{branch}: {saved}");
        }
        yard.make("main", &["who"]).await;
        yard.stop().await;
        let after = contents(&original);
        let changed = after
            .iter()
            .filter(|(path, now)| before.get(*path) != Some(*now));
        let changed: Vec<_> = changed.map(|(path, _)| path).collect();
        assert!(changed.is_empty(), "{how}: {changed:?}");
        assert_eq!(before.len(), after.len(), "{how}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yard_that_was_moved_goes_on() {
    let (mut yard, branches) = at_work().await;
    let before: Vec<_> = branches
        .iter()
        .map(|branch| snapshot(&yard, branch))
        .collect();
    let moved = yard.dir.path().join("moved");
    fs::rename(&yard.workspaces, &moved).unwrap();
    yard.workspaces = moved;
    yard.start().await;
    sees_its_own(&yard, &branches).await;
    let findings = yard.get_json("/api/findings").await;
    assert_eq!(findings["items"], json!([]), "{findings}");
    yard.stop().await;
    for (branch, before) in branches.iter().zip(before) {
        let after = snapshot(&yard, branch).into_iter();
        let after: Vec<_> = after.map(|it| it.replace("/moved/", "/yard/")).collect();
        assert_eq!(after, before, "{branch}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_in_the_original_is_not_the_copys() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    let run_id = yard
        .start_detached("main", json!({"args": ["background"]}))
        .await;
    yard.follow(&run_id).await.until_line("started").await;
    let waiting = yard.start_detached("main", json!({"args": ["who"]})).await;
    let (supervisor, original) = (yard.supervisor_of(&run_id), yard.url.clone());
    for (how, place) in [("-a", "copied"), ("-al", "linked")] {
        let (kept, copy) = (yard.workspaces.clone(), yard.dir.path().join(place));
        run("cp", &[how, text(&kept), text(&copy)]);
        yard.workspaces = copy;
        if how == "-al" {
            // They share the file that says who uses the yard.
            fs::remove_file(yard.workspaces.join(".branchyard/lock")).unwrap();
        }
        let mut second = yard.start_binary(&[]).await;
        for id in [&run_id, &waiting] {
            let record = yard.ended(id).await;
            assert_eq!(record["state"], "lost", "{record}");
            let reason = record["reason"].as_str().unwrap();
            assert!(reason.contains("copy"), "{reason}");
        }
        assert_eq!(
            yard.make("main", &["who"]).await.last().unwrap().data["state"],
            "succeeded"
        );
        second.stop().await;
        // And once more, when it knows that it is one.
        let mut second = yard.start_binary(&[]).await;
        second.stop().await;
        assert!(
            is_alive(supervisor),
            "{how}: the original's build was ended"
        );
        yard.workspaces = kept;
    }
    yard.url = original;
    yard.post_json(&format!("/api/runs/{run_id}/cancel"), json!({}))
        .await;
    assert_eq!(yard.ended(&run_id).await["state"], "cancelled");
    assert_eq!(yard.ended(&waiting).await["state"], "succeeded");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_goes_on_where_its_yard_was_moved_to() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.write(
        "Makefile",
        "wait:\n\t@mkfifo gate; echo ready; read x < gate; echo done; exit 3\n",
    );
    yard.origin.commit("wait");
    yard.origin.push("main");
    let mut daemon = yard.start_binary(&[]).await;
    let run_id = yard.start_detached("main", json!({"args": ["wait"]})).await;
    yard.follow(&run_id).await.until_line("ready").await;
    daemon.kill().await;
    let supervisor = yard.supervisor_of(&run_id);
    let moved = yard.dir.path().join("moved");
    fs::rename(&yard.workspaces, &moved).unwrap();
    yard.workspaces = moved;
    let mut daemon = yard.start_binary(&[]).await;
    fs::write(yard.workspace("main").join("gate"), "x\n").unwrap();
    let record = yard.ended(&run_id).await;
    assert_eq!(
        (&record["state"], &record["exit_code"]),
        (&json!("failed"), &json!(2)),
        "{record}"
    );
    let log = yard
        .get(&format!("/api/runs/{run_id}/log"))
        .await
        .text()
        .await
        .unwrap();
    assert!(log.contains("done"), "{log}");
    until("its supervisor is gone", || !is_alive(supervisor)).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_registration_says_of_its_place_decides_nothing() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.branch("other");
    yard.start().await;
    for branch in ["main", "other"] {
        yard.make(branch, &["who"]).await;
    }
    write(&yard.workspace("main"), "name.txt", "mine\n");
    let link = yard.store().join("worktrees/main/gitdir");
    let right = fs::read_to_string(&link).unwrap();
    let other = yard.workspace("other").join(".git");
    for wrong in [
        format!("{}\n", other.display()),
        "/nowhere/.git\n".to_owned(),
        String::new(),
    ] {
        fs::write(&link, &wrong).unwrap();
        let shown = yard.get_json(&address("main")).await;
        assert_eq!(shown["dirty"], true, "{wrong:?}: {shown}");
        let (status, problem) = problem_of(yard.delete(&address("main")).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (409, &json!("workspace_has_work")),
            "{wrong:?}"
        );
        assert_eq!(
            fs::read_to_string(&link).unwrap(),
            right,
            "{wrong:?}: it is put back"
        );
        fs::write(&link, &wrong).unwrap();
        let found = yard.get_json("/api/findings").await;
        assert_eq!(
            found["items"][0]["code"], "link_altered",
            "{wrong:?}: {found}"
        );
    }
    yard.stop().await;
    yard.start().await;
    assert_eq!(
        fs::read_to_string(&link).unwrap(),
        right,
        "a start mends it"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_in_the_place_of_a_workspace_is_not_followed() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.branch("other");
    yard.start().await;
    for branch in ["main", "other"] {
        yard.make(branch, &["who"]).await;
    }
    write(&yard.workspace("main"), "mine.txt", "mine\n");
    let (outside, aside) = (
        yard.dir.path().join("outside"),
        yard.dir.path().join("aside"),
    );
    for target in [outside.clone(), yard.workspace("other")] {
        write(&target, "theirs.txt", "theirs\n");
        let before = contents(&target);
        fs::rename(yard.workspace("main"), &aside).unwrap();
        symlink(&target, yard.workspace("main")).unwrap();
        for round in 0..2 {
            let what = format!("{} {round}", target.display());
            let path = format!("{}/read_file", address("main"));
            let read = yard.post(&path, json!({"path": "theirs.txt"})).await;
            assert!(read.status().is_client_error(), "{what}");
            for (verb, body) in [
                ("status", json!({})),
                ("clean", json!({"dry_run": false, "confirm": true})),
                ("reset", json!({"mode": "hard", "confirm": true})),
                ("add", json!({"all": true})),
            ] {
                let said = yard.try_verb("main", verb, body).await;
                assert!(
                    said.status().is_client_error(),
                    "{what}: {verb} {}",
                    said.status()
                );
            }
            let events = yard.run(
                "make",
                "main",
                json!({"args": ["who"], "sync": "reset", "clean": true}),
            );
            let events = events.await;
            assert_eq!(
                events.last().unwrap().data["code"],
                "path_occupied",
                "{what}: {events:?}"
            );
            let gone = yard
                .delete(&format!("{}?force=true", address("main")))
                .await;
            assert!(gone.status().is_client_error(), "{what}");
            let found = yard.get_json("/api/findings").await;
            assert_eq!(found["items"][0]["code"], "replaced", "{what}: {found}");
            // The same for a daemon that finds it when it starts.
            yard.stop().await;
            yard.start().await;
        }
        assert_eq!(contents(&target), before, "{}", target.display());
        fs::remove_file(yard.workspace("main")).unwrap();
        fs::rename(&aside, yard.workspace("main")).unwrap();
        let status = yard.verb("main", "status", json!({})).await;
        assert!(status.to_string().contains("mine.txt"), "{status}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workspaces_that_changed_places_are_refused_until_they_are_back() {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.branch("other");
    yard.start().await;
    for branch in ["main", "other"] {
        yard.make(branch, &["who"]).await;
        write(&yard.workspace(branch), "mine.txt", branch);
    }
    let aside = yard.dir.path().join("aside");
    let swap = |yard: &Yard| {
        fs::rename(yard.workspace("main"), &aside).unwrap();
        fs::rename(yard.workspace("other"), yard.workspace("main")).unwrap();
        fs::rename(&aside, yard.workspace("other")).unwrap();
    };
    swap(&yard);
    for _ in 0..2 {
        for branch in ["main", "other"] {
            let events = yard.make(branch, &["who"]).await;
            let end = &events.last().unwrap().data;
            assert_eq!(end["code"], "path_occupied", "{branch}: {events:?}");
            let gone = yard
                .delete(&format!("{}?force=true", address(branch)))
                .await;
            assert_eq!(
                problem_of(gone).await.1["code"],
                "path_occupied",
                "{branch}"
            );
        }
        yard.stop().await;
        yard.start().await;
    }
    swap(&yard);
    for branch in ["main", "other"] {
        yard.make(branch, &["who"]).await;
        let mine = fs::read_to_string(yard.workspace(branch).join("mine.txt")).unwrap();
        assert_eq!(mine, branch);
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_deleted_lets_nobody_else_in() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    fs::remove_file(yard.workspaces.join(".branchyard/lock")).unwrap();
    let mut second = yard.spawn_binary(&[]);
    second.until_said("another daemon uses").await;
    assert!(daemon.is_alive());
    daemon.stop().await;
}
