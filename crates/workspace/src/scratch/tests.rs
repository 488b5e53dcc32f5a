//! Leases of scratch worktrees in a yard with a repository of its own.

mod yard;

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::ScratchUse;
use crate::reconcile;
use crate::scratch::is_scratch;
use yard::ScratchYard;

#[tokio::test]
async fn two_leases_are_two_directories_and_one_that_is_given_back_is_used_again() {
    let yard = ScratchYard::new().await;
    let pool = yard.pool();
    let commit = yard.commit(&[("a", "a\n"), ("dir/b", "b\n")]).await;
    let one = pool.lease(yard.repo(), 2, |_| panic!("must wait")).await;
    let other = pool.lease(yard.repo(), 2, |_| panic!("must wait")).await;
    for lease in [&one, &other] {
        lease.prepare(&commit, false).await.unwrap();
        assert_eq!(fs::read(lease.path().join("dir/b")).unwrap(), b"b\n");
        let head = fs::read_to_string(lease.git_dir().join("HEAD")).unwrap();
        assert_eq!(head.trim(), commit.as_str());
    }
    assert_eq!((one.number(), other.number()), (1, 2));
    assert_ne!(one.path(), other.path());
    drop(one);
    let again = pool.lease(yard.repo(), 2, |_| panic!("must wait")).await;
    assert_eq!(again.number(), 1);
    fs::write(again.path().join("untracked"), "x").unwrap();
    again.prepare(&commit, true).await.unwrap();
    assert!(again.path().join("untracked").exists());
    again.prepare(&commit, false).await.unwrap();
    assert!(!again.path().join("untracked").exists());
}

async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait)
        .await
        .unwrap();
}

fn sorted(places: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut places = places.to_vec();
    places.sort_unstable();
    places
}

#[tokio::test]
async fn who_waits_is_told_the_place_and_served_in_order() {
    let yard = ScratchYard::new().await;
    let first = yard.pool().lease(yard.repo(), 1, |_| {}).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for n in 0..3 {
        let (pool, repo) = (yard.pool().clone(), yard.repo().clone());
        let (tell, served) = (told.clone(), served.clone());
        waiting.push(tokio::spawn(async move {
            let on_wait = |place| tell.lock().unwrap().push((n, place));
            let lease = pool.lease(&repo, 1, on_wait).await;
            served.lock().unwrap().push(n);
            tokio::task::yield_now().await;
            drop(lease);
        }));
        until(|| told.lock().unwrap().len() > n).await;
    }
    assert_eq!(*told.lock().unwrap(), [(0, 1), (1, 2), (2, 3)]);
    // One that does not want it any more is in no one's way.
    waiting.remove(0).abort();
    until(|| told.lock().unwrap().len() == 5).await;
    assert_eq!(sorted(&told.lock().unwrap()[3..]), [(1, 1), (2, 2)]);
    drop(first);
    for waiting in waiting {
        waiting.await.unwrap();
    }
    assert_eq!(*served.lock().unwrap(), [1, 2]);
}

#[tokio::test]
async fn what_is_held_does_not_count_and_is_found_again() {
    let yard = ScratchYard::new().await;
    let commit = yard.commit(&[("a", "a\n")]).await;
    let lease = yard.pool().lease(yard.repo(), 1, |_| {}).await;
    lease.prepare(&commit, false).await.unwrap();
    let held = lease.hold();
    let other = yard
        .pool()
        .lease(yard.repo(), 1, |_| panic!("must wait"))
        .await;
    assert_ne!(other.number(), held.number());
    let name = yard.repo().name().clone();
    let uses = [(1, true), (2, false)].map(|(number, is_held)| ScratchUse {
        repo: name.clone(),
        number,
        is_held,
    });
    assert_eq!(yard.pool().in_use(), uses);
    other.prepare(&commit, false).await.unwrap();

    // The next daemon.
    let next = yard.another_pool();
    assert!(next.adopt(yard.repo(), 3).is_none());
    let adopted = next.adopt(yard.repo(), 2).unwrap();
    assert!(next.adopt(yard.repo(), 2).is_none(), "it is in use");
    let kept = next.adopt_held(yard.repo(), 1).unwrap();
    assert_eq!(next.in_use(), uses);
    assert!(kept.path().join("a").exists());
    adopted.prepare(&commit, false).await.unwrap();
    drop(kept);
    drop(adopted);
    assert_eq!(next.in_use(), []);
}

