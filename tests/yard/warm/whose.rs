//! Which new files are build output and which are work: for a warm start, a push, an add of everything, a removal
//! and the reaper.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::equal::Dice;
use super::project::{asleep, assert_clean, build, push, warm};
use crate::support::{Agent, Options, Yard, git, json_of, problem_of, until};

/// Makes the files that it is told to, and waits until it may end.
const MAKEFILE: &str = "emit:\n\t@for f in $(FILES); do mkdir -p $$(dirname $$f); echo run > $$f; done\n\
    \t@touch started.tmp; while [ ! -e go.tmp ]; do sleep 0.01; done; rm go.tmp started.tmp\n";

fn write(dir: &Path, path: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "by hand\n").unwrap();
}

/// What the remote has on a branch.
fn pushed(yard: &Yard, branch: &str) -> BTreeSet<String> {
    let bare = &yard.origin.bare;
    let listed = git(bare, &["ls-tree", "-r", "--name-only", branch]);
    listed.lines().map(str::to_owned).collect()
}

fn withheld(answer: &Value) -> BTreeSet<String> {
    let all = answer["withheld"].as_array().into_iter().flatten();
    let path = |item: &Value| item["path"].as_str().unwrap().to_owned();
    all.map(path).collect()
}

/// A yard with three agents' branches, and no daemon yet.
fn of_agents() -> Yard {
    let yard = asleep();
    push(&yard, "agent-a", &[("a.txt", "a\n")]);
    push(&yard, "agent-b", &[("b.txt", "b\n")]);
    push(&yard, "agent-c", &[("c.txt", "c\n")]);
    yard
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_an_agent_writes_during_its_build_is_its_own() {
    let mut yard = of_agents();
    yard.start().await;
    agents_at_work(&yard).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_its_agents_own_with_an_ordinary_daemon_too() {
    let mut yard = of_agents();
    let mut daemon = yard.start_ordinary().await;
    agents_at_work(&yard).await;
    daemon.stop().await;
}

async fn agents_at_work(yard: &Yard) {
    build(yard, "agent-a").await;
    let a = yard.workspace("agent-a");
    let mut run = yard
        .start_run("make", "agent-a", json!({"args": ["wait"]}))
        .await;
    until("it waits", || a.join("waiting").exists()).await;
    fs::write(a.join("src/new.c"), "int new_one(void) { return 1; }\n").unwrap();
    fs::write(a.join(".env"), "TOKEN=1\n").unwrap();
    fs::write(a.join("go"), "").unwrap();
    assert_eq!(run.end().await.data["state"], "succeeded");
    build(yard, "agent-a").await;

    // Another agent begins: neither the file nor what was built with it is there.
    let events = build(yard, "agent-b").await;
    assert_eq!(warm(&events), Value::Null);
    let b = yard.workspace("agent-b");
    assert!(!b.join("src/new.c").exists() && !b.join("src/new.o").exists());
    fs::write(b.join("b.txt"), "changed\n").unwrap();
    let answer = yard
        .verb("agent-b", "push", json!({"message": "Change b"}))
        .await;
    assert_eq!(
        (&answer["state"], &answer["withheld"]),
        (&json!("pushed"), &Value::Null)
    );
    let changed = git(
        &yard.origin.bare,
        &["diff", "--name-only", "main", "agent-b"],
    );
    assert_eq!(changed, "b.txt");

    // The one who wrote it is told that it is left out, and can say that it is meant.
    fs::write(a.join("a.txt"), "changed\n").unwrap();
    let agent = Agent::of_git(yard, "agent-a");
    let answer = agent.call("git_push", json!({"message": "Change a"})).await;
    assert_eq!(withheld(&answer), BTreeSet::from(["src/new.c".to_owned()]));
    assert!(!pushed(yard, "agent-a").contains("src/new.c"));
    let named = json!({"message": "Add a source", "paths": ["src/new.c"]});
    let answer = agent.call("git_push", named).await;
    assert_eq!(answer["withheld"], Value::Null);
    assert!(pushed(yard, "agent-a").contains("src/new.c"));

    // Committed, it is in nobody's way; what git ignores and is named as secrets are stays where it is.
    let events = build(yard, "agent-c").await;
    assert!(warm(&events).is_object());
    let c = yard.workspace("agent-c");
    assert_clean(&c);
    assert!(!c.join("src/new.c").exists() && !c.join(".env").exists());
}

/// Where a file lies, and what is said of it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Ignored on both branches.
    Ignored,
    /// Ignored here, but not on the branch that is made.
    IgnoredHere,
    /// `build_output` names it, and git ignores it.
    Declared,
    /// `build_output` names it, and git shows it.
    DeclaredShown,
    /// Git shows it.
    Shown,
}

/// When it was made, and by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Born {
    Before,
    ByTheRun,
    DuringTheRun,
    After,
    ByAVerb,
}

