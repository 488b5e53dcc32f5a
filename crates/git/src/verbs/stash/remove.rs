//! Taking a stash out of the list. `git stash drop` takes a place, and a person who stashes in the same moment moves the
//! others on, so that it would be theirs that goes: here the place is looked up under the lock by which git changes the list.

use std::thread;
use std::time::{Duration, Instant};

use git2::{ErrorCode, Transaction};

use crate::{Error, ObjectId, Repository};

const LIST: &str = "refs/stash";

/// Git holds the lock for the moment of a write. One that is left behind by a git that was killed is named in the error.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// Takes the stash out of the list; one that is gone already is fine. Blocks.
pub fn remove(repo: &Repository, stash: ObjectId) -> Result<(), Error> {
    let mut list = locked(repo)?;
    // Where there is no stash, it is empty.
    let mut log = repo.git2().reflog(LIST)?;
    let Some(place) = log.iter().position(|entry| entry.id_new() == stash.git2()) else {
        return Ok(());
    };
    log.remove(place, true)?;
    match log.get(0).map(|newest| newest.id_new()) {
        None => list.remove(LIST)?,
        Some(newest) if place == 0 => list.set_target(LIST, newest, None, "")?,
        Some(_) => {}
    }
    list.set_reflog(LIST, log)?;
    Ok(list.commit()?)
}

fn locked(repo: &Repository) -> Result<Transaction<'_>, Error> {
    let end = Instant::now() + PATIENCE;
    loop {
        let mut transaction = repo.git2().transaction()?;
        match transaction.lock_ref(LIST) {
            Ok(()) => return Ok(transaction),
            Err(error) if error.code() == ErrorCode::Locked && Instant::now() < end => {
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::{Git, stashes};

    const ROUNDS: usize = 40;

    async fn run(git: &Git, dir: &Path, args: &[&str]) -> String {
        let shown = git.at(dir).args(args).output().await.unwrap();
        String::from_utf8(shown).unwrap().trim().to_owned()
    }

    async fn put_aside(git: &Git, dir: &Path, name: &str) -> ObjectId {
        fs::write(dir.join(name), name).unwrap();
        run(
            git,
            dir,
            &["stash", "push", "-q", "-u", "-m", name, "--", name],
        )
        .await;
        let listed = stashes(&Repository::open(dir).unwrap());
        let made = listed.iter().find(|stash| stash.message.ends_with(name));
        made.unwrap().commit
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_stash_of_another_who_stashes_in_that_moment_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (git, dir) = (Git::for_tests(&dir), dir.path());
        run(&git, dir, &["init", "-q"]).await;
        run(&git, dir, &["config", "core.filesRefLockTimeout", "10000"]).await;
        run(&git, dir, &["commit", "-q", "--allow-empty", "-m", "first"]).await;
        let lower = put_aside(&git, dir, "lower").await;
        for round in 0..ROUNDS {
            let own = put_aside(&git, dir, &format!("own-{round}")).await;
            let theirs = format!("theirs-{round}");
            let drop = async {
                // At any moment of what the other does.
                tokio::time::sleep(Duration::from_micros(500 * round as u64)).await;
                let at = dir.to_owned();
                let dropped = move || remove(&Repository::open(&at).unwrap(), own).unwrap();
                tokio::task::spawn_blocking(dropped).await.unwrap();
            };
            let (theirs, ()) = tokio::join!(put_aside(&git, dir, &theirs), drop);
            let repo = Repository::open(dir).unwrap();
            let listed: Vec<_> = stashes(&repo).iter().map(|stash| stash.commit).collect();
            assert_eq!(listed, [theirs, lower]);
            remove(&repo, theirs).unwrap();
            assert_eq!(
                run(&git, dir, &["rev-parse", LIST]).await,
                lower.to_string()
            );
        }
        let repo = Repository::open(dir).unwrap();
        remove(&repo, lower).unwrap();
        assert_eq!(run(&git, dir, &["stash", "list"]).await, "");
        assert_eq!(run(&git, dir, &["for-each-ref", LIST]).await, "");
        remove(&repo, lower).unwrap();
        put_aside(&git, dir, "later").await;
        assert!(run(&git, dir, &["stash", "list"]).await.contains("later"));
        assert!(!dir.join(".git/refs/stash.lock").exists());
    }
}
