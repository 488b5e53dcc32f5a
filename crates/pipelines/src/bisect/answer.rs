//! What a bisect found, with the runs that decide it.

use std::sync::Arc;

use super::BisectPlan;
use super::history::History;
use super::narrow::{Suspects, Verdicts};
use crate::source::with_store;
use branchyard_git::{self as git, Repository};
use branchyard_model::{
    BisectAnswer, BisectCommit, BisectVerdict, CommitId, ErrorKind, GoodParent, JobRecord, Problem,
    RunId,
};
use branchyard_workspace::repos::Repo;

/// The answer, when no suspect is left to test.
pub(super) async fn of(
    repo: &Arc<Repo>,
    history: &Arc<History>,
    (suspects, verdicts): (Suspects, Verdicts),
    (bisect, jobs): (BisectPlan, Vec<JobRecord>),
) -> Result<BisectAnswer, Problem> {
    if suspects.places.is_empty() {
        let detail = "each commit that changes one of the paths is good";
        return Err(
            Problem::new(ErrorKind::Unprocessable, "no_suspect_left", detail)
                .field("paths")
                .help("something else makes it bad: leave paths out, or name more"),
        );
    }
    let history = history.clone();
    with_store(repo, move |store| {
        let of = |places: &[usize]| {
            let commits = places
                .iter()
                .map(|place| commit(store, &jobs, history.commit(*place)));
            commits.collect::<Result<Vec<_>, Problem>>()
        };
        let is_skipped = |job: &&JobRecord| {
            let test = job.bisect.as_ref();
            test.is_some_and(|test| test.verdict == Some(BisectVerdict::Skip))
        };
        let skipped = jobs.iter().filter(is_skipped);
        let skipped = skipped.filter_map(|job| job.bisect.as_ref());
        let skipped = skipped.map(|test| commit(store, &jobs, &test.commit));
        let mut answer = BisectAnswer {
            skipped: skipped.collect::<Result<_, _>>()?,
            ..BisectAnswer::default()
        };
        match suspects.places[..] {
            [found] if verdicts.get(&found) == Some(&BisectVerdict::Bad) => {
                answer.first_bad = of(&[found])?.pop();
                answer.good_parents = good_parents(&history, &suspects, (&bisect, &jobs), found);
            }
            _ => answer.suspects = of(&suspects.places)?,
        }
        Ok(answer)
    })
    .await
}

fn commit(
    store: &Repository,
    jobs: &[JobRecord],
    commit: &CommitId,
) -> Result<BisectCommit, Problem> {
    Ok(BisectCommit {
        commit: commit.clone(),
        subject: git::subject(store, commit)?,
        run_id: run_of(jobs, commit),
    })
}

fn run_of(jobs: &[JobRecord], commit: &CommitId) -> Option<RunId> {
    let mut tests = jobs.iter().filter(|job| {
        let test = job.bisect.as_ref();
        test.is_some_and(|test| test.commit == *commit)
    });
    tests.find_map(JobRecord::test_run)
}

/// The parents of the first bad commit, each with the test that says that it is good.
fn good_parents(
    history: &History,
    suspects: &Suspects,
    (bisect, jobs): (&BisectPlan, &[JobRecord]),
    found: usize,
) -> Vec<GoodParent> {
    let parents = history.all_parents(found).iter().map(|parent| {
        let place = history.place(parent);
        let clears = |good: &&usize| place.is_some_and(|it| history.reached_from([**good])[it]);
        let itself = place.filter(|place| suspects.good.contains(place));
        let by = itself.or_else(|| suspects.good.iter().find(clears).copied());
        // What is not in this history is in that of the good end.
        let tested = by.map_or(&bisect.good, |place| history.commit(place));
        GoodParent {
            commit: parent.clone(),
            tested: tested.clone(),
            run_id: run_of(jobs, tested),
        }
    });
    parents.collect()
}