#[derive(Debug, Clone)]
struct NewFile {
    path: String,
    place: Place,
    born: Born,
}

impl NewFile {
    fn any(dice: &mut Dice, number: u64, only_output: bool) -> Self {
        let places = [
            Place::Ignored,
            Place::IgnoredHere,
            Place::Declared,
            Place::DeclaredShown,
            Place::Shown,
        ];
        let born = [
            Born::ByTheRun,
            Born::DuringTheRun,
            Born::Before,
            Born::After,
            Born::ByAVerb,
        ];
        let pick = |dice: &mut Dice, sides| usize::try_from(dice.roll(sides)).unwrap();
        // Else hardly a sibling would be without work.
        let (place, born) = match only_output {
            true => (places[pick(dice, 4)], born[pick(dice, 2)]),
            false => (places[pick(dice, 5)], born[pick(dice, 5)]),
        };
        let dir = ["", "src/", "new-dir/", "deep/er/"][pick(dice, 4)];
        let ending = match place {
            Place::Ignored => "tmp",
            Place::IgnoredHere => "here",
            Place::Declared => "out",
            Place::DeclaredShown => "gen",
            Place::Shown => "c",
        };
        Self {
            path: format!("{dir}f{number}.{ending}"),
            place,
            born,
        }
    }

    fn is_declared(&self) -> bool {
        matches!(self.place, Place::Declared | Place::DeclaredShown)
    }

    fn is_shown(&self) -> bool {
        matches!(self.place, Place::Shown | Place::DeclaredShown)
    }

    /// Whether it came into being while the run was at work.
    fn is_born_in_run(&self) -> bool {
        matches!(self.born, Born::ByTheRun | Born::DuringTheRun)
    }

    fn is_copied(&self) -> bool {
        self.is_declared() || self.place == Place::Ignored && self.is_born_in_run()
    }

    fn is_committed(&self) -> bool {
        self.place == Place::Shown && !self.is_born_in_run()
    }

    fn is_pinning(&self) -> bool {
        !self.is_declared() && !self.is_born_in_run()
    }
}

async fn whose_yard() -> Yard {
    let mut yard = Yard::asleep(Options {
        tables: "[reaper]\ninterval = \"1h\"\nmax_worktrees_per_repo = 1000\nlow_water = \"1B\"\nhigh_water = \"1B\"\n"
            .into(),
        repo: "warm = \"nearest\"\nbuild_output = [\"*.out\", \"*.gen\"]".into(),
        ..Options::default()
    });
    let origin = &yard.origin;
    origin.write("Makefile", MAKEFILE);
    origin.write(".gitignore", "*.tmp\n*.out\n*.here\n");
    origin.write("src/main.c", "int main(void) { return 0; }\n");
    origin.write("src/lib.c", "int lib;\n");
    origin.commit("a project");
    origin.push("main");
    yard.start().await;
    yard
}

fn of(files: &[NewFile], born: Born) -> impl Iterator<Item = &NewFile> {
    files.iter().filter(move |file| file.born == born)
}

