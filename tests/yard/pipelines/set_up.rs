//! The set-up of jobs: made once for all that need the same, by commands that are steps, and trusted as far as what made it.

use serde_json::json;

use super::{Ended, PIPELINES};
use crate::support::{Options, Yard, problem_of, processes_in, text_of};

const SETUP: &str = "\
[repos.demo.setup]
run = [[\"sh\", \"deps.sh\"], [\"sh\", \"-c\", \"echo second >> deps/made\"]]
inputs = [\"lock\"]
outputs = [\"deps\"]
";

/// A repo whose one job shows what its set-up made. It counts set-ups and jobs in the mark `did`.
fn yard_of(limits: &str) -> Yard {
    let yard = Yard::asleep(Options {
        tables: format!("{limits}[code]\nwithout_sandbox = true\n{SETUP}"),
        ..Options::default()
    });
    let did = yard.mark("did").display().to_string();
    let deps = format!("mkdir deps; echo of $(cat lock) > deps/made; echo set-up >> {did}\n");
    yard.origin.write("deps.sh", deps);
    yard.origin.write("lock", "1\n");
    yard.origin.write("src/a", "a\n");
    yard.jobs(&format!(
        "  test:\n    runs-on: linux\n    inputs: [\"src/**\"]\n    steps:\n      - {{run: \"echo job >> {did}; cat deps/made\"}}\n"
    ));
    yard
}

/// A pipeline of a branch with these files changed, and what it did.
async fn on(yard: &Yard, branch: &str, files: &[(&str, &str)]) -> (Ended, Vec<String>) {
    let base = yard.origin.head();
    for (path, content) in files {
        yard.origin.write(path, content);
    }
    if !files.is_empty() {
        yard.origin.commit(branch);
    }
    yard.origin.push(branch);
    yard.origin.at(&base);
    let _ = std::fs::remove_file(yard.mark("did"));
    let ended = yard.pipeline(json!({"branch": branch})).await.green();
    let did = match yard.mark("did").exists() {
        true => yard.marked("did"),
        false => Vec::new(),
    };
    (ended, did)
}

const MADE: [&str; 3] = ["1 succeeded", "2 succeeded", "3 succeeded"];
const COPIED: [&str; 3] = ["1 skipped", "2 skipped", "3 succeeded"];

#[tokio::test]
async fn what_one_job_was_set_up_with_others_are_given() {
    let mut yard = yard_of("");
    yard.start().await;
    let (first, did) = on(&yard, "one", &[]).await;
    assert_eq!(did, ["set-up", "job"]);
    assert_eq!(first.steps("test"), MADE, "{:#}", first.0);
    assert_eq!(first.job("test")["steps"][0]["name"], "set-up: sh deps.sh");
    assert_eq!(yard.step_log(&first, "test", 3).await, "of 1\nsecond\n");
    // What saw the same is answered.
    let (again, did) = on(&yard, "one", &[]).await;
    assert_eq!(
        (again.states(), did.len()),
        (vec!["test reused".to_owned()], 0)
    );
    // Other sources, and the same inputs of the set-up.
    let (second, did) = on(&yard, "two", &[("src/a", "b\n")]).await;
    assert_eq!(did, ["job"]);
    assert_eq!(second.steps("test"), COPIED, "{:#}", second.0);
    assert_eq!(yard.step_log(&second, "test", 3).await, "of 1\nsecond\n");
    // Other inputs of the set-up alone: the job saw something else.
    let (third, did) = on(&yard, "three", &[("lock", "2\n")]).await;
    assert_eq!(did, ["set-up", "job"]);
    assert_eq!(yard.step_log(&third, "test", 3).await, "of 2\nsecond\n");
    // A workspace has its own.
    let events = yard
        .run("exec", "one", json!({"argv": ["cat", "deps/made"]}))
        .await;
    assert!(text_of(&events).ends_with("of 1\nsecond\n"));
    yard.stop().await;
}

/// The same job, on a branch that made poison of the same inputs, and on the protected one.
#[tokio::test]
async fn a_poisoned_output_reaches_no_protected_branch() {
    let mut yard = yard_of("");
    yard.start().await;
    let poison = [("deps.sh", "mkdir deps; echo poison > deps/made\n")];
    let (topic, _) = on(&yard, "topic", &poison).await;
    assert_eq!(yard.step_log(&topic, "test", 3).await, "poison\nsecond\n");
    let (main, did) = on(&yard, "main", &[]).await;
    assert_eq!(did, ["set-up", "job"]);
    assert_eq!(main.steps("test"), MADE);
    assert_eq!(yard.step_log(&main, "test", 3).await, "of 1\nsecond\n");
    // From then on all have what the protected branch made, and nobody is answered by what saw the poison.
    for branch in ["topic", "other"] {
        let (ended, did) = on(&yard, branch, &[]).await;
        assert_eq!(ended.states(), ["test reused"], "{branch}");
        assert_eq!(ended.job("test")["answered_by"]["pipeline"], main.id());
        assert_eq!(did.len(), 0, "{branch}");
    }
    let (late, did) = on(&yard, "late", &[("src/a", "b\n")]).await;
    assert_eq!(
        (late.steps("test"), did),
        (COPIED.map(str::to_owned).to_vec(), vec!["job".to_owned()])
    );
    assert_eq!(yard.step_log(&late, "test", 3).await, "of 1\nsecond\n");
    yard.stop().await;
}

/// Who waits for what another makes has no slot, so the other one gets it.
#[tokio::test(flavor = "multi_thread")]
async fn one_slot_is_enough_for_all_who_need_the_same() {
    let limits = "[limits]\nmax_concurrent_runs = 1\nmax_concurrent_runs_per_repo = 3\n";
    let mut yard = yard_of(limits);
    yard.jobs(
        "  test:\n    runs-on: linux\n    strategy: {matrix: {n: [1, 2, 3]}}\n    steps: [{run: 'cat deps/made'}]\n",
    );
    yard.start().await;
    let (one, two, builds) = tokio::join!(
        yard.pipeline(json!({})),
        yard.pipeline(json!({})),
        yard.run("exec", "main", json!({"argv": ["cat", "deps/made"]})),
    );
    assert!(text_of(&builds).ends_with("of 1\nsecond\n"));
    one.green();
    two.green();
    // Once by a job, and once in the workspace.
    assert_eq!(yard.marked("did"), ["set-up"; 2]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_in_the_middle_of_it_makes_nothing_twice() {
    for point in ["setup-begun", "step-begins", "step-started", "step-ended"] {
        println!("{point}");
        let mut yard = yard_of("");
        let mut daemon = yard.start_binary(&[("BRANCHYARD_CRASH_AT", point)]).await;
        let request = yard
            .request(reqwest::Method::POST, PIPELINES)
            .json(&json!({}));
        let _ = request.send().await;
        assert!(!daemon.ended().await.success(), "{point}");
        let mut daemon = yard.start_binary(&[]).await;
        let listed = yard.get_json(PIPELINES).await;
        let id = listed["items"][0]["pipeline_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let ended = yard.pipeline_ended(&id).await.green();
        assert_eq!(ended.steps("test"), MADE, "{point}");
        assert_eq!(yard.marked("did"), ["set-up", "job"], "{point}");
        assert_eq!(yard.step_log(&ended, "test", 3).await, "of 1\nsecond\n");
        // What it made is whole, and others take it; also across a kill.
        yard.origin.write("src/a", "b\n");
        yard.origin.commit("other");
        yard.origin.push("main");
        daemon.kill().await;
        let mut daemon = yard
            .start_binary(&[("BRANCHYARD_CRASH_AT", "setup-copied")])
            .await;
        let request = yard
            .request(reqwest::Method::POST, PIPELINES)
            .json(&json!({}));
        let _ = request.send().await;
        assert!(!daemon.ended().await.success(), "{point}");
        let mut daemon = yard.start_binary(&[]).await;
        let listed = yard.get_json(PIPELINES).await;
        let id = listed["items"][0]["pipeline_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let ended = yard.pipeline_ended(&id).await.green();
        assert_eq!(ended.steps("test"), COPIED, "{point}");
        assert_eq!(yard.step_log(&ended, "test", 3).await, "of 1\nsecond\n");
        assert_eq!(processes_in(&yard.workspaces), [""; 0], "{point}");
        daemon.stop().await;
    }
}

#[tokio::test]
async fn one_that_fails_is_the_failure_of_its_job() {
    let mut yard = yard_of("");
    yard.start().await;
    for (script, reason) in [
        ("exit 3\n", "step 1 (set-up: sh deps.sh): exited with 3"),
        (
            "mkdir deps; mkdir src/deps; mv deps src/deps; mkdir deps; exec rm -r deps\n",
            "step 2 (set-up: sh -c echo second >> deps/made): exited with 2",
        ),
    ] {
        yard.origin.write("deps.sh", script);
        yard.origin.commit("broken");
        yard.origin.push("main");
        let ended = yard.pipeline(json!({})).await;
        assert_eq!(ended.state(), "failed");
        let job = ended.job("test");
        assert_eq!(job["reason"], reason);
        assert_eq!(ended.steps("test")[2], "3 skipped");
    }
    // What it would replace is in the commit.
    yard.origin.write("deps/own", "tracked\n");
    yard.origin.commit("tracked");
    yard.origin.push("main");
    let ended = yard.pipeline(json!({})).await;
    let reason = ended.job("test")["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("deps/own: git tracks it"), "{reason}");
    yard.stop().await;
}

/// A branch may say its own, where the operator allows it; what is wrong with that is told before anything starts.
#[tokio::test]
async fn a_branch_says_its_own() {
    let mut yard = Yard::asleep(Options {
        repo: "setup_on_branch = true\n".to_owned(),
        ..Options::default()
    });
    yard.origin.write(
        ".branchyard/repo.yml",
        "setup: {run: [[sh, -c, 'echo own > made']], outputs: [made]}\n",
    );
    yard.jobs("  test: {runs-on: linux, steps: [{run: cat made}]}\n");
    yard.start().await;
    let ended = yard.pipeline(json!({})).await.green();
    assert_eq!(yard.step_log(&ended, "test", 2).await, "own\n");
    yard.origin.write(
        ".branchyard/repo.yml",
        "setup: {run: [], outputs: [made]}\n",
    );
    yard.origin.commit("wrong");
    yard.origin.push("main");
    let refused = yard.post(PIPELINES, json!({})).await;
    let (status, problem) = problem_of(refused).await;
    assert_eq!((status, &problem["code"]), (422, &json!("setup_invalid")));
    yard.stop().await;
}

/// A warm job finds what others left in its worktree, of any branch: what its set-up makes of that is for nobody else.
#[tokio::test]
async fn a_warm_job_keeps_nothing_that_it_made() {
    let mut yard = yard_of("[limits]\nmax_concurrent_runs_per_repo = 1\n");
    yard.origin.write(
        "deps.sh",
        "mkdir deps; cat foreign > deps/made 2>/dev/null || echo of $(cat lock) > deps/made\n",
    );
    let workflow = |key: &str, script: &str| {
        format!("on: push\njobs: {{test: {{runs-on: linux, {key}steps: [{{run: '{script}'}}]}}}}\n")
    };
    let show = "cat deps/made";
    yard.origin
        .workflow("warm.yml", &workflow("warm: true, ", show));
    yard.origin.workflow("clean.yml", &workflow("", show));
    yard.origin
        .workflow("leave.yml", &workflow("", "echo poison > foreign"));
    yard.origin.push("topic");
    yard.start().await;
    let run = async |branch: &str, file: &str| {
        let ended = yard.pipeline(json!({"branch": branch, "file": file})).await;
        ended.green()
    };
    run("topic", "leave.yml").await;
    let warm = run("main", "warm.yml").await;
    assert_eq!(warm.steps("test"), MADE);
    assert_eq!(yard.step_log(&warm, "test", 3).await, "poison\nsecond\n");
    let clean = run("main", "clean.yml").await;
    assert_eq!(clean.steps("test"), MADE, "{:#}", clean.0);
    assert_eq!(yard.step_log(&clean, "test", 3).await, "of 1\nsecond\n");
    // It takes what a clean one made.
    let warm = run("main", "warm.yml").await;
    assert_eq!(warm.steps("test"), COPIED);
    yard.stop().await;
}

/// What was made under a configuration is not kept as made under the next one.
#[tokio::test(flavor = "multi_thread")]
async fn what_another_configuration_made_is_not_kept() {
    let mut yard = yard_of("");
    let (dir, did) = (yard.dir.path().display().to_string(), yard.mark("did"));
    yard.origin.write(
        "deps.sh",
        format!(
            "mkdir deps; echo $LEVEL > deps/made; echo set-up >> {}; while [ ! -e {dir}/go ]; do sleep 0.02; done\n",
            did.display()
        ),
    );
    yard.origin.commit("waits");
    yard.origin.push("main");
    let mut daemon = yard.start_binary(&[]).await;
    let id = yard.start_pipeline(json!({})).await;
    crate::support::until("the set-up is under way", || did.exists()).await;
    daemon.kill().await;
    let tables =
        format!("[code]\nwithout_sandbox = true\n{SETUP}\n[repos.demo.env]\nLEVEL = \"new\"\n");
    yard.configure(Options {
        tables,
        ..Options::default()
    });
    let mut daemon = yard.start_binary(&[]).await;
    std::fs::write(format!("{dir}/go"), "").unwrap();
    yard.pipeline_ended(&id).await.green();
    let (next, did) = on(&yard, "main", &[]).await;
    assert_eq!(did, ["set-up", "job"], "{:#}", next.0);
    assert_eq!(yard.step_log(&next, "test", 3).await, "new\nsecond\n");
    daemon.stop().await;
}
