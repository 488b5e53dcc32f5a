//! A secret follows content: it is given to what the remote has for the branch, and to nothing that a caller, a verb or
//! a hand put in its place.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{
    Agent, Event, Options, Yard, encode, events_of, git, problem_of, text_of, warnings_of,
};

const TOKEN: &str = "t0ken-of-the-yard";

const MAKEFILE: &str = "\
-include local.mk
CC = cat
show:
\t@if [ -n \"$$TOKEN\" ]; then echo given; else echo unset; fi
build:
\t@mkdir -p deep/er; $(CC) name.txt > out.bin; cp name.txt deep/er/out.bin
pattern-%:
\t@if [ -n \"$$TOKEN\" ]; then echo given; else echo unset; fi; echo $@
";

const TASK: &str = "if [ -n \"$TOKEN\" ]; then echo given; else echo unset; fi; echo \"$@\"\n";

/// A yard whose `main` and `release/*` have a secret in make and in the task `publish`.
fn asleep(more: &str) -> Yard {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.write("Makefile", MAKEFILE);
    yard.origin.write("publish.sh", TASK);
    yard.origin.write(".gitignore", "*.bin\nlocal.mk\n");
    yard.origin.commit("second");
    yard.origin.push("main");
    yard.origin.push("release/1");
    yard.origin.push("topic/x");
    let file = yard.dir.path().join("token");
    std::fs::write(&file, TOKEN).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    yard.configure(Options {
        tables: format!(
            "[secrets.token]\nfile = {file:?}\nbranches = [\"main\", \"release/*\"]\n\
             [code]\nwithout_sandbox = true\n[build]\nallow_make_args = [\"--eval\", \"-f\", \"SHELL=\"]\n"
        ),
        git: match more.contains("freshness") {
            true => "freshness = \"1h\"".to_owned(),
            false => String::new(),
        },
        repo: format!(
            "{}tasks = {{ publish = [\"sh\", \"publish.sh\"], lint = [\"sh\", \"publish.sh\"] }}\n\
             [repos.demo.secrets]\n\
             publish = {{ TOKEN = \"token\" }}\n\
             make = {{ TOKEN = \"token\" }}\n",
            match more.contains("warm") {
                true => "warm = \"nearest\"\n",
                false => "",
            }
        ),
        ..Options::default()
    });
    yard
}

async fn yard() -> Yard {
    let mut yard = asleep("");
    yard.start().await;
    yard
}

async fn make(yard: &Yard, body: Value) -> Vec<Event> {
    yard.run("make", "main", body).await
}

#[track_caller]
fn assert_given(events: &[Event]) {
    assert_eq!(text_of(events), "given\n", "{events:?}");
    assert_eq!(warnings_of(events), Vec::<&str>::new());
}

/// That the run was refused for what lies in its workspace.
#[track_caller]
fn assert_tainted(events: &[Event], why: &str) {
    let end = events.last().unwrap();
    assert_eq!(end.kind, "error", "{events:?}");
    assert_eq!(end.data["code"], "tainted", "{end:?}");
    assert_eq!(end.data["kind"], "conflict", "{end:?}");
    let detail = end.data["detail"].as_str().unwrap();
    assert!(detail.contains(why), "{detail}");
    let help = end.data["help"].as_str().unwrap();
    assert!(help.contains("`clean: true`"), "{help}");
    assert_eq!(text_of(events), "", "nothing ran");
}

/// A run that must be given nothing; that it is tainted is told by the next.
async fn show(yard: &Yard) -> Vec<Event> {
    make(yard, json!({"args": ["show"]})).await
}

/// With `clean: true` it is given, whatever was there; work is saved first.
async fn clean(yard: &Yard) {
    let events = make(yard, json!({"args": ["show"], "clean": true})).await;
    assert_eq!(text_of(&events), "given\n", "{events:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_caller_puts_into_a_command_costs_it_the_secret() {
    let mut yard = yard().await;
    for args in [
        json!([]),
        json!(["show"]),
        json!(["-j2", "-k", "-s", "show"]),
        json!(["-ksj2", "--keep-going", "--silent", "show"]),
        json!(["-j", "3", "show"]),
        json!(["--jobs=3", "show"]),
    ] {
        let events = make(&yard, json!({ "args": args })).await;
        assert_given(&events);
    }
    for body in [
        json!({"args": ["show", "CC=env|rev"]}),
        json!({"args": ["show", "RM=env|rev #"]}),
        json!({"args": ["show", "--", "CC=x"]}),
        json!({"args": ["show", "SHELL=/bin/bash"]}),
        json!({"args": ["show", "X:=$(shell env)"]}),
        json!({"args": ["show", "-B"]}),
        json!({"args": ["show", "-i"]}),
        json!({"args": ["show", "-w"]}),
        json!({"args": ["-C", ".", "show"]}),
        json!({"args": ["-f", "Makefile", "show"]}),
        json!({"args": ["--eval=x:; @env", "show"]}),
        json!({"args": ["--file=Makefile", "show"]}),
        json!({"args": ["pattern-;env|rev"]}),
        json!({"args": ["pattern-$(id)"]}),
        json!({"args": ["show"], "env": {"X": "y"}}),
        json!({"args": ["show"], "env": {"CC": "env"}}),
    ] {
        let answer = yard
            .post("/stream/repos/demo/branches/main/make", body.clone())
            .await;
        if answer.status() == 400 {
            // Make itself is not given it, secret or not.
            continue;
        }
        let events = events_of(answer).await;
        assert_eq!(warnings_of(&events), ["secret_withheld"], "{body}");
        let text = text_of(&events);
        assert!(
            text.contains("unset") && !text.contains("given"),
            "{body}: {text}"
        );
        let run = events[0].data["run_id"].as_str().unwrap();
        // Again, it is the same command.
        let env = json!({"env": body.get("env").cloned().unwrap_or(json!({}))});
        let again = events_of(yard.post(&format!("/stream/runs/{run}/rerun"), env).await);
        assert_eq!(warnings_of(&again.await), ["secret_withheld"], "{body}");
    }
    let agent = Agent::new(&yard);
    for (args, said) in [
        (json!(["show"]), "given"),
        (json!(["show", "CC=x"]), "unset"),
    ] {
        let asked = json!({"repo": "demo", "branch": "main", "args": args});
        let told = agent.tool("make", asked).await.to_string();
        assert!(told.contains(said), "{told}");
    }
    let group =
        json!({"branches": ["main", "release/1"], "args": ["show", "CC=x"], "output": true});
    let events = events_of(yard.post("/stream/repos/demo/make", group).await).await;
    assert_eq!(text_of(&events), "unset\nunset\n", "{events:?}");

    let path = "/stream/repos/demo/branches/main/task";
    for (body, field) in [
        (json!({"args": ["x"]}), "args"),
        (json!({"env": {"X": "y"}}), "env"),
    ] {
        let mut body = body;
        body["task"] = json!("publish");
        let (status, problem) = problem_of(yard.post(path, body).await).await;
        assert_eq!((status, &problem["code"]), (403, &json!("secret_refused")));
        assert_eq!(problem["field"], field, "{problem}");
    }
    let asked = json!({"repo": "demo", "branch": "main", "task": "publish", "args": ["x"]});
    let refusal = agent.refusal("task", asked).await;
    assert!(refusal.contains("only as it is declared"), "{refusal}");
    let events = yard.run("task", "main", json!({"task": "publish"})).await;
    assert!(text_of(&events).starts_with("given\n"), "{events:?}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_with_variables_left_keeps_the_secret_away_until_it_is_gone() {
    let mut yard = yard().await;
    // What declared commands made is theirs.
    make(&yard, json!({"args": ["build"]})).await;
    assert!(yard.workspace("main").join("out.bin").exists());
    assert_given(&show(&yard).await);
    for tainting in [
        json!({"args": ["build", "CC=cat"]}),
        json!({"args": ["-B", "build"]}),
        json!({"args": ["build"], "env": {"X": "y"}}),
    ] {
        make(&yard, tainting).await;
        assert_tainted(&show(&yard).await, "untracked files may come from");
        // What a declared command makes of it is no better.
        let events = yard.run("task", "main", json!({"task": "lint"})).await;
        assert!(text_of(&events).starts_with("unset\n"), "{events:?}");
        assert_tainted(&show(&yard).await, "untracked files may come from");
        let events = yard.run("task", "main", json!({"task": "publish"})).await;
        assert_tainted(&events, "untracked files may come from");
        clean(&yard).await;
        assert!(!yard.workspace("main").join("out.bin").exists());
        make(&yard, json!({"args": ["build"]})).await;
        assert_given(&show(&yard).await);
    }
    // What callers write and run themselves is theirs, too; so is what git does not show.
    let write = json!({"path": "local.mk", "content": "x = 1\n"});
    yard.post_json("/api/repos/demo/branches/main/write_file", write)
        .await;
    assert_tainted(&show(&yard).await, "untracked files may come from");
    clean(&yard).await;
    let command = json!({"argv": ["sh", "-c", "echo ${TOKEN-none}; touch x.bin"]});
    let events = yard.run("exec", "main", command).await;
    assert_eq!(text_of(&events), "none\n");
    assert_tainted(&show(&yard).await, "untracked files may come from");
    clean(&yard).await;
    make(&yard, json!({"args": ["build"]})).await;
    // A task with arguments, which is given no secret, ran what its caller said.
    let lint = json!({"task": "lint", "args": ["x"]});
    yard.run("task", "main", lint).await;
    assert_tainted(&show(&yard).await, "untracked files may come from");

    // Neither another daemon nor a record of an earlier version makes it better.
    yard.stop().await;
    yard.start().await;
    assert_tainted(&show(&yard).await, "untracked files may come from");
    clean(&yard).await;
    make(&yard, json!({"args": ["build"]})).await;
    yard.stop().await;
    yard.start().await;
    assert_given(&show(&yard).await);
    let record = yard.store().join("worktrees/main/branchyard.json");
    let mut json: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    assert!(json["built_from"]["commits"].is_array(), "{json}");
    json.as_object_mut().unwrap().remove("built_from");
    std::fs::write(&record, json.to_string()).unwrap();
    assert_tainted(&show(&yard).await, "untracked files may come from");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hand_changed_keeps_the_secret_away() {
    let mut yard = yard().await;
    make(&yard, json!({"args": ["build"]})).await;
    assert_given(&show(&yard).await);
    let home = yard.workspace("main");
    type Hand = fn(&Path);
    let hands: [(&str, Hand, &str); 8] = [
        (
            "an output",
            |dir| write(dir, "out.bin", "x"),
            "no run made out.bin",
        ),
        (
            "inside",
            |dir| write(dir, "deep/er/out.bin", "x"),
            "deep/er/out.bin",
        ),
        ("beside", |dir| write(dir, "deep/er/new", "x"), "deep/er"),
        (
            "removed",
            |dir| std::fs::remove_file(dir.join("deep/er/out.bin")).unwrap(),
            "deep/er",
        ),
        (
            "ignored",
            |dir| write(dir, "local.mk", "x:\n"),
            "no run made local.mk",
        ),
        (
            "untracked",
            |dir| write(dir, "mine", "x"),
            "no run made mine",
        ),
        (
            "tracked",
            |dir| write(dir, "name.txt", "x"),
            "tracked files",
        ),
        (
            "overlooked",
            |dir| {
                git(dir, &["update-index", "--skip-worktree", "name.txt"]);
                write(dir, "name.txt", "y");
            },
            "tracked files",
        ),
    ];
    for (what, hand, why) in hands {
        hand(&home);
        let events = show(&yard).await;
        assert_tainted(&events, why);
        // A command that needs no secret runs there as ever, and makes it no better.
        yard.run("task", "main", json!({"task": "lint"})).await;
        let events = show(&yard).await;
        assert_eq!(events.last().unwrap().kind, "error", "{what}: {events:?}");
        if what == "overlooked" {
            git(&home, &["update-index", "--no-skip-worktree", "name.txt"]);
        }
        clean(&yard).await;
        make(&yard, json!({"args": ["build"]})).await;
        assert_given(&show(&yard).await);
    }
    yard.stop().await;
}

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_verb_changed_keeps_the_secret_away() {
    let mut yard = yard().await;
    yard.origin.at("main");
    yard.origin.write("Makefile", "show:\n\t@echo evil\n");
    yard.origin.commit("evil");
    yard.origin.push("topic/evil");
    make(&yard, json!({"args": ["build"]})).await;
    yard.verb("main", "fetch", json!({"all": true})).await;
    yard.verb("main", "status", json!({"ignored": true})).await;
    yard.run("git", "main", json!({"operation": "log", "args": ["-1"]}))
        .await;
    assert_given(&show(&yard).await);
    let checkout =
        json!({"operation": "checkout", "args": ["origin/topic/evil", "--", "Makefile"]});
    yard.run("git", "main", checkout).await;
    assert_tainted(&show(&yard).await, "tracked files");
    clean(&yard).await;
    let restore =
        json!({"operation": "restore", "args": ["-s", "origin/topic/evil", "--", "Makefile"]});
    yard.run("git", "main", restore).await;
    assert_tainted(&show(&yard).await, "tracked files");
    clean(&yard).await;
    let own = json!({"paths": ["Makefile"], "from": "origin/topic/evil"});
    let answer = yard.try_verb("main", "checkout", own).await;
    assert!(answer.status().is_success(), "{:?}", answer.text().await);
    assert_tainted(&show(&yard).await, "tracked files");
    clean(&yard).await;
    for (verb, body) in [
        (
            "reset",
            json!({"mode": "hard", "to": "origin/topic/evil", "confirm": true}),
        ),
        ("merge", json!({"from": "origin/topic/evil"})),
        ("cherry_pick", json!({"commits": ["origin/topic/evil"]})),
    ] {
        let answer = yard.try_verb("main", verb, body).await;
        assert!(
            answer.status().is_success(),
            "{verb}: {:?}",
            answer.text().await
        );
        assert_tainted(&show(&yard).await, "and the remote has");
        let events = make(&yard, json!({"args": ["show"], "sync": "none"})).await;
        assert_tainted(&events, "and the remote has");
        clean(&yard).await;
    }
    // A commit that only we have; and what was built there, once the remote has it.
    std::fs::write(yard.workspace("main").join("name.txt"), "own\n").unwrap();
    yard.verb("main", "commit", json!({"message": "own", "all": true}))
        .await;
    assert_tainted(&show(&yard).await, "and the remote has");
    yard.run("task", "main", json!({"task": "lint"})).await;
    let pushed = json!({"allow_protected": true});
    yard.verb("main", "push", pushed).await;
    assert_given(&show(&yard).await);
    // A sync to what the remote has is no taint.
    make(&yard, json!({"args": ["build"]})).await;
    yard.origin.git(&["fetch", "-q", "origin"]);
    yard.origin.at("origin/main");
    yard.origin.write("name.txt", "later\n");
    yard.origin.commit("later");
    yard.origin.push("main");
    assert_given(&show(&yard).await);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_remote_says_what_a_branch_is() {
    let mut yard = asleep("freshness");
    yard.start().await;
    assert_given(&show(&yard).await);
    // What the remote said lately is too old where a secret depends on it.
    let before = yard.origin.head();
    yard.origin.write("name.txt", "later\n");
    yard.origin.commit("later");
    yard.origin.push("main");
    let events = make(&yard, json!({"args": ["show"], "sync": "none"})).await;
    assert_tainted(&events, "and the remote has");
    let events = make(
        &yard,
        json!({"args": ["show"], "sync": "commit", "commit": before}),
    )
    .await;
    assert_tainted(&events, "and the remote has");
    clean(&yard).await;
    // A branch of a fitting name that the remote lacks.
    let path = format!("/api/repos/demo/branches/{}", encode("release/2"));
    let made = yard.put(&path, json!({"from": "topic/x"})).await;
    assert!(made.status().is_success(), "{:?}", made.text().await);
    let events = yard
        .run("make", "release/2", json!({"args": ["show"]}))
        .await;
    assert_tainted(&events, "it has no such branch");
    // And a remote that does not answer.
    let (bare, away) = (yard.origin.bare.clone(), yard.dir.path().join("away"));
    std::fs::rename(&bare, &away).unwrap();
    for body in [
        json!({"args": ["show"], "sync": "none"}),
        json!({"args": ["show"], "stale": true}),
        json!({"args": ["show"], "stale": true, "clean": true}),
    ] {
        let events = make(&yard, body.clone()).await;
        let end = events.last().unwrap();
        assert_eq!(end.kind, "error", "{body}: {events:?}");
        let detail = end.data["detail"].as_str().unwrap();
        assert!(detail.contains("which cannot be asked"), "{body}: {detail}");
        assert_eq!(text_of(&events), "", "{body}");
    }
    std::fs::rename(&away, &bare).unwrap();
    assert_given(&show(&yard).await);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_from_another_branch_counts_by_what_it_was_made_of() {
    let mut yard = asleep("warm");
    yard.origin.push("release/2");
    yard.start().await;
    for (args, branch, is_taken) in [
        (json!(["build", "CC=cat"]), "release/1", false),
        (json!(["build"]), "release/2", true),
    ] {
        let body = json!({"args": args, "clean": true});
        yard.run("make", "topic/x", body).await;
        let events = yard.run("make", branch, json!({"args": ["show"]})).await;
        let output = yard.workspace(branch).join("out.bin");
        assert_eq!(output.exists(), is_taken, "{args}");
        assert_given(&events);
        // What a hand left beside it is not explained by any run.
        std::fs::write(yard.workspace(branch).join("local.mk"), "").unwrap();
        let events = yard.run("make", branch, json!({"args": ["show"]})).await;
        assert_tainted(&events, "local.mk");
        let body = json!({"args": ["show"], "clean": true});
        let events = yard.run("make", branch, body).await;
        assert_eq!(text_of(&events), "given\n", "{events:?}");
    }
    yard.stop().await;
}
