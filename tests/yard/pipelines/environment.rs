//! What steps find in their environment, what they may put there for others, and what must never be seen.

use serde_json::json;

use super::{contained, text};
use crate::support::{Options, Yard, each_file};

#[tokio::test]
async fn steps_change_the_environment_of_those_after_them() {
    let mut yard = Yard::new().await;
    let ended = yard
        .run_jobs(
            r##"
  one:
    runs-on: linux
    env: {LEVEL: job, KEPT: job}
    steps:
      - run: |
          mkdir -p bin; printf '#!/bin/sh\necho own tool\n' > bin/tool; chmod +x bin/tool
          echo "$PWD/bin" >> "$GITHUB_PATH"
          echo LEVEL=step >> "$GITHUB_ENV"
          printf 'LINES<<EOF\none\ntwo\nEOF\n' >> "$GITHUB_ENV"
          echo '# Title' >> "$GITHUB_STEP_SUMMARY"
      - run: tool; echo "$LEVEL $KEPT $LINES" "$CTX"
        env: {CTX: "${{ env.LEVEL }}"}
      - run: echo "$LEVEL"; echo 'more' >> "$GITHUB_STEP_SUMMARY"
        env: {LEVEL: own}
      - run: echo "$GITHUB_JOB $GITHUB_REF_NAME $GITHUB_ACTIONS $RUNNER_OS"; test "$GITHUB_SHA" = "$(git rev-parse HEAD)"
      - run: test "$GITHUB_WORKSPACE" = "$PWD"; test -d "$RUNNER_TEMP"; test -d "$HOME"; touch "$HOME/x" "$TMPDIR/y"
      - run: test -e "$HOME/x"; test -e "$TMPDIR/y"
"##,
        )
        .await
        .green();
    let log = async |step| yard.step_log(&ended, "one", step).await;
    assert_eq!(log(2).await, "own tool\nstep job one\ntwo step\n");
    assert_eq!(log(3).await, "own\n");
    assert_eq!(log(4).await, "one main true Linux\n");
    let path = format!("/api/pipelines/{}/jobs/one/summary", ended.id());
    let summary = yard.get(&path).await.text().await.unwrap();
    assert_eq!(summary, "# Title\nmore\n");
    yard.stop().await;
}

#[tokio::test]
async fn steps_find_what_githubs_runner_has() {
    for options in [Options::default(), contained()] {
        let mut yard = Yard::with(options).await;
        yard.run_jobs(
            r#"
  one:
    runs-on: linux
    strategy: {matrix: {m: [{e: {A: one, B: two words}}]}}
    env: ${{ matrix.m.e }}
    steps:
      - run: test "$A $B" = 'one two words'; echo 'MORE={"C":"3"}' >> "$GITHUB_ENV"
      - {run: test "$C" = 3, env: "${{ fromJSON(env.MORE) }}"}
      - run: test "$(cat "$GITHUB_EVENT_PATH")" = "$EVENT"; test "$GITHUB_EVENT_PATH" = "$AT"
        env: {EVENT: "${{ toJSON(github.event) }}", AT: "${{ github.event_path }}"}
      - {id: here, run: test "$RUNNER_WORKSPACE $GITHUB_ACTION" = "$SEEN", env: {SEEN: "${{ runner.workspace }} ${{ github.action }}"}}
      - run: test "$(dirname "$GITHUB_WORKSPACE")" = "$RUNNER_WORKSPACE"; test -n "$GITHUB_WORKFLOW_REF" -a -n "$GITHUB_RETENTION_DAYS"
"#,
        )
        .await
        .green();
        yard.stop().await;
    }
}

