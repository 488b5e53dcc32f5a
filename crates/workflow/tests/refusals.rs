//! What is refused, and where.

use std::collections::BTreeMap;

use branchyard_workflow::{WorkflowFault, WorkflowOptions, check};

const FILE: &str = ".branchyard/workflows/ci.yml";

fn faults_of(file: &str, text: &str) -> Vec<WorkflowFault> {
    check(file, text, &WorkflowOptions::default(), &BTreeMap::new())
        .err()
        .unwrap_or_default()
}

/// The only fault of a text, as place, code and message.
fn fault(text: &str) -> String {
    let faults = faults_of(FILE, text);
    assert_eq!(faults.len(), 1, "{text}\n{faults:#?}");
    faults[0].to_string().trim_start_matches(FILE).to_owned()
}

/// A job with these lines, which begin at line 5.
fn job(lines: &str) -> String {
    let lines: Vec<_> = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n{}",
        lines.concat()
    )
}

/// A step with these lines, which begin at line 6 and column 9.
fn step(lines: &str) -> String {
    let lines: Vec<_> = lines.lines().map(|line| format!("    {line}\n")).collect();
    job(&format!(
        "steps:\n{}",
        lines.concat().replacen("    ", "  - ", 1)
    ))
}

const RUN: &str = "steps: [{run: make}]";

#[test]
fn what_is_right_is_taken() {
    for text in [
        job(RUN),
        step("uses: actions/checkout@v4\nwith: {fetch-depth: 0, submodules: recursive}"),
        step("run: echo ${{ github.event.anything.goes }}\nif: always() && hashFiles('x') != ''"),
        step("run: x\nbackground: true\nid: db") + "      - wait: db\n      - cancel: db\n      - wait-all: true\n",
        job("strategy: {matrix: {os: [a], include: [{v: 1}]}}\nsteps: [{run: \"${{ matrix.os }} ${{ matrix.v }}\"}]"),
        job("inputs: ['src/**']\nretry: {max: 1, on: [flaky, lost]}\nhold: 30m\nwarm: true\nreuse: inputs\nreports: [x.xml]\nsteps: [{run: make}]"),
        "on: {release: {types: [x]}, push: }\njobs: {a: {runs-on: ubuntu-latest, steps: [run: x]}}".to_owned(),
        "on: push\njobs: {a: {runs-on: windows-latest, steps: [{run: x, shell: pwsh}, {uses: some/one@v1}]}}".to_owned(),
    ] {
        assert_eq!(faults_of(FILE, &text), [], "{text}");
    }
}

#[test]
fn unknown_keys_are_refused_where_they_stand() {
    for (text, found) in [
        (
            "on: push\nname: x\n",
            ":1:1: the workflow needs `jobs` (workflow_invalid)",
        ),
        (
            "[]",
            ":1:1: `the workflow` is a list; it must be a mapping with `on` and `jobs` (workflow_invalid)",
        ),
        (
            &job(&format!("step: []\n{RUN}")),
            ":5:5: `jobs.<job>` has no key `step`; did you mean `steps`? (workflow_invalid)",
        ),
        (
            &step("run: x\nenvv: {}"),
            ":7:9: `jobs.<job>.steps[]` has no key `envv`; did you mean `env`? (workflow_invalid)",
        ),
        (
            &step("run: x\nrun: y"),
            ":7:9: `run` is there twice; remove one of them (workflow_invalid)",
        ),
        (
            &step("run: x\nuses: actions/checkout@v4"),
            ":7:9: a step has either `run` or `uses`; make two steps of it (workflow_invalid)",
        ),
        (
            &step("name: x"),
            ":6:9: a step needs `run` or `uses` (workflow_invalid)",
        ),
        (
            &job("steps: x"),
            ":5:12: `steps` is a text; it must be a list (workflow_invalid)",
        ),
        (
            &job(&format!("timeout-minutes: soon\n{RUN}")),
            ":5:22: `timeout-minutes` is a text; it must be a number above 0 or an expression (workflow_invalid)",
        ),
        (
            &step("run: x\nshell: fish"),
            ":7:16: `fish` is no shell; use `bash`, `sh`, `python`, or a command with {0} for the script (workflow_invalid)",
        ),
        (
            &step("run: x\nshell: pwsh"),
            ":7:16: the shell `pwsh` is not here; use `bash`, `sh` or `python`, or an `if` that does not hold on Linux (workflow_invalid)",
        ),
    ] {
        assert_eq!(fault(text), found);
    }
}

