//! Repositories that a build put into its worktree, at a gitlink and beside what is tracked, whose
//! configuration names programs at every place that git knows. Whatever a caller asks of git, no such program runs
//! outside of the sandbox, and none has anything to change inside of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use branchyard_runs::argv::git_options;
use serde_json::{Map, Value, json};

use super::chance::Chance;
use crate::support::{Agent, Options, Yard, events_of, git, try_git};

/// What raw operations are given besides an option, each of these in turn.
const OPERANDS: [(&str, &[&str]); 14] = [
    ("add", &["sub", ".", "name.txt loose", "-u"]),
    ("blame", &["name.txt"]),
    ("cat-file", &["HEAD"]),
    ("checkout", &["-- sub name.txt", "HEAD~1 -- ."]),
    ("cherry-pick", &["origin/other"]),
    (
        "commit",
        &["-mm", "-mm -a", "-mm sub", "--dry-run name.txt"],
    ),
    (
        "describe",
        &["--always", "--always --dirty", "--always --broken"],
    ),
    ("diff", &["", "HEAD", "HEAD~1 -- sub"]),
    ("grep", &["content"]),
    ("mv", &["sub moved"]),
    ("rebase", &["origin/other"]),
    ("restore", &["sub name.txt", "--source=HEAD~1 -S -W ."]),
    ("revert", &["HEAD"]),
    ("rm", &["--cached sub", "-r sub"]),
];

/// A build that puts repositories into its worktree over and over.
const PLANTING: &str = "echo planting; while [ ! -e enough ]; do rm -rf sub loose; \
                        cp -a spare sub; cp -a spare loose; done; echo planted";

/// A yard whose builds are contained and whose tree has a gitlink, and a trap to put into its worktrees.
struct Scene {
    yard: Yard,
    trap: PathBuf,
    canary: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let yard = Yard::asleep(Options {
            tables: "[sandbox]\nprofile = \"standard\"\n".to_owned(),
            repo: format!("[repos.demo.tasks]\nplant = [\"sh\", \"-c\", {PLANTING:?}]\n"),
            ..Options::default()
        });
        let origin = &yard.origin;
        let linked = format!("160000,{},sub", origin.head());
        origin.git(&["update-index", "--add", "--cacheinfo", &linked]);
        origin.git(&["commit", "-q", "-m", "a gitlink"]);
        origin.write("again", "to be picked\n");
        origin.git(&["add", "again"]);
        origin.git(&["commit", "-q", "-m", "again"]);
        for branch in ["main", "topic"] {
            origin.push(branch);
        }
        origin.write("more", "to be merged\n");
        origin.git(&["add", "more"]);
        origin.git(&["commit", "-q", "-m", "more"]);
        origin.push("other");
        let (trap, canary) = (yard.dir.path().join("trap"), yard.dir.path().join("canary"));
        set_trap(&trap, &canary);
        Self { yard, trap, canary }
    }

    /// Puts the trap into the worktree of `branch`, at the gitlink and at a path that git does not know.
    /// Whatever was under way there is over.
    fn plant(&self, branch: &str) {
        let dir = self.yard.workspace(branch);
        let places = ["sub", "loose", "moved"].map(|place| dir.join(place));
        for at in places.iter().filter(|at| at.is_dir()) {
            fs::remove_dir_all(at).unwrap();
        }
        try_git(&dir, &["rebase", "--quit"]);
        git(
            &dir,
            &[
                "checkout",
                "-q",
                "-f",
                "-B",
                branch,
                &format!("origin/{branch}"),
            ],
        );
        for at in &places[..2] {
            if at.is_dir() {
                fs::remove_dir(at).unwrap();
            }
            copy(&self.trap, at);
        }
        git(&places[1], &["config", "core.worktree", ".."]);
        // Content has to be looked at: the index knows another time.
        let name = self.yard.workspace(branch).join("name.txt");
        fs::write(name, "changed\n").unwrap();
    }

    fn is_sprung(&self) -> bool {
        self.canary.exists()
    }

    fn check(&self, called: &str) {
        assert!(!self.is_sprung(), "{called} ran a program of the worktree");
        let refs = git(&self.yard.store(), &["for-each-ref", "--format=%(refname)"]);
        assert!(!refs.contains("planted"), "{called} let a program write");
    }

    /// The trap works: a git that nothing confines runs its program.
    fn spring(&self, branch: &str) {
        self.plant(branch);
        try_git(&self.yard.workspace(branch), &["status"]);
        assert!(self.is_sprung(), "the trap is none");
    }
}

