//! How many jobs a build has that was told no number: without limit would be the answer of `make -j`, and every core that
//! of cargo, whatever else runs.

use super::argv::with_jobs;
use super::drive::Drive;
use branchyard_model::RunState;

/// Gives the run its share of the cores, now that it is about to start, where its caller asked for
/// that. What its record shows from here on is what is executed.
pub(super) fn share_cores(drive: &Drive, open_jobs: &[usize]) {
    if open_jobs.is_empty() {
        return;
    }
    let jobs = share_of(drive);
    drive.live().change(|record| {
        for at in open_jobs {
            if let Some(word) = record.spec.argv.get_mut(*at) {
                *word = with_jobs(word, jobs);
            }
        }
    });
}

/// What a run that is about to start has of the cores.
pub(super) fn share_of(drive: &Drive) -> u32 {
    let is_running = |state| state == RunState::Running;
    let others = drive
        .shared()
        .live
        .iter()
        .filter(|live| live.id() != drive.live().id() && is_running(live.look().state))
        .count();
    share(cores(), others + 1)
}

/// What each of so many runs has of the cores; one at least.
fn share(cores: usize, runs: usize) -> u32 {
    u32::try_from(cores / runs.max(1))
        .unwrap_or(u32::MAX)
        .max(1)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_divided_and_nobody_has_none() {
        for (cores, runs, each) in [
            (8, 1, 8),
            (8, 3, 2),
            (8, 8, 1),
            (8, 9, 1),
            (1, 40, 1),
            (0, 0, 1),
        ] {
            assert_eq!(share(cores, runs), each, "{cores} cores, {runs} runs");
        }
    }
}
