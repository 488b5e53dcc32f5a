//! The same work for many workspaces, as many at a time as there are cores.

use std::collections::HashMap;
use std::future::Future;

use tokio::task::{JoinError, JoinSet};

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
    let mut running = JoinSet::new();
    let mut done = Vec::new();
    let mut places = HashMap::new();
    for (place, item) in items.into_iter().enumerate() {
        if running.len() >= at_once {
            done.extend(running.join_next_with_id().await);
        }
        let task = running.spawn(work(item));
        places.insert(task.id(), place);
    }
    while let Some(ended) = running.join_next_with_id().await {
        done.push(ended);
    }
    let mut placed: Vec<_> = done
        .into_iter()
        .map(|ended| match ended {
            Ok((id, answer)) => (id, Ok(answer)),
            Err(error) => (error.id(), Err(error)),
        })
        .collect();
    placed.sort_by_key(|(id, _)| places.get(id).copied());
    placed.into_iter().map(|(_, answer)| answer).collect()
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