/// A repository with a changed file, whose configuration has git start a program at every occasion.
fn set_trap(dir: &Path, canary: &Path) {
    fs::create_dir_all(dir).unwrap();
    git(dir, &["init", "-q", "--initial-branch=main"]);
    fs::write(dir.join("file"), "content\n").unwrap();
    git(dir, &["add", "file"]);
    git(dir, &["commit", "-q", "-m", "one"]);
    let program = dir.join(".git/program");
    // Behind the walls it would try to leave a ref in the store.
    let script = format!(
        "#!/bin/sh\necho x > {}\ngit -C ../ update-ref refs/heads/planted HEAD 2>/dev/null\ncat\n",
        canary.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let run = "sh -c 'sh \"$(git rev-parse --git-dir)/program\"'";
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "merge.evil.driver",
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "credential.helper",
        "gpg.program",
        "alias.status",
    ] {
        git(
            dir,
            &["config", key, &format!("!{run}").replace("!sh", "sh")],
        );
    }
    git(dir, &["config", "include.path", "more-config"]);
    fs::write(
        dir.join(".git/more-config"),
        format!("[filter \"evil\"]\n\tclean = {}\n", quoted(run)),
    )
    .unwrap();
    fs::write(
        dir.join(".gitattributes"),
        "* filter=evil diff=evil merge=evil\n",
    )
    .unwrap();
    fs::create_dir_all(dir.join(".git/objects/info")).unwrap();
    fs::write(dir.join(".git/objects/info/alternates"), "/tmp\n").unwrap();
    for hook in [
        "pre-commit",
        "post-index-change",
        "post-checkout",
        "reference-transaction",
    ] {
        let hook = dir.join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::copy(&program, hook).unwrap();
    }
    fs::write(dir.join("file"), "changed\n").unwrap();
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status();
    assert!(copied.unwrap().success());
}

/// Bodies of a typed verb: each of its fields once with each kind of value, then pairs by chance.
fn bodies(schema: &Value, chance: &mut Chance, pairs: usize) -> Vec<Value> {
    let fields = schema["properties"].as_object().unwrap();
    let values: Vec<(String, Value)> = fields
        .iter()
        .filter(|(name, _)| !["repo", "branch", "verbosity"].contains(&name.as_str()))
        .flat_map(|(name, kind)| {
            let values = values_of(name, kind, schema);
            values.into_iter().map(|value| (name.clone(), value))
        })
        .collect();
    let mut all = vec![json!({})];
    all.extend(values.iter().map(|(name, value)| json!({ name: value })));
    for _ in 0..pairs.min(values.len() * values.len()) {
        let (one, two) = (chance.pick(&values), chance.pick(&values));
        let body: Map<_, _> = [one.clone(), two.clone()].into_iter().collect();
        all.push(Value::Object(body));
    }
    all
}

/// What a field may well be given.
fn values_of(name: &str, kind: &Value, schema: &Value) -> Vec<Value> {
    let text = kind.to_string();
    if let Some(target) = kind["$ref"].as_str() {
        let target = schema.pointer(target.trim_start_matches('#'));
        return target.map_or_else(Vec::new, |kind| values_of(name, kind, schema));
    }
    if let Some(listed) = kind["enum"].as_array() {
        return listed.clone();
    }
    if let Some(kinds) = kind["oneOf"].as_array().or(kind["anyOf"].as_array()) {
        let kinds = kinds.iter();
        return kinds
            .flat_map(|kind| values_of(name, kind, schema))
            .collect();
    }
    if !kind["const"].is_null() {
        return vec![kind["const"].clone()];
    }
    match name {
        "paths" => vec![json!(["sub"]), json!(["loose"]), json!(["name.txt", "sub"])],
        "path" => vec![json!("name.txt"), json!("sub")],
        "message" => vec![json!("a message")],
        "from" | "to" | "onto" | "upstream" | "revision" | "target" => {
            vec![json!("HEAD~1"), json!("origin/other")]
        }
        "commits" => vec![json!(["origin/other"]), json!(["HEAD"])],
        "author" => vec![json!("A <a@example.org>")],
        _ if text.contains("boolean") => vec![json!(true)],
        _ if text.contains("integer") => vec![json!(1)],
        _ => Vec::new(),
    }
}

