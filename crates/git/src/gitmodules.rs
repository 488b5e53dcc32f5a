//! Which submodules a commit declares in its `.gitmodules`. A branch wrote that file: each of them is held against rules before
//! anything is done with it, and what git itself would refuse, or run, is refused.

mod relative_url;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::{FileMode, Oid};

use super::blob_config::settings_in;
use super::store::open_store;
use super::{Error, GITLINK, Git, is_plain_name};
use crate::Repository;
use branchyard_model::{CommitId, ErrorKind, Problem};
use relative_url::resolved;

const FILE: &str = ".gitmodules";
/// No real one is larger.
const MAX_SIZE: usize = 1 << 20;
const MAX_SUBMODULES: usize = 1_000;

/// A submodule that a commit declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredSubmodule {
    /// From the root of the worktree.
    pub path: PathBuf,
    /// The one that the commit records.
    pub commit: CommitId,
    /// Where it is cloned from, or why it must not be. Which hosts may be used is not looked at here.
    pub url: Result<String, String>,
}

/// What a section of the file says.
#[derive(Debug, Default)]
struct Section {
    path: Option<String>,
    url: Option<String>,
    update: Option<String>,
}

/// The submodules of `commit` that its file names, by path. `base` is the URL that relative ones are from.
pub async fn declared_submodules(
    git: &Git,
    store: &Path,
    commit: &CommitId,
    base: &str,
) -> Result<Vec<DeclaredSubmodule>, Error> {
    let (dir, at) = (store.to_owned(), commit.clone());
    let Some(blob) = tokio::task::spawn_blocking(move || file_of(&dir, &at)).await?? else {
        return Ok(Vec::new());
    };
    let listed = settings_in(git, store, blob).await?;
    let sections = sections(&listed);
    let (dir, at, base) = (store.to_owned(), commit.clone(), base.to_owned());
    let found = move || {
        let store = open_store(&dir)?;
        let tree = store.tree_of(Oid::from_str(at.as_str())?)?;
        let mut by_path: BTreeMap<PathBuf, DeclaredSubmodule> = BTreeMap::new();
        for (name, section) in &sections {
            let Some(path) = section.path.as_deref().and_then(plain_path) else {
                continue;
            };
            // Git, too, passes over what the tree does not have.
            let entry = tree.get_path(&path).ok();
            let Some(entry) = entry.filter(|entry| entry.filemode_raw().cast_unsigned() == GITLINK)
            else {
                continue;
            };
            let twice = || Err(format!("{FILE} names it twice"));
            let url = match by_path.contains_key(&path) {
                true => twice(),
                false => section.url(name, &base),
            };
            let commit = CommitId::parse(&entry.id().to_string())?;
            by_path.insert(path.clone(), DeclaredSubmodule { path, commit, url });
        }
        Ok(by_path.into_values().collect())
    };
    tokio::task::spawn_blocking(found).await?
}

/// The file of a commit, if it has one; an error if that is no file, or too large.
fn file_of(store: &Path, commit: &CommitId) -> Result<Option<Oid>, Error> {
    let refused = |why: &str| {
        let detail = format!(".gitmodules of {commit} cannot be taken: {why}");
        Err(Problem::new(ErrorKind::Conflict, "submodule_refused", detail).into())
    };
    let store: Repository = open_store(store)?;
    let tree = store.tree_of(Oid::from_str(commit.as_str())?)?;
    let Some(entry) = tree.get_name(FILE) else {
        return Ok(None);
    };
    let is_file = [FileMode::Blob, FileMode::BlobExecutable]
        .map(i32::from)
        .contains(&entry.filemode_raw());
    if !is_file {
        return refused("it is no file");
    }
    match store.git2().odb()?.read_header(entry.id())?.0 > MAX_SIZE {
        true => refused("it is larger than 1 MiB"),
        false => Ok(Some(entry.id())),
    }
}

/// By name, from what `git config --null --list` says: `key\nvalue\0`. The last value counts, as for git.
fn sections(listed: &[u8]) -> BTreeMap<String, Section> {
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    for entry in listed.split(|byte| *byte == 0) {
        let entry = String::from_utf8_lossy(entry);
        let (key, value) = entry.split_once('\n').unwrap_or((&entry, ""));
        let Some((name, variable)) = key
            .strip_prefix("submodule.")
            .and_then(|rest| rest.rsplit_once('.'))
        else {
            continue;
        };
        if sections.len() >= MAX_SUBMODULES && !sections.contains_key(name) {
            continue;
        }
        let section = sections.entry(name.to_owned()).or_default();
        let place = match variable {
            "path" => &mut section.path,
            "url" => &mut section.url,
            "update" => &mut section.update,
            _ => continue,
        };
        *place = Some(value.to_owned());
    }
    sections
}

/// A path whose names are certainly harmless.
fn plain_path(path: &str) -> Option<PathBuf> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let is_plain =
        |name: &str| is_plain_name(name.as_bytes()) && !name.chars().any(char::is_control);
    let is_fine = !path.starts_with('-') && path.split('/').all(is_plain);
    is_fine.then(|| PathBuf::from(path))
}

impl Section {
    /// Where the submodule of this name is cloned from, or why it must not be.
    fn url(&self, name: &str, base: &str) -> Result<String, String> {
        if !is_name(name) {
            return Err(format!(
                "its name in {FILE} could lead out of git's own directory"
            ));
        }
        match self.update.as_deref() {
            Some("none") => return Err(format!("{FILE} says `update = none`")),
            Some(update) if update.starts_with('!') => {
                return Err(format!("{FILE} names a command to update it by"));
            }
            _ => {}
        }
        let url = self.url.as_deref().unwrap_or_default();
        if url.is_empty() {
            return Err(format!("{FILE} has no url for it"));
        }
        if url.starts_with('-') || url.chars().any(char::is_control) {
            return Err(format!("its url in {FILE} is no URL"));
        }
        resolved(url, base).ok_or_else(|| format!("its url in {FILE} leads out of {base}"))
    }
}

/// Git makes directories of these names.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    !name.starts_with('-')
        && !name.chars().any(char::is_control)
        && name.split(['/', '\\']).all(is_part)
}

#[cfg(test)]
mod tests;
