//! The rounds of a bisect: what the tests so far say, which commits are tested next, and when that is enough. All of it follows
//! from the record, so that a daemon that comes later goes on in the same way.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::checks::{check_ends, stopped, warnings, without_verdict};
use super::choose::choose;
use super::history::History;
use super::jobs::{job, job_id};
use super::narrow::{Verdicts, narrow};
use super::{BisectPlan, answer};
use crate::live::LivePipeline;
use crate::pipelines::Pipelines;
use crate::planned::jobs_of;
use crate::set_up;
use crate::source::with_store;
use branchyard_git::{self as git, CommitTree, commits_between, object_id};
use branchyard_model::{
    BisectAnswer, BisectTest, BisectVerdict, CommitId, ErrorKind, JobRecord, Problem, Warning,
};
use branchyard_workspace::repos::Repo;

/// So many commits may be suspected: the daemon looks at all of them before each round.
pub(super) const MOST_COMMITS: usize = 20_000;
/// So many are tested: more are needed only where most of them have to be skipped.
const MOST_TESTS: usize = 256;
/// How long after a round could not be recorded it is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// A bisect under way.
#[derive(Debug)]
pub(crate) struct Bisect {
    repo: Arc<Repo>,
    history: Arc<History>,
}

/// What follows from the tests so far.
enum Next {
    Test(Vec<CommitId>),
    Answer(BisectAnswer, Vec<Warning>),
}

impl Bisect {
    /// The bisect that a pipeline is, if it is one.
    pub(crate) async fn of(
        pipelines: &Pipelines,
        live: &LivePipeline,
    ) -> Result<Option<Self>, Problem> {
        let plan = live.plan();
        let Some(bisect) = &plan.bisect else {
            return Ok(None);
        };
        let name = live.look(|record| record.repo.clone());
        let repo = pipelines.inner().repos.get(&name)?;
        let ends = (&bisect.good, &bisect.bad);
        let listed = commits_between(repo.git(), repo.store(), ends, &bisect.paths, MOST_COMMITS);
        let listed = listed.await?;
        Ok(Some(Self {
            repo,
            history: Arc::new(History::new(listed)),
        }))
    }

    /// Has the record say what each command that has ended said of its commit.
    pub(crate) fn note_verdicts(&self, live: &LivePipeline) {
        let note = |job: &str, verdict| {
            live.change_job(job, |record| {
                if let Some(test) = &mut record.bisect {
                    test.verdict = Some(verdict);
                }
            });
        };
        for job in without_verdict(&live.record().jobs) {
            if let Some(verdict) = job.verdict() {
                note(&job.job, verdict);
            }
        }
        let jobs = live.record().jobs;
        let unneeded = self.unneeded(live);
        for job in without_verdict(&jobs).filter(|job| job.state.is_ended()) {
            if unneeded.contains(&job.job) {
                note(&job.job, BisectVerdict::Unneeded);
            }
        }
    }

    /// The jobs whose commits need no test any more: others have cleared them, or an earlier one is bad already.
    pub(crate) fn unneeded(&self, live: &LivePipeline) -> Vec<String> {
        let (record, plan) = (live.record(), live.plan());
        let Some(bisect) = &plan.bisect else {
            return Vec::new();
        };
        let is_in_vain = check_ends(bisect, &record.jobs).is_err();
        let needed = self.needed(bisect, &record.jobs);
        let open = without_verdict(&record.jobs).filter(|job| {
            let test = job.bisect.as_ref();
            test.is_some_and(|test| is_in_vain || !needed.contains(&test.commit))
        });
        open.map(|job| job.job.clone()).collect()
    }

    /// Has the next commits tested. If there is nothing left to test, the record says what was found, or why not.
    pub(crate) async fn plan_round(&self, live: &LivePipeline) -> bool {
        let planned = match self.next(live).await {
            Ok(Next::Test(commits)) => self.test(live, commits).await,
            Ok(Next::Answer(answer, warnings)) => {
                live.change(|record| {
                    let known = record.warnings.len();
                    for warning in warnings {
                        if !record.warnings[..known].contains(&warning) {
                            record.warnings.push(warning);
                        }
                    }
                    if let Some(bisect) = &mut record.bisect {
                        bisect.left = answer.suspects.len().max(1);
                        bisect.answer = Some(answer);
                    }
                });
                Ok(false)
            }
            Err(problem) => Err(problem),
        };
        planned.unwrap_or_else(|problem| {
            live.change(|record| record.error = Some(problem.outward()));
            false
        })
    }

