//! Finding the differences. Nothing is changed here.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Finding, Kind};
use crate::record::Record;
use crate::repos::Repo;
use crate::scratch::is_scratch;
use crate::{Error, Workspaces};
use branchyard_db as database;
use branchyard_git::{self as git, BrokenRef, Depth, Inspection, Lock, Worktree, WorktreeDamage};
use branchyard_model::{BranchName, RepoName};
use branchyard_process::Presence;
use branchyard_runtime::disk::Quarantine;

/// Enough refs to recognise what is meant.
const EXAMPLES: usize = 5;

/// How much is looked at.
#[derive(Debug, Clone)]
pub struct RepairScope {
    pub depth: Depth,
    /// This workspace alone, beside what all share.
    pub only: Option<BranchName>,
}

impl RepairScope {
    /// Everything, as closely as can be done for hundreds of workspaces within a moment.
    pub fn quick() -> Self {
        Self {
            depth: Depth::Quick,
            only: None,
        }
    }

    /// Everything.
    pub fn whole() -> Self {
        Self {
            depth: Depth::Whole,
            only: None,
        }
    }

    /// All that a request for `branch` can meet.
    pub fn of(branch: &BranchName) -> Self {
        Self {
            depth: Depth::Whole,
            only: Some(branch.clone()),
        }
    }

    fn includes(&self, dir: &str) -> bool {
        self.only
            .as_ref()
            .is_none_or(|branch| branch.dir().as_str() == dir)
    }
}

/// What differs in `repo` from what should be. Workspaces that are `being_changed` by us right now are
/// passed over: nothing about them is as it will be.
pub(super) fn look_through(
    repo: &Repo,
    scope: &RepairScope,
    being_changed: impl Fn(&BranchName) -> bool,
) -> Result<Vec<Finding>, Error> {
    let looker = Looker { repo, scope };
    if !repo.is_cloned() {
        return Ok(looker.without_store());
    }
    let inspection = Inspection::of(repo.store())?;
    let mut found = looker.refs(inspection.broken_refs()?);
    found.extend(looker.locks()?);
    let known = Branches::of(&inspection);
    let mut registered = BTreeSet::new();
    for (dir, admin) in entries(&repo.store().path().join("worktrees")) {
        // Whatever is wrong with one, its next use makes it anew.
        if is_scratch(&dir) {
            continue;
        }
        if scope.includes(&dir) && !known.of_dir(&dir).is_some_and(|it| being_changed(&it)) {
            found.extend(looker.registered(&inspection, &known, &dir, &admin));
        }
        registered.insert(dir);
    }
    for (dir, path) in entries(repo.home()) {
        let is_ours = dir == ".git" || registered.contains(&dir) || is_scratch(&dir);
        if scope.includes(&dir)
            && !is_ours
            && !known.of_dir(&dir).is_some_and(|it| being_changed(&it))
        {
            found.push(looker.unregistered(&known, &dir, path));
        }
    }
    Ok(found)
}

/// What differs in `repo` from what should be. Blocks.
pub fn look(
    workspaces: &Workspaces,
    repo: &Repo,
    scope: &RepairScope,
) -> Result<Vec<Finding>, Error> {
    look_through(repo, scope, |branch| {
        workspaces
            .held(repo.name(), branch)
            .is_some_and(|workspace| workspace.files().try_share().is_none())
    })
}

/// What stands in the quarantine, to be told.
pub fn look_into(quarantine: &Quarantine, names: &[RepoName]) -> Result<Vec<Finding>, Error> {
    let contents = quarantine
        .contents()
        .map_err(Error::io("look into the quarantine"))?;
    let found = contents.into_iter().filter_map(|(path, note)| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let owner = names
            .iter()
            .filter(|repo| name.starts_with(repo.dir().as_str()))
            .max_by_key(|repo| repo.dir().as_str().len())?;
        let why = note.map_or_else(
            || "nothing says what it is".to_owned(),
            |note| format!("{} (was {})", note.why, note.was.display()),
        );
        Some(Finding {
            repo: Some(owner.clone()),
            branch: None,
            path,
            code: "quarantined".into(),
            detail: format!(
                "kept in the quarantine: {why}; delete it when it is not needed any more"
            ),
            mend: None,
            kind: Kind::LeftAlone,
        })
    });
    Ok(found.collect())
}

