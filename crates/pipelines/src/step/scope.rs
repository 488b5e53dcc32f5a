//! What a step sees: variables, contexts, and how things stand, of its job or of the composite action that it is a part of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{StepEnd, failure, is_failure};
use crate::action::ActionScope;
use crate::context::{self, Contexts};
use crate::disk::{Attempt, StepProgress};
use crate::hash_files::WorktreeFiles;
use crate::live::since;
use branchyard_model::StepState;
use branchyard_workflow::{ExprFault, JobStatus, PlannedStep, StepAction};

/// How an action ends by its steps, the worst first.
const WORST: [StepState; 5] = [
    StepState::Lost,
    StepState::Cancelled,
    StepState::TimedOut,
    StepState::Rejected,
    StepState::Failed,
];

/// The steps of a job as far as they are. `within` is the number of the step that uses an action, or none for the job.
pub(super) struct StepScopes<'s> {
    pub(super) planned: &'s [PlannedStep],
    pub(super) attempt: &'s Attempt,
    /// Of the job.
    pub(super) contexts: &'s Contexts,
    /// Of the workflow and the job.
    pub(super) env: &'s BTreeMap<String, String>,
    pub(super) worktree: &'s Path,
    /// Where the steps find the worktree.
    pub(super) directory: &'s Path,
    /// Whether the job was told to stop, or has no time left.
    pub(super) is_ending: bool,
}

impl<'s> StepScopes<'s> {
    /// Whether a step is in this state, and neither it nor an action around it may fail.
    pub(super) fn has(&self, state: StepState) -> bool {
        let steps = self.attempt.steps.iter().zip(self.planned).enumerate();
        let mut found = steps.filter(|(_, (step, _))| step.record.state == state);
        found.any(|(at, (_, planned))| {
            let mut around = std::iter::once(at).chain(self.around(planned.within));
            !around.any(|at| self.attempt.steps[at].record.continue_on_error)
        })
    }

    /// How the job or action stands, for its steps to come.
    pub(super) fn status(&self, within: Option<usize>) -> JobStatus {
        if self.is_ending || self.has(StepState::Cancelled) {
            JobStatus::Cancelled
        } else if self.own(within).any(|(_, step)| is_failure(step)) {
            JobStatus::Failure
        } else {
            JobStatus::Success
        }
    }

    /// Whether the steps there are run at all: those of an action are not where it was left out.
    pub(super) fn is_open(&self, within: Option<usize>) -> bool {
        let mut around = self.around(within);
        around.all(|at| self.attempt.steps[at].record.state == StepState::Running)
    }

    /// The variables of the workflow and the job, those that steps have set, and over them those of the actions around.
    pub(super) fn env(&self, within: Option<usize>) -> Result<BTreeMap<String, String>, ExprFault> {
        let Some((open, scope)) = self.scope(within) else {
            let mut env = self.env.clone();
            env.extend(self.attempt.env.clone());
            return Ok(env);
        };
        let mut env = self.env(open.within)?;
        let mut secret = open.env.clone();
        secret.retain(|name, _| !scope.env.contains_key(name));
        if !secret.is_empty() {
            let files = WorktreeFiles(self.worktree);
            let contexts = self.contexts(open.within, &env);
            context::extend_env(&mut env, &secret, &contexts.eval().with_files(&files))?;
        }
        env.extend(scope.env.clone());
        Ok(env)
    }

    pub(super) fn contexts(
        &self,
        within: Option<usize>,
        env: &BTreeMap<String, String>,
    ) -> Contexts {
        let own = self.own(within);
        let own = own.map(|(planned, step)| (planned.id.as_deref(), step));
        let contexts = context::of_step(self.contexts, env, own, self.status(within));
        match (self.scope(within), self.action_path(within)) {
            (Some((_, scope)), Some(path)) => contexts.of_action(&scope.inputs, &path),
            _ => contexts,
        }
    }

    /// The directory of the action, as its steps find it.
    pub(super) fn action_path(&self, within: Option<usize>) -> Option<PathBuf> {
        match &self.planned[within? - 1].action {
            StepAction::Composite { directory, .. } if directory.is_empty() => {
                Some(self.directory.to_owned())
            }
            StepAction::Composite { directory, .. } => Some(self.directory.join(directory)),
            _ => None,
        }
    }

