//! Panics of ours are answers too: a client that gets none waits for as long as it has patience.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use branchyard_model::Problem;

const WHO: &str = "a request of an agent";

/// What comes of `work`, or that it panicked.
pub(super) async fn caught<T>(
    work: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let mut work = pin!(work);
    // It is not polled again after a panic, and shares nothing that one could leave half-changed.
    poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(poll) => poll,
            Err(panic) => Poll::Ready(Err(Problem::of_panic(WHO, &*panic))),
        },
    )
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_model::ErrorKind;

    #[tokio::test]
    async fn a_panic_is_a_problem_and_all_else_is_left_alone() {
        assert_eq!(caught(async { Ok(1) }).await.unwrap(), 1);
        let panicked = caught(async {
            tokio::task::yield_now().await;
            assert_eq!(1, 2, "no more of this");
            Ok(())
        });
        let problem = panicked.await.unwrap_err();
        assert_eq!(problem.kind, ErrorKind::Internal);
        assert!(problem.detail.contains("no more of this"), "{problem:?}");
        assert!(!problem.outward().detail.contains("no more"));
    }
}
