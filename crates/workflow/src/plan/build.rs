//! A workflow and an event into a plan.

use std::collections::{BTreeMap, HashMap};

use super::facts::{PlanFacts, github};
use super::inputs::inputs;
use super::job::{JobPlanner, plan_job};
use super::matches::matches;
use super::model::{Planned, PlannedJob, WorkflowPlan};
use super::outside::outside_names;
use super::resolve::Resolver;
use super::script::Outside;
use super::texts::asked_by_file;
use crate::event::WorkflowEvent;
use crate::expression::{EvalContext, ExprBudget, ExprValue};
use crate::fault::{FaultList, WorkflowFault};
use crate::read::MAX_JOBS;
use crate::workflow::Workflow;

impl Workflow {
    /// What the workflow makes of an event; nothing if its `on` leaves the event out.
    pub fn plan(
        &self,
        event: &WorkflowEvent,
        facts: &PlanFacts,
    ) -> Result<Option<WorkflowPlan>, Vec<WorkflowFault>> {
        if !matches(&self.model().triggers, event) {
            return Ok(None);
        }
        let mut faults = self.faults();
        let contexts = contexts(self, &mut faults, event, facts);
        let budget = ExprBudget::new();
        let planner = planner(self, &contexts, None, &budget);
        let mut jobs = Vec::new();
        for job in &self.model().jobs {
            jobs.extend(plan_job(&planner, &mut faults, job));
            if jobs.len() > MAX_JOBS {
                let message =
                    format!("with its matrices the workflow has more than {MAX_JOBS} jobs");
                faults.invalid(job.id.at, message);
                break;
            }
        }
        let mut resolver = Resolver::new(&mut faults, planner.context.clone());
        let run_name = self
            .model()
            .run_name
            .as_ref()
            .map(|name| resolver.text(name));
        resolver.check_variables(&self.model().env, Outside::of_file(&[]));
        let plan = WorkflowPlan {
            file: self.path().to_owned(),
            name: name(self),
            run_name: run_name.and_then(|name| match name {
                Planned::Value(name) => Some(name),
                Planned::Template(_) => None,
            }),
            event: event.kind,
            env: resolver.texts(&self.model().env),
            concurrency: resolver.concurrency(self.model().concurrency.as_ref()),
            contexts,
            jobs,
        };
        faults.finish().map(|_| Some(plan))
    }

    /// The rows of a job whose matrix was deferred, with the context `needs` of the jobs that have ended.
    pub fn expand(
        &self,
        plan: &WorkflowPlan,
        job: &str,
        needs: &ExprValue,
    ) -> Result<Vec<PlannedJob>, Vec<WorkflowFault>> {
        let mut faults = self.faults();
        let budget = ExprBudget::new();
        let planner = planner(self, &plan.contexts, Some(needs), &budget);
        let jobs = match self.model().jobs.iter().find(|other| other.id.text == job) {
            Some(job) => plan_job(&planner, &mut faults, job),
            None => {
                faults.invalid(0, format!("the workflow has no job `{job}`"));
                Vec::new()
            }
        };
        if jobs.len() + plan.jobs.len() > MAX_JOBS + 1 {
            faults.invalid(
                0,
                format!("with the rows of `{job}` the workflow has more than {MAX_JOBS} jobs"),
            );
        }
        faults.finish().map(|_| jobs)
    }
}

fn name(workflow: &Workflow) -> String {
    let name = workflow.model().name.as_ref().map(|name| name.text.trim());
    name.filter(|name| !name.is_empty())
        .unwrap_or(workflow.path())
        .to_owned()
}

fn contexts(
    workflow: &Workflow,
    faults: &mut FaultList<'_>,
    event: &WorkflowEvent,
    facts: &PlanFacts,
) -> BTreeMap<String, ExprValue> {
    let inputs = inputs(faults, workflow.model(), event);
    let vars = facts
        .vars
        .iter()
        .map(|(name, value)| (name.as_str(), ExprValue::text(value.as_str())));
    let github = github(facts, event, (&name(workflow), workflow.path()), &inputs);
    let contexts = [
        ("github", github),
        ("inputs", inputs),
        ("vars", ExprValue::object(vars)),
    ];
    contexts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn planner<'p>(
    workflow: &'p Workflow,
    contexts: &BTreeMap<String, ExprValue>,
    needs: Option<&ExprValue>,
    budget: &'p ExprBudget,
) -> JobPlanner<'p> {
    let mut context = EvalContext::new().with_budget(budget);
    for (name, value) in contexts {
        context = context.with(name, value.clone());
    }
    if let Some(needs) = needs {
        context = context.with("needs", needs.clone());
    }
    let outside: HashMap<_, _> = outside_names(workflow.model(), workflow.actions());
    JobPlanner {
        file: workflow.model(),
        actions: workflow.actions(),
        context,
        linux_labels: &workflow.options().linux_labels,
        outside,
        asked: asked_by_file(workflow.model()),
    }
}
