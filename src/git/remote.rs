//! Asking the remote. A fetch assumes that no other of the same store is under way.

use std::collections::HashMap;

use super::progress::Percent;
use super::{Error, Git, Store};
use crate::model::{BranchName, CommitId};
use crate::process::Patience;

/// The commits that the remote has under exactly these full refs, by full ref; all its branches if
/// none are given. Needs no store, and is run where no repository's configuration can reach it.
pub async fn remote_heads(
    git: &Git,
    url: &str,
    refs: &[String],
) -> Result<HashMap<String, CommitId>, Error> {
    let listing = git
        .at("/")
        .args(["ls-remote", "--quiet", "--heads", "--end-of-options", url])
        .args(refs)
        .remote(Patience {
            total: Some(git.settings().remote_timeout),
            stall: None,
        })
        .output()
        .await?;
    Ok(parse_heads(&String::from_utf8_lossy(&listing)))
}

/// Fetches these branches, and nothing else, into `refs/remotes/origin/*`.
pub async fn fetch(
    git: &Git,
    store: &Store,
    branches: &[BranchName],
    mut on_percent: impl FnMut(u8) + Send,
) -> Result<(), Error> {
    let mut percent = Percent::default();
    git.at(store.path())
        .args([
            "fetch",
            "--progress",
            "--no-auto-maintenance",
            "--no-write-fetch-head",
            "--refmap=",
            "origin",
        ])
        .args(
            branches
                .iter()
                .map(|b| format!("+{}:{}", b.local_ref(), b.remote_ref())),
        )
        .remote(Patience {
            total: None,
            stall: Some(git.settings().stall_timeout),
        })
        .output_with_progress(|bytes| {
            if let Some(percent) = percent.feed(bytes) {
                on_percent(percent);
            }
        })
        .await?;
    Ok(())
}

fn parse_heads(listing: &str) -> HashMap<String, CommitId> {
    listing
        .lines()
        .filter_map(|line| line.split_once('\t'))
        // A pattern also matches refs that merely end like it, such as refs/pull/1/refs/heads/x.
        .filter(|(_, name)| name.starts_with("refs/heads/"))
        .filter_map(|(id, name)| Some((name.to_owned(), CommitId::parse(id).ok()?)))
        .collect()
}
