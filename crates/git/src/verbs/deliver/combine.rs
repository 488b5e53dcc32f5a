//! What a branch and the one that it is delivered to come to, made of trees alone: no file, index or ref of anybody's is
//! touched.
//!
//! Git merges, and not the library: the two find renames differently, and the workspace would then disagree with what
//! was pushed. For a pick that takes `--merge-base`, which git knows since 2.40; older ones are shown a commit whose
//! parent is that base.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use git2::{ObjectType, Oid, Signature, TreeWalkMode, TreeWalkResult};
use tempfile::TempDir;

use crate::author::author;
use crate::verbs::Verbosity;
use crate::verbs::integration::{How, at, base_of};
use crate::verbs::merge_preview::tried;
use crate::version::reads_attributes_of_trees;
use crate::{Error, Git, ObjectId, Repository, signed};
use branchyard_model::{ErrorKind, Problem};

/// As many commits are put on top of a branch by one call.
const MOST: usize = 200;
const PATIENCE: Duration = Duration::from_secs(60);
const ATTRIBUTES: &[u8] = b".gitattributes";
/// Of a mode: what of it is the type, and that of a file.
const TYPE: i32 = 0o170000;
const REGULAR: i32 = 0o100000;
const WRITE: &str = "write down the attributes of a branch";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Combined {
    /// There is nothing to deliver.
    Contained,
    /// This commit has all of both.
    Commit(ObjectId),
    /// These files were changed by both.
    Conflicts(Vec<String>),
}

struct Delivery<'a> {
    git: &'a Git,
    store: &'a Path,
    /// A directory with the target's attributes and nothing else, for a git that cannot read them from a tree.
    stage: Option<TempDir>,
    signs: bool,
}

/// Brings `ours` to `target`, in the repository at `store`.
pub async fn combine(
    git: &Git,
    store: &Path,
    (target, ours): (ObjectId, ObjectId),
    how: How,
    message: &str,
) -> Result<Combined, Error> {
    let (target, ours) = (target.git2(), ours.git2());
    match at(store, move |repo| base_of(repo, target, ours)).await? {
        None => return Err(unrelated().into()),
        Some(base) if base == ours => return Ok(Combined::Contained),
        Some(base) if base == target => return Ok(Combined::Commit(ObjectId::of(ours))),
        Some(_) => {}
    }
    let delivery = Delivery {
        git,
        store,
        stage: staged(git, store, target).await?,
        signs: git.is_to_sign(None)?,
    };
    match how {
        How::Rebase => delivery.rebase(target, ours).await,
        How::Merge => delivery.merge(target, ours, message).await,
    }
}

/// The attributes of `target` for a git that would else take those of some files.
async fn staged(git: &Git, store: &Path, target: Oid) -> Result<Option<TempDir>, Error> {
    if reads_attributes_of_trees(git).await? {
        return Ok(None);
    }
    at(store, move |repo| {
        let stage = tempfile::Builder::new().prefix("branchyard-").tempdir();
        let stage = stage.map_err(Error::io(WRITE))?;
        write_attributes(repo, target, stage.path())?;
        Ok(Some(stage))
    })
    .await
}

/// Blocks.
fn write_attributes(repo: &Repository, target: Oid, stage: &Path) -> Result<(), Error> {
    let mut found = Vec::new();
    let tree = repo.git2().find_commit(target)?.tree()?;
    tree.walk(TreeWalkMode::PreOrder, |dir, entry| {
        if entry.name_bytes() == ATTRIBUTES && entry.filemode() & TYPE == REGULAR {
            found.push((PathBuf::from(dir), entry.id()));
        }
        TreeWalkResult::Ok
    })?;
    for (dir, id) in found {
        // A tree can be made that names what no worktree has.
        let is_plain =
            |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
        if !dir.components().all(is_plain) {
            continue;
        }
        let blob = repo.git2().find_blob(id)?;
        let dir = stage.join(dir);
        fs::create_dir_all(&dir).map_err(Error::io(WRITE))?;
        let file = dir.join(OsStr::from_bytes(ATTRIBUTES));
        fs::write(file, blob.content()).map_err(Error::io(WRITE))?;
    }
    Ok(())
}

