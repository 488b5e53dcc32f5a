//! The set-up of workspaces: once for all with the same inputs, trusted as far as where it was made, and never in the way
//! of anyone's work.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Event, Options, Yard, problem_of, text_of};

/// Each branch has its own way to make `deps`, which no input tells of.
const SETUP: &str = "\
[repos.demo.setup]
run = [[\"sh\", \"deps.sh\"]]
inputs = [\"lock\"]
outputs = [\"deps\"]
";
const MAKEFILE: &str = "all:\n\t@cat deps/made\nnothing:\n\t@:\n";
const DEPS: &str = "mkdir -p deps; echo of `cat lock` > deps/made; echo set up\n";

fn yard_of(setup: &str) -> Yard {
    let yard = Yard::asleep(Options {
        tables: setup.to_owned(),
        timeouts: "grace = \"1s\"\ndrain = \"500ms\"\n".to_owned(),
        ..Options::default()
    });
    yard.origin.at("main");
    yard.origin.write("Makefile", MAKEFILE);
    yard.origin.write("deps.sh", DEPS);
    yard.origin.write("lock", "1\n");
    yard.origin.write(".gitignore", "deps\n");
    yard.origin.commit("a project with a set-up");
    yard.origin.push("main");
    yard
}

impl Yard {
    /// A branch at the present commit of the origin, with these files changed.
    fn branch_with(&self, name: &str, files: &[(&str, &str)]) {
        let base = self.origin.head();
        for (path, content) in files {
            self.origin.write(path, content);
        }
        if !files.is_empty() {
            self.origin.commit(name);
        }
        self.origin.push(name);
        self.origin.at(&base);
    }

    async fn setups(&self) -> Vec<Value> {
        let runs = self.get_json("/api/runs?kind=setup&limit=100").await;
        runs["items"].as_array().unwrap().clone()
    }

    async fn record_of(&self, events: &[Event]) -> Value {
        let id = events[0].data["run_id"].as_str().unwrap().to_owned();
        self.get_json(&format!("/api/runs/{id}")).await
    }
}

fn npm(dir: &Path, args: &[&str]) {
    let done = Command::new("npm")
        .args(args)
        .args([
            "--offline",
            "--no-audit",
            "--ignore-scripts",
            "--loglevel=error",
        ])
        .current_dir(dir)
        .env("npm_config_cache", dir.join(".npm-cache"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// A package that is packed into the project, for npm to install from there.
fn pack(yard: &Yard, version: &str) {
    let package = yard.dir.path().join(format!("greet-{version}"));
    fs::create_dir(&package).unwrap();
    let json = format!(r#"{{"name": "greet", "version": "{version}", "main": "index.js"}}"#);
    fs::write(package.join("package.json"), json).unwrap();
    fs::write(
        package.join("index.js"),
        format!("module.exports = 'greet {version}';\n"),
    )
    .unwrap();
    npm(&package, &["pack"]);
    let project = yard.dir.path().join("project");
    fs::create_dir_all(&project).unwrap();
    let packed = format!("greet-{version}.tgz");
    fs::copy(package.join(&packed), project.join(&packed)).unwrap();
    let json = format!(
        r#"{{"name": "app", "version": "1.0.0", "dependencies": {{"greet": "file:{packed}"}},
            "scripts": {{"postinstall": "date +%s%N > node_modules/installed-at"}}}}"#
    );
    fs::write(project.join("package.json"), json).unwrap();
    npm(&project, &["install", "--package-lock-only"]);
    for file in ["package.json", "package-lock.json", &packed] {
        yard.origin
            .write(file, fs::read(project.join(file)).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_branches_have_one_npm_ci_and_a_changed_lock_one_more() {
    let mut yard = yard_of(
        "[repos.demo.setup]\nrun = [[\"npm\", \"ci\", \"--offline\", \"--no-audit\", \"--no-fund\"]]\n\
         inputs = [\"package-lock.json\"]\noutputs = [\"node_modules\"]\n",
    );
    let makefile = "all:\n\t@node -p \"require('greet')\"\n\t@cat node_modules/installed-at\n";
    yard.origin.write("Makefile", makefile);
    yard.origin.write(".gitignore", "node_modules\n");
    pack(&yard, "1.0.0");
    yard.origin.commit("an npm project");
    yard.origin.push("main");
    let branches: Vec<_> = (0..10).map(|n| format!("topic-{n}")).collect();
    for branch in &branches {
        yard.branch_with(branch, &[]);
    }
    yard.start().await;
    let (mut runs, mut said) = (Vec::new(), Vec::new());
    for branch in &branches {
        runs.push(yard.start_detached(branch, json!({"args": ["all"]})).await);
    }
    for run in &runs {
        yard.ended(run).await;
        said.push(yard.log(run).await);
    }
    assert!(said[0].starts_with("greet 1.0.0\n"), "{said:?}");
    // The moment of the installation is that of the one that made it.
    assert!(said.iter().all(|text| *text == said[0]), "{said:?}");
    let setups = yard.setups().await;
    assert_eq!(setups.len(), 1, "{setups:?}");
    assert_eq!(setups[0]["state"], "succeeded");
    let again = text_of(&yard.make("topic-3", &["all"]).await);
    assert_eq!(again, said[0]);
    assert_eq!(yard.setups().await.len(), 1);

    pack(&yard, "1.1.0");
    yard.origin.commit("another version");
    yard.origin.push("topic-3");
    yard.origin.push("topic-4");
    for branch in ["topic-3", "topic-4"] {
        let said = text_of(&yard.make(branch, &["all"]).await);
        assert!(said.starts_with("greet 1.1.0\n"), "{said:?}");
    }
    assert_eq!(yard.setups().await.len(), 2);
    let outputs = yard.get_json("/api/repos/demo/branches/topic-4").await;
    assert_eq!(outputs["pins"], json!([]), "{outputs}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_topic_branch_made_never_reaches_a_protected_one() {
    let mut yard = yard_of(SETUP);
    let poison = "mkdir -p deps; echo poison > deps/made\n";
    yard.branch_with("topic", &[("deps.sh", poison)]);
    yard.branch_with("like-main", &[]);
    yard.branch_with("other", &[]);
    yard.start().await;
    assert_eq!(text_of(&yard.make("topic", &["all"]).await), "poison\n");
    // Like it are all branches that are not protected.
    assert_eq!(text_of(&yard.make("like-main", &["all"]).await), "poison\n");
    let main = yard.make("main", &["all"]).await;
    assert_eq!(text_of(&main), "of 1\n");
    let record = yard.record_of(&main).await;
    assert!(record["setup"].is_string(), "{record}");
    assert_eq!(yard.setups().await.len(), 2);
    // From now on there is something better for the others.
    assert_eq!(text_of(&yard.make("other", &["all"]).await), "of 1\n");
    assert_eq!(yard.setups().await.len(), 2);

    // At the same commit as main, but with a file that git does not know.
    let other = yard.workspace("other");
    fs::remove_dir_all(other.join("deps")).unwrap();
    fs::remove_dir_all(yard.workspaces.join(".branchyard/setups")).unwrap();
    fs::write(other.join("deps.sh"), poison).unwrap();
    assert_eq!(text_of(&yard.make("other", &["all"]).await), "poison\n");
    fs::remove_dir_all(yard.workspace("main").join("deps")).unwrap();
    assert_eq!(text_of(&yard.make("main", &["all"]).await), "of 1\n");
    // In a protected workspace that is not what the remote has it is made, and kept for no other.
    let kept = || {
        fs::read_dir(yard.workspaces.join(".branchyard/setups/demo"))
            .unwrap()
            .count()
    };
    assert_eq!(kept(), 2);
    fs::remove_dir_all(yard.workspaces.join(".branchyard/setups")).unwrap();
    fs::write(yard.workspace("main").join("deps.sh"), poison).unwrap();
    fs::remove_dir_all(yard.workspace("main").join("deps")).unwrap();
    let dirty = yard
        .run("make", "main", json!({"args": ["all"], "sync": "none"}))
        .await;
    assert_eq!(text_of(&dirty), "poison\n");
    assert!(!yard.workspaces.join(".branchyard/setups/demo").exists());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_build_does_to_outputs_stays_in_its_workspace() {
    let mut yard = yard_of(SETUP);
    yard.branch_with(
        "one",
        &[(
            "Makefile",
            "all:\n\t@echo spoilt >> deps/made\n\t@cat deps/made\n",
        )],
    );
    yard.branch_with("two", &[]);
    yard.start().await;
    assert_eq!(text_of(&yard.make("one", &["all"]).await), "of 1\nspoilt\n");
    assert_eq!(text_of(&yard.make("two", &["all"]).await), "of 1\n");
    // What was there stays until the inputs change, and comes back where it is missing.
    assert_eq!(
        text_of(&yard.make("one", &["all"]).await),
        "of 1\nspoilt\nspoilt\n"
    );
    let cleaned = yard
        .run("make", "one", json!({"args": ["all"], "clean": true}))
        .await;
    assert_eq!(text_of(&cleaned), "of 1\nspoilt\n");
    assert_eq!(yard.setups().await.len(), 1);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_up_that_fails_fails_the_run_with_its_log() {
    let mut yard = yard_of(SETUP);
    let fails = "echo looking; echo 'deps.sh:1: error: no such package' >&2; exit 3\n";
    yard.branch_with("topic", &[("deps.sh", fails)]);
    yard.branch_with("empty", &[("deps.sh", "echo nothing\n")]);
    yard.start().await;
    let events = yard.make("topic", &["nothing"]).await;
    assert!(text_of(&events).contains("looking\n"), "{events:?}");
    let record = yard.record_of(&events).await;
    assert_eq!(record["state"], "failed", "{record}");
    assert_eq!(record["exit_code"], 3);
    let reason = record["reason"].as_str().unwrap();
    let setup = record["setup"].as_str().unwrap();
    assert!(
        reason.contains("sh deps.sh") && reason.contains(setup),
        "{reason}"
    );
    assert_eq!(record["diagnostics"]["errors"], 1, "{record}");
    let log = yard.log(setup).await;
    assert!(log.contains("no such package"), "{log}");
    // To mend it, a run goes without.
    let mended = yard
        .run(
            "make",
            "topic",
            json!({"args": ["nothing"], "without_setup": true}),
        )
        .await;
    assert_eq!(yard.record_of(&mended).await["state"], "succeeded");
    assert_eq!(yard.setups().await.len(), 1);
    let (status, problem) = problem_of(
        yard.post(&format!("/stream/runs/{setup}/rerun"), json!({}))
            .await,
    )
    .await;
    assert_eq!(status, 422, "{problem}");

    let record = yard
        .record_of(&yard.make("empty", &["nothing"]).await)
        .await;
    assert_eq!(record["state"], "rejected", "{record}");
    assert_eq!(record["error"]["code"], "setup_incomplete");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_up_replaces_no_work_and_nothing_tracked() {
    let mut yard = yard_of(SETUP);
    yard.branch_with("tracked", &[("deps/made", "tracked\n"), (".gitignore", "")]);
    yard.branch_with("work", &[]);
    yard.start().await;
    let record = yard.record_of(&yard.make("tracked", &["all"]).await).await;
    assert_eq!(record["error"]["code"], "setup_in_the_way", "{record}");
    yard.put("/api/repos/demo/branches/work", json!({})).await;
    let own = yard.workspace("work").join("deps/mine");
    fs::create_dir(own.parent().unwrap()).unwrap();
    fs::write(&own, "work").unwrap();
    let record = yard.record_of(&yard.make("work", &["all"]).await).await;
    assert_eq!(record["error"]["code"], "setup_in_the_way", "{record}");
    assert_eq!(fs::read_to_string(&own).unwrap(), "work");
    // A link in the place of a directory leads nowhere.
    let elsewhere = yard.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("made"), "kept").unwrap();
    fs::remove_dir_all(own.parent().unwrap()).unwrap();
    let link = "all:\n\t@rm -rf deps; ln -s $(PLACE) deps\n";
    fs::write(
        yard.workspace("work").join("Makefile"),
        link.replace("$(PLACE)", elsewhere.to_str().unwrap()),
    )
    .unwrap();
    yard.make("work", &["all"]).await;
    fs::write(yard.workspace("work").join("lock"), "2\n").unwrap();
    fs::write(yard.workspace("work").join("Makefile"), MAKEFILE).unwrap();
    assert_eq!(text_of(&yard.make("work", &["all"]).await), "of 2\n");
    assert_eq!(fs::read_to_string(elsewhere.join("made")).unwrap(), "kept");
    assert!(!yard.workspace("work").join("deps").is_symlink());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_declares_its_own_where_the_operator_allows_it() {
    let file = "setup:\n  run: [[sh, other.sh]]\n  inputs: [lock]\n  outputs: [deps]\n";
    let with_file = [
        (".branchyard/repo.yml", file),
        (
            "other.sh",
            "mkdir -p deps; echo by the branch > deps/made\n",
        ),
    ];
    let broken = [(
        ".branchyard/repo.yml",
        "setup:\n  run: [[sh]]\n  outputs: [../x]\n",
    )];
    let mut yard = yard_of(SETUP);
    yard.branch_with("own", &with_file);
    yard.branch_with("broken", &broken);
    yard.branch_with("plain", &[]);
    yard.start().await;
    assert_eq!(text_of(&yard.make("own", &["all"]).await), "of 1\n");
    yard.stop().await;
    yard.configure(Options {
        tables: SETUP.to_owned(),
        repo: "setup_on_branch = true\n".to_owned(),
        ..Options::default()
    });
    yard.start().await;
    assert_eq!(
        text_of(&yard.make("own", &["all"]).await),
        "by the branch\n"
    );
    assert_eq!(text_of(&yard.make("plain", &["all"]).await), "of 1\n");
    let record = yard.record_of(&yard.make("broken", &["all"]).await).await;
    let error = &record["error"];
    assert_eq!(error["code"], "setup_invalid", "{record}");
    let detail = error["detail"].as_str().unwrap();
    assert!(
        detail.contains("line 3") && detail.contains("../x"),
        "{detail}"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_ends_its_set_up_and_the_next_one_makes_it() {
    let mut yard = yard_of(SETUP);
    let slow = "echo waiting; while [ ! -e go ]; do sleep 0.05; done; mkdir -p deps; echo made > deps/made\n";
    yard.branch_with("topic", &[("deps.sh", slow)]);
    yard.start().await;
    let mut run = yard
        .start_run(
            "make",
            "topic",
            json!({"args": ["all"], "on_disconnect": "continue"}),
        )
        .await;
    let told = run.until(|event| event.data["setup"].is_string()).await;
    let setup = told.data["setup"].as_str().unwrap().to_owned();
    yard.follow(&setup).await.until_line("waiting").await;
    yard.post(&format!("/api/runs/{}/cancel", run.run_id()), json!({}))
        .await;
    run.end().await;
    assert_eq!(yard.ended(&setup).await["state"], "cancelled");
    fs::write(yard.workspace("topic").join("go"), "").unwrap();
    assert_eq!(text_of(&yard.make("topic", &["all"]).await), "made\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_being_set_up_survives_the_daemon() {
    let mut yard = yard_of(SETUP);
    let slow = "echo waiting; while [ ! -e go ]; do sleep 0.05; done; mkdir -p deps; echo made > deps/made\n";
    yard.branch_with("topic", &[("deps.sh", slow)]);
    let mut daemon = yard.start_binary(&[]).await;
    let run = yard.start_detached("topic", json!({"args": ["all"]})).await;
    let setup = yard
        .follow(&run)
        .await
        .until(|event| event.data["setup"].is_string())
        .await;
    let setup = setup.data["setup"].as_str().unwrap().to_owned();
    yard.follow(&setup).await.until_line("waiting").await;
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    fs::write(yard.workspace("topic").join("go"), "").unwrap();
    assert_eq!(yard.ended(&setup).await["state"], "succeeded");
    let ended = yard.ended(&run).await;
    assert_eq!(ended["state"], "succeeded", "{ended}");
    assert!(yard.log(&run).await.ends_with("made\n"));
    daemon.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_failed_set_up_left_is_not_taken_for_whole() {
    let mut yard = yard_of(SETUP);
    let half =
        "mkdir -p deps; echo half > deps/made; [ `cat lock` = 1 ] && echo of 1 > deps/made\n";
    yard.branch_with("topic", &[("deps.sh", half)]);
    yard.start().await;
    assert_eq!(text_of(&yard.make("topic", &["all"]).await), "of 1\n");
    let lock = yard.workspace("topic").join("lock");
    fs::write(&lock, "2\n").unwrap();
    let failed = yard.record_of(&yard.make("topic", &["all"]).await).await;
    assert_eq!(failed["state"], "failed", "{failed}");
    fs::write(&lock, "1\n").unwrap();
    assert_eq!(text_of(&yard.make("topic", &["all"]).await), "of 1\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_made_of_inputs_that_changed_is_for_no_other() {
    let mut yard = yard_of(SETUP);
    let slow = "echo waiting; while [ ! -e go ]; do sleep 0.05; done; mkdir -p deps; echo of `cat lock` > deps/made\n";
    yard.branch_with("topic", &[("deps.sh", slow)]);
    yard.branch_with("other", &[]);
    yard.start().await;
    let mut run = yard
        .start_run("make", "topic", json!({"args": ["all"]}))
        .await;
    let told = run.until(|event| event.data["setup"].is_string()).await;
    let setup = told.data["setup"].as_str().unwrap().to_owned();
    yard.follow(&setup).await.until_line("waiting").await;
    let topic = yard.workspace("topic");
    fs::write(topic.join("lock"), "2\n").unwrap();
    fs::write(topic.join("go"), "").unwrap();
    run.end().await;
    assert_eq!(text_of(&yard.make("other", &["all"]).await), "of 1\n");
    assert_eq!(yard.setups().await.len(), 2);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_to_a_branch_before_it_was_protected_does_not_stay() {
    let mut yard = yard_of(SETUP);
    yard.branch_with(
        "topic",
        &[("deps.sh", "mkdir -p deps; echo poison > deps/made\n")],
    );
    yard.branch_with("release", &[]);
    yard.start().await;
    yard.make("topic", &["all"]).await;
    assert_eq!(text_of(&yard.make("release", &["all"]).await), "poison\n");
    yard.stop().await;
    yard.configure(Options {
        tables: SETUP.to_owned(),
        git: "protected = [\"release\"]\n".to_owned(),
        ..Options::default()
    });
    yard.start().await;
    assert_eq!(text_of(&yard.make("release", &["all"]).await), "of 1\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_slot_is_enough_for_many_that_need_one_set_up() {
    let mut yard = yard_of(SETUP);
    yard.configure(Options {
        tables: SETUP.to_owned(),
        repo: "max_concurrent_runs = 1\n".to_owned(),
        ..Options::default()
    });
    for branch in ["one", "two", "three"] {
        yard.branch_with(branch, &[]);
    }
    yard.start().await;
    let mut runs = Vec::new();
    for branch in ["one", "two", "three"] {
        runs.push(yard.start_detached(branch, json!({"args": ["all"]})).await);
    }
    for run in &runs {
        assert_eq!(yard.ended(run).await["state"], "succeeded");
    }
    assert_eq!(yard.setups().await.len(), 1);
    yard.stop().await;
}
