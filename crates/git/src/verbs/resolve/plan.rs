//! What has to be written and staged for a choice, found out before anything is touched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::{IndexConflict, ObjectType, Oid};

use super::super::changes::shown;
use super::super::conflicts::{Read, Standing, Which, Working, has_markers, path_of, sides};
use super::super::integration::{command, left_by_git};
use crate::{Error, GITLINK, Git, Repository, files_of};
use branchyard_model::{ErrorKind, Problem};

/// As many paths are given to one command.
const AT_ONCE: usize = 200;
const LINK: u32 = 0o120000;
const EXECUTABLE: u32 = 0o100;
/// Of a larger file it is not known whether somebody edited it, nor whether markers are left in it.
const LARGEST: u64 = 64 * 1024 * 1024;

#[derive(Debug, Clone)]
pub enum Chosen {
    Side(Which),
    Delete,
    File,
    Content(Vec<u8>),
}

#[derive(Debug, Clone)]
struct Written {
    path: PathBuf,
    content: Vec<u8>,
    executable: bool,
}

#[derive(Debug, Default)]
pub struct Plan {
    /// Files that are written as a stage has them, by the order of [`Which`].
    sides: [Vec<PathBuf>; 3],
    removed: Vec<PathBuf>,
    content: Option<Written>,
    /// Files that are staged as they are.
    as_is: Vec<PathBuf>,
    submodules: Vec<(PathBuf, Oid)>,
}

impl Plan {
    /// The files that go, or are written anew. Blocks.
    pub fn replaced(&self, workdir: &Path) -> Result<Vec<PathBuf>, Error> {
        let working = Working::open(workdir)?;
        let mut replaced = Vec::new();
        let written = self.sides.iter().flatten().chain(&self.removed);
        for path in written.chain(self.content.as_ref().map(|file| &file.path)) {
            if working.standing(path)? == Standing::File {
                replaced.push(path.clone());
            }
        }
        Ok(replaced)
    }

    /// What to do for `paths`, or for all conflicts where none are named. Blocks.
    pub fn new(
        repo: &Repository,
        paths: Option<&[PathBuf]>,
        chosen: &Chosen,
        allow_markers: bool,
    ) -> Result<Self, Error> {
        let mut conflicts = BTreeMap::new();
        for conflict in repo.git2().index()?.conflicts()? {
            let conflict = conflict?;
            conflicts.extend(path_of(&conflict).map(|path| (path, conflict)));
        }
        if conflicts.is_empty() {
            return Err(super::no_conflicts().into());
        }
        let all: Vec<PathBuf> = conflicts.keys().cloned().collect();
        let Some(workdir) = files_of(repo) else {
            return Err(super::no_conflicts().into());
        };
        let working = Working::open(&workdir)?;
        let mut plan = Self::default();
        for path in paths.unwrap_or(&all) {
            let conflict = conflicts.get(path).ok_or_else(|| not_conflicted(path))?;
            plan.add(&working, path, conflict, chosen, allow_markers)?;
        }
        Ok(plan)
    }

    fn add(
        &mut self,
        working: &Working,
        path: &Path,
        conflict: &IndexConflict,
        chosen: &Chosen,
        allow_markers: bool,
    ) -> Result<(), Error> {
        let entries = sides(conflict);
        let is_submodule = entries
            .iter()
            .any(|(_, entry)| entry.is_some_and(|entry| entry.mode == GITLINK));
        let standing = working.standing(path)?;
        let place = path.to_owned();
        match chosen {
            Chosen::Delete => self.removed.push(place),
            Chosen::Side(which) => {
                let entry = entries.into_iter().find(|(side, _)| side == which);
                match entry.and_then(|(_, entry)| entry) {
                    None => self.removed.push(place),
                    Some(entry) if entry.mode == GITLINK => {
                        self.submodules.push((place, entry.id));
                    }
                    Some(_) if standing == Standing::Other => return Err(blocked(path).into()),
                    Some(_) => self.sides[*which as usize].push(place),
                }
            }
            _ if standing == Standing::Other && !is_submodule => return Err(blocked(path).into()),
            Chosen::File => {
                if !allow_markers
                    && let Read::Whole(text) = working.read(path, LARGEST)
                    && has_markers(&text)
                {
                    return Err(markers("take", path).into());
                }
                self.as_is.push(place);
            }
            Chosen::Content(_) if is_submodule => {
                let detail = format!("{} is a submodule, which has no content", path.display());
                return Err(Problem::unprocessable("content", detail)
                    .help("take ours or theirs")
                    .into());
            }
            Chosen::Content(content) => {
                if !allow_markers && has_markers(content) {
                    return Err(markers("content", path).into());
                }
                let executable = entries
                    .into_iter()
                    .rev()
                    .filter_map(|(_, entry)| entry)
                    .filter(|entry| entry.mode != LINK)
                    .any(|entry| entry.mode & EXECUTABLE != 0);
                self.content = Some(Written {
                    path: place,
                    content: content.clone(),
                    executable,
                });
            }
        }
        Ok(())
    }