/// What verbs need besides, to come as far as git.
fn with_needs(verb: &str, mut body: Value) -> Value {
    let fields = body.as_object_mut().unwrap();
    let is_named = ["paths", "update", "all"]
        .iter()
        .any(|name| fields.contains_key(*name));
    let needed = match verb {
        "add" if !is_named => ("all", json!(true)),
        "commit" => ("message", json!("m")),
        "blame" => ("path", json!("name.txt")),
        "show" => ("revision", json!("HEAD")),
        "reset" | "clean" | "checkout" => ("confirm", json!(true)),
        "cherry_pick" | "revert" => ("commits", json!(["origin/other"])),
        "merge" => ("from", json!("other")),
        "rebase" => ("onto", json!("origin/other")),
        _ => return body,
    };
    fields.entry(needed.0).or_insert(needed.1);
    body
}

/// Every typed verb by its own schema.
async fn typed(scene: &Scene, seed: u64, pairs: usize, one_of: usize) -> usize {
    let (mut chance, mut looked) = (Chance::new(seed), 0);
    let agent = Agent::of_git(&scene.yard, "topic");
    let offered = agent.request("tools/list", json!({})).await.unwrap();
    for tool in offered["tools"].as_array().unwrap() {
        let Some(verb) = tool["name"].as_str().unwrap().strip_prefix("git_") else {
            continue;
        };
        // They make branches and repos, and look at no worktree of this one.
        if ["clone", "init"].contains(&verb) {
            continue;
        }
        for body in bodies(&tool["inputSchema"], &mut chance, pairs) {
            if !chance.one_in(one_of) {
                continue;
            }
            let body = with_needs(verb, body);
            scene.plant("topic");
            let answer = scene.yard.try_verb("topic", verb, body.clone()).await;
            let status = answer.status();
            assert_ne!(
                status,
                500,
                "{verb} {body}: {}",
                answer.text().await.unwrap()
            );
            // A refusal for what is in the way comes from a look at the worktree as well.
            looked += usize::from(status.is_success() || status == 409);
            scene.check(&format!("{verb} {body}"));
        }
    }
    looked
}

/// An option of the yard's own tables with a value that git takes, or with each of those that it may have.
fn written_out(option: &str) -> Vec<String> {
    let (name, values) = match option.split_once("[=") {
        Some((name, values)) => (name, values.trim_end_matches(']')),
        None => option.split_once('=').unwrap_or((option, "no value")),
    };
    let is_long = name.starts_with("--");
    let with = |value: &str| match is_long {
        true => format!("{name}={value}"),
        false => format!("{name}{value}"),
    };
    let value = match name {
        "-<n>" => return vec!["-2".to_owned()],
        "--source" | "-s" | "--onto" | "--with-tree" | "--ignore-rev" | "--fixup" | "--squash"
        | "--contains" | "--no-contains" | "--merged" | "--no-merged" | "--points-at" => "HEAD",
        "--format" | "--pretty" => "%H",
        "--author" => "A <a@example.org>",
        "--porcelain" => "v2",
        "-L" => "1,1:name.txt",
        "--date" => "iso",
        "--strategy" => "ort",
        "--strategy-option" | "-X" => "ours",
        _ => "1",
    };
    let is_optional = option.contains("[=");
    let mut all: Vec<String> = match values {
        "no value" => Vec::new(),
        "" | "?" => vec![with(value)],
        values => values.split('|').map(with).collect(),
    };
    if values == "no value" || is_optional {
        all.push(name.to_owned());
    }
    all
}