    async fn next(&self, live: &LivePipeline) -> Result<Next, Problem> {
        let (record, plan) = (live.record(), live.plan());
        let Some(bisect) = plan.bisect.clone() else {
            return Ok(Next::Test(Vec::new()));
        };
        check_ends(&bisect, &record.jobs)?;
        let needed = self.needed(&bisect, &record.jobs);
        let silent = without_verdict(&record.jobs).find(|job| {
            let test = job.bisect.as_ref();
            test.is_some_and(|test| needed.contains(&test.commit))
        });
        if let Some(silent) = silent {
            return Err(stopped(silent));
        }
        if record.jobs.len() >= MOST_TESTS {
            let detail = format!("{MOST_TESTS} commits were tested, and most of them skipped");
            let problem = Problem::new(ErrorKind::Unprocessable, "too_many_skipped", detail);
            return Err(problem.help("name ends between which most commits can be tested"));
        }
        let (history, mut verdicts) = (self.history.clone(), self.verdicts(&record.jobs));
        let is_first = bisect.tests.is_empty();
        let mut most = bisect.parallel;
        if is_first {
            // The ends are tested as well, for an innocent commit would be found between ends that are not as they were said
            // to be. Nothing is lost where several are tested at once.
            most = most.saturating_sub(2);
            let bad = history.place(&bisect.bad);
            verdicts.extend(bad.map(|place| (place, BisectVerdict::Bad)));
        }
        let chosen = tokio::task::spawn_blocking(move || {
            let suspects = narrow(&history, &verdicts);
            let places = choose(&history, &suspects, &verdicts, most).into_iter();
            let commits: Vec<_> = places.map(|it| history.commit(it).clone()).collect();
            (suspects, verdicts, commits)
        });
        let (suspects, verdicts, mut commits) = chosen
            .await
            .map_err(|error| Problem::new(ErrorKind::Internal, "look_failed", error.to_string()))?;
        if is_first {
            commits.splice(0..0, [bisect.good.clone(), bisect.bad.clone()]);
        }
        live.change(|record| {
            if let Some(shown) = &mut record.bisect {
                shown.left = suspects.places.len();
            }
        });
        if !commits.is_empty() {
            return Ok(Next::Test(commits));
        }
        let warnings = warnings(&self.history, &suspects, &bisect, &record.jobs);
        let found = (suspects, verdicts);
        let answer = answer::of(&self.repo, &self.history, found, (bisect, record.jobs));
        Ok(Next::Answer(answer.await?, warnings))
    }

    /// Adds a job for each commit.
    async fn test(&self, live: &LivePipeline, commits: Vec<CommitId>) -> Result<bool, Problem> {
        let looked = with_store(&self.repo, move |store| {
            let of = |commit: CommitId| {
                let tree = CommitTree::of(store, object_id(&commit)?)?.id()?;
                let subject = git::subject(store, &commit)?;
                Ok::<_, git::Error>((commit, tree, subject))
            };
            let all = commits.into_iter().map(of);
            Ok(all.collect::<Result<Vec<_>, _>>()?)
        });
        let looked = looked.await?;
        let mut plan = (*live.plan()).clone();
        let Some(bisect) = &mut plan.bisect else {
            return Ok(false);
        };
        let round = bisect.round() + 1;
        for (commit, tree, subject) in looked {
            let mut tests = [job(bisect, &commit, &subject)];
            set_up::put_first(plan.setup.as_ref(), &mut tests);
            plan.plan.jobs.extend(tests);
            let test = BisectTest {
                commit: commit.clone(),
                tree,
                round,
                verdict: None,
            };
            bisect.tests.insert(job_id(&commit), test);
        }
        let jobs = jobs_of(&plan, &live.record().jobs);
        live.change(|record| {
            if let Some(shown) = &mut record.bisect {
                shown.rounds = round;
            }
        });
        while let Err(error) = live.replan(plan.clone(), jobs.clone()) {
            tracing::error!(pipeline = %live.id(), %error, "a round of a bisect is not on record; it is tried again");
            tokio::select! {
                () = tokio::time::sleep(TRY_AGAIN) => {}
                () = live.viewers().stopped() => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The commits that may be the first bad one, and the ends. Any bad commit will do for the bad end.
    fn needed(&self, bisect: &BisectPlan, jobs: &[JobRecord]) -> HashSet<CommitId> {
        let verdicts = self.verdicts(jobs);
        let places = narrow(&self.history, &verdicts).places.into_iter();
        let commits = places.map(|place| self.history.commit(place).clone());
        let is_bad = |verdict: &BisectVerdict| *verdict == BisectVerdict::Bad;
        let bad = Some(&bisect.bad).filter(|_| !verdicts.values().any(is_bad));
        let ends = [&bisect.good].into_iter().chain(bad);
        commits.chain(ends.cloned()).collect()
    }

    fn verdicts(&self, jobs: &[JobRecord]) -> Verdicts {
        let tests = jobs.iter().filter_map(|job| job.bisect.as_ref());
        let known = tests.filter_map(|test| {
            let verdict = test.verdict.filter(|it| *it != BisectVerdict::Unneeded)?;
            Some((self.history.place(&test.commit)?, verdict))
        });
        known.collect()
    }
}
