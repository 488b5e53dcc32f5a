//! The same work for many workspaces, as many at a time as there are cores.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

/// What `work` makes of each of `items`, in their order. What panicked is an error of its own.
pub async fn parallel<T, R, F>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> F,
) -> Vec<Result<R, JoinError>>
where
    R: Send + 'static,
    F: Future<Output = R> + Send + 'static,
{
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    let places = Arc::new(Semaphore::new(at_once));
    let begun = items.into_iter().map(|item| {
        let (work, places) = (work(item), places.clone());
        AbortOnDropHandle::new(tokio::spawn(async move {
            let _place = places.acquire().await;
            work.await
        }))
    });
    let begun: Vec<_> = begun.collect();
    let mut done = Vec::with_capacity(begun.len());
    for task in begun {
        done.push(task.await);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_come_in_the_order_of_the_questions() {
        let asked = parallel(0..100_u64, |n| async move {
            if n % 3 == 0 {
                tokio::task::yield_now().await;
            }
            n * 2
        })
        .await;
        let answers: Vec<_> = asked.into_iter().map(Result::unwrap).collect();
        assert_eq!(answers, (0..100).map(|n| n * 2).collect::<Vec<_>>());
    }
}
