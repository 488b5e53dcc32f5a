//! Snapshots: the files of a worktree as a commit beside its branch. Neither a file, nor the index, nor a ref of the branch
//! is touched.

use git2::Signature;

use crate::refs::{delete_ref, names_under, write_ref};
use crate::verbs::stash::{Changes, tree_on_index};
use crate::{Error, Git, ObjectId, Repository, Worktree};
use branchyard_model::PipelineId;

const PREFIX: &str = "refs/branchyard/snapshots/";

/// What a snapshot is called in the repository, so that git keeps it.
fn name(id: PipelineId) -> String {
    format!("{PREFIX}{id}")
}

/// The commit of a pipeline's snapshot: HEAD's own where nothing has changed. The caller holds the registry lock.
pub async fn snapshot(
    git: &Git,
    worktree: &Worktree,
    changes: &Changes,
    id: PipelineId,
) -> Result<ObjectId, Error> {
    let paths: Vec<_> = changes
        .tracked
        .iter()
        .chain(&changes.new)
        .cloned()
        .collect();
    let tree = tree_on_index(git, worktree, &paths).await?;
    let (worktree, head) = (worktree.clone(), changes.head);
    let written = tokio::task::spawn_blocking(move || {
        let repo = worktree.open()?;
        let on = repo.git2().find_commit(head.git2())?;
        if on.tree_id() == tree {
            return Ok(head);
        }
        // By its time the same files on the same commit are the same snapshot.
        let who = Signature::new("Branchyard", "branchyard@localhost", &on.time())?;
        let tree = repo.git2().find_tree(tree)?;
        let text = format!("Snapshot of {}\n", worktree.branch());
        let made = repo.git2().commit(None, &who, &who, &text, &tree, &[&on])?;
        write_ref(&repo, &name(id), made)?;
        Ok(ObjectId::of(made))
    });
    written.await?
}

/// Lets git drop the snapshot of a pipeline, if there is one.
pub fn forget_snapshot(store: &Repository, id: PipelineId) -> Result<(), Error> {
    delete_ref(store, &name(id))
}

/// The pipelines that have a snapshot.
pub fn snapshots(store: &Repository) -> Result<Vec<PipelineId>, Error> {
    let names = names_under(store, PREFIX)?.into_iter();
    Ok(names
        .filter_map(|name| PipelineId::parse(&name).ok())
        .collect())
}