#[test]
fn what_comes_later_is_refused_as_such() {
    for (key, value) in [
        ("container", "x"),
        ("services", "{}"),
        ("environment", "x"),
        ("approve", "1"),
        ("network", "job"),
    ] {
        let found = fault(&job(&format!("{key}: {value}\n{RUN}")));
        let expected = format!(
            ":5:5: `{key}` is not supported yet; remove it, or run this job elsewhere (not_supported_yet)"
        );
        assert_eq!(found, expected);
    }
    assert!(
        fault("on: push\njobs: {a: {uses: ./x.yml}}")
            .contains(":2:12: a job that calls a workflow")
    );
    assert!(fault("on: push\njobs: {a: {uses: o/r/x.yml@v1}}").ends_with("(action_not_supported)"));
    assert!(fault(&step("uses: actions/checkout@v4\nwith: {path: sub}")).contains(":7:16: `path`"));
}

#[test]
fn actions_of_others_are_refused_unless_they_are_skipped() {
    let text = step("uses: codecov/codecov-action@v4");
    assert!(fault(&text).starts_with(":6:15: the action `codecov/codecov-action` is not built in"));
    let options = WorkflowOptions {
        skip_actions: vec!["codecov/*".to_owned()],
        ..WorkflowOptions::default()
    };
    let workflow = check(FILE, &text, &options, &BTreeMap::new()).unwrap();
    assert_eq!(workflow.warnings().len(), 1);
    assert_eq!(
        (workflow.warnings()[0].line, workflow.warnings()[0].column),
        (6, 15)
    );
    // What names a refused step is not refused too.
    let named = text.clone() + "        id: x\n      - run: ${{ steps.x.outputs.y }}\n";
    assert!(fault(&named).contains("is not built in"));
    assert!(fault(&step("uses: actions/checkout")).contains("has no version"));
    assert!(fault(&step("uses: ./../x")).contains("leaves the repository"));
    assert!(fault(&step("uses: actions/cache@v4\nwith: {path: x}")).contains("needs `key`"));
}

#[test]
fn our_own_keys_are_only_in_our_own_directory() {
    let text = job(&format!("warm: true\n{RUN}"));
    assert_eq!(faults_of(FILE, &text), []);
    let faults = faults_of(".github/workflows/ci.yml", &text);
    assert_eq!(faults.len(), 1);
    assert!(faults[0].message.contains("`warm` is Branchyard's own key"));
    assert!(fault(&job(&format!("inputs: ['../x']\n{RUN}"))).contains("leaves the repository"));
    assert!(fault(&job(&format!("retry: {{max: 99, on: lost}}\n{RUN}"))).contains("from 1 to 10"));
}

#[test]
fn unknown_names_in_expressions_are_refused_at_their_place() {
    for (text, found) in [
        (
            step("run: echo ${{ githb.ref }}"),
            ":6:23: there is no context `githb`; did you mean `github`?",
        ),
        (
            step("run: echo ${{ github.reff }}"),
            ":6:23: `github` has no property `reff`; did you mean `ref`?",
        ),
        (
            step("run: |\n  one\n  ${{ steps.x.outputs.y }}"),
            ":8:15: no earlier step has the id `x`",
        ),
        (
            step("run: ${{ matrix.os }}"),
            ":6:18: this job has no matrix; add one under `strategy`",
        ),
        (
            step("run: ${{ needs.b.result }}"),
            ":6:18: `needs` has no job `b`",
        ),
        (
            step("run: ${{ inputs.level }}"),
            ":6:18: `workflow_dispatch` has no input `level`",
        ),
        (
            step("run: x\nif: secrets.x"),
            ":7:13: `secrets` is not known at this place; there are: github, inputs",
        ),
        (
            step("run: x\nif: \"a ==\""),
            ":7:18: the expression is not valid",
        ),
        (
            step("run: x\nif: ${{ true }} && x"),
            ":7:13: `if` has text beside",
        ),
        (
            step("run: ${{ success() }}"),
            ":6:18: success, failure, always and cancelled stand only in `if`",
        ),
        (
            job("if: matrix.x\nsteps: [{run: x}]"),
            ":5:9: `matrix` is not known at this place",
        ),
        (
            job("env: {A: \"${{ env.B }}\"}\nsteps: [{run: x}]"),
            ":5:19: `env` is not known at this place",
        ),
        (
            job("strategy: {matrix: {os: [x]}}\nname: ${{ matrix.so }}\nsteps: [{run: x}]"),
            ":6:15: the matrix has no key `so`",
        ),
        (
            step("run: ${{ nope() }}"),
            ":6:18: there is no function nope",
        ),
        (step("run: ${{ github.ref"), ":6:14: `${{` has no `}}`"),
    ] {
        let fault = fault(&text);
        assert!(fault.starts_with(found), "{text}\n{fault}\n{found}");
    }
}

