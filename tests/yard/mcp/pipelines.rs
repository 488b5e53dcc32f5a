//! Pipelines and artifacts as agents have them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard};

const SETS: (&str, &str) = ("branchyard-toolsets", "yard,build,pipelines");
const WITH_ALL: (&str, &str) = ("branchyard-toolsets", "all");

async fn yard(workflow: &str) -> Yard {
    let mut yard = Yard::asleep(Options::default());
    let workflow = workflow.replace("{dir}", yard.dir.path().to_str().unwrap());
    yard.origin.workflow("ci.yml", &workflow);
    yard.start().await;
    yard
}

fn main_with(mut arguments: Value) -> Value {
    arguments["repo"] = "demo".into();
    arguments["branch"] = "main".into();
    arguments
}

const FAILING: &str = "\
on: workflow_dispatch
jobs:
  lint:
    runs-on: ubuntu-latest
    steps: [{run: echo fine}]
  test:
    runs-on: ubuntu-latest
    steps:
      - {name: check, run: '[ -e {dir}/pass ] && exit; echo before; echo src/a.c:3:5: error: no such thing; exit 3'}
";

#[tokio::test]
async fn what_failed_is_told_with_its_errors_and_its_log() {
    let mut yard = yard(FAILING).await;
    let agent = Agent::with(&yard, &[SETS]);
    let result = agent.tool("pipeline_run", main_with(json!({}))).await;
    let ran = &result["structuredContent"];
    let id = ran["pipeline_id"].clone();
    assert_eq!(
        (&ran["state"], &ran["ended"]),
        (&json!("failed"), &json!(true))
    );
    assert_eq!(ran["commit"], yard.origin.head());
    let jobs: Vec<_> = ran["jobs"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&jobs[0]["job"], &jobs[0]["state"]),
        (&json!("test"), &json!("failed"))
    );
    assert_eq!(
        (&jobs[1]["job"], &jobs[1]["state"]),
        (&json!("lint"), &json!("succeeded"))
    );
    let failure = &ran["failures"][0];
    assert_eq!(
        (&failure["job"], &failure["step"], &failure["exit_code"]),
        (&json!("test"), &json!(1), &json!(3))
    );
    assert_eq!(failure["diagnostics"][0]["file"], "src/a.c");
    assert_eq!(
        failure["output"],
        "before\nsrc/a.c:3:5: error: no such thing\n"
    );
    assert!(
        ran["next"].as_str().unwrap().contains("action retry"),
        "{ran}"
    );
    let text = result["content"][0]["text"].as_str().unwrap();
    for words in ["test: failed", "src/a.c:3:5: error", "--- next"] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let log = agent
        .call("run_log", json!({ "run_id": failure["run_id"] }))
        .await;
    assert!(
        log["text"].as_str().unwrap().starts_with("before\n"),
        "{log}"
    );

    let shown = agent.call("pipelines", json!({ "pipeline_id": id })).await;
    assert_eq!(shown["jobs"][0]["steps"][0]["run_id"], failure["run_id"]);
    let listed = agent.call("pipelines", json!({ "repo": "demo" })).await;
    assert_eq!(listed["pipelines"][0]["failed"], json!(["test"]));
    let none = json!({ "repo": "demo", "state": "succeeded" });
    assert_eq!(agent.call("pipelines", none).await["pipelines"], json!([]));

    std::fs::write(yard.dir.path().join("pass"), "").unwrap();
    let retry = json!({ "pipeline_id": id, "action": "retry" });
    let retried = agent.call("pipeline_control", retry.clone()).await;
    assert_eq!(
        (&retried["state"], &retried["attempt"]),
        (&json!("succeeded"), &json!(2))
    );
    assert_eq!(retried["failures"], json!([]));
    let refused = agent.refusal("pipeline_control", retry).await;
    assert!(refused.starts_with("nothing_to_retry: "), "{refused}");
    yard.stop().await;
}

const LONG: &str = "\
on: workflow_dispatch
jobs:
  wait:
    runs-on: ubuntu-latest
    reuse: false
    steps: [{name: sit, run: 'until [ -e {dir}/open ]; do sleep 0.02; done'}]
