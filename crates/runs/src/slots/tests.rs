use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;

type Taking<'a> = Pin<Box<dyn Future<Output = Slot> + Send + 'a>>;

fn repo(name: &str) -> RepoName {
    RepoName::parse(name).unwrap()
}

/// Asks for a slot as far as one can without waiting.
fn ask<'a>(slots: &'a Slots, principal: &'a str, name: &str, max: usize) -> Taking<'a> {
    let repo = repo(name);
    let mut taking: Taking =
        Box::pin(async move { slots.take(principal, &repo, max, |_| ()).await });
    assert!(poll(&mut taking).is_none(), "nothing was free");
    taking
}

fn poll(taking: &mut Taking) -> Option<Slot> {
    match taking
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(slot) => Some(slot),
        Poll::Pending => None,
    }
}

async fn take(slots: &Slots, principal: &str, name: &str, max: usize) -> Slot {
    let no_wait = |position| panic!("it waits at {position}");
    slots.take(principal, &repo(name), max, no_wait).await
}

fn is_idle(slots: &Slots) -> bool {
    slots.0.lock().principals.is_empty()
}

/// Lets one after the other run, each until the next one is asked for, and says who came when.
fn served<'a>(mut running: Slot, waiting: Vec<(&'a str, Taking<'_>)>) -> Vec<&'a str> {
    let mut waiting = waiting;
    let mut order = Vec::new();
    while !waiting.is_empty() {
        drop(running);
        let mut granted: Vec<_> = waiting
            .iter_mut()
            .enumerate()
            .filter_map(|(at, (_, taking))| Some((at, poll(taking)?)))
            .collect();
        let (at, slot) = granted.pop().expect("the slot was handed on");
        assert!(granted.is_empty(), "there is one slot only");
        order.push(waiting.remove(at).0);
        running = slot;
    }
    order
}

#[tokio::test]
async fn first_come_first_served() {
    let slots = Slots::new(1);
    let running = take(&slots, "a", "x", 9).await;
    let waiting = ["1", "2", "3", "4"].map(|name| (name, ask(&slots, "a", "x", 9)));
    assert_eq!(served(running, waiting.into()), ["1", "2", "3", "4"]);
    assert!(is_idle(&slots));
}

#[tokio::test]
async fn principals_are_served_in_turn() {
    let slots = Slots::new(1);
    let running = take(&slots, "a", "x", 9).await;
    let waiting = ["a1", "a2", "a3", "b1", "b2", "c1"];
    let waiting = waiting.map(|name| (name, ask(&slots, &name[..1], "x", 9)));
    let order = served(running, waiting.into());
    assert_eq!(order, ["a1", "b1", "c1", "a2", "b2", "a3"]);
    assert!(is_idle(&slots));
}

#[tokio::test]
async fn the_repos_of_a_principal_are_served_in_turn() {
    let slots = Slots::new(1);
    let running = take(&slots, "a", "x", 9).await;
    let waiting = ["x1", "x2", "x3", "y1", "y2", "z1"];
    let waiting = waiting.map(|name| (name, ask(&slots, "a", &name[..1], 9)));
    let order = served(running, waiting.into());
    assert_eq!(order, ["x1", "y1", "z1", "x2", "y2", "x3"]);
    assert!(is_idle(&slots));
}

#[tokio::test]
async fn whoever_has_less_running_goes_first() {
    let slots = Slots::new(4);
    let mut running = Vec::new();
    for _ in 0..3 {
        running.push(take(&slots, "a", "x", 9).await);
    }
    let of_b = take(&slots, "b", "x", 9).await;
    let mut a = ask(&slots, "a", "x", 9);
    let mut b = ask(&slots, "b", "y", 9);
    running.pop();
    // a has two, b has one.
    let second_of_b = poll(&mut b).expect("b is next, though it came later");
    assert!(poll(&mut a).is_none());
    drop((of_b, second_of_b));
    assert!(poll(&mut a).is_some());
}

#[tokio::test]
async fn a_stream_of_newcomers_does_not_starve_whoever_waits() {
    let slots = Slots::new(1);
    let mut running = take(&slots, "a", "x", 9).await;
    let mut patient = ask(&slots, "a", "x", 9);
    let names: Vec<_> = (0..10).map(|n| format!("newcomer{n}")).collect();
    for (n, name) in names.iter().enumerate() {
        let mut newcomer = ask(&slots, name, "x", 9);
        drop(running);
        if poll(&mut patient).is_some() {
            assert!(n <= 1);
            return;
        }
        running = poll(&mut newcomer).expect("somebody got it");
    }
    panic!("it still waits");
}

#[tokio::test]
async fn a_repo_at_its_limit_does_not_hold_up_the_others() {
    let slots = Slots::new(3);
    let first = take(&slots, "a", "x", 1).await;
    let mut second = ask(&slots, "a", "x", 1);
    let _other = take(&slots, "a", "y", 1).await;
    let _anothers = take(&slots, "b", "z", 1).await;
    assert!(poll(&mut second).is_none());
    drop(first);
    assert!(poll(&mut second).is_some());
}

#[tokio::test]
async fn a_waiter_that_goes_leaves_no_trace() {
    let slots = Slots::new(1);
    let running = take(&slots, "a", "x", 9).await;
    let gone = ask(&slots, "a", "x", 9);
    let mut stays = ask(&slots, "a", "x", 9);
    drop(gone);
    drop(running);
    assert!(poll(&mut stays).is_some());
    // Never asked at all.
    drop(slots.take("a", &repo("x"), 9, |_| ()));
    assert!(is_idle(&slots));
}

