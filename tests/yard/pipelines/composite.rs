//! Composite actions of the repository: their steps are steps of the job that uses them, and see what the action has.

use std::path::Path;

use serde_json::json;

use super::{FILE, PIPELINES, refused, text};
use crate::support::{Options, Yard, problem_of};

/// Writes the file of an action, which the next commit has.
fn action(yard: &Yard, name: &str, text: &str) {
    let file = format!(".github/actions/{name}/action.yml");
    yard.origin.write(&file, text);
}

fn names(job: &serde_json::Value) -> Vec<&str> {
    let steps = job["steps"].as_array().unwrap();
    steps.iter().map(|step| text(&step["name"])).collect()
}

#[tokio::test]
async fn an_action_has_inputs_outputs_and_steps_of_its_own() {
    let mut yard = Yard::new().await;
    action(
        &yard,
        "outer",
        r#"
name: outer
inputs:
  word: {required: true}
  ref: {default: "${{ github.ref_name }}"}
  empty: {}
outputs:
  said: {value: "${{ steps.say.outputs.said }} ${{ steps.in.outputs.said }}"}
runs:
  using: composite
  steps:
    - id: say
      name: say ${{ inputs.word }}
      shell: bash
      env: {WORD: "${{ inputs.word }}", REF: "${{ inputs.ref }}", EMPTY: "[${{ inputs.empty }}]"}
      run: |
        echo "$WORD $REF $EMPTY $LEVEL ${{ env.LEVEL }} ${INPUT_WORD:-none}"
        test "$GITHUB_ACTION_PATH" = "$GITHUB_WORKSPACE/.github/actions/outer"
        test "$GITHUB_ACTION_PATH" = "${{ github.action_path }}"
        sh "$GITHUB_ACTION_PATH/script.sh"
        echo "said=$WORD" >> "$GITHUB_OUTPUT"
        echo FROM=action >> "$GITHUB_ENV"; echo LEVEL=changed >> "$GITHUB_ENV"
    - {id: in, uses: ./.github/actions/inner, with: {word: "${{ steps.say.outputs.said }}!"}}
    - {shell: sh, run: pwd, working-directory: .github}
"#,
    );
    action(
        &yard,
        "inner",
        r#"
inputs: {word: {default: unused}}
outputs: {said: {value: "${{ steps.say.outputs.said }}"}}
runs:
  using: composite
  steps:
    - {id: say, shell: sh, run: 'echo "$WORD $LEVEL"; echo "said=<$WORD>" >> "$GITHUB_OUTPUT"', env: {WORD: "${{ inputs.word }}"}}
"#,
    );
    yard.origin.write(
        ".github/actions/outer/script.sh",
        "echo script of the action\n",
    );
    let ended = yard
        .run_jobs(
            r#"
  one:
    runs-on: linux
    env: {LEVEL: job}
    outputs: {said: "${{ steps.outer.outputs.said }}"}
    steps:
      - {id: say, run: "echo said=other >> $GITHUB_OUTPUT"}
      - {id: outer, name: setup, uses: ./.github/actions/outer, with: {Word: hi there}, env: {LEVEL: step}}
      - run: echo "$SAID $SAY $FROM $LEVEL $WAS"
        env:
          SAID: ${{ steps.outer.outputs.said }}
          SAY: ${{ steps.say.outputs.said }}
          WAS: ${{ steps.outer.outcome }}/${{ steps.outer.conclusion }}
  two:
    needs: one
    runs-on: linux
    steps: [{run: 'echo "$SAID"', env: {SAID: "${{ needs.one.outputs.said }}"}}]
"#,
        )
        .await
        .green();
    let job = ended.job("one");
    assert_eq!(
        names(job),
        [
            "Run echo said=other >> $GITHUB_OUTPUT",
            "setup",
            "setup: say hi there",
            "setup: Run ./.github/actions/inner",
            "setup: Run ./.github/actions/inner: Run echo \"$WORD $LEVEL\"; echo \"said=<$WORD>\" >> \"$GITHUB_OUTPUT\"",
            "setup: Run pwd",
            "Run echo \"$SAID $SAY $FROM $LEVEL $WAS\"",
        ]
    );
    // An action has no run, and each script of it has one.
    assert!(job["steps"][1]["run_id"].is_null() && job["steps"][3]["run_id"].is_null());
    let log = async |step| yard.step_log(&ended, "one", step).await;
    assert_eq!(
        log(3).await,
        "hi there main [] step step none\nscript of the action\n"
    );
    assert_eq!(log(5).await, "hi there! step\n");
    assert!(log(6).await.ends_with("/.github\n"));
    let said = "hi there <hi there!>";
    assert_eq!(
        log(7).await,
        format!("{said} other action changed success/success\n")
    );
    assert_eq!(yard.step_log(&ended, "two", 1).await, format!("{said}\n"));
    yard.stop().await;
}

