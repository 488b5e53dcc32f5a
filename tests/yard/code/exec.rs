//! Commands and code of callers' own: run in the sandbox of builds, bounded, and told apart in the history.

use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard, events_of, problem_of, text_of};

const BRANCH: &str = "feature";

/// A yard whose builds are contained.
async fn yard(repo: &str, code: &str) -> Yard {
    let mut yard = Yard::asleep(Options {
        tables: format!("[sandbox]\nprofile = \"standard\"\n[code]\n{code}\n"),
        timeouts: "grace = \"1s\"\ndrain = \"500ms\"\n".to_owned(),
        repo: repo.to_owned(),
        ..Options::default()
    });
    yard.origin.push(BRANCH);
    yard.start().await;
    yard
}

impl Yard {
    /// The run's id.
    async fn started(&self, body: Value) -> String {
        let mut run = self.start_run("exec", BRANCH, body).await;
        run.until(|_| true).await;
        run.run_id()
    }

    async fn exec_refused(&self, branch: &str, body: Value) -> (u16, Value) {
        let path = format!("/stream/repos/demo/branches/{branch}/exec");
        problem_of(self.post(&path, body).await).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_command_runs_with_its_input_and_is_a_run_of_its_own_kind() {
    let mut yard = yard("", "").await;
    let body = json!({
        "argv": ["sh", "-c", "cat; echo $PYTHONPATH >&2; pwd > where; exit 3"],
        "stdin": "given\n", "env": { "PYTHONPATH": "$(src)" },
    });
    let events = yard.run("exec", BRANCH, body).await;
    let end = &events.last().unwrap().data;
    assert_eq!(
        (&end["state"], &end["exit_code"]),
        (&json!("failed"), &json!(3))
    );
    let lines = |stream: &str| {
        let of = events.iter().filter(|event| event.kind == stream);
        of.filter_map(|event| event.data["line"].as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (lines("stdout"), lines("stderr")),
        (vec!["given"], vec!["$(src)"])
    );
    assert!(yard.workspace(BRANCH).join("where").exists());

    let script = "import sys\nprint(sys.argv[1:], open(__file__).read()[:6])\nopen(__file__, 'a')";
    let body = json!({ "script": script, "interpreter": "python", "args": "-v 'a b'" });
    let events = yard.run("exec", BRANCH, body).await;
    let text = text_of(&events);
    assert!(text.contains("['-v', 'a b'] import"), "{text}");
    // It is bound read-only, outside of the worktree.
    assert!(text.contains("Read-only file system"), "{text}");

    let runs = yard.get_json("/api/runs?kind=exec").await;
    let runs = runs["items"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0]["argv"], json!(["python3", "script", "-v", "a b"]));
    assert_eq!(runs[0]["code_sha256"].as_str().unwrap().len(), 64);
    assert_eq!(runs[1]["files_written"], json!(["where"]));
    for (query, found) in [
        ("command=script", 1),
        ("command=pwd%20%3E%20where", 1),
        ("command=PYTHONPATH%22", 0),
        ("principal=session&kind=exec", 2),
        ("principal=other", 0),
    ] {
        let page = yard.get_json(&format!("/api/runs?{query}")).await;
        assert_eq!(page["items"].as_array().unwrap().len(), found, "{query}");
    }
    assert_eq!(
        (&runs[1]["principal"], &runs[1]["exit_code"]),
        (&json!("session"), &json!(3))
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_command_is_refused() {
    let mut yard = yard(
        "allow_exec = [\"sh\"]\n",
        "[code.interpreters]\nruby = [\"/no/ruby\"]",
    )
    .await;
    for (body, field) in [
        (json!({}), "argv"),
        (json!({ "argv": [] }), "argv"),
        (json!({ "argv": [""] }), "argv"),
        (json!({ "argv": ["a\0b"] }), "argv"),
        (json!({ "argv": ["sh"], "script": "x" }), "script"),
        (json!({ "argv": ["sh"], "args": ["x"] }), "args"),
        (json!({ "script": "x" }), "interpreter"),
        (
            json!({ "script": "x", "interpreter": "cobol" }),
            "interpreter",
        ),
        (
            json!({ "script": "x", "interpreter": "../sh" }),
            "interpreter",
        ),
        (
            json!({ "argv": ["sh"], "interpreter": "shell" }),
            "interpreter",
        ),
        (json!({ "argv": ["sh"], "sync": "reset" }), "sync"),
        (json!({ "argv": ["sh"], "coalesce": true }), "coalesce"),
        (
            json!({ "argv": ["sh"], "env": { "LD_PRELOAD": "x" } }),
            "env.LD_PRELOAD",
        ),
        (
            json!({ "argv": ["sh"], "stdin": "x".repeat((512 << 10) + 1) }),
            "stdin",
        ),
        (json!({ "argv": ["make"] }), "argv"),
        (
            json!({ "script": "x", "interpreter": "python" }),
            "interpreter",
        ),
    ] {
        let (status, problem) = yard.exec_refused(BRANCH, body.clone()).await;
        assert!([400, 403, 422].contains(&status), "{field}: {problem}");
        assert_eq!(problem["field"], field, "{problem}");
    }
    // What is no other kind's is not taken there.
    let path = format!("/stream/repos/demo/branches/{BRANCH}/make");
    let (status, problem) = problem_of(yard.post(&path, json!({ "stdin": "x" })).await).await;
    assert_eq!((status, &problem["field"]), (422, &json!("stdin")));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interpreter_that_is_not_there_is_named() {
    let mut yard = yard("", "[code.interpreters]\nruby = [\"no-such-ruby\"]").await;
    let body = json!({ "script": "x", "interpreter": "ruby" });
    let events = yard.run("exec", BRANCH, body).await;
    let end = &events.last().unwrap().data;
    assert_eq!(end["code"], "command_not_started", "{end}");
    assert!(
        end["detail"].as_str().unwrap().contains("no-such-ruby"),
        "{end}"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_sandbox_it_is_off_until_the_operator_turns_it_on() {
    let mut yard = Yard::new().await;
    yard.origin.push(BRANCH);
    let (status, problem) = yard.exec_refused(BRANCH, json!({ "argv": ["true"] })).await;
    assert_eq!(
        (status, &problem["code"]),
        (403, &json!("exec_needs_sandbox"))
    );
    yard.stop().await;
    yard.configure(Options {
        tables: "[code]\nwithout_sandbox = true\n".to_owned(),
        ..Options::default()
    });
    yard.start().await;
    let body = json!({ "script": "read a; echo \"<$a>\"", "interpreter": "shell", "stdin": "x\n" });
    let events = yard.run("exec", BRANCH, body).await;
    assert_eq!(text_of(&events), "<x>\n");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_sees_what_it_asks_for_of_the_output() {
    let mut yard = yard("", "").await;
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "code")]);
    let at = |mut arguments: Value| {
        arguments["repo"] = "demo".into();
        arguments["branch"] = BRANCH.into();
        arguments
    };
    let argv = json!(["sh", "-c", "seq 1 50; echo wrong >&2"]);
    let tail = agent
        .call("exec", at(json!({ "argv": argv, "tail": 2 })))
        .await;
    assert_eq!(
        tail["output"].as_str().unwrap().lines().count(),
        2,
        "{tail}"
    );
    let grep = agent
        .call("exec", at(json!({ "argv": argv, "grep": "^4[0-3]$" })))
        .await;
    assert_eq!(grep["output"], "40: 40\n41: 41\n42: 42\n43: 43\n");
    let code = json!({ "language": "python", "code": "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(4)" });
    let ran = agent.call("execute_code", at(code)).await;
    assert_eq!(
        (&ran["stdout"], &ran["stderr"], &ran["exit_code"]),
        (&json!("out\n"), &json!("err\n"), &json!(4)),
        "{ran}"
    );
    let refusal = agent
        .refusal(
            "execute_code",
            at(json!({ "language": "cobol", "code": "x" })),
        )
        .await;
    assert!(
        refusal.contains("language") && refusal.contains("python"),
        "{refusal}"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_run_again_with_its_script_and_not_with_its_input() {
    let mut yard = yard("", "").await;
    let body = json!({ "script": "echo again", "interpreter": "shell", "detach": true });
    let run = yard.started(body).await;
    let first = yard.ended(&run).await;
    let path = format!("/stream/runs/{run}/rerun");
    let events = events_of(yard.post(&path, json!({})).await).await;
    assert_eq!(text_of(&events), "again\n");
    let runs = yard.get_json("/api/runs?kind=exec&limit=1").await;
    assert_eq!(runs["items"][0]["code_sha256"], first["code_sha256"]);

    let body = json!({ "argv": ["cat"], "stdin": "TOKEN", "detach": true });
    let run = yard.started(body).await;
    yard.ended(&run).await;
    let path = format!("/stream/runs/{run}/rerun");
    let (status, problem) = problem_of(yard.post(&path, json!({})).await).await;
    assert_eq!((status, &problem["code"]), (409, &json!("stdin_gone")));
    yard.stop().await;
    // Only what it printed has it still.
    let home = yard.workspaces.join(".branchyard/runs").join(&run);
    assert!(home.is_dir());
    for file in std::fs::read_dir(&home).unwrap() {
        let path = file.unwrap().path();
        let is_log = path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("journal");
        let has = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains("TOKEN");
        assert!(is_log || !has, "{}", path.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_waits_is_run_by_the_next_daemon() {
    let mut yard = Yard::asleep(Options {
        tables: "[code]\nwithout_sandbox = true\n".to_owned(),
        ..Options::default()
    });
    yard.origin.push(BRANCH);
    let mut daemon = yard.start_binary(&[]).await;
    let mut build = yard
        .start_run("make", BRANCH, json!({ "args": ["gate"], "detach": true }))
        .await;
    build.until_line("waiting").await;
    let body = json!({
        "script": "read a; echo \"$a $1 $X\"", "interpreter": "shell", "args": ["b"], "stdin": "a\n", "env": { "X": "c" },
        "detach": true,
    });
    let waits = yard.started(body).await;
    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    std::fs::write(yard.workspace(BRANCH).join("open"), "").unwrap();
    let run = yard.ended(&waits).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    assert_eq!(yard.log(&waits).await, "a b c\n");
    daemon.stop().await;
}
