//! Asking the remote. A fetch assumes that no other of the same store is under way.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::progress::Percent;
use super::retry::retried;
use super::verbs::person::text;
use super::{Error, Git, Store};
use branchyard_model::{BranchName, CommitId};

/// The commits that the remote has under exactly these full refs, by full ref; all its branches if
/// none are given. Needs no store, and is run where no repository's configuration can reach it.
pub async fn remote_heads(
    git: &Git,
    url: &str,
    refs: &[String],
) -> Result<HashMap<String, CommitId>, Error> {
    let mut asked = vec!["--quiet", "--heads", "--end-of-options", url];
    asked.extend(refs.iter().map(String::as_str));
    let listing = listed(git, Path::new("/"), &asked).await?;
    Ok(parse_heads(&listing))
}

/// What the remote has under exactly these full refs of any kind, by full ref; an annotated tag is at what it is for. Needs
/// no store, as [`remote_heads`].
pub async fn remote_named(
    git: &Git,
    url: &str,
    refs: &[String],
) -> Result<HashMap<String, CommitId>, Error> {
    let peeled = |name: &String| format!("{name}^{{}}");
    let patterns: Vec<_> = refs
        .iter()
        .cloned()
        .chain(refs.iter().map(peeled))
        .collect();
    let mut asked = vec!["--quiet", "--end-of-options", url];
    asked.extend(patterns.iter().map(String::as_str));
    // A pattern also matches refs that merely end like it.
    let said = parse_refs(&listed(git, Path::new("/"), &asked).await?);
    let found = refs.iter().filter_map(|name| {
        let at = said.get(&peeled(name)).or_else(|| said.get(name))?;
        Some((name.clone(), at.clone()))
    });
    Ok(found.collect())
}

/// All branches and tags of the remote, by full ref; an annotated tag is at itself, not at its commit. Needs no store, as
/// [`remote_heads`].
pub async fn remote_branches_and_tags(
    git: &Git,
    url: &str,
) -> Result<HashMap<String, CommitId>, Error> {
    let asked = [
        "--quiet",
        "--refs",
        "--heads",
        "--tags",
        "--end-of-options",
        url,
    ];
    Ok(parse_refs(&listed(git, Path::new("/"), &asked).await?))
}

/// Whether the remote has tags. Needs no store, as [`remote_heads`].
pub async fn has_remote_tags(git: &Git, url: &str) -> Result<bool, Error> {
    let asked = ["--quiet", "--tags", "--end-of-options", url];
    Ok(!listed(git, Path::new("/"), &asked).await?.is_empty())
}

/// The branch that the remote's HEAD names. Needs no store, as [`remote_heads`].
pub async fn remote_default(git: &Git, url: &str) -> Result<Option<String>, Error> {
    let asked = ["--quiet", "--symref", "--end-of-options", url, "HEAD"];
    Ok(parse_default(&listed(git, Path::new("/"), &asked).await?))
}

/// What `ls-remote` says to these arguments, in `dir`.
pub(super) async fn listed(git: &Git, dir: &Path, args: &[&str]) -> Result<String, Error> {
    let listing = retried("ls-remote", git.settings().remote_timeout, || {
        git.at(dir)
            .arg("ls-remote")
            .args(args)
            .remote(git.question_timeouts())
            .output()
    });
    Ok(text(&listing.await?))
}

/// What `ls-remote --symref` says of HEAD.
pub(super) fn parse_default(listing: &str) -> Option<String> {
    listing.lines().find_map(|line| {
        let (branch, _) = line.strip_prefix("ref: refs/heads/")?.split_once('\t')?;
        Some(branch.to_owned())
    })
}

/// Fetches these branches, and nothing else, into `refs/remotes/origin/*`.
pub async fn fetch(
    git: &Git,
    store: &Store,
    branches: &[BranchName],
    on_percent: impl FnMut(u8) + Send,
) -> Result<(), Error> {
    let refspecs: Vec<String> = branches
        .iter()
        .map(|b| format!("+{}:{}", b.local_ref(), b.remote_ref()))
        .collect();
    transfer(git, store.path(), &["--refmap="], &refspecs, on_percent).await
}

/// Fetches all branches.
pub async fn fetch_all_heads(git: &Git, store: &Store) -> Result<(), Error> {
    transfer(git, store.path(), &[], &[], |_| {}).await
}

/// Fetches a commit that no branch leads to, where the remote gives it out, and has a ref keep it.
pub async fn fetch_commit(git: &Git, store: &Store, commit: &CommitId) -> Result<(), Error> {
    let kept = format!("+{commit}:refs/branchyard/commits/{commit}");
    transfer(git, store.path(), &["--refmap="], &[kept], |_| {}).await
}

/// Fetches what the remote has under a full ref, whatever it is, and has a ref of the store keep it.
pub async fn fetch_ref(git: &Git, store: &Store, from: &str, to: &str) -> Result<(), Error> {
    let refspec = format!("+{from}:{to}");
    transfer(
        git,
        store.path(),
        &["--refmap=", "--no-tags"],
        &[refspec],
        |_| {},
    )
    .await
}

/// Fetches from `origin` into the repository at `dir`.
pub(super) async fn transfer(
    git: &Git,
    dir: &Path,
    options: &[&str],
    refspecs: &[String],
    on_percent: impl FnMut(u8) + Send,
) -> Result<(), Error> {
    // One try after the other reports to the same listener.
    let on_percent = Mutex::new(on_percent);
    retried("fetch", git.settings().fetch_timeout, || {
        let mut percent = Percent::default();
        let on_percent = &on_percent;
        git.at(dir)
            .args([
                "fetch",
                "--progress",
                "--no-auto-maintenance",
                "--no-write-fetch-head",
            ])
            .args(options)
            .arg("origin")
            .args(refspecs)
            .remote(git.transfer_timeouts())
            .output_with_progress(move |bytes| {
                if let Some(percent) = percent.feed(bytes) {
                    on_percent.lock().unwrap_or_else(PoisonError::into_inner)(percent);
                }
            })
    })
    .await
    .map(drop)
}

fn parse_heads(listing: &str) -> HashMap<String, CommitId> {
    let mut refs = parse_refs(listing);
    // A pattern also matches refs that merely end like it, such as refs/pull/1/refs/heads/x.
    refs.retain(|name, _| name.starts_with("refs/heads/"));
    refs
}

fn parse_refs(listing: &str) -> HashMap<String, CommitId> {
    let lines = listing.lines().filter_map(|line| line.split_once('\t'));
    lines
        .filter_map(|(id, name)| Some((name.to_owned(), CommitId::parse(id).ok()?)))
        .collect()
}