#[tokio::test]
async fn steps_start_in_any_directory_of_their_job() {
    for options in [Options::default(), contained()] {
        let mut yard = Yard::with(options).await;
        yard.run_jobs(
            r#"
  one:
    runs-on: linux
    steps:
      - run: mkdir -p "$RUNNER_TEMP/build" "$HOME/at"; echo "AT=$HOME/at" >> "$GITHUB_ENV"
      - {run: test . -ef "$RUNNER_TEMP/build", working-directory: "${{ runner.temp }}/build"}
      - {run: test . -ef "$HOME/at", working-directory: "${{ env.AT }}"}
"#,
        )
        .await
        .green();
        let ended = yard
            .run_jobs(
                "\n  one:\n    runs-on: linux\n    steps: [{run: pwd, working-directory: /etc}]\n",
            )
            .await;
        assert_eq!(ended.states(), ["one rejected"]);
        yard.stop().await;
    }
}

/// What a branch's steps write is not to be trusted.
#[tokio::test]
async fn files_for_later_steps_cannot_change_what_is_the_daemons() {
    let mut yard = Yard::with(contained()).await;
    let writes = [
        "echo GITHUB_SHA=0 >> $GITHUB_ENV",
        "echo RUNNER_TEMP=/etc >> $GITHUB_ENV",
        "echo BRANCHYARD_RUN_ID=1 >> $GITHUB_ENV",
        "echo 'A B=1' >> $GITHUB_ENV",
        "echo novalue >> $GITHUB_ENV",
        "head -c 2000000 /dev/zero | tr '\\\\0' x >> $GITHUB_OUTPUT",
        "printf 'a=\\\\377' >> $GITHUB_OUTPUT",
        "rm $GITHUB_ENV; ln -s /etc/passwd $GITHUB_ENV",
        "rm $GITHUB_OUTPUT; ln -s $GITHUB_ENV $GITHUB_OUTPUT",
        "rm $GITHUB_OUTPUT; mkfifo $GITHUB_OUTPUT",
        "rm $GITHUB_STEP_SUMMARY; mkdir $GITHUB_STEP_SUMMARY",
        "rm $GITHUB_PATH; ln -s /dev/zero $GITHUB_PATH",
    ];
    let mut jobs = String::new();
    for (n, write) in writes.iter().enumerate() {
        let job = format!(
            "  j{n}:\n    runs-on: linux\n    steps:\n      - {{run: \"{write}\"}}\n      - {{if: always(), run: \"env\"}}\n"
        );
        jobs.push_str(&job);
    }
    let ended = yard.run_jobs(&jobs).await;
    for (n, write) in writes.iter().enumerate() {
        let job = format!("j{n}");
        assert_eq!(ended.steps(&job), ["1 failed", "2 succeeded"], "{write}");
        let env = yard.step_log(&ended, &job, 2).await;
        let commit = format!("GITHUB_SHA={}", text(&ended.0["commit"]));
        assert!(env.contains(&commit), "{write}: {env}");
        assert!(!env.contains("root:x:"), "{write}: {env}");
        let run = format!("BRANCHYARD_RUN_ID={}", ended.run(&job, 2));
        assert!(env.contains(&run), "{write}: {env}");
    }
    yard.stop().await;
}

/// The daemon makes the files of the next step where this one may have put links and pipes.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_where_a_step_has_it_point_to() {
    let mut yard = Yard::asleep(contained());
    let mut daemon = yard.start_binary(&[]).await;
    let victim = yard.mark("victim");
    std::fs::write(&victim, "precious").unwrap();
    let job = |name: &str, make: &str| {
        format!(
            r#"
  {name}:
    runs-on: linux
    steps:
      - run: |
          dir=$(dirname "$GITHUB_OUTPUT")
          for kind in env output path state step_summary; do
            for place in "$dir" "$dir/../2"; do
              mkdir -p "$place" 2>/dev/null || true
              {make} "$place/$kind-2" 2>/dev/null || true
            done
          done
      - {{id: after, run: "echo word=said >> $GITHUB_OUTPUT"}}
      - {{run: "test '${{{{ steps.after.outputs.word }}}}' = said"}}
"#
        )
    };
    let link = format!("ln -sf {}", victim.display());
    let jobs = [
        job("link", &link),
        job("pipe", "mkfifo"),
        job("dir", "mkdir"),
    ];
    yard.run_jobs(&jobs.concat()).await.green();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    daemon.stop().await;
}