/// Databases of the yard that could not be used, and are kept in `state`.
pub fn look_for_databases(state: &Path) -> Result<Vec<Finding>, Error> {
    let kept = database::kept_aside(state).map_err(Error::io("look for databases"))?;
    let found = kept.into_iter().map(|path| Finding {
            repo: None,
            branch: None,
            path,
            code: "database_kept_aside".into(),
            detail: "this database could not be used, and another took its place; delete it when it is not needed any more"
                .to_owned(),
            mend: None,
            kind: Kind::LeftAlone,
        });
    Ok(found.collect())
}

struct Looker<'a> {
    repo: &'a Repo,
    scope: &'a RepairScope,
}

impl Looker<'_> {
    fn finding(
        &self,
        kind: Kind,
        branch: Option<BranchName>,
        path: PathBuf,
        detail: String,
    ) -> Finding {
        Finding {
            repo: Some(self.repo.name().clone()),
            branch,
            path,
            code: kind.code().into(),
            detail,
            mend: kind.mend().map(Into::into),
            kind,
        }
    }

    fn without_store(&self) -> Vec<Finding> {
        let store = self.repo.store().path();
        let mut left = entries(self.repo.home());
        left.retain(|(dir, _)| !is_scratch(dir));
        let (what, is_there) = match store.exists() {
            true => ("the store is not whole", true),
            false => ("the store is gone", false),
        };
        if left.is_empty() && !is_there {
            return Vec::new();
        }
        let detail = format!("{what}, and there is something beside it");
        vec![self.finding(Kind::StoreGone, None, store.to_owned(), detail)]
    }

    fn refs(&self, broken: Vec<BrokenRef>) -> Vec<Finding> {
        let (alone, dangling): (Vec<_>, Vec<_>) =
            broken.into_iter().partition(BrokenRef::is_mended_alone);
        let store = self.repo.store().path();
        let mut found: Vec<_> = alone
            .into_iter()
            .map(|broken| {
                let (path, detail) = (store.join(&broken.name), broken.detail());
                self.finding(Kind::Ref(broken), None, path, detail)
            })
            .collect();
        if !dangling.is_empty() {
            let shown: Vec<_> = dangling
                .iter()
                .take(EXAMPLES)
                .map(BrokenRef::detail)
                .collect();
            let more = match dangling.len().checked_sub(EXAMPLES) {
                Some(more) if more > 0 => format!(" and {more} more"),
                _ => String::new(),
            };
            let detail = format!("objects are gone: {}{more}", shown.join("; "));
            let path = store.join("objects");
            found.push(self.finding(Kind::ObjectsGone, None, path, detail));
        }
        found
    }

    fn locks(&self) -> Result<Vec<Finding>, Error> {
        let locks = git::all_locks(self.repo.store())?;
        if locks.is_empty() {
            return Ok(Vec::new());
        }
        let presence = Presence::below(self.repo.home());
        let stale = locks
            .into_iter()
            .filter(|lock| !lock.is_held(&presence) && !is_of_scratch(lock))
            .map(|lock| {
                let path = lock.path().to_owned();
                let detail = "a git that is gone left its lock".to_owned();
                self.finding(Kind::Lock(lock), None, path, detail)
            });
        Ok(stale.collect())
    }

    fn registered(
        &self,
        inspection: &Inspection<'_>,
        known: &Branches,
        dir: &str,
        admin: &Path,
    ) -> Vec<Finding> {
        let record = Record::load(admin).map(|record| record.branch);
        let branch = record
            .clone()
            .filter(|branch| branch.dir().as_str() == dir)
            .or_else(|| self.scope.only.clone())
            .or_else(|| known.of_dir(dir));
        let Some(branch) = branch else {
            let detail = "git has a registration whose branch nobody knows".to_owned();
            return vec![self.finding(Kind::LeftAlone, None, admin.to_owned(), detail)];
        };
        let path = self.repo.home().join(dir);
        let worktree = Worktree::new(self.repo.store(), path.clone(), branch.clone());
        let finding = |kind, detail: &str| {
            self.finding(kind, Some(branch.clone()), path.clone(), detail.to_owned())
        };
        if worktree.is_preparing() {
            return vec![finding(Kind::HalfMade, "the workspace was never completed")];
        }
        if worktree.is_removing() {
            return vec![finding(Kind::Removing, "a removal was cut off")];
        }
        if worktree.is_replaced() {
            let detail = "a link or a file stands where the workspace's directory belongs; left alone until it is \
                          moved away";
            let mut replaced = finding(Kind::LeftAlone, detail);
            replaced.code = "replaced".into();
            return vec![replaced];
        }
        if !worktree.has_directory() {
            return vec![finding(
                Kind::DirectoryGone,
                "the workspace's directory is gone",
            )];
        }
        let mut found = Vec::new();
        if record.as_ref() != Some(&branch) {
            found.push(finding(Kind::RecordGone, "the workspace's record is gone"));
        }
        for damage in inspection.damage_of(&worktree, self.scope.depth) {
            let detail = match &damage {
                WorktreeDamage::Link(names) => {
                    format!(
                        "git's own files are not as they should be: {}",
                        names.join(", ")
                    )
                }
                WorktreeDamage::Head(head) => format!("HEAD leads nowhere: {head:?}"),
                WorktreeDamage::Index(how) => format!("the index cannot be read: {how}"),
            };
            found.push(finding(Kind::Damaged(damage), &detail));
        }
        found
    }

    fn unregistered(&self, known: &Branches, dir: &str, path: PathBuf) -> Finding {
        let branch = self.scope.only.clone().or_else(|| known.of_dir(dir));
        match (git::claims_registration(self.repo.store(), &path), branch) {
            (true, Some(branch)) => {
                let detail = "git does not know this workspace any more".to_owned();
                self.finding(Kind::Unregistered, Some(branch), path, detail)
            }
            (true, None) => {
                let detail = "git does not know this workspace any more, and nobody its branch";
                self.finding(Kind::Unknown, None, path, detail.to_owned())
            }
            (false, _) => {
                let detail = "not made by the yard; left alone".to_owned();
                let mut finding = self.finding(Kind::LeftAlone, None, path, detail);
                finding.code = "stranger".into();
                finding
            }
        }
    }
}

