//! `add`: what the next commit is to contain.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changes::{lines, shown};
use super::named::is_tracked;
use super::verb::{Effect, Render, VerbEntry};
use super::withheld::{self, Withheld};
use super::{Change, Named, Verbosity, few, input, staged, submodule, unstaged, untracked};
use crate::{
    Error, GITLINK, Git, IgnoreRules, ObjectId, Repository, UntrackedKind, commit_id, files_of,
    open_at, submodules, untracked_entries, untracked_in,
};
use branchyard_model::{CommitId, ErrorKind, Problem};

pub const VERB: VerbEntry = VerbEntry {
    name: "add",
    title: "Stage changes",
    description: "Stages files for the next commit: `paths`, `all` changes, or with `update` those of tracked files. Ignored files are left out and told of, repositories within refused. `all` leaves out what looks like build output (`withheld`), unless `paths` names it.",
    effect: Effect::WRITES.repeatable(),
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Files and directories. One that was deleted is staged as deleted.
    pub paths: Vec<String>,
    /// All that changed, but for ignored files and what looks like build output.
    pub all: bool,
    /// Only files that git tracks already, in `paths` or everywhere.
    pub update: bool,
    /// Also files in `paths` that an ignore rule leaves out.
    pub force: bool,
    /// How much the answer tells.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// How many files the next commit would change.
    pub staged_files: usize,
    /// All that the next commit would change, whoever staged it.
    pub staged: Option<Vec<Change>>,
    /// Paths that were named and left out, for an ignore rule covers them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// New files that `all` left out, because `build_output` names them or they were created while a run was at
    /// work here. Name them in `paths` to stage them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// There are more of them than are listed: so many in all.
    pub withheld_in_all: Option<usize>,
    /// Changes to tracked files that are not staged.
    pub unstaged: Option<Vec<Change>>,
    /// Files that git does not know, whole directories as one.
    pub untracked: Option<Vec<String>>,
}

/// What is to be staged, once all that can be refused was.
#[derive(Debug, Clone)]
pub struct AddPlan {
    how: Vec<&'static str>,
    /// Where everything is to be staged: all but these.
    everything_but: Option<Vec<PathBuf>>,
    /// What is staged because it was named.
    paths: Vec<PathBuf>,
    ignored: Vec<String>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        let is_named = !self.paths.is_empty();
        if !is_named && !self.all && !self.update {
            return Err(Problem::unprocessable("paths", "nothing to stage is named")
                .help("give `paths`, `all: true` or `update: true`"));
        }
        if self.all && self.update {
            return Err(Problem::unprocessable(
                "update",
                "`all` and `update` exclude each other",
            ));
        }
        if self.force && !is_named {
            return Err(Problem::unprocessable(
                "force",
                "ignored files are staged only where they are named in `paths`",
            ));
        }
        Ok(())
    }

    /// Whether everything is to be staged that changed, for all of the workspace is meant and no more is said.
    pub fn is_everything(&self, paths: &[PathBuf]) -> bool {
        let named = Named::new(paths.to_vec());
        let is_asked = self.all || !paths.is_empty();
        is_asked && named.is_all() && !self.update && !self.force
    }
}