#[tokio::test]
async fn one_that_is_broken_is_made_anew() {
    let yard = ScratchYard::new().await;
    let commit = yard.commit(&[("a", "a\n"), ("dir/b", "b\n")]).await;
    let lease = yard.pool().lease(yard.repo(), 1, |_| {}).await;
    lease.prepare(&commit, false).await.unwrap();
    let files = lease.path().to_owned();
    let is_exact = || {
        let a = fs::read(files.join("a")).unwrap();
        a == b"a\n" && files.join("dir/b").is_file() && !files.join("x").exists()
    };
    // A daemon that was killed while it made it.
    fs::remove_file(lease.git_dir().join("branchyard-scratch.json")).unwrap();
    fs::remove_file(files.join("a")).unwrap();
    fs::write(files.join("x"), "x").unwrap();
    lease.prepare(&commit, true).await.unwrap();
    assert!(is_exact());
    fs::remove_dir_all(lease.git_dir()).unwrap();
    lease.prepare(&commit, false).await.unwrap();
    assert!(is_exact());
    fs::remove_dir_all(&files).unwrap();
    fs::write(&files, "a file").unwrap();
    lease.prepare(&commit, false).await.unwrap();
    assert!(is_exact());
    // What cannot be moved, for a directory stands in the place of a file of git's own.
    fs::remove_file(lease.git_dir().join("commondir")).unwrap();
    fs::create_dir_all(lease.git_dir().join("commondir/x")).unwrap();
    lease.prepare(&commit, false).await.unwrap();
    assert!(is_exact());
}

#[tokio::test]
async fn a_commit_that_is_not_there_changes_nothing() {
    let yard = ScratchYard::new().await;
    let commit = yard.commit(&[("a", "a\n")]).await;
    let lease = yard.pool().lease(yard.repo(), 1, |_| {}).await;
    lease.prepare(&commit, false).await.unwrap();
    let missing = branchyard_model::CommitId::parse(&"1".repeat(40)).unwrap();
    assert!(lease.prepare(&missing, false).await.is_err());
    assert!(lease.path().join("a").exists());
}

#[tokio::test]
async fn what_is_idle_is_removed_and_what_is_in_use_keeps_the_repo() {
    let yard = ScratchYard::new().await;
    let commit = yard.commit(&[("a", "a\n")]).await;
    let pool = yard.pool();
    let leases = [
        pool.lease(yard.repo(), 2, |_| {}).await,
        pool.lease(yard.repo(), 2, |_| {}).await,
    ];
    for lease in &leases {
        lease.prepare(&commit, false).await.unwrap();
    }
    let [one, other] = leases;
    drop(one);
    let idle = pool.measured(yard.repo());
    assert_eq!(idle.len(), 1);
    assert!(idle[0].bytes.unwrap() > 0);
    assert_eq!(pool.idle_bytes(yard.repo()), idle[0].bytes.unwrap());
    assert!(pool.while_none_is_used(yard.repo().name(), || ()).is_none());
    pool.remove_idle(&idle[0]).await.unwrap();
    assert!(pool.remove_idle(&idle[0]).await.is_err());
    let left = |dir: &std::path::Path| {
        let entries = fs::read_dir(dir).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| is_scratch(name)).count()
    };
    let registrations = yard.repo().store().path().join("worktrees");
    assert_eq!((left(yard.repo().home()), left(&registrations)), (1, 1));
    drop(other);
    assert!(pool.while_none_is_used(yard.repo().name(), || ()).is_some());
    // What is on disk is found again.
    assert_eq!(pool.idle(yard.repo()).len(), 1);
}

#[tokio::test]
async fn nothing_about_them_is_an_inconsistency_or_keeps_a_repo() {
    let yard = ScratchYard::new().await;
    let commit = yard.commit(&[("a", "a\n")]).await;
    let lease = yard
        .workspaces()
        .scratch()
        .lease(yard.repo(), 1, |_| {})
        .await;
    lease.prepare(&commit, false).await.unwrap();
    fs::create_dir(yard.repo().home().join("@scratch-7")).unwrap();
    fs::write(lease.git_dir().join("index.lock"), "").unwrap();
    let scope = crate::RepairScope::whole();
    let found = reconcile::look(yard.workspaces(), yard.repo(), &scope).unwrap();
    assert!(found.is_empty(), "{found:?}");
    assert!(yard.workspaces().on_disk(yard.repo()).is_empty());
    let left = || crate::remove::left_of(yard.workspaces(), yard.repo()).unwrap();
    assert_eq!(left(), ["a job at work"]);
    assert!(crate::remove::discard(yard.workspaces(), yard.repo()).is_err());
    drop(lease);
    assert_eq!(left(), [""; 0]);
    crate::remove::discard(yard.workspaces(), yard.repo()).unwrap();
    assert!(!yard.repo().home().exists());
}