impl Delivery<'_> {
    async fn merge(&self, target: Oid, ours: Oid, message: &str) -> Result<Combined, Error> {
        let tree = match self.merged(target, ours).await? {
            Ok(tree) => tree,
            Err(conflicts) => return Ok(Combined::Conflicts(conflicts)),
        };
        let (author, own, message) = (self.author_line()?, self.own_line()?, message.to_owned());
        let made = at(self.store, move |repo| {
            let head = format!(
                "tree {tree}\nparent {target}\nparent {ours}\nauthor {author}\ncommitter {own}\n\n"
            );
            write(
                repo,
                &[head.as_bytes(), message.trim_end().as_bytes(), b"\n"].concat(),
            )
        });
        let made = made.await?;
        Ok(Combined::Commit(self.signed(made).await?))
    }

    /// Puts each commit on top of `target`; one that changes nothing there is left out.
    async fn rebase(&self, target: Oid, ours: Oid) -> Result<Combined, Error> {
        let mut tip = target;
        for commit in self.commits_to_replay(target, ours).await? {
            let stand_in = at(self.store, move |repo| stand_in(repo, tip, commit)).await?;
            let tree = match self.merged(stand_in, commit).await? {
                Ok(tree) => tree,
                Err(conflicts) => return Ok(Combined::Conflicts(conflicts)),
            };
            let own = self.own_line()?;
            let again = at(self.store, move |repo| {
                again(repo, commit, (tip, tree), &own)
            });
            if let Some(again) = again.await? {
                tip = self.signed(again).await?.git2();
            }
        }
        Ok(match tip == target {
            true => Combined::Contained,
            false => Combined::Commit(ObjectId::of(tip)),
        })
    }

    /// The commits that `target` lacks, the oldest first, but for those whose changes it has already.
    async fn commits_to_replay(&self, target: Oid, ours: Oid) -> Result<Vec<Oid>, Error> {
        let command = self.git.at(self.store).read_only(PATIENCE);
        let listed = command
            .args(["rev-list", "--reverse", "--topo-order", "--parents"])
            .args(["--right-only", "--cherry-pick"])
            .arg(format!("{target}...{ours}"));
        let listed = listed.output().await?;
        let listed = String::from_utf8_lossy(&listed);
        let mut commits = Vec::new();
        for line in listed.lines() {
            let ids: Vec<_> = line.split(' ').collect();
            // What was done by hand in a merge would be lost without a word.
            if ids.len() > 2 {
                let detail = format!(
                    "{} is a merge, which cannot be put on top of another branch",
                    ids[0]
                );
                return Err(Problem::unprocessable("how", detail)
                    .help("deliver with how merge, or make one line of it here first (git_rebase)")
                    .into());
            }
            commits.push(Oid::from_str(ids[0])?);
        }
        if commits.len() > MOST {
            let detail = format!("there are more than {MOST} commits to put on top of it");
            return Err(Problem::unprocessable("how", detail)
                .help("deliver them with how merge, or rebase them here first (git_rebase)")
                .into());
        }
        Ok(commits)
    }

    /// The tree of both, or the paths in conflict.
    async fn merged(&self, into: Oid, from: Oid) -> Result<Result<Oid, Vec<String>>, Error> {
        let command = match &self.stage {
            None => self.git.at(self.store),
            Some(stage) => {
                let command = self.git.at(stage.path());
                let command = command.env("GIT_DIR", self.store.to_string_lossy());
                command.env("GIT_WORK_TREE", stage.path().to_string_lossy())
            }
        };
        let tried = tried(command, (into, from), Verbosity::Minimal).await?;
        match tried.tree.filter(|_| tried.is_clean) {
            Some(tree) => Ok(Ok(Oid::from_str(&tree)?)),
            None => {
                let paths = tried.conflicts.into_iter().map(|found| found.path);
                Ok(Err(paths.collect()))
            }
        }
    }

    /// The daemon's own identity, now, as a commit has it.
    fn own_line(&self) -> Result<String, Error> {
        let settings = self.git.settings();
        line_of(&settings.user_name, &settings.user_email)
    }

    /// The same of the one whose commit it is.
    fn author_line(&self) -> Result<String, Error> {
        match author() {
            Some(author) => line_of(author.name(), author.email()),
            None => self.own_line(),
        }
    }

    async fn signed(&self, made: ObjectId) -> Result<ObjectId, Error> {
        match self.signs {
            true => signed(self.git, self.store, made).await,
            false => Ok(made),
        }
    }
}

fn line_of(name: &str, email: &str) -> Result<String, Error> {
    let now = Signature::now(name, email)?;
    Ok(format!("{now} {} +0000", now.when().seconds()))
}

/// A commit with the files of `tip` and the parent of `commit`: merged, the two have that parent as their base. It is
/// the same each time, and no ref ever has it. As old as `commit`, or git would walk all of history for the base. Blocks.
fn stand_in(repo: &Repository, tip: Oid, commit: Oid) -> Result<Oid, Error> {
    let repo = repo.git2();
    let tree = repo.find_commit(tip)?.tree()?;
    let commit = repo.find_commit(commit)?;
    let parents: Vec<_> = commit.parents().collect();
    let parents: Vec<_> = parents.iter().collect();
    let daemon = Signature::new("branchyard", "branchyard", &commit.time())?;
    Ok(repo.commit(None, &daemon, &daemon, "", &tree, &parents)?)
}

/// The commit once more with this tree, on top of `tip`: its author, encoding and message byte for byte. None where it
/// changes nothing there. Blocks.
fn again(
    repo: &Repository,
    commit: Oid,
    (tip, tree): (Oid, Oid),
    own: &str,
) -> Result<Option<ObjectId>, Error> {
    if repo.git2().find_commit(tip)?.tree_id() == tree {
        return Ok(None);
    }
    let commit = repo.git2().find_commit(commit)?;
    let line = |key: &[u8]| {
        let lines = commit.raw_header_bytes().split(|byte| *byte == b'\n');
        lines
            .into_iter()
            .find(|line| line.starts_with(key))
            .map(<[u8]>::to_vec)
    };
    let mut text = format!("tree {tree}\nparent {tip}\n").into_bytes();
    for line in [
        line(b"author "),
        Some(format!("committer {own}").into_bytes()),
        line(b"encoding "),
    ] {
        text.extend(line.iter().flatten());
        text.extend(line.is_some().then_some(b'\n'));
    }
    text.push(b'\n');
    text.extend(commit.message_raw_bytes());
    write(repo, &text).map(Some)
}

fn write(repo: &Repository, commit: &[u8]) -> Result<ObjectId, Error> {
    let made = repo.git2().odb()?.write(ObjectType::Commit, commit)?;
    Ok(ObjectId::of(made))
}

fn unrelated() -> Problem {
    let detail = "it has no commit in common with this branch";
    Problem::new(ErrorKind::Conflict, "unrelated_histories", detail)
        .field("into")
        .help("git_merge with allow_unrelated joins two histories here first")
}
