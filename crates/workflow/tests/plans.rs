//! Files and events into plans.

use std::collections::BTreeMap;

use branchyard_workflow::{
    ALL_VARIABLES, EventKind, ExprValue, FaultCode, PlanFacts, Planned, PlannedJob, SkipReason,
    StepAction, Workflow, WorkflowEvent, WorkflowFault, WorkflowOptions, WorkflowPlan, check,
};

const RUST: &str = include_str!("files/rust.yml");
const PYTHON: &str = include_str!("files/python.yml");
const OWN: &str = include_str!("files/own.yml");

fn workflow(text: &str) -> Workflow {
    let options = WorkflowOptions {
        skip_actions: vec!["codecov/*".to_owned()],
        ..WorkflowOptions::default()
    };
    check(
        ".branchyard/workflows/ci.yml",
        text,
        &options,
        &BTreeMap::new(),
    )
    .unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn facts() -> PlanFacts {
    PlanFacts {
        repository: "acme/app".to_owned(),
        sha: "d04b".to_owned(),
        actor: "dev".to_owned(),
        run_id: "7".to_owned(),
        run_number: 3,
        vars: [("LEVEL".to_owned(), "2".to_owned())].into(),
        is_ref_protected: true,
        retention_days: 30,
    }
}

fn push(git_ref: &str) -> WorkflowEvent {
    WorkflowEvent::new(EventKind::Push, git_ref)
}

fn try_plan(text: &str, event: &WorkflowEvent) -> Result<Option<WorkflowPlan>, Vec<WorkflowFault>> {
    workflow(text).plan(event, &facts())
}

fn plan(text: &str, event: &WorkflowEvent) -> WorkflowPlan {
    match try_plan(text, event) {
        Ok(Some(plan)) => plan,
        other => panic!("{other:#?}"),
    }
}

/// A file with one job that has these lines.
fn one_job(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("on: [push, pull_request]\njobs:\n  a:\n{lines}")
}

fn script(job: &PlannedJob, step: usize) -> Planned<String> {
    match &job.steps[step].action {
        StepAction::Run { script, .. } => script.clone(),
        other => panic!("{other:?}"),
    }
}

fn value(text: &str) -> Planned<String> {
    Planned::Value(text.to_owned())
}

fn ids(plan: &WorkflowPlan) -> Vec<&str> {
    plan.jobs.iter().map(|job| job.id.as_str()).collect()
}

#[test]
fn a_workflow_of_a_rust_project_is_planned() {
    let plan = plan(RUST, &push("refs/heads/main"));
    assert_eq!(
        ids(&plan),
        ["fmt", "test-1", "test-2", "test-3", "test-4", "docs"]
    );
    let names: Vec<_> = plan.jobs.iter().map(|job| job.name.clone()).collect();
    assert_eq!(names[1], value("test stable on ubuntu-latest"));
    assert_eq!(names[2], value("test 1.7 on ubuntu-latest"));
    assert_eq!(names[4], value("test nightly on ubuntu-latest"));
    let test = &plan.jobs[4];
    assert_eq!(
        script(test, 2),
        value("cargo build --verbose --all-features")
    );
    assert_eq!(test.continue_on_error, Planned::Value(true));
    assert_eq!(test.strategy.max_parallel, Some(4));
    assert!(!test.strategy.fail_fast && test.strategy.total == 4);
    assert_eq!(test.steps[4].with["name"], value("logs-3"));
    assert_eq!(test.steps[3].outside, ["env.TITLE"]);
    assert!(
        matches!(&test.steps[1].with["key"], Planned::Template(key) if key.contains("hashFiles"))
    );
    assert_eq!(plan.jobs[3].skipped, Some(SkipReason::RunsOn));
    assert!(plan.jobs[3].steps.is_empty());
    let docs = &plan.jobs[5];
    assert_eq!(
        (docs.needs.len(), docs.secrets.as_slice()),
        (2, &["DOCS_TOKEN".to_owned()][..])
    );
    assert!(docs.mentions_commit && !plan.jobs[0].mentions_commit);
    assert_eq!(script(docs, 1), value("./build.sh --commit d04b"));
    assert!(
        matches!(&docs.steps[2].action, StepAction::Skipped { uses } if uses.starts_with("codecov/"))
    );
    let concurrency = plan.concurrency.as_ref().unwrap();
    assert_eq!(concurrency.group, value("CI-refs/heads/main"));
    assert_eq!(concurrency.cancel_in_progress, Planned::Value(false));
    assert_eq!(plan.env["CARGO_INCREMENTAL"], value("0"));
}

#[test]
fn a_plan_is_the_same_after_json() {
    for (text, event) in [
        (RUST, push("refs/heads/main")),
        (OWN, push("refs/heads/main")),
        (PYTHON, push("refs/tags/v1.2")),
    ] {
        let plan = plan(text, &event);
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<WorkflowPlan>(&json).unwrap(), plan);
    }
}