    /// What is left of the `timeout-minutes` of the actions around.
    pub(super) fn time_left(&self, within: Option<usize>) -> Option<Duration> {
        let left = self.around(within).filter_map(|at| {
            let step = &self.attempt.steps[at];
            let seconds = step.scope.as_ref()?.seconds?;
            let passed = step.record.started_at.map_or(0, since);
            let whole = Duration::try_from_secs_f64(seconds).ok()?;
            Some(whole.saturating_sub(Duration::from_millis(passed)))
        });
        left.min()
    }

    /// The actions that go on though all of their steps are before this one, the innermost first.
    pub(super) fn through(&self, at: usize) -> Vec<usize> {
        let is_through = |open: &usize| {
            let state = self.attempt.steps[*open].record.state;
            let last = match self.planned[*open].action {
                StepAction::Composite { last, .. } => last,
                _ => return false,
            };
            last <= at && state == StepState::Running
        };
        (0..at).rev().filter(is_through).collect()
    }

    /// How an action ends whose steps are through.
    pub(super) fn end(&self, open: usize) -> StepEnd {
        let ended_as = |state: StepState| {
            let mut own = self.own(Some(open + 1)).map(|(_, step)| &step.record);
            own.find(|record| record.state == state && !record.continue_on_error)
        };
        match WORST.into_iter().find_map(ended_as) {
            Some(record) => StepEnd::of(record.state, failure(record)),
            None => StepEnd::of(StepState::Succeeded, None),
        }
    }

    /// The steps of the job or action itself.
    fn own(
        &self,
        within: Option<usize>,
    ) -> impl Iterator<Item = (&'s PlannedStep, &'s StepProgress)> {
        let steps = self.planned.iter().zip(&self.attempt.steps);
        steps.filter(move |(planned, _)| planned.within == within)
    }

    /// The step that uses the action, and what it gives it.
    fn scope(&self, within: Option<usize>) -> Option<(&'s PlannedStep, &'s ActionScope)> {
        let at = within? - 1;
        Some((&self.planned[at], self.attempt.steps[at].scope.as_ref()?))
    }

