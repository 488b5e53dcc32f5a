//! What a branch and the one that it is delivered to come to, made of trees alone: no file, index or ref is touched.
//!
//! Git merges, and not the library: the two find renames differently, and the workspace would then disagree with what
//! was pushed. For a pick that takes `--merge-base`, which git knows since 2.40; older ones are shown a commit whose
//! parent is that base.

use std::path::Path;

use git2::{Oid, Signature, Sort, Time};

use crate::signing::{NewCommit, Person, write_commit};
use crate::verbs::Verbosity;
use crate::verbs::integration::{How, at, base_of};
use crate::verbs::merge_preview::tried;
use crate::{Error, Git, ObjectId, Repository};
use branchyard_model::{ErrorKind, Problem};

/// As many commits are put on top of a branch by one call.
const MOST: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Combined {
    /// There is nothing to deliver.
    Contained,
    /// This commit has all of both.
    Commit(ObjectId),
    /// These files were changed by both.
    Conflicts(Vec<String>),
}

/// Where things are.
struct Delivery<'a> {
    git: &'a Git,
    /// The worktree, whose attributes count for a git that cannot read those of a tree.
    dir: &'a Path,
    store: &'a Path,
    signs: bool,
}

/// Brings `ours`, which is checked out at `dir`, to `target`.
pub async fn combine(
    git: &Git,
    (dir, store): (&Path, &Path),
    (target, ours): (ObjectId, ObjectId),
    how: How,
    message: &str,
) -> Result<Combined, Error> {
    let (target, ours) = (target.git2(), ours.git2());
    let base = at(dir, move |repo| base_of(repo, target, ours)).await?;
    let delivery = Delivery {
        git,
        dir,
        store,
        signs: git.is_to_sign(None)?,
    };
    match base {
        None => Err(unrelated().into()),
        Some(base) if base == ours => Ok(Combined::Contained),
        Some(base) if base == target => Ok(Combined::Commit(ObjectId::of(ours))),
        Some(_) if how == How::Rebase => delivery.rebase(target, ours).await,
        Some(_) => delivery.merge(target, ours, message).await,
    }
}

impl Delivery<'_> {
    async fn merge(&self, target: Oid, ours: Oid, message: &str) -> Result<Combined, Error> {
        let tree = match self.merged(target, ours).await? {
            Ok(tree) => tree,
            Err(conflicts) => return Ok(Combined::Conflicts(conflicts)),
        };
        let commit = NewCommit {
            tree,
            parents: vec![target, ours],
            author: None,
            committer: None,
            message: message.as_bytes().to_vec(),
        };
        let made = write_commit(self.git, self.store, commit, self.signs).await?;
        Ok(Combined::Commit(made))
    }

    /// Puts each commit on top of `target`; one that changes nothing there is left out.
    async fn rebase(&self, target: Oid, ours: Oid) -> Result<Combined, Error> {
        let mut tip = target;
        for commit in at(self.dir, move |repo| commits_to_replay(repo, target, ours)).await? {
            let stand_in = at(self.dir, move |repo| stand_in(repo, tip, commit)).await?;
            let tree = match self.merged(stand_in, commit).await? {
                Ok(tree) => tree,
                Err(conflicts) => return Ok(Combined::Conflicts(conflicts)),
            };
            let again = at(self.dir, move |repo| again(repo, commit, tip, tree)).await?;
            if let Some(again) = again {
                let made = write_commit(self.git, self.store, again, self.signs).await?;
                tip = made.git2();
            }
        }
        Ok(match tip == target {
            true => Combined::Contained,
            false => Combined::Commit(ObjectId::of(tip)),
        })
    }

    /// The tree of both, or the paths in conflict.
    async fn merged(&self, into: Oid, from: Oid) -> Result<Result<Oid, Vec<String>>, Error> {
        let command = self.git.in_worktree(self.dir);
        let tried = tried(command, (into, from), Verbosity::Minimal).await?;
        match tried.tree.filter(|_| tried.is_clean) {
            Some(tree) => Ok(Ok(Oid::from_str(&tree)?)),
            None => Ok(Err(tried
                .conflicts
                .into_iter()
                .map(|found| found.path)
                .collect())),
        }
    }
}

/// The commits that `target` lacks, the oldest first, without merges, as a rebase has them. Blocks.
fn commits_to_replay(repo: &Repository, target: Oid, ours: Oid) -> Result<Vec<Oid>, Error> {
    let mut walk = repo.git2().revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    walk.push(ours)?;
    walk.hide(target)?;
    let mut found = Vec::new();
    for id in walk {
        let id = id?;
        if repo.git2().find_commit(id)?.parent_count() < 2 {
            found.push(id);
        }
        if found.len() > MOST {
            let detail = format!("there are more than {MOST} commits to put on top of it");
            return Err(Problem::unprocessable("how", detail)
                .help("deliver them with how merge, or rebase them here first (git_rebase)")
                .into());
        }
    }
    Ok(found)
}

/// A commit with the files of `tip` and the parent of `commit`: merged, the two have that parent as their base. It is
/// the same each time, and no ref ever has it. Blocks.
fn stand_in(repo: &Repository, tip: Oid, commit: Oid) -> Result<Oid, Error> {
    let repo = repo.git2();
    let tree = repo.find_commit(tip)?.tree()?;
    let parents: Vec<_> = repo.find_commit(commit)?.parents().collect();
    let parents: Vec<_> = parents.iter().collect();
    let nobody = Signature::new("branchyard", "branchyard", &Time::new(0, 0))?;
    Ok(repo.commit(None, &nobody, &nobody, "", &tree, &parents)?)
}

/// The commit once more, on top of `tip`; none where it changes nothing there. Blocks.
fn again(repo: &Repository, commit: Oid, tip: Oid, tree: Oid) -> Result<Option<NewCommit>, Error> {
    if repo.git2().find_commit(tip)?.tree_id() == tree {
        return Ok(None);
    }
    let commit = repo.git2().find_commit(commit)?;
    Ok(Some(NewCommit {
        tree,
        parents: vec![tip],
        author: Some(Person::of(&commit.author())),
        committer: None,
        message: commit.message_raw_bytes().to_vec(),
    }))
}

fn unrelated() -> Problem {
    let detail = "it has no commit in common with this branch";
    Problem::new(ErrorKind::Conflict, "unrelated_histories", detail)
        .field("into")
        .help("git_merge with allow_unrelated joins two histories here first")
}