";

#[tokio::test]
async fn a_pipeline_goes_on_without_its_caller_until_it_is_waited_for_or_cancelled() {
    let mut yard = yard(LONG).await;
    let agent = Agent::with(&yard, &[SETS]);
    let begin = main_with(json!({ "wait": 0, "idempotency_key": "k" }));
    let begun = agent.call("pipeline_run", begin.clone()).await;
    let id = begun["pipeline_id"].clone();
    assert_eq!(begun["ended"], false);
    let next = begun["next"].as_str().unwrap();
    assert!(
        next.contains("pipeline_wait") && next.contains(id.as_str().unwrap()),
        "{next}"
    );
    assert_eq!(agent.call("pipeline_run", begin).await["pipeline_id"], id);
    let wait = json!({ "pipeline_id": id, "wait": 0 });
    assert_eq!(agent.call("pipeline_wait", wait).await["ended"], false);
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    let ended = agent
        .call("pipeline_wait", json!({ "pipeline_id": id }))
        .await;
    assert_eq!(ended["state"], "succeeded");

    std::fs::remove_file(yard.dir.path().join("open")).unwrap();
    let begun = agent
        .call("pipeline_run", main_with(json!({ "wait": 0 })))
        .await;
    let cancel = json!({ "pipeline_id": begun["pipeline_id"], "action": "cancel" });
    let cancelled = agent.call("pipeline_control", cancel).await;
    assert_eq!(
        (&cancelled["state"], &cancelled["ended"]),
        (&json!("cancelled"), &json!(true))
    );

    // Who did that is on record, with its branch.
    let admin = Agent::with(&yard, &[WITH_ALL]);
    let audit = admin
        .call("audit", json!({ "action": "pipeline.cancel" }))
        .await;
    let entry = &audit["records"][0];
    assert_eq!(
        (&entry["run"], &entry["repo"], &entry["branch"]),
        (&begun["pipeline_id"], &json!("demo"), &json!("main")),
        "{audit}"
    );
    yard.stop().await;
}

const MANY: &str = "\
on: workflow_dispatch
jobs:
  row:
    runs-on: ubuntu-latest
    strategy:
      fail-fast: false
      matrix: {a: [1, 2, 3, 4, 5, 6, 7, 8], b: [1, 2, 3, 4, 5, 6, 7, 8]}
    name: a job with quite a long name, so that all of them take more than an answer has room for (${{ matrix.a }}, ${{ matrix.b }})
    steps: [{run: 'seq -f \"%g \\\\ \\\" lines that are escaped, or not\" 1 2000; exit 1'}]
