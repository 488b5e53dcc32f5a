//! Composite actions of the same commit: how they are read, what is refused, and the steps that they become.

use std::collections::BTreeMap;

use branchyard_workflow::{
    ActionFiles, EventKind, FaultCode, PlanFacts, Planned, PlannedJob, PlannedStep, StepAction,
    Workflow, WorkflowEvent, WorkflowFault, WorkflowOptions, check,
};

const FILE: &str = ".branchyard/workflows/ci.yml";
const GREET: &str = "\
name: Greet
description: says a word
author: acme
branding: {icon: award, color: green}
inputs:
  word: {description: what to say, required: true}
  Times: {default: 2, deprecationMessage: no}
  who: {default: \"${{ github.actor }}\"}
outputs:
  said: {description: it, value: \"${{ steps.say.outputs.said }}\"}
runs:
  using: composite
  steps:
    - id: say
      run: echo ${{ inputs.word }} ${{ inputs.times }} ${{ inputs.who }}
      shell: bash
    - {run: \"${{ github.action_path }}/more.sh ${{ steps.say.outputs.said }}\", shell: sh, if: always()}
";

fn files(actions: &[(&str, &str)]) -> BTreeMap<String, String> {
    let actions = actions.iter();
    actions
        .map(|(directory, text)| (format!("{directory}/action.yml"), (*text).to_owned()))
        .collect()
}

/// A workflow of one job with these steps, which begin at line 6 and column 7.
fn job(steps: &str) -> String {
    let steps: String = steps
        .lines()
        .map(|line| format!("      {line}\n"))
        .collect();
    format!(
        "on: {{push: , workflow_dispatch: {{inputs: {{title: }}}}}}\njobs:\n  a:\n    runs-on: linux\n    steps:\n{steps}"
    )
}

fn checked(steps: &str, files: &dyn ActionFiles) -> Result<Workflow, Vec<WorkflowFault>> {
    let options = WorkflowOptions {
        skip_actions: vec!["codecov/*".to_owned(), "./left/*".to_owned()],
        ..WorkflowOptions::default()
    };
    check(FILE, &job(steps), &options, files)
}

fn planned(steps: &str, actions: &[(&str, &str)]) -> Result<PlannedJob, Vec<WorkflowFault>> {
    let mut event = WorkflowEvent::new(EventKind::WorkflowDispatch, "refs/heads/main");
    event.inputs = [("title".to_owned(), "$(rm)".to_owned())].into();
    let facts = PlanFacts {
        actor: "dev".to_owned(),
        ..PlanFacts::default()
    };
    let plan = checked(steps, &files(actions))?.plan(&event, &facts)?;
    let Some(mut plan) = plan else {
        panic!("{steps}")
    };
    Ok(plan.jobs.remove(0))
}

/// The only fault.
fn fault(steps: &str, actions: &[(&str, &str)]) -> String {
    let faults = planned(steps, actions).expect_err(steps);
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults[0].to_string()
}

/// The only fault of an action that a step uses without inputs.
fn fault_in(text: &str) -> String {
    fault("- uses: ./x", &[("x", text)])
}

fn composite(steps: &str) -> String {
    format!("runs:\n  using: composite\n  steps:\n{steps}")
}

fn value(text: &str) -> Planned<String> {
    Planned::Value(text.to_owned())
}

fn script(step: &PlannedStep) -> &Planned<String> {
    match &step.action {
        StepAction::Run { script, .. } => script,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_action_becomes_the_steps_after_the_one_that_uses_it() {
    let steps = "- run: make\n- {id: g, uses: ./greet, with: {WORD: hi}}\n- run: echo ${{ steps.g.outputs.said }}";
    let job = planned(steps, &[("greet", GREET)]).unwrap();
    let within: Vec<_> = job
        .steps
        .iter()
        .map(|step| (step.number, step.within))
        .collect();
    assert_eq!(
        within,
        [(1, None), (2, None), (3, Some(2)), (4, Some(2)), (5, None)]
    );
    let outputs = [(
        "said".to_owned(),
        "${{ steps.say.outputs.said }}".to_owned(),
    )];
    assert_eq!(
        job.steps[1].action,
        StepAction::Composite {
            uses: "./greet".to_owned(),
            directory: "greet".to_owned(),
            last: 4,
            outputs: outputs.into(),
        }
    );
    let inputs = [("word", "hi"), ("Times", "2"), ("who", "dev")];
    let inputs = inputs.map(|(name, text)| (name.to_owned(), value(text)));
    assert_eq!(job.steps[1].with, inputs.into());
    assert_eq!(*script(&job.steps[2]), value("echo hi 2 dev"));
    // What only a running job knows is left for it.
    assert!(matches!(script(&job.steps[3]), Planned::Template(_)));
    assert_eq!(job.steps[3].condition.as_deref(), Some("always()"));
    let mut moved = job.steps.clone();
    moved.iter_mut().for_each(|step| step.move_back(2));
    let last = match moved[1].action {
        StepAction::Composite { last, .. } => last,
        _ => 0,
    };
    assert_eq!((moved[1].number, moved[2].within, last), (4, Some(4), 6));
    // Old plans have no such keys, and steps of jobs are as they were.
    let text = serde_json::to_string(&job.steps[0]).unwrap();
    assert!(!text.contains("within"), "{text}");
}

#[test]
fn inputs_of_an_action_are_its_own() {
    let inner = composite("    - {run: \"echo ${{ inputs.a }}\", shell: sh}\n");
    let inner = format!("inputs: {{a: {{}}}}\n{inner}");
    let outer = "inputs: {a: {default: x}}\nruns:\n  using: composite\n  steps:\n    - {uses: ./in, with: {a: \"[${{ inputs.a }}]\"}}\n    - uses: ./in\n    - {run: \"echo ${{ inputs.a }}\", shell: sh}\n";
    let job = planned(
        "- uses: ./out/\n- uses: ././out",
        &[("in", &inner), ("out", outer)],
    )
    .unwrap();
    let scripts = [2, 4, 5].map(|at| script(&job.steps[at]).clone());
    assert_eq!(scripts, ["echo [x]", "echo ", "echo x"].map(value));
    let within: Vec<_> = job.steps.iter().map(|step| step.within).collect();
    let of_first = [None, Some(1), Some(2), Some(1), Some(4), Some(1)];
    assert_eq!(within[..6], of_first);
    assert_eq!(within[6..8], [None, Some(7)]);
    // One that is known only later leaves them all for then.
    let late = "- {id: s, run: make}\n- {uses: ./out, with: {a: \"${{ steps.s.outputs.o }}\"}}";
    let job = planned(late, &[("in", &inner), ("out", outer)]).unwrap();
    assert!(matches!(script(&job.steps[3]), Planned::Template(_)));
}

#[test]
fn what_the_workflow_says_of_shells_is_not_for_actions() {
    let text = "on: workflow_dispatch\ndefaults: {run: {shell: python, working-directory: sub}}\njobs: {a: {runs-on: linux, steps: [{uses: ./}]}}";
    let action = composite("    - {run: make, shell: sh}\n");
    let files = BTreeMap::from([("action.yaml".to_owned(), action.clone())]);
    let workflow = check(FILE, text, &WorkflowOptions::default(), &files).unwrap();
    assert_eq!(workflow.action_texts(), files);
    let event = WorkflowEvent::new(EventKind::WorkflowDispatch, "refs/heads/main");
    let plan = workflow
        .plan(&event, &PlanFacts::default())
        .unwrap()
        .unwrap();
    let step = &plan.jobs[0].steps[1];
    let StepAction::Run { shell, .. } = &step.action else {
        panic!("{step:?}")
    };
    assert_eq!((shell[0].as_str(), &step.working_directory), ("sh", &None));
}

#[test]
fn what_an_action_asks_for_its_job_asks_for() {
    let text = composite("    - {run: \"echo $GITHUB_SHA\", shell: sh}\n");
    let text = format!("inputs: {{token: {{default: \"${{{{ github.token }}}}\"}}}}\n{text}");
    let job = planned("- uses: ./x", &[("x", &text)]).unwrap();
    assert_eq!(job.secrets, ["GITHUB_TOKEN"]);
    assert!(job.mentions_commit);
    let job = planned("- {uses: ./x, with: {token: none}}", &[("x", &text)]).unwrap();
    assert_eq!(job.secrets, [""; 0]);
}

#[test]
fn uses_that_do_not_fit_are_refused_where_they_stand() {
    for (steps, found) in [
        (
            "- uses: ./none",
            "ci.yml:6:15: neither action.yml nor action.yaml is a file in none; add one, or correct the path (workflow_invalid)",
        ),
        (
            "- uses: ./greet",
            "ci.yml:6:15: greet/action.yml needs `word` in the `with` of this step (workflow_invalid)",
        ),
        (
            "- {uses: ./greet, with: {word: a, wrod: b}}",
            "ci.yml:6:41: greet/action.yml has no input `wrod` (workflow_invalid)",
        ),
        (
            "- {uses: ./greet, with: {word: a}, shell: sh}",
            "ci.yml:6:42: this kind of step has no `shell`; remove it (workflow_invalid)",
        ),
        (
            "- {uses: ./greet, with: {word: a}, background: true}",
            "ci.yml:6:42: an action in the background is not supported yet; only `run` steps can be (not_supported_yet)",
        ),
        (
            "- {id: g, uses: ./greet, with: {word: a}}\n- run: echo ${{ steps.g.outputs.nope }}",
            "ci.yml:7:23: greet/action.yml has no output `nope`; there are: said (workflow_invalid)",
        ),
    ] {
        let fault = fault(steps, &[("greet", GREET)]);
        assert_eq!(fault.trim_start_matches(".branchyard/workflows/"), found);
    }
    // A step that is left out asks for nothing, and neither does one of a job that is not run here.
    planned("- uses: ./left/out", &[]).unwrap();
    let text = "on: push\njobs: {a: {runs-on: windows-latest, steps: [{uses: ./none}]}}";
    assert!(check(FILE, text, &WorkflowOptions::default(), &BTreeMap::new()).is_ok());
}

#[test]
fn actions_are_refused_in_their_own_file() {
    let mut wrong = Vec::new();
    let run = |more: &str| composite(&format!("    - {{run: make, shell: sh, {more}}}\n"));
    for (text, found) in [
        (
            "[]",
            "1:1: `the action` is a list; it must be a mapping with `runs`",
        ),
        ("a: [", "the file is no valid YAML"),
        ("name: x\n", "1:1: an action needs `runs`"),
        (
            "runs: {using: node20, main: x.js}\n",
            "1:15: an action with `using: node20` is not run here; only `using: composite` is (action_not_supported)",
        ),
        (
            "runs: {using: docker, image: x}\n",
            "1:15: an action with `using: docker`",
        ),
        (
            "runs: {steps: []}\n",
            "1:7: `runs` of an action needs `using: composite`",
        ),
        (
            "runs: {using: composite, steps: []}\n",
            "1:33: the action has 0 steps; an action has 1 to 64",
        ),
        (
            "runs: {using: composite, stesp: [], steps: [{run: a, shell: sh}]}\n",
            "1:26: `action.runs` has no key `stesp`",
        ),
        (
            &format!("icon: x\n{}", run("")),
            "1:1: `action` has no key `icon`",
        ),
        (
            &format!("inputs: {{a: {{type: x}}}}\n{}", run("")),
            "1:14: `action.inputs.<input>` has no key `type`",
        ),
        (
            &format!("inputs: {{a: {{required: x}}}}\n{}", run("")),
            "1:24: `required` is a text; it must be true or false",
        ),
        (
            &format!("inputs: {{a: , A: }}\n{}", run("")),
            "1:15: two inputs are called `A`",
        ),
        (
            &format!("outputs: {{a: {{}}}}\n{}", run("")),
            "1:11: the output `a` needs `value`",
        ),
        (
            &run("timeout-minutes: 5"),
            "4:30: `action.runs.steps[]` has no key `timeout-minutes`",
        ),
        (
            &run("env: {A: \"${{ secrets.A }}\"}"),
            "4:44: `secrets` is not known at this place",
        ),
        (
            &run("env: {A: \"${{ needs.a.result }}\"}"),
            "4:44: `needs` is not known at this place",
        ),
        (
            &run("env: {A: \"${{ inputs.a }}\"}"),
            "4:44: the action has no input `a`",
        ),
        (
            &run("env: {A: \"${{ steps.a.outcome }}\"}"),
            "4:44: no earlier step has the id `a`",
        ),
        (
            &run("env: {A: \"${{ github.evnt }}\"}"),
            "4:44: `github` has no property `evnt`; did you mean `event`?",
        ),
        (
            &composite("    - run: make\n"),
            "4:7: a `run` step of an action needs `shell`",
        ),
        (
            &composite("    - {run: make, shell: pwsh}\n"),
            "4:26: the shell `pwsh` is not here",
        ),
        (
            &composite("    - uses: some/one@v1\n"),
            "4:13: the action `some/one` is not built in",
        ),
        (
            &composite("    - uses: ./../x\n"),
            "4:13: `./../x` leaves the repository",
        ),
        (
            &composite("    - uses: ./none\n"),
            "4:13: neither action.yml nor action.yaml is a file in none",
        ),
        (
            &composite("    - uses: ./x\n"),
            "4:13: by this step the action uses itself; break the circle",
        ),
        (
            &format!(
                "inputs: {{a: {{default: \"${{{{ env.A }}}}\"}}}}\n{}",
                run("")
            ),
            "1:28: `env` is not known at this place",
        ),
        (
            &format!(
                "outputs: {{a: {{value: \"${{{{ steps.b.outputs.c }}}}\"}}}}\n{}",
                run("")
            ),
            "1:27: no earlier step has the id `b`",
        ),
    ] {
        let fault = fault_in(text);
        let fault = fault.trim_start_matches("x/action.yml:");
        if !fault.contains(found) {
            wrong.push(format!("{text}\n{fault}\n{found}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
    // `action_path` is known in actions alone.
    let fault = fault("- run: echo ${{ github.action_path }}", &[]);
    assert!(
        fault.contains("`github` has no property `action_path`"),
        "{fault}"
    );
    // Third-party actions that the operator has left out are left out in actions too.
    let workflow = checked(
        "- uses: ./x",
        &files(&[("x", &composite("    - uses: codecov/codecov-action@v5\n"))]),
    );
    assert_eq!(workflow.unwrap().warnings()[0].file, "x/action.yml");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    struct Broken;
    impl ActionFiles for Broken {
        fn read(&self, _: &str) -> Result<Option<String>, String> {
            Err("it is too large".to_owned())
        }
    }
    let faults = checked("- uses: ./x", &Broken).unwrap_err();
    assert_eq!(
        faults[0].message,
        "x/action.yml cannot be read: it is too large"
    );
}

#[test]
fn actions_in_each_other_come_to_an_end() {
    let chain = |length: usize| -> Vec<(String, String)> {
        let last = composite("    - {run: make, shell: sh}\n");
        let inner = (1..length).map(|n| {
            let uses = composite(&format!("    - uses: ./a{}\n", n + 1));
            (format!("a{n}/action.yml"), uses)
        });
        inner
            .chain([(format!("a{length}/action.yml"), last)])
            .collect()
    };
    let of = |files: Vec<(String, String)>| checked("- uses: ./a1", &BTreeMap::from_iter(files));
    assert!(of(chain(9)).is_ok());
    let faults = of(chain(10)).unwrap_err();
    assert!(
        faults[0].message.contains("10 deep; they are at most 9"),
        "{faults:#?}"
    );
    let faults = of(chain(60)).unwrap_err();
    let is_bound = |fault: &WorkflowFault| fault.message.contains("more than 50 actions");
    assert!(faults.iter().any(is_bound), "{faults:#?}");
    // Each doubles what the one in it has: none of them is followed as often as that.
    let doubled = |n: usize| composite(&format!("    - uses: ./a{0}\n    - uses: ./a{0}\n", n + 1));
    let mut files = chain(9);
    for n in 1..9 {
        files[n - 1].1 = doubled(n);
    }
    let faults = of(files).unwrap_err();
    assert!(
        faults[0]
            .message
            .contains("the job `a` has 767 steps; it has at most 128"),
        "{faults:#?}"
    );
    // A circle is refused in each of its files, and not where it is come to.
    let circle = files_of_circle();
    let faults = checked("- uses: ./in", &circle).unwrap_err();
    let places: Vec<_> = faults.iter().map(|fault| fault.file.as_str()).collect();
    assert_eq!(places, ["one/action.yml", "two/action.yml"], "{faults:#?}");
}

fn files_of_circle() -> BTreeMap<String, String> {
    let uses = |name: &str| composite(&format!("    - uses: ./{name}\n"));
    files(&[
        ("in", &uses("one")),
        ("one", &uses("two")),
        ("two", &uses("one")),
    ])
}

#[test]
fn text_from_outside_is_followed_through_actions() {
    let echo = "inputs: {word: {}, level: {default: a b}}\noutputs: {word: {value: \"${{ inputs.word }}\"}, level: {value: \"${{ inputs.level }}\"}}\nruns:\n  using: composite\n  steps:\n    - {run: \"echo ${{ inputs.level }}\", shell: sh}\n";
    let script = format!("{echo}    - {{run: \"echo ${{{{ inputs.word }}}}\", shell: sh}}\n");
    let given = |text: &str| format!("- {{id: g, uses: ./x, with: {{word: \"{text}\"}}}}");
    // Not plain, but the workflow's own.
    planned(&given("c d"), &[("x", &script)]).unwrap();
    let faults = planned(&given("${{ inputs.title }}"), &[("x", &script)]).unwrap_err();
    assert_eq!(faults[0].code, FaultCode::UnsafeInterpolation);
    assert_eq!(
        (faults[0].file.as_str(), faults[0].line),
        ("x/action.yml", 7)
    );
    // By way of another action, and of what a default is made of.
    let outer = "inputs: {title: {default: \"${{ github.event.inputs.title }}\"}}\nruns:\n  using: composite\n  steps:\n    - {uses: ./x, with: {word: \"${{ inputs.title }}\"}}\n";
    let faults = planned("- uses: ./out", &[("x", &script), ("out", outer)]).unwrap_err();
    assert_eq!(faults[0].code, FaultCode::UnsafeInterpolation);
    // What an action puts out is as what it was given.
    let after = "\n- run: echo ${{ steps.g.outputs.word }}";
    let job = planned(&(given("${{ inputs.title }}") + after), &[("x", echo)]).unwrap();
    assert_eq!(job.steps.last().unwrap().outside, ["steps.g.outputs"]);
    let job = planned(&(given("c d") + after), &[("x", echo)]).unwrap();
    assert_eq!(job.steps.last().unwrap().outside, [""; 0]);
    // Ids in an action are its own: `g` of the job is not the one of the action.
    let own = composite(
        "    - {id: g, run: make, shell: sh}\n    - {run: \"echo ${{ steps.g.outputs.o }}\", shell: sh}\n",
    );
    let both = given("${{ inputs.title }}") + "\n- uses: ./own";
    let job = planned(&both, &[("x", echo), ("own", &own)]).unwrap();
    assert_eq!(job.steps.last().unwrap().outside, [""; 0]);
}