/// Each change of a job is told with the names of all its steps.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_outputs_make_long_are_cut() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    let mut jobs = "  one:\n    runs-on: linux\n    steps:\n      - {id: big, run: \"echo x=$(head -c 100000 /dev/zero | tr '\\\\0' x) >> $GITHUB_OUTPUT\"}\n".to_owned();
    for _ in 0..20 {
        jobs += "      - {name: \"${{ steps.big.outputs.x }}\", run: \"true\"}\n";
    }
    let ended = yard.run_jobs(&jobs).await.green();
    let name = text(&ended.job("one")["steps"][1]["name"]);
    assert!(name.starts_with("xxx") && name.len() < 1000);
    let told = yard.get(&format!("/stream/pipelines/{}", ended.id())).await;
    let told = told.text().await.unwrap();
    assert!(told.len() < 2_000_000, "{}", told.len());
    daemon.stop().await;
}

/// A step may have what it likes preloaded, but only into what runs in its own sandbox.
#[tokio::test]
async fn what_a_step_has_preloaded_is_loaded_in_its_sandbox_alone() {
    let mut yard = Yard::with(contained()).await;
    let ended = yard
        .run_jobs(
            r#"
  one:
    runs-on: linux
    env: {LD_AUDIT: /yard/demo/none.so}
    steps:
      - run: |
          echo LD_PRELOAD=/yard/demo/gone.so >> "$GITHUB_ENV"
          echo BASH_ENV=/yard/demo/evil.sh >> "$GITHUB_ENV"
          printf 'echo evil\n' > evil.sh
      - run: echo still here
"#,
        )
        .await
        .green();
    let log = yard.step_log(&ended, "one", 2).await;
    assert!(log.contains("still here"), "{log}");
    yard.stop().await;
}

/// In lines of all kinds, split over writes, in annotations, by later steps, and after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_masked_value_is_in_no_log_record_or_journal() {
    for options in [Options::default(), contained()] {
        let mut yard = Yard::asleep(options);
        yard.workflow(
            r#"
on: workflow_dispatch
jobs:
  one:
    runs-on: linux
    steps:
      - run: |
          word="hunter""2secret"
          echo "::add-mask::$word"
          echo "it is $word"
          printf '%s' "${word:0:5}"; sleep 0.05; echo "${word:5}"
          echo "::error file=a.c,line=1::$word" >&2
          echo "WORD=$word" >> "$GITHUB_ENV"
      - run: echo "again $WORD"; echo "::warning::$WORD"
  other:
    needs: one
    runs-on: linux
    steps: [{run: echo nothing}]
"#,
        );
        let mut daemon = yard.start_binary(&[]).await;
        let ended = yard.pipeline(json!({})).await.green();
        let log = yard.step_log(&ended, "one", 1).await;
        assert!(log.contains("it is "), "{log}");
        let runs = [ended.run("one", 1), ended.run("one", 2)];
        let mut seen = String::new();
        for run in runs {
            seen += &yard.log(run).await;
            seen += &yard
                .get(&format!("/api/runs/{run}/diagnostics"))
                .await
                .text()
                .await
                .unwrap();
            seen += &yard
                .get(&format!("/api/runs/{run}"))
                .await
                .text()
                .await
                .unwrap();
        }
        let follow = format!("/stream/pipelines/{}?output=true", ended.id());
        seen += &yard.get(&follow).await.text().await.unwrap();
        assert!(!seen.contains("hunter2secret"), "{seen}");
        daemon.stop().await;
        let secret = b"hunter2secret";
        let state = yard.workspaces.join(".branchyard");
        let files = each_file(&state.join("runs"), &mut |path, content| {
            let found = content.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{}", path.display());
        });
        assert!(files > 4);
        for line in daemon.said() {
            assert!(!line.contains("hunter2secret"), "{line}");
        }
        for name in ["journal", "pipeline.json", "plan.json"] {
            let path = yard.pipeline_dir(ended.id()).join(name);
            let content = std::fs::read(&path).unwrap();
            let found = content.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{}", path.display());
        }
    }
}