/// Has a workspace of `branch` come to have these files.
async fn have(yard: &Yard, branch: &str, files: &[NewFile]) {
    yard.origin.at("main");
    yard.origin.push(branch);
    let path = format!("/api/repos/demo/branches/{branch}");
    json_of(yard.put(&path, json!({})).await).await;
    let workspace = yard.workspace(branch);
    for file in of(files, Born::Before) {
        write(&workspace, &file.path);
    }
    let names: Vec<_> = of(files, Born::ByTheRun).map(|file| &*file.path).collect();
    let body = json!({"args": ["emit", format!("FILES={}", names.join(" "))], "sync": "none"});
    let mut run = yard.start_run("make", branch, body).await;
    until("it has begun", || workspace.join("started.tmp").exists()).await;
    for file in of(files, Born::DuringTheRun) {
        write(&workspace, &file.path);
    }
    fs::write(workspace.join("go.tmp"), "").unwrap();
    assert_eq!(run.end().await.data["state"], "succeeded");
    let by_verb: Vec<_> = of(files, Born::ByAVerb).map(|file| &*file.path).collect();
    if !by_verb.is_empty() {
        // What was staged becomes untracked: `checkout` writes the files, `reset` lets go of them.
        yard.origin.at("main");
        for path in &by_verb {
            yard.origin.write(path, "by a verb\n");
            yard.origin.git(&["add", "-f", path]);
        }
        yard.origin.git(&["commit", "-q", "-m", "for a verb"]);
        let other = format!("{branch}-files");
        yard.origin.push(&other);
        yard.verb(branch, "fetch", json!({"branches": [other]}))
            .await;
        let body = json!({"paths": by_verb, "from": format!("origin/{other}"), "confirm": true});
        yard.verb(branch, "checkout", body).await;
        yard.verb(branch, "reset", json!({"mode": "mixed", "to": "HEAD"}))
            .await;
    }
    for file in of(files, Born::After) {
        write(&workspace, &file.path);
    }
}