/// The branches that are known, by the directory of their workspace.
struct Branches(HashMap<String, BranchName>);

impl Branches {
    fn of(inspection: &Inspection<'_>) -> Self {
        let names = inspection.branches().filter_map(|name| {
            let branch = BranchName::parse(name).ok()?;
            Some((branch.dir().as_str().to_owned(), branch))
        });
        Self(names.collect())
    }

    /// The branch whose workspace this is; a plain name stands for itself.
    fn of_dir(&self, dir: &str) -> Option<BranchName> {
        let known = self.0.get(dir).cloned();
        known.or_else(|| {
            BranchName::parse(dir)
                .ok()
                .filter(|branch| branch.dir().as_str() == dir)
        })
    }
}

/// Whether it goes with the next use of a scratch worktree, or is that one's own.
fn is_of_scratch(lock: &Lock) -> bool {
    let mut above = lock.path().components();
    above.any(|part| part.as_os_str().to_str().is_some_and(is_scratch))
}

/// The names and paths in a directory, sorted; none where there is no such directory.
fn entries(dir: &Path) -> Vec<(String, PathBuf)> {
    let mut found: Vec<_> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| {
            let name: OsString = entry.file_name();
            (name.to_string_lossy().into_owned(), entry.path())
        })
        .collect();
    found.sort();
    found
}
