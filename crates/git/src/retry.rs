//! Asking the remote again after a failure that may pass by itself.

use std::future::Future;
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable};

use super::{Error, RemoteFailure};

/// After the first try. A host that starts anew is back by then, or is not coming soon.
const FURTHER_TRIES: usize = 2;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Tries up to three times, with growing pauses of random length, as long as a failure is one that a
/// retry can mend and no more than `within` has gone by.
pub(super) async fn retried<T, F>(
    operation: &'static str,
    within: Duration,
    attempt: impl FnMut() -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let began = Instant::now();
    let pauses = ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_max_times(FURTHER_TRIES)
        .with_jitter();
    attempt
        .retry(pauses)
        .when(|error| {
            let failure = error.failure();
            failure.is_some_and(|failure| failure.can_be_mended_by_retry())
                && began.elapsed() < within
        })
        .notify(|error, pause| {
            let failure = error.failure().unwrap_or(RemoteFailure::Other);
            tracing::debug!(
                operation,
                kind = failure.as_str(),
                ?pause,
                "the remote failed and is asked again"
            );
            failure.count_retry(operation);
        })
        .await
}