/// One sibling with new files, and all that is asked of it.
async fn round(yard: &Yard, seed: u64, number: usize) {
    let mut dice = Dice(seed.wrapping_mul(1000) + number as u64);
    let only_output = dice.roll(2) == 0;
    let count = 1 + dice.roll(6);
    let files: Vec<_> = (0..count)
        .map(|n| NewFile::any(&mut dice, n, only_output))
        .collect();
    let what = format!("seed {seed}, round {number}: {files:?}");
    let branch = format!("sibling-{number}");
    have(yard, &branch, &files).await;
    let workspace = yard.workspace(&branch);
    let names = |which: &dyn Fn(&NewFile) -> bool| -> BTreeSet<String> {
        let found = files.iter().filter(|file| which(file));
        found.map(|file| file.path.clone()).collect()
    };

    // A new workspace, whose commit ignores less.
    let taker = format!("taker-{number}");
    yard.origin.at("main");
    yard.origin.write(".gitignore", "*.tmp\n*.out\n");
    yard.origin.commit("ignore less");
    yard.origin.push(&taker);
    let path = format!("/api/repos/demo/branches/{taker}");
    json_of(yard.put(&path, json!({})).await).await;
    let is_work = files.iter().any(|file| file.place == Place::Shown);
    let expected = match is_work {
        true => BTreeSet::new(),
        false => names(&NewFile::is_copied),
    };
    let there = yard.workspace(&taker);
    let found = files.iter().filter(|file| there.join(&file.path).exists());
    let found: BTreeSet<_> = found.map(|file| file.path.clone()).collect();
    assert_eq!(found, expected, "warm start, {what}");
    let gone = yard.delete(&format!("{path}?force=true")).await;
    assert!(gone.status().is_success(), "{what}");

    // Removal and reaper: by the same reasons.
    let path = format!("/api/repos/demo/branches/{branch}");
    let is_pinned = files.iter().any(NewFile::is_pinning);
    let described = yard.get_json(&path).await;
    let pins = described["pins"].as_array().unwrap();
    assert_eq!(!pins.is_empty(), is_pinned, "{pins:?}, {what}");
    let reaping = yard.post_json("/api/reap?dry_run=true", json!({})).await;
    let items = reaping["items"].as_array().unwrap();
    let item = items.iter().find(|item| item["branch"] == *branch).unwrap();
    let has_pins = item["pins"].as_array().is_some_and(|pins| !pins.is_empty());
    assert_eq!(has_pins, is_pinned, "{item}, {what}");

    match dice.roll(3) {
        0 => {
            let answer = yard.delete(&path).await;
            if is_pinned {
                let (status, problem) = problem_of(answer).await;
                let got = (status, problem["code"].as_str());
                assert_eq!(got, (409, Some("workspace_has_work")), "{what}");
                assert!(files.iter().all(|file| workspace.join(&file.path).exists()));
            } else {
                assert!(answer.status().is_success(), "{what}");
                // What git shows is saved, whoever made it.
                let is_shown = files.iter().any(NewFile::is_shown);
                let saved = yard.salvages(&branch).await;
                assert!(!is_shown || saved.len() == 1, "{saved:?}, {what}");
            }
        }
        1 => {
            let body = [json!({"all": true}), json!({"paths": ["."]})];
            let body = body[usize::try_from(dice.roll(2)).unwrap()].clone();
            let added = yard.verb(&branch, "add", body).await;
            let staged = git(&workspace, &["diff", "--cached", "--name-only"]);
            let staged: BTreeSet<_> = staged.lines().map(str::to_owned).collect();
            assert_eq!(staged, names(&NewFile::is_committed), "add, {what}");
            assert_told(&added, &files, &what);
        }
        _ => {
            let before = pushed(yard, &branch);
            let answer = yard.verb(&branch, "push", json!({"message": "All"})).await;
            let after = pushed(yard, &branch);
            let new: BTreeSet<_> = after.difference(&before).cloned().collect();
            assert_eq!(new, names(&NewFile::is_committed), "push, {what}");
            assert_told(&answer, &files, &what);
        }
    }
    yard.delete(&format!("{path}?force=true")).await;
}

/// Every file that git shows and that was left out is told of, itself or with its directory, and no other.
fn assert_told(answer: &Value, files: &[NewFile], what: &str) {
    let told = withheld(answer);
    for file in files {
        let is_told = told
            .iter()
            .any(|told| Path::new(&file.path).starts_with(told));
        let is_left_out = file.is_shown() && !file.is_committed();
        // A directory that is left out whole may have ignored files in it.
        let may_be_told = !file.is_shown();
        assert!(
            is_told == is_left_out || may_be_told,
            "{file:?} in {told:?}, {what}"
        );
    }
}

