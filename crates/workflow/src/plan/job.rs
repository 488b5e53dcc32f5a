//! A job of the file into the rows of its matrix.

use super::action::StepsPlanner;
use super::matrix::rows;
use super::model::{Planned, PlannedJob, PlannedStrategy, SkipReason};
use super::outside::OutsideNames;
use super::resolve::Resolver;
use super::rows::name_of_row;
use super::script::Outside;
use super::shell::check_shells;
use super::texts::{JobAsks, asked};
use crate::expression::{EvalContext, ExprBudget, ExprValue, to_text};
use crate::fault::FaultList;
use crate::local::LocalActions;
use crate::read::{FileModel, JobModel, MatrixModel, TextAt, is_linux};

const DEFAULT_TIMEOUT: f64 = 360.0;

/// What all jobs are planned with.
pub(super) struct JobPlanner<'p> {
    pub file: &'p FileModel,
    pub actions: &'p LocalActions,
    pub context: EvalContext<'p>,
    pub linux_labels: &'p [String],
    pub outside: OutsideNames,
    pub asked: JobAsks,
}

pub(super) fn plan_job(
    planner: &JobPlanner<'_>,
    faults: &mut FaultList<'_>,
    job: &JobModel,
) -> Vec<PlannedJob> {
    let mut resolver = Resolver::new(faults, planner.context.clone());
    let matrix = job.strategy.matrix.as_ref();
    let strategy_texts = job
        .strategy
        .fail_fast
        .iter()
        .chain(&job.strategy.max_parallel);
    let of_matrix = matrix.map(MatrixModel::texts).unwrap_or_default();
    let is_deferred = of_matrix.into_iter().any(|text| !resolver.knows(text))
        || strategy_texts
            .into_iter()
            .any(|text| !resolver.knows(&text.text));
    let all = match matrix {
        Some(matrix) if !is_deferred => {
            let Some(rows) = rows(&mut resolver, matrix, job.id.at) else {
                return Vec::new();
            };
            rows
        }
        _ => vec![ExprValue::Null],
    };
    let fail_fast = value_or(resolver.flag(job.strategy.fail_fast.as_ref(), true), true);
    let most = f64::from(u32::MAX);
    let max_parallel = value_or(
        resolver.number(job.strategy.max_parallel.as_ref(), most),
        most,
    );
    let total = all.len();
    let asked = asked(&planner.asked, job, planner.actions);
    let is_spent = || planner.context.budget().is_some_and(ExprBudget::is_spent);
    let planned = all
        .into_iter()
        .enumerate()
        .take_while(|_| !is_spent())
        .map(|(index, matrix)| {
            let strategy = PlannedStrategy {
                fail_fast,
                max_parallel: whole(max_parallel),
                index,
                total,
                matrix,
            };
            plan_row(planner, faults, job, strategy, (&asked, is_deferred))
        });
    planned.collect()
}

fn plan_row(
    planner: &JobPlanner<'_>,
    faults: &mut FaultList<'_>,
    job: &JobModel,
    strategy: PlannedStrategy,
    (asked, is_deferred): (&JobAsks, bool),
) -> PlannedJob {
    let mut context = planner.context.clone();
    // A row that is not there yet leaves whatever names it for later.
    if !is_deferred {
        context = context
            .with("matrix", strategy.matrix.clone())
            .with("strategy", strategy.context());
    }
    if let Some(ExprValue::Object(github)) = context.get("github") {
        let mut github = github.as_ref().clone();
        github.insert("job", ExprValue::text(job.id.text.as_str()));
        context = context.with("github", ExprValue::Object(github.into()));
    }
    let mut resolver = Resolver::new(faults, context);
    let labels = labels(&mut resolver, &job.runs_on);
    let is_elsewhere =
        matches!(&labels, Planned::Value(labels) if !is_linux(labels, planner.linux_labels));
    let of_job = planner.outside.get(&job.id.text);
    let of_job = of_job.map_or(&[][..], Vec::as_slice);
    // The first step may name whatever the job may.
    let of_first = of_job.first().map_or(&[][..], Vec::as_slice);
    resolver.check_variables(&job.env, Outside::of_file(of_first));
    // Of rows that are not there yet, the labels are not known either.
    if !is_elsewhere && !is_deferred {
        check_shells(&mut resolver, job, &planner.file.defaults);
    }
    let mut steps = StepsPlanner::new(planner.actions, of_job);
    // A job that is not run has no steps, so nothing of them is refused either.
    if !is_elsewhere {
        let defaults = (&job.defaults, &planner.file.defaults);
        steps.add(&mut resolver, &job.steps, defaults, None);
    }
    PlannedJob {
        id: id_of_row(planner.file, &job.id.text, &strategy),
        job: job.id.text.clone(),
        name: name(&mut resolver, job, &strategy.matrix),
        needs: job.needs.iter().map(|need| need.text.clone()).collect(),
        condition: job
            .condition
            .as_ref()
            .map(|condition| condition.text.clone()),
        skipped: is_elsewhere.then_some(SkipReason::RunsOn),
        is_deferred,
        runs_on: labels,
        env: resolver.texts(&job.env),
        timeout_minutes: resolver.number(job.timeout.as_ref(), DEFAULT_TIMEOUT),
        continue_on_error: resolver.flag(job.continue_on_error.as_ref(), false),
        outputs: job
            .outputs
            .iter()
            .map(|(name, value)| (name.text.clone(), value.text.clone()))
            .collect(),
        concurrency: resolver.concurrency(job.concurrency.as_ref()),
        steps: steps.into_planned(),
        secrets: asked.secrets.clone(),
        mentions_commit: asked.mentions_commit,
        extras: job.extras.clone(),
        strategy,
    }
}

fn name(resolver: &mut Resolver<'_, '_, '_>, job: &JobModel, row: &ExprValue) -> Planned<String> {
    match &job.name {
        // A name with expressions says which row it is by itself.
        Some(name) if name.text.contains("${{") => resolver.text(name),
        Some(name) => Planned::Value(name_of_row(&name.text, row)),
        None => Planned::Value(name_of_row(&job.id.text, row)),
    }
}

fn labels(resolver: &mut Resolver<'_, '_, '_>, written: &[TextAt]) -> Planned<Vec<String>> {
    let mut labels = Vec::new();
    for text in written {
        if !resolver.knows(&text.text) {
            return Planned::Template(text.text.clone());
        }
        match resolver.value(text) {
            Some(ExprValue::List(items)) => labels.extend(items.iter().map(to_text)),
            Some(value) => labels.push(to_text(&value)),
            None => {}
        }
    }
    Planned::Value(labels)
}

/// `test`, or `test-2` for the second row of its matrix.
fn id_of_row(file: &FileModel, job: &str, strategy: &PlannedStrategy) -> String {
    if strategy.matrix == ExprValue::Null {
        return job.to_owned();
    }
    let number = strategy.index + 1;
    let id = format!("{job}-{number}");
    let is_taken = file
        .jobs
        .iter()
        .any(|other| other.id.text.eq_ignore_ascii_case(&id));
    // No job can be called by this.
    if is_taken {
        format!("{job}.{number}")
    } else {
        id
    }
}

fn value_or<T>(planned: Planned<T>, default: T) -> T {
    match planned {
        Planned::Value(value) => value,
        Planned::Template(_) => default,
    }
}

/// The number without what is after its point; none if it says no bound.
fn whole(number: f64) -> Option<u32> {
    let text = number.floor().max(1.0).to_string();
    text.parse().ok().filter(|number| *number != u32::MAX)
}
