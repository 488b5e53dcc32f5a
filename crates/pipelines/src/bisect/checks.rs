//! Whether a bisect may go on: its ends are as they were said to be, and each test that matters said something.

use super::BisectPlan;
use super::history::History;
use super::narrow::Suspects;
use branchyard_model::{BisectVerdict, CommitId, ErrorKind, JobRecord, Problem, Warning};

/// The jobs of which it is not known what they say: they have not ended, or ended without a word.
pub(super) fn without_verdict(jobs: &[JobRecord]) -> impl Iterator<Item = &JobRecord> {
    let is_open = |job: &&JobRecord| {
        let test = job.bisect.as_ref();
        test.is_some_and(|test| test.verdict.is_none())
    };
    jobs.iter().filter(is_open)
}

fn verdict_of(jobs: &[JobRecord], commit: &CommitId) -> Option<BisectVerdict> {
    let mut tests = jobs.iter().filter_map(|job| job.bisect.as_ref());
    tests.find(|test| test.commit == *commit)?.verdict
}

/// Refuses to go on between ends that are not as they were said to be.
pub(super) fn check_ends(bisect: &BisectPlan, jobs: &[JobRecord]) -> Result<(), Problem> {
    let refused = |code, field, detail, help| {
        let problem = Problem::new(ErrorKind::Unprocessable, code, detail);
        Err(problem.field(field).help(help))
    };
    let of = |commit| verdict_of(jobs, commit);
    if of(&bisect.good) == Some(BisectVerdict::Bad) {
        let detail = format!("`good` is bad: the command fails at {} too", bisect.good);
        let help = "its run says why; name an older commit, or see that the command runs in a clean checkout";
        return refused("good_is_bad", "good", detail, help);
    }
    if of(&bisect.bad) == Some(BisectVerdict::Good) {
        let detail = format!("`bad` is good: the command succeeds at {}", bisect.bad);
        let help =
            "name a commit at which the command fails; it has to exit with a code other than 0";
        return refused("bad_is_good", "bad", detail, help);
    }
    Ok(())
}

/// A run that was lost, took too long or ended by a signal says nothing of its commit. To skip it would make the answer
/// vaguer without a word, and to start it again is for the caller to decide.
pub(super) fn stopped(job: &JobRecord) -> Problem {
    let error = job.error.as_ref().map(|error| error.detail.clone());
    let why = error.or_else(|| job.reason.clone());
    let why = why.unwrap_or_else(|| job.state.as_str().to_owned());
    let detail = format!("nothing is known of {}: {why}", job.name);
    Problem::new(ErrorKind::Unprocessable, "no_verdict", detail).help(
        "a retry of the pipeline tests it again and goes on; a command that cannot test a commit has to exit with 125",
    )
}

pub(super) fn warnings(
    history: &History,
    suspects: &Suspects,
    bisect: &BisectPlan,
    jobs: &[JobRecord],
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (end, commit) in [("good", &bisect.good), ("bad", &bisect.bad)] {
        if verdict_of(jobs, commit) == Some(BisectVerdict::Skip) {
            let message = format!("`{end}` cannot be tested: what was said of it is believed");
            warnings.push(Warning::new("end_not_tested", message));
        }
    }
    if let Some((bad, good)) = suspects.contradiction {
        let [bad, good] = [bad, good].map(|place| history.commit(place));
        let message = format!(
            "{bad} is bad, and {good} after it is good: it was mended in between, or the command does not always say the same"
        );
        warnings.push(Warning::new("mended_between", message));
    }
    warnings
}