async fn rounds(seed: u64, rounds: usize) {
    let mut yard = whose_yard().await;
    for number in 0..rounds {
        round(&yard, seed, number).await;
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_files_are_told_apart_by_place_and_birth() {
    rounds(21, 14).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_new_files_are_told_apart_by_place_and_birth() {
    let seed = std::env::var("BRANCHYARD_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for seed in seed..seed + 10 {
        rounds(seed, 40).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_a_build_writes_make_nothing_shareable() {
    let mut yard = whose_yard().await;
    let files = [NewFile {
        path: "src/f.c".into(),
        place: Place::Shown,
        born: Born::ByTheRun,
    }];
    for (number, rules) in ["planted/.gitignore", "src/.gitignore"]
        .into_iter()
        .enumerate()
    {
        let branch = format!("planted-{number}");
        have(&yard, &branch, &files).await;
        let workspace = yard.workspace(&branch);
        write(&workspace, "planted/x.c");
        fs::write(workspace.join(rules), "*\n").unwrap();
        let taker = format!("taker-{number}");
        yard.origin.at("main");
        yard.origin.push(&taker);
        let path = format!("/api/repos/demo/branches/{taker}");
        json_of(yard.put(&path, json!({})).await).await;
        let there = yard.workspace(&taker);
        assert_clean(&there);
        assert!(!there.join("src/f.c").exists() && !there.join("planted").exists());
        for branch in [&branch, &taker] {
            let path = format!("/api/repos/demo/branches/{branch}?force=true");
            assert!(yard.delete(&path).await.status().is_success());
        }
    }

    // A cache that keeps itself out of git keeps nobody from a warm start, and stays where it is. What only looks
    // like such a cache is not waited for.
    have(&yard, "cache", &[]).await;
    let workspace = yard.workspace("cache");
    write(&workspace, "kept.out");
    write(&workspace, ".cache/data");
    fs::write(workspace.join(".cache/.gitignore"), "# made by a tool\n*\n").unwrap();
    for (number, is_warm) in [(2, true), (3, false)] {
        let taker = format!("taker-{number}");
        yard.origin.at("main");
        yard.origin.push(&taker);
        let path = format!("/api/repos/demo/branches/{taker}");
        json_of(yard.put(&path, json!({})).await).await;
        let there = yard.workspace(&taker);
        assert_eq!(there.join("kept.out").exists(), is_warm);
        assert!(!there.join(".cache").exists());
        assert!(
            yard.delete(&format!("{path}?force=true"))
                .await
                .status()
                .is_success()
        );
        fs::remove_file(workspace.join(".cache/.gitignore")).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            workspace.join(".cache/.gitignore"),
            0o600.into(),
        )
        .unwrap();
    }
    fs::remove_dir_all(workspace.join(".cache")).unwrap();
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_mean_something_to_git_are_left_out_as_they_are() {
    let mut yard = whose_yard().await;
    have(&yard, "topic", &[]).await;
    let workspace = yard.workspace("topic");
    let odd = [
        ":(top)x.gen",
        "*.gen",
        "-A.gen",
        "a b.gen",
        "new\nline.gen",
        "\u{e9}.gen",
        "[x].gen",
        "dir/!y.gen",
    ];
    for name in odd.iter().chain(&["x.c", "a.c", "dir/y.c"]) {
        write(&workspace, name);
    }
    for n in 0..150 {
        write(&workspace, &format!("many/{n}.gen"));
    }
    let staged = || {
        let staged = git(&workspace, &["diff", "--cached", "--name-only", "-z"]);
        staged
            .split_terminator('\0')
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let added = yard.verb("topic", "add", json!({"all": true})).await;
    let expected = ["a.c", "dir/y.c", "x.c"].map(str::to_owned);
    assert_eq!(staged(), BTreeSet::from(expected.clone()));
    assert_eq!(withheld(&added).len(), 100);
    assert_eq!(added["withheld_in_all"], odd.len() + 150);

    // What is named is staged, beside everything as well; so is a directory.
    let body = json!({"paths": [".", "*.gen", "many"]});
    let added = yard.verb("topic", "add", body).await;
    let mut expected = BTreeSet::from(expected);
    expected.insert("*.gen".to_owned());
    expected.extend((0..150).map(|n| format!("many/{n}.gen")));
    assert_eq!(staged(), expected);
    assert!(!withheld(&added).contains("*.gen"));

    // A commit says what it left out, and a message's push finds what is staged.
    write(&workspace, "more.c");
    let body = json!({"message": "More", "paths": ["."]});
    let committed = yard.verb("topic", "commit", body).await;
    let warned = committed["warnings"].to_string();
    assert!(warned.contains("build_output_left_out"), "{committed}");
    let answer = yard.verb("topic", "push", json!({"message": "x"})).await;
    assert_eq!(answer["state"], "pushed");
    let there = pushed(&yard, "topic");
    assert!(there.contains("more.c") && there.contains("many/7.gen"));
    assert!(!there.contains("a b.gen"));
    yard.stop().await;
}