    /// Paths whose files are staged as they are once all is written.
    fn staged(&self) -> Vec<PathBuf> {
        let mut staged = self.as_is.clone();
        staged.extend(self.sides.iter().flatten().cloned());
        staged.extend(self.content.iter().map(|written| written.path.clone()));
        staged
    }

    /// Everything that it resolves.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = self.staged();
        paths.extend(self.removed.iter().cloned());
        paths.extend(self.submodules.iter().map(|(path, _)| path.clone()));
        paths.sort();
        paths.iter().map(|path| shown(path)).collect()
    }

    /// Writes the files and stages them. The index comes last, so that whatever is cut off is still in
    /// conflict. What is there has been taken away by then: a file that is there was written since, and stays.
    pub async fn carry_out(&self, git: &Git, dir: &Path) -> Result<(), Error> {
        if let Some(file) = self.content.clone() {
            let workdir = dir.to_owned();
            tokio::task::spawn_blocking(move || {
                Working::open(&workdir)?.write(&file.path, &file.content, file.executable)
            })
            .await??;
        }
        for (side, paths) in self.sides.iter().enumerate() {
            let stage = format!("--stage={}", side + 1);
            for paths in paths.chunks(AT_ONCE) {
                let checkout = command(git, dir).args(["checkout-index", &stage, "--"]);
                checkout.args(paths).output().await?;
            }
        }
        let update = || command(git, dir).arg("update-index");
        for paths in self.staged().chunks(AT_ONCE) {
            let staged = update().args(["--add", "--remove", "--"]).args(paths);
            staged.output().await?;
        }
        for paths in self.removed.chunks(AT_ONCE) {
            let removed = update().args(["--force-remove", "--"]).args(paths);
            removed.output().await?;
        }
        for (path, id) in &self.submodules {
            let mut entry = std::ffi::OsString::from(format!("160000,{id},"));
            entry.push(path);
            let entry = update().args(["--add", "--cacheinfo"]).arg(entry);
            entry.output().await?;
        }
        Ok(())
    }

    /// Whether a file that it overwrites or removes was edited since git left it there. In doubt it
    /// was. Blocks.
    pub fn discards_edits(&self, repo: &Repository) -> Result<bool, Error> {
        let Some(workdir) = files_of(repo) else {
            return Ok(false);
        };
        let working = Working::open(&workdir)?;
        let left = left_by_git(repo);
        let discarded = self.staged().into_iter().chain(self.removed.clone());
        for path in discarded.filter(|path| !self.as_is.contains(path)) {
            let now = match working.standing(&path)? {
                Standing::Nothing | Standing::Other => continue,
                Standing::File => working.id(&path, LARGEST)?,
            };
            let before = left.as_ref().and_then(|tree| tree.get_path(&path).ok());
            if now.is_none() || before.map(|entry| entry.id()) != now {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Working {
    /// The id that the file or link at `path` would have, unless it is too large.
    fn id(&self, path: &Path, most: u64) -> Result<Option<Oid>, Error> {
        let content = match self.read(path, most) {
            Read::Whole(content) => Some(content),
            Read::TooLarge => None,
            Read::NoFile => self.link(path),
        };
        let id = content.map(|content| Oid::hash_object(ObjectType::Blob, &content));
        Ok(id.transpose()?)
    }
}

fn not_conflicted(path: &Path) -> Problem {
    let detail = format!("{} is not in conflict", path.display());
    Problem::new(ErrorKind::Conflict, "not_conflicted", detail)
        .field("paths")
        .help("git_resolve without paths lists what is")
}

fn blocked(path: &Path) -> Problem {
    let detail = format!(
        "{} cannot be written: a directory or something else that is no file is there, or a link is on the way",
        path.display()
    );
    Problem::new(ErrorKind::Conflict, "in_the_way", detail)
        .field("paths")
        .help("move it away, or take delete")
}

fn markers(field: &str, path: &Path) -> Problem {
    let detail = format!("conflict markers are left in {}", path.display());
    Problem::new(ErrorKind::Unprocessable, "conflict_markers", detail)
        .field(field)
        .help("resolve them, or say `allow_markers: true` where they belong to the content")
}