#[test]
fn jobs_that_need_what_is_not_there_are_refused() {
    let jobs = |needs: [&str; 3]| {
        let [a, b, c] = needs;
        let job = |name: &str, needs: &str| {
            format!("  {name}: {{needs: [{needs}], runs-on: linux, steps: [{{run: x}}]}}\n")
        };
        format!(
            "on: push\njobs:\n{}{}{}",
            job("a", a),
            job("b", b),
            job("c", c)
        )
    };
    assert_eq!(faults_of(FILE, &jobs(["", "a", "a, b"])), []);
    assert!(
        fault(&jobs(["", "aa", ""]))
            .starts_with(":4:15: `needs` names `aa`, which is no job of this file")
    );
    let circle = faults_of(FILE, &jobs(["c", "a", "b"]));
    assert_eq!(circle.len(), 3);
    assert!(circle[0].message.contains("break the circle"));
    assert!(fault(&jobs(["a", "", ""])).contains("break the circle"));
}

#[test]
fn triggers_are_checked() {
    let on = |on: &str| format!("on: {on}\njobs: {{a: {{runs-on: linux, steps: [{{run: x}}]}}}}\n");
    for (text, found) in [
        (
            "pusch",
            ":1:5: there is no event `pusch`; did you mean `push`?",
        ),
        (
            "{push: {branch: [x]}}",
            ":1:13: `on.<event>` has no key `branch`; did you mean",
        ),
        (
            "{push: {branches: [x], branches-ignore: [y]}}",
            ":1:13: `push` has both",
        ),
        (
            "{push: {branches: ['!x']}}",
            ":1:24: all patterns of `branches` begin with `!`",
        ),
        ("{push: {branches: ['[']}}", ":1:24: `[` is no pattern"),
        ("{push: {types: [x]}}", ":1:13: `push` has no key `types`"),
        (
            "{schedule: [{cron: '* * *'}]}",
            ":1:24: `* * *` is no schedule",
        ),
        (
            "{workflow_dispatch: {inputs: {a: {type: choice}}}}",
            ":1:38: the input `a` is a choice and needs `options`",
        ),
    ] {
        let fault = fault(&on(text));
        let fault = fault.replace("    ", "");
        assert!(fault.starts_with(found), "{text}\n{fault}");
    }
}

#[test]
fn all_faults_come_at_once_in_order_and_bounded() {
    let text = "on: pusch\nfoo: 1\njobs:\n  a:\n    needs: z\n    runs-on: linux\n    bar: 1\n    steps:\n      - run: ${{ x.y }}\n      - uses: a/b@v1\n";
    let lines: Vec<_> = faults_of(FILE, text)
        .iter()
        .map(|fault| fault.line)
        .collect();
    assert_eq!(lines, [1, 2, 5, 7, 9, 10]);
    let many: String = (0..300).map(|number| format!("k{number}: 1\n")).collect();
    assert_eq!(faults_of(FILE, &many).len(), 100);
}

#[test]
fn limits_hold() {
    let steps = "      - run: x\n".repeat(65);
    assert!(
        fault(&job(&format!("steps:\n{}", steps.replace("      ", "  ")))).contains("has 65 steps")
    );
    let jobs: String = (0..257)
        .map(|n| format!("  j{n}: {{runs-on: linux, steps: [{{run: x}}]}}\n"))
        .collect();
    assert!(fault(&format!("on: push\njobs:\n{jobs}")).contains("has 257 jobs"));
    assert!(fault(&format!("#{}", "x".repeat(256 * 1024))).contains("at most 262144"));
}
