//! What a bisect asks of history: which commits there are between two, and where two lines parted.

use std::path::PathBuf;
use std::time::Duration;

use super::{Error, Git, ObjectId, Repository, Store, object_id};
use branchyard_model::CommitId;

/// How long history may be walked.
const PATIENCE: Duration = Duration::from_secs(2 * 60);
/// What is shown of the first line of a message.
const MAX_SUBJECT: usize = 200;

/// A commit, and its parents: where only some paths count, the nearest ones that change these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedCommit {
    pub commit: CommitId,
    pub parents: Vec<CommitId>,
}

/// The commits that `bad` has and `good` has not, as `git rev-list` lists them: no parent before its child. With `paths`,
/// only those that change one of them. At most `most`, and one more where there are more.
pub async fn commits_between(
    git: &Git,
    store: &Store,
    (good, bad): (&CommitId, &CommitId),
    paths: &[PathBuf],
    most: usize,
) -> Result<Vec<LinkedCommit>, Error> {
    let command = git
        .at(store.path())
        .read_only(PATIENCE)
        .literal_paths()
        .args(["rev-list", "--topo-order", "--parents"])
        .arg(format!("--max-count={}", most.saturating_add(1)))
        .args([bad.to_string(), format!("^{good}")])
        .arg("--")
        .args(paths);
    let listed = command.output().await?;
    let listed = String::from_utf8_lossy(&listed);
    let lines = listed.lines().map(|line| {
        let ids = line.split(' ').map(CommitId::parse);
        let mut ids = ids.collect::<Result<Vec<_>, _>>()?.into_iter();
        let commit = ids.next();
        Ok(commit.map(|commit| LinkedCommit {
            commit,
            parents: ids.collect(),
        }))
    });
    lines.filter_map(Result::transpose).collect()
}

/// The commit where two lines of history parted; none where they have nothing in common.
pub fn merge_base(
    repo: &Repository,
    one: ObjectId,
    other: ObjectId,
) -> Result<Option<ObjectId>, Error> {
    match repo.git2().merge_base(one.git2(), other.git2()) {
        Ok(base) => Ok(Some(ObjectId::of(base))),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The first line of a commit's message.
pub fn subject(repo: &Repository, commit: &CommitId) -> Result<String, Error> {
    let commit = repo.git2().find_commit(object_id(commit)?.git2())?;
    let message = String::from_utf8_lossy(commit.message_bytes());
    let line = message.trim_start().lines().next().unwrap_or_default();
    let plain = line.chars().filter(|letter| !letter.is_control());
    Ok(plain.take(MAX_SUBJECT).collect())
}