#[test]
fn our_own_keys_are_in_the_plan() {
    let plan = plan(OWN, &push("refs/heads/main"));
    assert_eq!(ids(&plan), ["test-1", "test-2", "ship"]);
    assert_eq!(plan.jobs[0].name, value("test"));
    assert_eq!(plan.jobs[1].name, value("test (--all-features)"));
    let extras = &plan.jobs[0].extras;
    assert_eq!(extras.hold_seconds, Some(1800));
    assert_eq!(extras.retry.as_ref().unwrap().on, ["flaky", "lost"]);
    assert_eq!(plan.jobs[0].timeout_minutes, Planned::Value(30.0));
    assert!(plan.concurrency.as_ref().unwrap().is_single);
    assert!(
        matches!(&plan.jobs[0].steps[5].action, StepAction::Cancel { step } if step == "redis")
    );
    assert_eq!(
        workflow(OWN).schedules().collect::<Vec<_>>(),
        [("0 3 * * *", None)]
    );
}

#[test]
fn a_matrix_of_outputs_is_made_when_they_are_there() {
    let workflow = workflow(PYTHON);
    let mut event = WorkflowEvent::new(EventKind::WorkflowDispatch, "refs/heads/main");
    event.inputs.insert("note".to_owned(), "$(x)".to_owned());
    let plan = workflow.plan(&event, &facts()).unwrap().unwrap();
    assert_eq!(ids(&plan), ["list", "test"]);
    assert!(plan.jobs[1].is_deferred);
    let needs = |versions: &str| {
        let json =
            serde_json::json!({"list": {"result": "success", "outputs": {"versions": versions}}});
        serde_json::from_value::<ExprValue>(json).unwrap()
    };
    let rows = workflow
        .expand(&plan, "test", &needs(r#"["3.12","3.13"]"#))
        .unwrap();
    assert_eq!(
        rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(),
        ["test-1", "test-2"]
    );
    assert_eq!(script(&rows[1], 0), value("tox -e 3.13 quick"));
    assert_eq!(rows[1].name, value("test (3.13, a)"));
    for (versions, found) in [("[]", "has no values"), ("x", "no JSON"), ("{}", "no list")] {
        let faults = workflow
            .expand(&plan, "test", &needs(versions))
            .unwrap_err();
        assert!(faults[0].message.contains(found), "{faults:?}");
        assert!(faults[0].line > 1);
    }
    assert!(workflow.expand(&plan, "none", &needs("[]")).is_err());
}

#[test]
fn inputs_are_checked_and_have_their_types() {
    let with = |inputs: &[(&str, &str)]| {
        let mut event = WorkflowEvent::new(EventKind::WorkflowDispatch, "refs/heads/main");
        event.inputs = inputs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        try_plan(PYTHON, &event)
    };
    let plan = with(&[("level", "full"), ("verbose", "true")])
        .unwrap()
        .unwrap();
    let inputs = serde_json::to_value(&plan.contexts["inputs"]).unwrap();
    assert_eq!(
        inputs,
        serde_json::json!({"level": "full", "verbose": true, "note": ""})
    );
    let github = serde_json::to_value(&plan.contexts["github"]).unwrap();
    assert_eq!(github["event"]["inputs"]["verbose"], "true");
    for (inputs, found) in [
        (("level", "none"), "one of quick, full"),
        (("verbose", "yes"), "true or false"),
        (("levle", "full"), "did you mean `level`?"),
    ] {
        let faults = with(&[inputs]).unwrap_err();
        assert!(faults[0].message.contains(found), "{faults:?}");
    }
}

#[test]
fn inputs_of_a_call_are_known_and_empty() {
    let text = "on: {push: , workflow_call: {inputs: {Version: {type: string, default: '1'}}}}\njobs:\n  a:\n    runs-on: linux\n    env: {V: '${{ inputs.version || github.ref_name }}'}\n    steps: [{run: 'x${{ inputs.version }}'}]\n";
    let plan = plan(text, &push("refs/heads/main"));
    assert_eq!(plan.jobs[0].env["V"], value("main"));
    assert_eq!(script(&plan.jobs[0], 0), value("x"));
}

#[test]
fn events_match_as_on_github() {
    let is_planned = |on: &str, event: &WorkflowEvent| {
        let text = format!("on: {on}\njobs: {{a: {{runs-on: linux, steps: [{{run: x}}]}}}}\n");
        try_plan(&text, event).unwrap().is_some()
    };
    let changed = |paths: &[&str]| WorkflowEvent {
        changed_paths: Some(paths.iter().map(ToString::to_string).collect()),
        ..push("refs/heads/main")
    };
    let pull = |base: &str, activity: &str| WorkflowEvent {
        base_ref: Some(base.to_owned()),
        activity: Some(activity.to_owned()),
        ..WorkflowEvent::new(EventKind::PullRequest, "refs/pull/1/merge")
    };
    let main = push("refs/heads/main");
    let tag = push("refs/tags/v1");
    for (on, event, is_for) in [
        ("push", &main, true),
        ("push", &tag, true),
        ("{push: {branches: [main]}}", &main, true),
        ("{push: {branches: [main]}}", &push("refs/heads/dev"), false),
        ("{push: {branches: [main]}}", &tag, false),
        ("{push: {branches-ignore: [main]}}", &main, false),
        ("{push: {branches-ignore: [dev]}}", &tag, false),
        ("{push: {tags: ['v*']}}", &tag, true),
        ("{push: {tags: ['v*']}}", &main, false),
        (
            "{push: {branches: ['**'], tags-ignore: ['v*']}}",
            &tag,
            false,
        ),
        (
            "{push: {paths: ['src/**']}}",
            &changed(&["src/a.rs", "x"]),
            true,
        ),
        ("{push: {paths: ['src/**']}}", &changed(&["docs/a"]), false),
        (
            "{push: {paths: ['src/**', '!src/**.md']}}",
            &changed(&["src/a.md"]),
            false,
        ),
        (
            "{push: {paths-ignore: ['docs/**']}}",
            &changed(&["docs/a"]),
            false,
        ),
        (
            "{push: {paths-ignore: ['docs/**']}}",
            &changed(&["docs/a", "b"]),
            true,
        ),
        ("{push: {paths: ['src/**']}}", &main, true),
        ("{push: {paths: ['src/**']}}", &tag, true),
        ("pull_request", &main, false),
        ("pull_request", &pull("main", "synchronize"), true),
        ("pull_request", &pull("main", "closed"), false),
        (
            "{pull_request: {types: [closed]}}",
            &pull("main", "closed"),
            true,
        ),
        (
            "{pull_request: {branches: [main]}}",
            &pull("dev", "opened"),
            false,
        ),
        (
            "workflow_dispatch",
            &WorkflowEvent::new(EventKind::WorkflowDispatch, "refs/heads/main"),
            true,
        ),
        (
            "merge_group",
            &WorkflowEvent::new(EventKind::MergeGroup, "refs/heads/q"),
            true,
        ),
    ] {
        assert_eq!(is_planned(on, event), is_for, "{on} {event:?}");
    }
    let cron = |cron: &str| WorkflowEvent {
        cron: Some(cron.to_owned()),
        ..WorkflowEvent::new(EventKind::Schedule, "refs/heads/main")
    };
    assert!(is_planned(
        "{schedule: [{cron: '0 3 * * *'}]}",
        &cron("0 3 * * *")
    ));
    assert!(!is_planned(
        "{schedule: [{cron: '0 3 * * *'}]}",
        &cron("0 4 * * *")
    ));
}

#[test]
fn text_from_outside_never_becomes_a_script() {
    let with_title = |title: &str| WorkflowEvent {
        payload: serde_json::from_value(serde_json::json!({"pull_request": {"title": title}}))
            .unwrap(),
        head_ref: Some("topic".to_owned()),
        base_ref: Some("main".to_owned()),
        ..WorkflowEvent::new(EventKind::PullRequest, "refs/pull/1/merge")
    };
    let text = one_job(
        "runs-on: linux\nsteps:\n  - run: |\n      echo one\n      echo ${{ github.event.pull_request.title }}",
    );
    assert_eq!(
        script(&plan(&text, &with_title("v1.2")).jobs[0], 0),
        value("echo one\necho v1.2\n")
    );
    let faults = try_plan(&text, &with_title("a; rm -rf /")).unwrap_err();
    assert_eq!(
        (faults.len(), faults[0].code),
        (1, FaultCode::UnsafeInterpolation)
    );
    assert_eq!((faults[0].line, faults[0].column), (8, 20));
    assert!(faults[0].message.contains("`env:`"));

    let text = one_job(
        "runs-on: linux\nsteps: [{run: 'echo \"$T\"', env: {T: '${{ github.event.pull_request.title }}'}}]",
    );
    let job = &plan(&text, &with_title("${{ secrets.X }}; rm")).jobs[0];
    assert_eq!(job.steps[0].env["T"], value("${{ secrets.X }}; rm"));

    let mut event = push("refs/heads/a;b");
    let text =
        one_job("runs-on: linux\nsteps: [{run: 'echo ${{ env.X }} ${{ github.ref_name }}'}]");
    assert!(try_plan(&text, &event).is_err());
    event.git_ref = "refs/heads/a/b".to_owned();
    assert!(matches!(
        script(&plan(&text, &event).jobs[0], 0),
        Planned::Template(_)
    ));

    // The ref is a part of this, too.
    let text = one_job("runs-on: linux\nsteps: [{run: 'echo ${{ github.workflow_ref }}'}]");
    assert!(try_plan(&text, &push("refs/heads/a;b")).is_err());
    let plain = plan(&text, &push("refs/heads/a"));
    let expected = "echo acme/app/.branchyard/workflows/ci.yml@refs/heads/a";
    assert_eq!(script(&plain.jobs[0], 0), value(expected));
    assert!(plain.jobs[0].mentions_commit);

    // A matrix that is made of it is no better.
    let text = one_job(
        "runs-on: linux\nstrategy: {matrix: {x: ['${{ github.event.pull_request.title }}']}}\nsteps: [{run: 'echo ${{ matrix.x }}'}]",
    );
    assert!(try_plan(&text, &with_title("a b")).is_err());
}

#[test]
fn one_expression_makes_all_variables() {
    let text = one_job(
        "runs-on: linux\nstrategy:\n  matrix:\n    m: [{e: {A: x y, B: 2}}, {e: {}}, {n: '{\"C\":\"3\"}', e: {D: 4}}]\nenv: ${{ matrix.m.e }}\nsteps:\n  - {run: x, env: '${{ fromJSON(env.A) }}'}\n  - {run: x, env: '${{ matrix.m.e }}'}",
    );
    let plan = plan(&text, &push("refs/heads/main"));
    let [first, second, third] = plan.jobs.as_slice() else {
        panic!("{plan:#?}")
    };
    assert_eq!(
        (&first.env["A"], &first.env["B"]),
        (&value("x y"), &value("2"))
    );
    assert!(second.env.is_empty() && third.env.len() == 1);
    assert_eq!(first.steps[1].env, first.env);
    let later = Planned::Template("${{ fromJSON(env.A) }}".to_owned());
    assert_eq!(first.steps[0].env[ALL_VARIABLES], later);

    for (env, found) in [
        ("${{ matrix.m.e }}", "5:10: the expression makes a list"),
        ("${{ matrix.m.none }}", "makes nothing"),
        ("${{ matrix.m.o }}", "the value of `A` is a mapping"),
        ("${{ fromJSON(github.event.env) }}", "come from outside"),
    ] {
        let text = one_job(&format!(
            "runs-on: linux\nenv: {env}\nstrategy: {{matrix: {{m: [{{e: [1], o: {{A: {{}}}}}}]}}}}\nsteps: [{{run: x}}]"
        ));
        let event = WorkflowEvent {
            payload: serde_json::from_str(r#"{"env":"{\"BASH_ENV\":\"x\"}"}"#).unwrap(),
            ..push("refs/heads/main")
        };
        let faults = try_plan(&text, &event).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:#?}");
        assert!(faults[0].to_string().contains(found), "{}", faults[0]);
    }
}

#[test]
fn outputs_that_are_made_of_it_are_known() {
    let text = "on: push\njobs:\n  a:\n    runs-on: linux\n    outputs: {t: '${{ steps.s.outputs.t }}', u: '${{ github.sha }}'}\n    steps:\n      - {id: s, run: 'echo t=$T >> $GITHUB_OUTPUT', env: {T: '${{ github.event.x }}'}}\n      - run: echo ${{ steps.s.outputs.t }}\n  b:\n    needs: a\n    runs-on: linux\n    steps: [{run: 'echo ${{ needs.a.outputs.t }}'}]\n";
    let plan = plan(text, &push("refs/heads/main"));
    assert_eq!(plan.jobs[0].steps[1].outside, ["steps.s.outputs"]);
    assert_eq!(plan.jobs[1].steps[0].outside, ["needs.a.outputs.t"]);
}

#[test]
fn too_large_a_matrix_is_refused() {
    let values: Vec<String> = (0..17).map(|number| number.to_string()).collect();
    let values = values.join(",");
    let text = one_job(&format!(
        "runs-on: linux\nstrategy: {{matrix: {{a: [{values}], b: [{values}]}}}}\nsteps: [{{run: x}}]"
    ));
    let faults = try_plan(&text, &push("refs/heads/main")).unwrap_err();
    assert_eq!((faults[0].line, faults[0].column), (3, 3));
    assert!(faults[0].message.contains("more than 256 rows"));
    let few = one_job(&format!(
        "runs-on: linux\nstrategy: {{matrix: {{a: [{values}], b: [{values}], exclude: [{{a: 0}}, {{b: 0}}]}}}}\nsteps: [{{run: x}}]"
    ));
    assert_eq!(plan(&few, &push("refs/heads/main")).jobs.len(), 256);
    let many = one_job(&format!(
        "runs-on: linux\nstrategy: {{matrix: {{a: [{values}], b: [{values}], c: [{values}], exclude: [{{a: 0}}]}}}}\nsteps: [{{run: x}}]"
    ));
    let faults = try_plan(&many, &push("refs/heads/main")).unwrap_err();
    assert!(faults[0].message.contains("more than 4096 combinations"));
    for (matrix, found) in [
        ("{a: [1], exclude: [{a: 1}]}", "all are excluded"),
        (
            "{a: [1], exclude: [{b: 1}]}",
            "which the matrix does not have",
        ),
        ("${{ fromJSON('3') }}", "makes no matrix"),
    ] {
        let text = one_job(&format!(
            "runs-on: linux\nstrategy:\n  matrix: {matrix}\nsteps: [{{run: x}}]"
        ));
        let faults = try_plan(&text, &push("refs/heads/main")).unwrap_err();
        assert!(faults[0].message.contains(found), "{faults:?}");
    }
}

#[test]
fn shells_and_directories_have_defaults() {
    let text = "on: push\ndefaults: {run: {working-directory: top}}\njobs:\n  a:\n    runs-on: linux\n    defaults: {run: {shell: sh}}\n    steps:\n      - run: one\n      - {run: two, shell: bash, working-directory: sub}\n      - {run: three, shell: 'perl {0}'}\n";
    let plan = plan(text, &push("refs/heads/main"));
    let shells: Vec<String> = plan.jobs[0]
        .steps
        .iter()
        .map(|step| match &step.action {
            StepAction::Run { shell, .. } => shell.join(" "),
            _ => String::new(),
        })
        .collect();
    assert_eq!(
        shells,
        [
            "sh -e {0}",
            "bash --noprofile --norc -eo pipefail {0}",
            "perl {0}"
        ]
    );
    assert_eq!(plan.jobs[0].steps[0].working_directory, Some(value("top")));
    assert_eq!(plan.jobs[0].steps[1].working_directory, Some(value("sub")));
    assert_eq!(plan.jobs[0].steps[0].name, value("Run one"));
    assert_eq!(plan.jobs[0].steps[1].line, 9);
}

#[test]
fn shells_of_other_systems_are_refused_only_where_they_are_needed() {
    let found = |matrix: &str, step: &str| {
        let text = one_job(&format!(
            "runs-on: ${{{{ matrix.os }}}}\nstrategy: {{matrix: {matrix}}}\nsteps:\n  - {{run: dir, {step}}}"
        ));
        try_plan(&text, &push("refs/heads/main")).map_err(|faults| faults[0].to_string())
    };
    let (other, both) = (
        "{os: [windows-2022]}",
        "{os: [windows-2022, ubuntu-latest]}",
    );
    for (matrix, step) in [
        (other, "shell: cmd"),
        (both, "shell: pwsh, if: runner.os == 'Windows'"),
        (
            both,
            "shell: cmd, if: \"always() && startsWith(matrix.os, 'windows')\"",
        ),
        (
            both,
            "shell: cmd, if: \"runner.os == 'Windows' && env.X == 'x'\"",
        ),
        (both, "shell: powershell, if: '${{ false }}'"),
    ] {
        let found = found(matrix, step);
        assert!(found.is_ok(), "{step}: {found:?}");
    }
    for step in [
        "shell: cmd",
        "shell: pwsh, if: runner.os == 'Linux'",
        "shell: pwsh, if: env.X",
        "shell: pwsh, if: runner.temp",
        "shell: pwsh, if: github.workspace",
        "shell: pwsh, if: failure()",
    ] {
        let found = found(both, step).unwrap_err();
        assert!(found.contains(":7:27: the shell `"), "{step}: {found}");
    }
}

#[test]
fn a_step_checks_out_only_what_the_job_is_at() {
    let checkout = |with: &str| {
        let text = one_job(&format!(
            "runs-on: linux\nsteps:\n  - uses: actions/checkout@v4\n    with: {{{with}}}"
        ));
        try_plan(&text, &push("refs/heads/main"))
            .map(|plan| plan.is_some())
            .map_err(|faults| faults[0].to_string())
    };
    for with in [
        "ref: main",
        "ref: '${{ github.sha }}'",
        "repository: acme/app, ref: '${{ inputs.none || github.ref }}'",
        "repository: \"${{ vars.NONE || '' }}\"",
    ] {
        let with = with.replace("inputs.none", "vars.NONE");
        assert_eq!(checkout(&with), Ok(true), "{with}");
    }
    for with in ["ref: v1", "repository: acme/other", "ref: '${{ env.X }}'"] {
        let found = checkout(with).unwrap_err();
        assert!(
            found.contains(":7:16: this step checks out") && found.contains("not_supported_yet"),
            "{found}"
        );
    }
}

#[test]
fn values_of_the_wrong_kind_are_refused_where_they_are_written() {
    for (line, found) in [
        (
            "timeout-minutes: ${{ matrix.v }}",
            "4:22: the value here is `x`, which is of the wrong kind",
        ),
        (
            "continue-on-error: ${{ matrix.v }}",
            "4:24: the value here is `x`",
        ),
        (
            "name: ${{ fromJSON(matrix.v) }}",
            "4:15: fromJSON was given a text that is no JSON",
        ),
        (
            "concurrency: \" ${{ matrix.none || '' }}\"",
            "4:18: the concurrency group is empty",
        ),
    ] {
        let text = format!(
            "on: push\njobs:\n  a:\n    {line}\n    runs-on: linux\n    strategy: {{matrix: {{v: [x], none: ['']}}}}\n    steps: [{{run: x}}]\n"
        );
        let faults = try_plan(&text, &push("refs/heads/main")).unwrap_err();
        let fault = faults[0].to_string();
        assert!(fault.contains(&format!(":{found}")), "{fault}");
    }
}

#[test]
fn what_only_a_running_job_knows_is_left_for_then() {
    let text = "on: push\njobs:\n  a:\n    runs-on: linux\n    outputs: {os: x}\n    steps: [{run: x}]\n  b:\n    needs: a\n    runs-on: ${{ needs.a.outputs.os }}\n    timeout-minutes: ${{ fromJSON(needs.a.outputs.os) }}\n    env: {T: '${{ secrets.t }}', G: '${{ github.token }}', ALL: '${{ toJSON(secrets) }}'}\n    steps: [{run: 'x ${{ runner.temp }}', if: needs.a.result == 'success'}]\n";
    let plan = plan(text, &push("refs/heads/main"));
    let job = &plan.jobs[1];
    assert!(matches!(job.runs_on, Planned::Template(_)) && job.skipped.is_none());
    assert!(matches!(job.timeout_minutes, Planned::Template(_)));
    assert!(
        job.env
            .values()
            .all(|value| matches!(value, Planned::Template(_)))
    );
    assert_eq!(job.secrets, ["*", "GITHUB_TOKEN", "T"]);
    assert_eq!(
        job.steps[0].condition.as_deref(),
        Some("needs.a.result == 'success'")
    );
}

#[test]
fn a_plan_that_would_fill_the_memory_is_refused() {
    let mut bomb = "'x'".to_owned();
    for _ in 0..19 {
        bomb = format!("format('{{0}}{{0}}',{bomb})");
    }
    let env: String = (0..100)
        .map(|number| format!("      A{number}: ${{{{ {bomb} }}}}\n"))
        .collect();
    let text = format!(
        "on: push\njobs:\n  a:\n    runs-on: linux\n    env:\n{env}    steps: [{{run: x}}]\n"
    );
    let faults = try_plan(&text, &push("refs/heads/main")).unwrap_err();
    assert!(
        faults[0].message.contains("let them make less"),
        "{}",
        faults[0]
    );
}

#[test]
fn ids_of_rows_are_no_names_of_other_jobs() {
    let text = "on: push\njobs:\n  a:\n    runs-on: linux\n    strategy: {matrix: {v: [1, 2]}}\n    steps: [{run: x}]\n  a-1:\n    runs-on: linux\n    steps: [{run: x}]\n";
    assert_eq!(
        ids(&plan(text, &push("refs/heads/main"))),
        ["a.1", "a-2", "a-1"]
    );
}