#[tokio::test]
async fn a_slot_that_was_just_granted_to_a_waiter_that_goes_is_handed_on() {
    let slots = Slots::new(1);
    let running = take(&slots, "a", "x", 9).await;
    let granted = ask(&slots, "a", "x", 9);
    let mut next = ask(&slots, "b", "y", 9);
    drop(running);
    // It has the slot now and does not know it.
    assert!(poll(&mut next).is_none());
    drop(granted);
    assert!(poll(&mut next).is_some());
    assert!(is_idle(&slots));
}

#[tokio::test]
async fn a_command_that_already_runs_counts_even_beyond_the_limit() {
    let slots = Slots::new(2);
    let mut taken_over: Vec<_> = (0..4).map(|_| slots.occupy("a", &repo("x"))).collect();
    let mut waiting = ask(&slots, "a", "y", 9);
    while taken_over.len() > 2 {
        taken_over.pop();
        assert!(poll(&mut waiting).is_none());
    }
    taken_over.pop();
    let slot = poll(&mut waiting).expect("one of two is free");
    drop((slot, taken_over));
    assert!(is_idle(&slots));
}

#[tokio::test]
async fn a_waiter_is_told_its_position_at_once_and_then_now_and_then() {
    let slots = Slots::new(1);
    let running = take(&slots, "a", "x", 9).await;
    let mut ahead: Vec<_> = (0..5).map(|_| ask(&slots, "a", "x", 9)).collect();
    let (tell, mut told) = mpsc::unbounded_channel();
    let x = repo("x");
    let taking = slots.take("a", &x, 9, |position| tell.send(position).unwrap());
    let changing = async {
        assert_eq!(told.recv().await, Some(6));
        let since = Instant::now();
        for _ in 0..3 {
            ahead.pop();
            tokio::task::yield_now().await;
        }
        assert_eq!(told.recv().await, Some(3), "only where it stands now");
        assert!(since.elapsed() > BETWEEN_POSITIONS / 2);
        drop((ahead, running));
    };
    // It is granted at once, though the next position would have been told later.
    let (_slot, ()) = tokio::join!(taking, changing);
    assert!(told.try_recv().is_err());
}

#[tokio::test]
async fn a_thousand_waiters_are_all_served_within_the_limits() {
    const MAX: usize = 7;
    const PER_REPO: usize = 3;
    let slots = Arc::new(Slots::new(MAX));
    let in_all = Arc::new(AtomicUsize::new(0));
    let in_repo: Arc<[AtomicUsize; 5]> = Arc::default();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..1000 {
        let (slots, in_all, in_repo) = (slots.clone(), in_all.clone(), in_repo.clone());
        tasks.spawn(async move {
            let (principal, which) = (format!("p{}", n % 11), n % 5);
            let repo = repo(&format!("r{which}"));
            let slot = slots.take(&principal, &repo, PER_REPO, |_| ()).await;
            assert!(in_all.fetch_add(1, Ordering::SeqCst) < MAX);
            assert!(in_repo[which].fetch_add(1, Ordering::SeqCst) < PER_REPO);
            tokio::task::yield_now().await;
            in_all.fetch_sub(1, Ordering::SeqCst);
            in_repo[which].fetch_sub(1, Ordering::SeqCst);
            drop(slot);
        });
    }
    let all = async { while tasks.join_next().await.transpose().unwrap().is_some() {} };
    tokio::time::timeout(Duration::from_secs(60), all)
        .await
        .expect("everyone was served");
    assert!(is_idle(&slots));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever comes and goes, no limit is passed, and no slot lies idle that somebody could use.
    #[test]
    fn slots_are_neither_lost_nor_given_twice(
        max in 1_usize..5,
        steps in prop::collection::vec((0_usize..4, 0_usize..3, 0_usize..3, any::<usize>()), 0..60),
    ) {
        const PER_REPO: usize = 2;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _guard = runtime.enter();
        let slots = Slots::new(max);
        let (principals, repos) = (["a", "b", "c"], ["x", "y", "z"].map(repo));
        let mut waiting: Vec<Taking> = Vec::new();
        let mut running = Vec::new();
        for (step, principal, at, which) in steps {
            match step {
                0 | 1 => waiting.push(Box::pin(slots.take(
                    principals[principal],
                    &repos[at],
                    PER_REPO,
                    |_| (),
                ))),
                2 if !waiting.is_empty() => drop(waiting.swap_remove(which % waiting.len())),
                3 if !running.is_empty() => drop(running.swap_remove(which % running.len())),
                _ => {}
            }
            // Half of the time nobody looks, and what was granted is not known to those who have it.
            if which % 2 == 0 {
                waiting.retain_mut(|taking| match poll(taking) {
                    Some(slot) => {
                        running.push(slot);
                        false
                    }
                    None => true,
                });
            }
            let queue = slots.0.lock();
            let lines = || queue.principals.values().flat_map(|own| &own.repos);
            let in_repo = |repo: &RepoName| -> usize {
                let own = lines().filter(|(name, _)| *name == repo);
                own.map(|(_, line)| line.running).sum()
            };
            let in_all: usize = lines().map(|(_, line)| line.running).sum();
            prop_assert!(in_all <= max);
            for (repo, line) in lines() {
                prop_assert!(in_repo(repo) <= PER_REPO);
                if in_all < max && !line.waiting.is_empty() {
                    prop_assert_eq!(in_repo(repo), PER_REPO);
                }
            }
        }
        drop((waiting, running));
        prop_assert!(is_idle(&slots));
    }
}