";

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_bounded_and_the_jobs_can_be_read_on() {
    let mut yard = yard(MANY).await;
    let agent = Agent::with(&yard, &[SETS]);
    let mut ran = agent.call("pipeline_run", main_with(json!({}))).await;
    let of = json!({ "pipeline_id": ran["pipeline_id"] });
    while ran["ended"] != true {
        ran = agent.call("pipeline_wait", of.clone()).await;
    }
    assert_eq!(
        (&ran["state"], &ran["truncated"]),
        (&json!("failed"), &json!(true))
    );
    let failures = ran["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 5);
    for failure in failures {
        let output = failure["output"].as_str().unwrap();
        assert!(output.contains("2000 \\ \" lines"), "{failure}");
    }
    let (mut seen, mut cursor, mut pages) = (BTreeSet::new(), Value::Null, 0);
    loop {
        let mut asked = of.clone();
        if !cursor.is_null() {
            asked["cursor"] = cursor;
        }
        let page = agent.call("pipelines", asked).await;
        for job in page["jobs"].as_array().unwrap() {
            assert!(
                seen.insert(job["job"].as_str().unwrap().to_owned()),
                "{job}"
            );
        }
        pages += 1;
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen.len(), 64);
    assert!(pages > 1, "they do not fit into one");
    yard.stop().await;
}

const WITH_ARTIFACT: &str = "\
on: workflow_dispatch
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - run: mkdir out && seq -f 'line number %g' 1 5000 > out/long.txt && head -c 5000 /dev/zero > out/binary
      - uses: actions/upload-artifact@v4
        with: {name: dist, path: out}
";

const HELD: &str = "\
on: workflow_dispatch
jobs:
  bad:
    runs-on: ubuntu-latest
    hold: 1h
    reports: ['*.xml']
    steps:
      - run: |
          mkdir out; seq -f 'line %.0f' 20000 > out/made.txt; ln -s /etc out/root
          echo '<testsuite name=\"s\"><testcase name=\"sums\"><failure message=\"2 is not 3\"/></testcase></testsuite>' > r.xml
          exit 3
";

#[tokio::test]
async fn what_a_failed_job_left_is_told_and_looked_into() {
    let mut yard = yard(HELD).await;
    let agent = Agent::with(&yard, &[SETS]);
    let result = agent.tool("pipeline_run", main_with(json!({}))).await;
    let ran = &result["structuredContent"];
    let test = &ran["failures"][0]["failed_tests"][0];
    assert_eq!(
        (&test["name"], &test["message"]),
        (&json!("sums"), &json!("2 is not 3"))
    );
    assert!(ran["jobs"][0]["held_until"].is_string(), "{ran}");
    // The same test over time, which another cursor than a number does not go on with.
    let failed = json!({"repo": "demo", "tests": "failed"});
    let over_time = agent.call("pipelines", failed.clone()).await;
    let test = &over_time["tests"][0];
    assert_eq!(
        (&test["name"], &test["failed"], &test["pipeline_id"]),
        (&json!("sums"), &json!(1), &ran["pipeline_id"]),
        "{over_time}"
    );
    assert_eq!(test["failing_since"], yard.origin.head());
    let flaky = json!({"repo": "demo", "tests": "flaky"});
    assert_eq!(agent.call("pipelines", flaky).await["tests"], json!([]));
    let mut wrong = failed;
    wrong["cursor"] = json!("x");
    let refused = agent.tool("pipelines", wrong).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let text = result["content"][0]["text"].as_str().unwrap();
    for words in ["sums", "2 is not 3", "held_worktree"] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let of = |more: Value| {
        let mut asked = json!({"pipeline_id": ran["pipeline_id"], "job": "bad"});
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        asked
    };
    let listed = agent
        .call(
            "held_worktree",
            of(json!({"action": "list", "path": "out"})),
        )
        .await;
    assert_eq!(listed["entries"][0]["path"], "out/made.txt");
    assert_eq!(listed["commit"], yard.origin.head());
    let grep = of(json!({"action": "grep", "pattern": "^line 1999[89]$"}));
    let found = agent.call("held_worktree", grep).await;
    assert_eq!(found["matches"][1]["line"], 19999, "{found}");

    // To its end, part by part.
    let mut read = of(json!({"action": "read", "path": "out/made.txt"}));
    let mut whole = String::new();
    loop {
        let part = agent.call("held_worktree", read.clone()).await;
        whole.push_str(part["file"]["text"].as_str().unwrap());
        if part["next_cursor"].is_null() {
            break;
        }
        read["cursor"] = part["next_cursor"].clone();
    }
    let expected: String = (1..=20000).map(|n| format!("line {n}\n")).collect();
    assert!(whole == expected, "{} bytes", whole.len());

    for (asked, said) in [
        (json!({"action": "read"}), "read needs path"),
        (json!({"action": "grep"}), "grep needs pattern"),
        (
            json!({"action": "list", "pattern": "x"}),
            "pattern is for grep",
        ),
        (
            json!({"action": "read", "path": "../../other"}),
            "../../other",
        ),
        (
            json!({"action": "read", "path": "/etc/passwd"}),
            "/etc/passwd",
        ),
        (
            json!({"action": "read", "path": "out/root/passwd"}),
            "out/root",
        ),
        (json!({"action": "list", "path": "out/root"}), "out/root"),
        (
            json!({"action": "grep", "path": ".git", "pattern": "x"}),
            "git's own files",
        ),
    ] {
        let refused = agent.refusal("held_worktree", of(asked.clone())).await;
        assert!(refused.contains(said), "{asked}: {refused}");
    }
    let unknown = json!({"action": "list", "pipeline_id": ran["pipeline_id"], "job": "none"});
    let refused = agent.refusal("held_worktree", unknown).await;
    assert!(refused.contains("job_not_found"), "{refused}");
    yard.stop().await;
}

#[tokio::test]
async fn artifacts_are_listed_shown_and_read_to_their_end() {
    let mut yard = yard(WITH_ARTIFACT).await;
    let agent = Agent::with(&yard, &[SETS]);
    let ran = agent.call("pipeline_run", main_with(json!({}))).await;
    assert_eq!(ran["state"], "succeeded", "{ran}");
    assert!(ran["next"].as_str().unwrap().contains("artifacts"), "{ran}");
    let id = &ran["pipeline_id"];
    let list = json!({ "action": "list", "pipeline_id": id });
    let listed = agent.call("artifacts", list).await;
    assert_eq!(
        (
            &listed["artifacts"][0]["name"],
            &listed["artifacts"][0]["files"]
        ),
        (&json!("dist"), &json!(2))
    );
    let show = main_with(json!({ "action": "show", "name": "dist" }));
    let shown = agent.call("artifacts", show).await;
    assert_eq!(
        (&shown["pipeline_id"], &shown["files"][1]["path"]),
        (id, &json!("long.txt"))
    );

    let mut read =
        json!({ "action": "read", "pipeline_id": id, "name": "dist", "path": "long.txt" });
    let mut whole = String::new();
    loop {
        let part = agent.call("artifacts", read.clone()).await;
        whole.push_str(part["file"]["text"].as_str().unwrap());
        let next = part["next_cursor"].clone();
        if next.is_null() {
            break;
        }
        read["cursor"] = next;
    }
    let expected: String = (1..=5000).map(|n| format!("line number {n}\n")).collect();
    assert_eq!(whole, expected);
    let binary = json!({ "action": "read", "pipeline_id": id, "name": "dist", "path": "binary" });
    let told = agent.call("artifacts", binary).await;
    assert_eq!(told["file"]["encoding"], "binary");

    for (asked, code) in [
        (
            json!({ "action": "read", "pipeline_id": id, "name": "dist", "path": "../x" }),
            "file_not_found",
        ),
        (
            json!({ "action": "show", "pipeline_id": id, "name": "none" }),
            "artifact_not_found",
        ),
        (
            json!({ "action": "show", "pipeline_id": id, "repo": "demo", "name": "dist" }),
            "unprocessable",
        ),
        (
            json!({ "action": "list", "pipeline_id": id, "name": "dist" }),
            "unprocessable",
        ),
    ] {
        let refused = agent.refusal("artifacts", asked.clone()).await;
        let speaks_of_others = ["/api/", "`branchyard "]
            .iter()
            .any(|it| refused.contains(it));
        assert!(
            refused.starts_with(code) && !speaks_of_others,
            "{asked}: {refused}"
        );
    }
    yard.stop().await;
}

#[tokio::test]
async fn refusals_say_what_to_do_in_tools() {
    let mut yard = yard("on: workflow_dispatch\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps: [{uses: codecov/codecov-action@v5}]\n").await;
    let agent = Agent::with(&yard, &[SETS]);
    let none = "01a1df00-f67c-76a0-92bb-10fb55943162";
    for (tool, asked, words) in [
        ("pipeline_run", main_with(json!({})), "ci.yml:5:"),
        (
            "pipeline_run",
            main_with(json!({ "file": "no.yml" })),
            "no.yml",
        ),
        ("pipeline_wait", json!({ "pipeline_id": none }), none),
        ("pipelines", json!({}), "repo"),
        (
            "pipeline_control",
            json!({ "pipeline_id": none, "action": "cancel", "jobs": ["a"] }),
            "jobs is for retry",
        ),
    ] {
        let refused = agent.refusal(tool, asked).await;
        let speaks_of_others = ["/api/", "`branchyard "]
            .iter()
            .any(|it| refused.contains(it));
        assert!(
            refused.contains(words) && !speaks_of_others,
            "{tool}: {refused}"
        );
    }
    yard.stop().await;
}