/// Every raw operation by each of its options; one in so many of them.
async fn raw(scene: &Scene, seed: u64, one_of: usize) -> usize {
    let mut chance = Chance::new(seed);
    let mut calls = Vec::new();
    for (operation, option) in git_options() {
        let found = OPERANDS.iter().find(|(name, _)| *name == operation);
        let operands = found.map_or(&[""][..], |(_, operands)| operands);
        for option in written_out(option) {
            calls.extend(
                operands
                    .iter()
                    .map(|operands| (operation, option.clone(), *operands)),
            );
        }
    }
    let (mut ended, mut refused) = (0, 0);
    for (operation, option, operands) in calls {
        if !chance.one_in(one_of) {
            continue;
        }
        let mut args = vec![option];
        args.extend(operands.split_whitespace().map(str::to_owned));
        scene.plant("topic");
        let body = json!({ "operation": operation, "args": args });
        let path = "/stream/repos/demo/branches/topic/git";
        let answer = scene.yard.post(path, body).await;
        // Some words do not go together, which is told before anything is done.
        if [400, 403].contains(&answer.status().as_u16()) {
            refused += 1;
            continue;
        }
        let events = events_of(answer).await;
        ended += usize::from(events.last().unwrap().data["exit_code"] == 0);
        scene.check(&format!("git {operation} {args:?}"));
    }
    println!("{ended} commands did what they are for, {refused} were refused");
    ended
}

#[tokio::test(flavor = "multi_thread")]
async fn no_verb_runs_what_a_worktree_names() {
    let mut scene = Scene::new();
    scene.yard.start().await;
    scene.yard.make("topic", &["who"]).await;
    assert!(typed(&scene, 1, 2, 4).await > 10);
    scene.spring("topic");
    scene.yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_raw_command_runs_what_a_worktree_names() {
    let mut scene = Scene::new();
    scene.yard.start().await;
    scene.yard.make("topic", &["who"]).await;
    assert!(raw(&scene, 2, 30).await > 10);
    scene.spring("topic");
    scene.yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_an_ordinary_users_daemon() {
    let mut scene = Scene::new();
    let mut daemon = scene.yard.start_ordinary().await;
    scene.yard.make("topic", &["who"]).await;
    typed(&scene, 3, 1, 12).await;
    raw(&scene, 4, 60).await;
    daemon.stop().await;
    scene.spring("topic");
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_while_a_build_plants_it() {
    let mut scene = Scene::new();
    scene.yard.start().await;
    scene.yard.make("topic", &["who"]).await;
    let dir = scene.yard.workspace("topic");
    copy(&scene.trap, &dir.join("spare"));
    let yard = &scene.yard;
    let body = json!({"task": "plant"});
    let mut planting = yard.start_run("task", "topic", body).await;
    planting.until_line("planting").await;
    let at = "/api/repos/demo/branches/topic";
    for round in 0..8 {
        for (verb, body) in [
            ("status", json!({"ignored": true, "each_file": true})),
            ("status", json!({"verbosity": "full"})),
            ("diff", json!({"include_untracked": true})),
            ("diff", json!({"from": "HEAD~1"})),
            ("blame", json!({"path": "name.txt"})),
            ("show", json!({"revision": "HEAD"})),
        ] {
            let answer = yard.try_verb("topic", verb, body.clone()).await;
            let (status, said) = (answer.status(), answer.text().await.unwrap());
            assert_ne!(status, 500, "{round}: {verb} {body}: {said}");
        }
        for (read, body) in [("ls", json!({})), ("grep", json!({"pattern": "x"}))] {
            let answer = yard.post(&format!("{at}/{read}"), body).await;
            assert_ne!(answer.status(), 500, "{round}: {read}");
        }
        yard.get_json("/api/repos/demo/branches").await;
        scene.check(&format!("a look in round {round}"));
    }
    fs::write(dir.join("enough"), "").unwrap();
    assert_eq!(planting.end().await.data["state"], "succeeded");
    scene.check("what came after");
    scene.spring("topic");
    scene.yard.stop().await;
}

/// All of them, and many pairs.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_nothing_of_git_runs_what_a_worktree_names() {
    let seed = std::env::var("BRANCHYARD_SEED").map_or(7, |seed| seed.parse().unwrap());
    let mut scene = Scene::new();
    scene.yard.start().await;
    scene.yard.make("topic", &["who"]).await;
    typed(&scene, seed, 30, 1).await;
    raw(&scene, seed, 1).await;
    scene.spring("topic");
    scene.yard.stop().await;
}