    /// The places of the steps that use the actions around, the innermost first.
    fn around(&self, within: Option<usize>) -> impl Iterator<Item = usize> + use<'s> {
        let planned = self.planned;
        std::iter::successors(within, |number| planned[*number - 1].within).map(|number| number - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use StepState::{Failed, Lost, Pending, Running, Skipped, Succeeded};
    use branchyard_workflow::{
        EventKind, ExprValue, PlanFacts, WorkflowEvent, WorkflowOptions, check, evaluate,
    };

    const WORKFLOW: &str = "on: push\njobs: {a: {runs-on: linux, steps: [{uses: ./out, id: o, env: {A: out, B: \"${{ secrets.S }}\"}}, {run: make}]}}";
    const OUTER: &str = "runs: {using: composite, steps: [{id: first, run: make, shell: sh}, {uses: ./in}, {run: make, shell: sh}]}";
    const INNER: &str = "runs: {using: composite, steps: [{run: make, shell: sh}]}";

    /// An action (1) with a step (2), an action (3) with a step (4), and another step (5); and a step of the job (6).
    fn planned() -> Vec<PlannedStep> {
        let files = BTreeMap::from(
            [("out/action.yml", OUTER), ("in/action.yml", INNER)]
                .map(|(path, text)| (path.to_owned(), text.to_owned())),
        );
        let workflow = check("ci.yml", WORKFLOW, &WorkflowOptions::default(), &files).unwrap();
        let event = WorkflowEvent::new(EventKind::Push, "refs/heads/main");
        let plan = workflow.plan(&event, &PlanFacts::default()).unwrap();
        plan.unwrap().jobs.remove(0).steps
    }

    fn attempt(states: [StepState; 6]) -> Attempt {
        let steps = states.into_iter().enumerate().map(|(at, state)| {
            let mut step = StepProgress::default();
            (step.record.number, step.record.state) = (at + 1, state);
            let is_action = matches!(at, 0 | 2) && state != StepState::Pending;
            step.scope = is_action.then(ActionScope::default);
            step
        });
        Attempt {
            steps: steps.collect(),
            ..Attempt::default()
        }
    }

    fn see<T>(attempt: &Attempt, look: impl FnOnce(StepScopes<'_>) -> T) -> T {
        let secrets = ExprValue::object([("S", ExprValue::text("hidden"))]);
        look(StepScopes {
            planned: &planned(),
            attempt,
            contexts: &Contexts::default().with("secrets", secrets),
            env: &BTreeMap::from([("A".to_owned(), "job".to_owned())]),
            worktree: Path::new("/nowhere"),
            directory: Path::new("/yard/demo"),
            is_ending: false,
        })
    }

    #[test]
    fn an_action_stands_as_its_own_steps_do() {
        let mut attempt = attempt([Running, Succeeded, Running, Failed, Pending, Pending]);
        see(&attempt, |scopes| {
            assert_eq!(scopes.status(Some(3)), JobStatus::Failure);
            assert_eq!(scopes.status(Some(1)), JobStatus::Success);
            assert_eq!(scopes.status(None), JobStatus::Success);
            assert!(scopes.has(Failed) && scopes.is_open(Some(3)) && scopes.is_open(None));
            // The inner one is through, and the outer one has a step to go.
            assert_eq!(scopes.through(4), [2]);
            assert_eq!(scopes.through(5), [2, 0]);
            let end = scopes.end(2);
            assert_eq!(end.state, Failed);
            assert_eq!(end.reason.as_deref(), Some("step 4 (): failed"));
        });
        attempt.steps[2].record.state = Failed;
        see(&attempt, |scopes| {
            assert_eq!(scopes.status(Some(1)), JobStatus::Failure);
            assert!(!scopes.is_open(Some(3)));
        });
        // What an action may fail of is no failure outside of it.
        attempt.steps[0].record.continue_on_error = true;
        see(&attempt, |scopes| assert!(!scopes.has(Failed)));
    }

    #[test]
    fn the_worst_of_its_steps_is_how_an_action_ends() {
        let of = |first, last| {
            let attempt = attempt([Running, first, Skipped, Skipped, last, Pending]);
            see(&attempt, |scopes| scopes.end(0).state)
        };
        assert_eq!(of(Succeeded, Skipped), Succeeded);
        assert_eq!(of(Failed, Succeeded), Failed);
        assert_eq!(of(Failed, Lost), Lost);
        let left_out = attempt([Skipped, Pending, Pending, Pending, Pending, Pending]);
        see(&left_out, |scopes| assert!(!scopes.is_open(Some(1))));
    }

    #[test]
    fn steps_see_what_the_action_has() {
        let mut attempt = attempt([Running, Succeeded, Running, Pending, Pending, Pending]);
        attempt.env.insert("A".to_owned(), "set".to_owned());
        let outer = attempt.steps[0].scope.as_mut().unwrap();
        outer.env.insert("A".to_owned(), "out".to_owned());
        outer.inputs.insert("word".to_owned(), "hi".to_owned());
        see(&attempt, |scopes| {
            let env = |within| scopes.env(within).unwrap();
            assert_eq!(env(None)["A"], "set");
            // Those with a secret are not kept, and so are made again.
            assert_eq!(
                (&*env(Some(3))["A"], &*env(Some(3))["B"]),
                ("out", "hidden")
            );
            let shown = |within, text: &str| {
                let context = scopes.contexts(within, &env(within)).eval();
                format!("{:?}", evaluate(text, &context))
            };
            assert!(shown(Some(1), "inputs.word").contains("hi"));
            assert!(!shown(Some(3), "inputs.word").contains("hi"));
            assert!(shown(Some(1), "steps.first.outcome").contains("success"));
            assert!(!shown(Some(3), "steps.first.outcome").contains("success"));
            assert!(shown(Some(3), "github.action_path").contains("/yard/demo/in"));
            assert!(!shown(Some(1), "secrets.S").contains("hidden"));
            assert!(shown(None, "secrets.S").contains("hidden"));
        });
    }
}
