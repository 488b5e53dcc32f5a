//! Handing refs to the remote, and what it says to that.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use crate::{Error, Git};
use branchyard_journal::AnsiFilter;
use branchyard_model::CommitId;

/// How long may be looked through what a push is to send.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a remote may say to a push.
const MOST_SAID: usize = 1024 * 1024;
/// What of a remote's own words is told on: lines, and characters.
const MOST_LINES: usize = 8;
const MOST_WORDS: usize = 2000;

/// One ref to push, by full names.
#[derive(Debug, Clone)]
pub struct Update {
    /// A commit or a full ref; `None` deletes.
    pub from: Option<String>,
    pub to: String,
    /// Only while the remote has exactly this there, and then by force.
    pub lease: Option<CommitId>,
}

/// Pushes all of it or nothing; `Err` in the inner result is the remote's no, in its words.
pub async fn push(git: &Git, dir: &Path, updates: &[Update]) -> Result<Result<(), String>, Error> {
    let leases = updates.iter().filter_map(|update| {
        let lease = update.lease.as_ref()?;
        Some(format!("--force-with-lease={}:{lease}", update.to))
    });
    let refspecs = updates.iter().map(|update| {
        let from = update.from.as_deref().unwrap_or_default();
        format!("{from}:{}", update.to)
    });
    let done = git
        .at(dir)
        .args([
            "push",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-recurse-submodules",
            "--no-signed",
        ])
        // Not every old remote can, and one ref alone does not need it.
        .args((updates.len() > 1).then_some("--atomic"))
        .args(leases)
        .args(["--end-of-options", "origin"])
        .args(refspecs)
        .remote(git.transfer_timeouts())
        .capture(MOST_SAID, |_| {})
        .await?;
    if done.status.success() {
        return Ok(Ok(()));
    }
    match rejections(&String::from_utf8_lossy(&done.stdout)) {
        none if none.is_empty() => Err(git.remote_error("push", &done)),
        mut some => {
            some.extend(words_of_remote(&done.stderr));
            Ok(Err(some.join("; ")))
        }
    }
}

/// The ids of all objects of these commits and tags that no branch of the remote has, as far as that is known here.
pub async fn objects_to_send(
    git: &Git,
    dir: &Path,
    tips: &[String],
) -> Result<HashSet<String>, Error> {
    let listed = git
        .at(dir)
        .read_only(PATIENCE)
        .args(["rev-list", "--objects"])
        .args(tips)
        .args(["--not", "--remotes"])
        .output()
        .await?;
    let listed = String::from_utf8_lossy(&listed);
    let ids = listed.lines().filter_map(|line| line.split(' ').next());
    Ok(ids.map(str::to_owned).collect())
}

/// What the other side itself said, which is where its hooks say why; the end of it, without colours.
fn words_of_remote(stderr: &[u8]) -> Option<String> {
    let (mut filter, mut plain) = (AnsiFilter::default(), Vec::new());
    filter.pass(stderr, &mut plain);
    let plain = String::from_utf8_lossy(&plain);
    let words = plain
        .split(['\n', '\r'])
        .filter_map(|line| line.strip_prefix("remote:"))
        .map(|line| line.replace(char::is_control, " ").trim().to_owned())
        .filter(|line| !line.is_empty() && !line.contains("% ("));
    let words = words.collect::<Vec<_>>();
    let words = words[words.len().saturating_sub(MOST_LINES)..].join("; ");
    let words: String = words.chars().take(MOST_WORDS).collect();
    (!words.is_empty()).then(|| format!("it says: {words}"))
}

/// What `git push --porcelain` says of refs that were not taken: `!<TAB><from>:<to><TAB><summary>`.
fn rejections(said: &str) -> Vec<String> {
    said.lines()
        .filter_map(|line| line.strip_prefix("!\t"))
        .map(|line| {
            let (refs, summary) = line.split_once('\t').unwrap_or((line, ""));
            let to = refs.rsplit(':').next().unwrap_or(refs);
            format!("{to} {summary}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remotes_no_is_read_from_the_porcelain_format() {
        let said = "To ../origin.git\n\
            =\trefs/heads/a:refs/heads/a\t[up to date]\n\
            !\t0123:refs/heads/b\t[rejected] (fetch first)\n\
            !\t:refs/heads/c\t[remote rejected] (pre-receive hook declined)\n\
            Done\n";
        assert_eq!(
            rejections(said),
            [
                "refs/heads/b [rejected] (fetch first)",
                "refs/heads/c [remote rejected] (pre-receive hook declined)"
            ]
        );
        assert!(rejections("*\ta:b\t[new branch]\nDone\n").is_empty());
    }

    #[test]
    fn the_remotes_own_words_are_told_without_colours_and_not_without_end() {
        let said = b"Enumerating objects: 3, done.\nremote: sign the \x1b[31mCLA\x1b[0m\x07   \nremote: \nTo x\n";
        assert_eq!(words_of_remote(said).unwrap(), "it says: sign the CLA");
        assert_eq!(words_of_remote(b"To x\n"), None);
        let long = "remote: 0123456789 0123456789\n".repeat(1000);
        assert!(words_of_remote(long.as_bytes()).unwrap().len() < 2 * MOST_WORDS);
    }
}