#[tokio::test]
async fn a_failed_step_of_an_action_fails_the_action() {
    let mut yard = Yard::new().await;
    action(
        &yard,
        "fails",
        r#"
outputs: {did: {value: "${{ steps.last.outputs.did }}"}}
runs:
  using: composite
  steps:
    - {id: may, shell: sh, run: exit 2, continue-on-error: true}
    - {shell: sh, run: "exit 3", if: "steps.may.outcome == 'failure'"}
    - {shell: sh, run: echo skipped}
    - {uses: ./.github/actions/fine}
    - {id: last, shell: sh, if: always(), run: "echo did=tidied >> $GITHUB_OUTPUT"}
    - {shell: sh, if: failure(), run: echo failed}
"#,
    );
    let fine = "runs: {using: composite, steps: [{shell: sh, run: echo fine}]}\n";
    action(&yard, "fine", fine);
    let ended = yard
        .run_jobs(
            r#"
  tolerated:
    runs-on: linux
    steps:
      - {id: out, uses: ./.github/actions/fine, if: "false"}
      - {id: bad, uses: ./.github/actions/fails, continue-on-error: true}
      - run: echo "$WAS"
        env: {WAS: "${{ steps.out.outcome }} ${{ steps.bad.outcome }} ${{ steps.bad.conclusion }} ${{ steps.bad.outputs.did }}"}
  failed:
    runs-on: linux
    steps:
      - {uses: ./.github/actions/fails}
      - {uses: ./.github/actions/fine}
      - {uses: ./.github/actions/fine, if: always()}
"#,
        )
        .await;
    assert_eq!(ended.states(), ["tolerated succeeded", "failed failed"]);
    let of_action = [
        "failed",
        "failed",
        "failed",
        "skipped",
        "skipped",
        "skipped",
        "succeeded",
        "succeeded",
    ];
    let numbered = |first: usize, states: &[&str]| -> Vec<String> {
        let states = states.iter().enumerate();
        states
            .map(|(at, state)| format!("{} {state}", first + at))
            .collect()
    };
    let mut expected = numbered(1, &["skipped", "skipped"]);
    expected.extend(numbered(3, &of_action));
    expected.extend(numbered(11, &["succeeded"]));
    assert_eq!(ended.steps("tolerated"), expected);
    let log = yard.step_log(&ended, "tolerated", 11).await;
    assert_eq!(log, "skipped failure success tidied\n");
    let mut expected = numbered(1, &of_action);
    // In an action of its own, `success()` is about its own steps.
    expected.extend(numbered(
        9,
        &["skipped", "skipped", "succeeded", "succeeded"],
    ));
    assert_eq!(ended.steps("failed"), expected);
    let reason = text(&ended.job("failed")["reason"]);
    assert!(
        reason.starts_with("step 1 (") && reason.ends_with("exited with 3"),
        "{reason}"
    );
    yard.stop().await;
}