impl AddPlan {
    /// Of `paths`, which lie inside the worktree of `repo`, those that there are; with a refusal for what
    /// git would get wrong. Of everything, what `left_out` names stays out.
    pub fn new(
        repo: &Repository,
        request: &Request,
        paths: Vec<PathBuf>,
        left_out: Vec<PathBuf>,
    ) -> Result<Self, Error> {
        let Some(workdir) = files_of(repo) else {
            return Ok(Self::of(Vec::new()));
        };
        let is_everything = request.is_everything(&paths);
        let rules = IgnoreRules::of(repo)?;
        let index = repo.fresh_index()?;
        let (mut wanted, mut ignored, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for path in paths {
            if is_tracked(&index, &path) {
                wanted.push(path);
            } else if std::fs::symlink_metadata(workdir.join(&path)).is_err() {
                missing.push(shown(&path));
            } else if !request.force && rules.is_ignored(&path) {
                ignored.push(shown(&path));
            } else {
                wanted.push(path);
            }
        }
        if !missing.is_empty() {
            return Err(no_such_path(&missing).into());
        }
        let named = Named::new(wanted.clone());
        if !request.update && (request.all || !named.is_empty()) {
            let mut embedded = embedded(repo, &workdir, &named, request.force)?;
            let is_left_out = |path: &Path| left_out.iter().any(|out| path.starts_with(out));
            embedded.retain(|path| !is_left_out(Path::new(path)));
            if !embedded.is_empty() {
                return Err(embedded_repositories(&embedded).into());
            }
        }
        let mut how = Vec::new();
        how.extend(request.all.then_some("--all"));
        how.extend(request.update.then_some("--update"));
        how.extend(request.force.then_some("--force"));
        if is_everything {
            wanted.retain(|path| path != Path::new("."));
        }
        Ok(Self {
            how,
            everything_but: is_everything.then_some(left_out),
            paths: wanted,
            ignored,
        })
    }

    fn of(paths: Vec<PathBuf>) -> Self {
        Self {
            how: Vec::new(),
            everything_but: None,
            paths,
            ignored: Vec::new(),
        }
    }

    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Everything that was named turned out to be ignored.
    fn is_void(&self) -> bool {
        let is_named = !self.ignored.is_empty() || self.everything_but.is_some();
        self.paths.is_empty() && (is_named || self.how.is_empty())
    }
}

/// Stages what was planned, in the worktree at `dir`.
pub async fn add(git: &Git, dir: &Path, plan: &AddPlan) -> Result<(), Error> {
    // In its sandbox git does not see what is checked out there.
    if git.why_unconfined().is_none() {
        return stage(git, dir, plan).await;
    }
    let recorded = submodule_links(dir).await?;
    stage(git, dir, plan).await?;
    for (path, id) in submodule_links(dir).await? {
        if let Some(before) = recorded.get(&path).filter(|before| **before != id) {
            submodule::record(git, dir, &path, before).await?;
        }
    }
    Ok(())
}

/// The commits that the index has for submodules.
async fn submodule_links(dir: &Path) -> Result<BTreeMap<PathBuf, CommitId>, Error> {
    let dir = dir.to_owned();
    let read = move || {
        let index = open_at(&dir)?.fresh_index()?;
        let links = index.iter().filter(|entry| entry.mode == GITLINK);
        let links = links.map(|entry| {
            let path = PathBuf::from(OsStr::from_bytes(&entry.path));
            Ok((path, commit_id(ObjectId::of(entry.id))?))
        });
        links.collect()
    };
    tokio::task::spawn_blocking(read).await?
}

async fn stage(git: &Git, dir: &Path, plan: &AddPlan) -> Result<(), Error> {
    if let Some(left_out) = &plan.everything_but {
        let add = git.at(dir).args(["add", "--all"]);
        // Paths are taken literally here too, though each begins with what it is for.
        let add = add.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        add.input(input::all_but(left_out)?).output().await?;
    }
    if plan.is_void() {
        return Ok(());
    }
    let mut add = git
        .in_worktree(dir)
        .literal_paths()
        .arg("add")
        .args(&plan.how);
    if !plan.paths.is_empty() {
        add = add
            .args(["--pathspec-from-file=-", "--pathspec-file-nul"])
            .input(input::paths(&plan.paths)?);
    }
    add.output().await?;
    Ok(())
}

impl Added {
    pub fn of(
        repo: &Repository,
        verbosity: Verbosity,
        ignored: Vec<String>,
        withheld: Vec<Withheld>,
    ) -> Result<Self, Error> {
        let staged = staged(repo)?;
        let is_full = verbosity == Verbosity::Full;
        let (withheld, withheld_in_all) = withheld::listed(withheld);
        Ok(Self {
            staged_files: staged.len(),
            staged: (verbosity > Verbosity::Minimal).then_some(staged),
            ignored,
            withheld,
            withheld_in_all,
            unstaged: is_full.then(|| unstaged(repo)).transpose()?,
            untracked: is_full.then(|| untracked(repo)).transpose()?,
        })
    }
}

/// Repositories of their own among what `named` covers. Git would stage each as a submodule without an
/// address, which nobody who clones it could fill.
pub fn embedded(
    repo: &Repository,
    workdir: &Path,
    named: &Named,
    also_ignored: bool,
) -> Result<Vec<String>, Error> {
    let (modules, rules) = (submodules(repo)?, IgnoreRules::of(repo)?);
    let mut pending = untracked_entries(repo)?;
    let mut found = Vec::new();
    while let Some(item) = pending.pop() {
        let is_asked_for = named.covers(&item.path) || named.reaches_into(&item.path);
        if !is_asked_for
            || item.kind == UntrackedKind::File
            || modules.contains(&item.path)
            || (!also_ignored && rules.is_ignored(&item.path))
        {
            continue;
        }
        match item.kind {
            UntrackedKind::Repository => found.push(shown(&item.path)),
            _ => pending.extend(untracked_in(workdir, &item.path)?),
        }
    }
    found.sort();
    Ok(found)
}

pub fn embedded_repositories(found: &[String]) -> Problem {
    let detail = format!("these are repositories of their own: {}", few(found));
    Problem::new(ErrorKind::Conflict, "embedded_repository", detail)
        .field("paths")
        .help("name the other files in `paths`, list the repository in .gitignore, or move it out of the workspace")
}

/// Neither the workspace nor git has them.
pub fn no_such_path(missing: &[String]) -> Problem {
    let detail = format!("there is no {}", few(missing));
    Problem::new(ErrorKind::NotFound, "path_not_found", detail)
        .field("paths")
        .help("git_status names what changed, `ls` what there is")
}

impl Render for Added {
    fn text(&self) -> String {
        let mut text = match self.staged_files {
            0 => "nothing is staged".to_owned(),
            count => format!("{count} file(s) staged{}", lines(self.staged.as_deref())),
        };
        if !self.ignored.is_empty() {
            let ignored = self.ignored.join(", ");
            text.push_str(&format!("\nleft out, for they are ignored: {ignored}"));
        }
        for line in withheld::lines(&self.withheld, self.withheld_in_all) {
            text.push_str(&format!("\n{line}"));
        }
        text
    }
}