#[tokio::test]
async fn the_time_of_an_action_is_that_of_all_its_steps() {
    let mut yard = Yard::new().await;
    action(
        &yard,
        "slow",
        "runs: {using: composite, steps: [{shell: sh, run: sleep 300}, {shell: sh, run: echo}]}\n",
    );
    let ended = yard
        .run_jobs(
            r#"
  one:
    runs-on: linux
    steps:
      - {uses: ./.github/actions/slow, timeout-minutes: 0.02}
      - {if: always(), run: echo after}
"#,
        )
        .await;
    assert_eq!(
        ended.steps("one"),
        ["1 timed_out", "2 timed_out", "3 skipped", "4 succeeded"]
    );
    assert_eq!(ended.state(), "failed");
    yard.stop().await;
}

#[tokio::test]
async fn rows_that_are_made_later_have_the_actions_of_the_commit() {
    let mut yard = Yard::new().await;
    action(
        &yard,
        "row",
        "inputs: {row: {}}\nruns: {using: composite, steps: [{shell: sh, run: 'echo \"$ROW\"', env: {ROW: \"${{ inputs.row }} ${{ matrix.row }}\"}}]}\n",
    );
    let ended = yard
        .run_jobs(
            r#"
  list:
    runs-on: linux
    outputs: {rows: "${{ steps.rows.outputs.rows }}"}
    steps: [{id: rows, run: "echo 'rows=[\"x\",\"y\"]' >> $GITHUB_OUTPUT"}]
  made:
    needs: list
    runs-on: linux
    strategy: {matrix: {row: "${{ fromJSON(needs.list.outputs.rows) }}"}}
    steps: [{uses: ./.github/actions/row, with: {row: "${{ matrix.row }}"}}]
"#,
        )
        .await
        .green();
    for (job, log) in [("made-1", "x x\n"), ("made-2", "y y\n")] {
        assert_eq!(yard.step_log(&ended, job, 2).await, log);
    }
    yard.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_an_action_is_refused_with_its_place() {
    let mut yard = Yard::new().await;
    let workflow = |uses: &str| {
        format!(
            "on: workflow_dispatch\njobs:\n  one:\n    runs-on: linux\n    steps:\n      - {{{uses}}}\n"
        )
    };
    let local = "uses: ./.github/actions/x";
    let file = ".github/actions/x/action.yml";
    for (text_of_action, uses, code, place) in [
        (
            "runs: {using: node20, main: x.js}\n".to_owned(),
            local,
            "action_not_supported",
            format!("{file}:1:15"),
        ),
        (
            "runs: {using: composite, steps: [{run: make}]}\n".to_owned(),
            local,
            "workflow_invalid",
            format!("{file}:1:34"),
        ),
        (
            "runs: {using: composite, steps: [{shell: sh, run: make, env: {A: '${{ secrets.A }}'}}]}\n".to_owned(),
            local,
            "workflow_invalid",
            format!("{file}:1:"),
        ),
        (
            format!("runs: {{using: composite, steps: [{{{local}}}]}}\n"),
            local,
            "workflow_invalid",
            format!("{file}:1:"),
        ),
        (
            "#".repeat(300 << 10),
            local,
            "workflow_invalid",
            format!("{FILE}:6:16"),
        ),
        (
            "runs: {using: composite, steps: [{shell: sh, run: make}]}\n".to_owned(),
            "uses: ./.github/actions/x, with: {none: 1}",
            "workflow_invalid",
            format!("{FILE}:6:44"),
        ),
        (
            String::new(),
            "uses: ./.github/actions/none",
            "workflow_invalid",
            format!("{FILE}:6:16"),
        ),
    ] {
        action(&yard, "x", &text_of_action);
        let problem = refused(&yard, &workflow(uses)).await;
        assert_eq!(problem["code"], code, "{uses}: {problem:#}");
        let detail = text(&problem["detail"]);
        assert!(detail.contains(&place), "{uses}: {place}: {detail}");
    }
    // Nothing behind a link is an action, wherever it leads to.
    let outside = yard.mark("outside");
    std::fs::create_dir(&outside).unwrap();
    let fine = "runs: {using: composite, steps: [{shell: sh, run: make}]}\n";
    std::fs::write(outside.join("action.yml"), fine).unwrap();
    let work = yard.origin.git(&["rev-parse", "--show-toplevel"]);
    let linked = Path::new(&work).join(".github/actions/linked");
    std::os::unix::fs::symlink(&outside, &linked).unwrap();
    let problem = refused(&yard, &workflow("uses: ./.github/actions/linked")).await;
    assert_eq!(problem["code"], "workflow_invalid", "{problem:#}");
    std::fs::remove_file(&linked).unwrap();
    std::fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(outside.join("action.yml"), linked.join("action.yml")).unwrap();
    let problem = refused(&yard, &workflow("uses: ./.github/actions/linked")).await;
    assert_eq!(problem["code"], "workflow_invalid", "{problem:#}");

    let listed = yard.get_json(PIPELINES).await;
    assert_eq!(listed["items"], json!([]));
    yard.stop().await;
}

#[tokio::test]
async fn text_from_outside_stays_that_in_an_action() {
    let mut yard = Yard::new().await;
    action(
        &yard,
        "echo",
        "inputs: {word: {}, other: {default: 'a b'}}\nruns: {using: composite, steps: [{shell: bash, run: 'echo ${{ inputs.word }} ${{ inputs.other }}'}]}\n",
    );
    yard.workflow(
        r#"
on: {workflow_dispatch: {inputs: {word: {type: string}}}}
jobs:
  known:
    runs-on: linux
    steps: [{uses: ./.github/actions/echo, with: {word: "${{ inputs.word }}"}}]
  later:
    runs-on: linux
    steps:
      - {id: late, run: "echo \"word=$WORD\" >> $GITHUB_OUTPUT", env: {WORD: "${{ inputs.word }}"}}
      - {uses: ./.github/actions/echo, with: {word: "${{ steps.late.outputs.word }}"}}
"#,
    );
    let plain = yard.pipeline(json!({"inputs": {"word": "a-b"}})).await;
    let plain = plain.green();
    assert_eq!(yard.step_log(&plain, "known", 2).await, "a-b a b\n");
    assert_eq!(yard.step_log(&plain, "later", 3).await, "a-b a b\n");
    let mark = yard.mark("injected");
    let word = format!("a; touch {}", mark.display());
    let body = json!({"inputs": {"word": word}});
    let (status, problem) = problem_of(yard.post(PIPELINES, body.clone()).await).await;
    assert_eq!(status, 422);
    assert_eq!(problem["code"], "unsafe_interpolation", "{problem:#}");
    assert!(text(&problem["detail"]).contains(".github/actions/echo/action.yml:2:"));
    // What is known only later is refused by the job.
    yard.workflow(
        r#"
on: {workflow_dispatch: {inputs: {word: {type: string}}}}
jobs:
  later:
    runs-on: linux
    steps:
      - {id: late, run: "echo \"word=$WORD\" >> $GITHUB_OUTPUT", env: {WORD: "${{ inputs.word }}"}}
      - {uses: ./.github/actions/echo, with: {word: "${{ steps.late.outputs.word }}"}}
"#,
    );
    let ended = yard.pipeline(body).await;
    assert_eq!(ended.states(), ["later rejected"], "{:#}", ended.0);
    assert_eq!(
        ended.steps("later"),
        ["1 succeeded", "2 rejected", "3 rejected"]
    );
    assert!(!mark.exists());
    yard.stop().await;
}

#[tokio::test]
async fn another_action_is_another_job() {
    let mut yard = Yard::new().await;
    let ran = yard.mark("ran");
    let say = |word: &str| {
        format!(
            "runs: {{using: composite, steps: [{{shell: sh, run: 'echo {word} >> {0}; sh $GITHUB_ACTION_PATH/more.sh >> {0}'}}]}}\n",
            ran.display()
        )
    };
    let more = ".github/actions/say/more.sh";
    action(&yard, "say", &say("one"));
    yard.origin.write(more, "echo more\n");
    // No file of the tree counts but the action's own.
    yard.jobs(
        r#"
  one:
    runs-on: linux
    inputs: [none]
    steps: [{uses: ./.github/actions/say}]
"#,
    );
    let run = async |state: &str| {
        let ended = yard.pipeline(json!({})).await.green();
        assert_eq!(ended.states(), [format!("one {state}")]);
        yard.marked("ran")
    };
    let push = |message: &str| {
        yard.origin.commit(message);
        yard.origin.push("main");
    };
    assert_eq!(run("succeeded").await, ["one", "more"]);
    yard.origin.write("README", "changed\n");
    push("another file");
    assert_eq!(run("reused").await, ["one", "more"]);
    action(&yard, "say", &say("two"));
    push("another action");
    assert_eq!(run("succeeded").await, ["one", "more", "two", "more"]);
    yard.origin.write(more, "echo less\n");
    push("another script of it");
    let all = ["one", "more", "two", "more", "two", "less"];
    assert_eq!(run("succeeded").await, all);
    yard.stop().await;
}

/// The moments of an action, each with how many daemons in a row are killed there.
const POINTS: [(&str, usize); 4] = [
    ("action-begun", 2),
    ("step-begins", 2),
    ("step-started", 2),
    ("step-ended", 4),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_the_steps_of_an_action_starts_none_twice() {
    for (point, kills) in POINTS {
        println!("{point}");
        let mut yard = Yard::asleep(Options::default());
        let marks = yard.mark("marks").display().to_string();
        action(
            &yard,
            "outer",
            &r#"
inputs: {made: {default: "${{ hashFiles('made') }}"}}
outputs: {word: {value: "${{ steps.in.outputs.word }}"}}
runs:
  using: composite
  steps:
    # Once it has run, neither the input nor the condition of the action would be the same.
    - {shell: sh, run: 'echo "one [${{ inputs.made }}] $LEVEL" >> MARKS; echo x > made; echo LEVEL=other >> $GITHUB_ENV'}
    - {id: in, uses: ./.github/actions/inner, with: {made: "[${{ inputs.made }}]"}}
    - {shell: sh, run: 'echo "three $LEVEL" >> MARKS'}
"#
            .replace("MARKS", &marks),
        );
        action(
            &yard,
            "inner",
            &r#"
inputs: {made: {}}
outputs: {word: {value: "${{ steps.say.outputs.word }}"}}
runs:
  using: composite
  steps:
    - {id: say, shell: sh, run: 'echo "two $MADE" >> MARKS; echo word=kept >> $GITHUB_OUTPUT', env: {MADE: "${{ inputs.made }}"}}
"#
            .replace("MARKS", &marks),
        );
        yard.jobs(&format!(
            r#"
  one:
    runs-on: linux
    steps:
      - {{id: out, uses: ./.github/actions/outer, if: "hashFiles('made') == ''", env: {{LEVEL: "set${{{{ env.LEVEL }}}}"}}}}
      - run: echo "four $WORD $LEVEL" >> {marks}
        env: {{WORD: "${{{{ steps.out.outputs.word }}}}"}}
"#
        ));
        let crash = [("BRANCHYARD_CRASH_AT", point)];
        let mut daemon = yard.start_binary(&crash).await;
        let request = yard
            .request(reqwest::Method::POST, PIPELINES)
            .json(&json!({}));
        let _ = request.send().await;
        assert!(!daemon.ended().await.success(), "{point}");
        for _ in 1..kills {
            let mut daemon = yard.spawn_binary(&crash);
            assert!(!daemon.ended().await.success(), "{point}");
        }
        let mut daemon = yard.start_binary(&[]).await;
        let listed = yard.get_json(PIPELINES).await;
        let id = text(&listed["items"][0]["pipeline_id"]).to_owned();
        let ended = yard.pipeline_ended(&id).await;
        assert_eq!(ended.state(), "succeeded", "{point}: {:#}", ended.0);
        assert_eq!(
            yard.marked("marks"),
            ["one [] set", "two []", "three set", "four kept other"],
            "{point}"
        );
        daemon.stop().await;
    }
}
