//! Outputs of set-ups that are kept for other workspaces, by what they were made of. They are a cache: what goes is made
//! again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use rustix::fs::syncfs;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::record::MadeAt;
use crate::tree_copy::Tree;
use branchyard_git::read_plain;
use branchyard_model::{BranchName, CommitId, RepoName};
use branchyard_runtime::disk::{Amount, Trash, if_there, write_json};

/// So many are kept of a repo; those that were used last.
const MOST_KEPT: usize = 16;
/// What nothing used for so long is not kept.
const UNUSED: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// Nor this, where the disk is short of room.
const UNUSED_IF_SHORT: Duration = Duration::from_secs(60 * 60);
/// More than this takes longer to copy than most of it takes to make.
const MOST: Amount = Amount {
    bytes: 8 << 30,
    inodes: 2_000_000,
};
const MAX_ABOUT: u64 = 64 << 10;

const ABOUT: &str = "setup.json";
const FILES: &str = "files";
const STAGING: &str = ".new-";
/// In place of the commit of a protected branch.
const OPEN: &str = "open";

#[derive(Debug)]
pub(crate) struct KeptSetups {
    dir: PathBuf,
    /// Shared while something is copied from or to here, and exclusive while something goes.
    in_use: RwLock<()>,
}

/// Outputs that are there.
#[derive(Debug)]
pub(crate) struct KeptSetup {
    pub(crate) made_at: MadeAt,
    /// Of these outputs alone: what is made again, and kept under the same key, has another.
    pub(crate) id: String,
    /// What a copy takes.
    pub(super) amount: Amount,
    dir: PathBuf,
}

/// What became of outputs that were to be kept.
#[derive(Debug)]
pub(crate) enum Keeping {
    /// With this id.
    Kept(String),
    /// Others were kept under the same key before.
    Known,
    /// Why not, in words.
    No(String),
}

fn id_of(name: &str, id: Uuid) -> String {
    format!("{name}.{id}")
}

#[derive(Debug, Serialize, Deserialize)]
struct AboutSetup {
    /// Those that were kept before there were ids have none.
    #[serde(default)]
    id: Uuid,
    /// For people who look into the directory.
    branch: BranchName,
    files: u64,
    bytes: u64,
}

impl KeptSetups {
    pub(crate) fn at(dir: PathBuf) -> Self {
        Self {
            dir,
            in_use: RwLock::default(),
        }
    }

    /// What is kept under `key`.
    pub(crate) fn find(&self, repo: &RepoName, key: &str) -> io::Result<Vec<KeptSetup>> {
        let mut found = Vec::new();
        for dir in entries(&self.dir.join(repo.as_str()))? {
            let name = dir.file_name().and_then(|name| name.to_str());
            let made_at = match name.and_then(|name| name.split_once('.')) {
                Some((of, OPEN)) if of == key => MadeAt::OpenBranch,
                Some((of, commit)) if of == key => match CommitId::parse(commit) {
                    Ok(commit) => MadeAt::Commit(commit),
                    Err(_) => continue,
                },
                _ => continue,
            };
            let about = read_plain(&dir.join(ABOUT), MAX_ABOUT)?.unwrap_or_default();
            // Half made, or going.
            let Ok(about) = serde_json::from_slice::<AboutSetup>(&about) else {
                continue;
            };
            let AboutSetup {
                files, bytes, id, ..
            } = about;
            let amount = Amount {
                bytes,
                inodes: files,
            };
            found.push(KeptSetup {
                made_at,
                id: id_of(name.unwrap_or_default(), id),
                amount,
                dir,
            });
        }
        Ok(found)
    }

    /// Copies what is kept to below `to`; false if it has gone meanwhile.
    pub(super) fn copy_to(
        &self,
        kept: &KeptSetup,
        outputs: &[&Path],
        to: &Path,
    ) -> io::Result<bool> {
        let _in_use = self.in_use.read();
        let Some(about) = if_there(File::options().append(true).open(kept.dir.join(ABOUT)))? else {
            return Ok(false);
        };
        about.set_modified(SystemTime::now())?;
        let (from, to) = (
            File::open(kept.dir.join(FILES))?.into(),
            File::open(to)?.into(),
        );
        let tree = Tree::gather(&from, outputs.iter().copied(), MOST)?;
        tree.copy(&from, &to)?;
        Ok(true)
    }

    /// Keeps what is at `outputs` below `from`.
    pub(super) fn keep(
        &self,
        (repo, branch): (&RepoName, &BranchName),
        (key, made_at): (&str, &MadeAt),
        outputs: &[&Path],
        from: &Path,
        has_room: impl FnOnce(Amount) -> bool,
    ) -> io::Result<Keeping> {
        let _in_use = self.in_use.read();
        let of_repo = self.dir.join(repo.as_str());
        let name = match made_at {
            MadeAt::OpenBranch => format!("{key}.{OPEN}"),
            MadeAt::Commit(commit) => format!("{key}.{commit}"),
        };
        let place = of_repo.join(&name);
        if place.exists() {
            return Ok(Keeping::Known);
        }
        let from = File::open(from)?.into();
        let tree = Tree::gather(&from, outputs.iter().copied(), MOST)?;
        let amount = tree.amount();
        if !has_room(amount) {
            return Ok(Keeping::No("there is little room on the disk".to_owned()));
        }
        let id = Uuid::now_v7();
        let staging = of_repo.join(format!("{STAGING}{id}"));
        let write = || {
            fs::create_dir_all(staging.join(FILES))?;
            let to = File::open(staging.join(FILES))?.into();
            tree.copy(&from, &to)?;
            let about = AboutSetup {
                id,
                branch: branch.clone(),
                files: amount.inodes,
                bytes: amount.bytes,
            };
            write_json(&staging.join(ABOUT), &about)?;
            // After a crash a name must not stand for half of its content.
            syncfs(&to)?;
            fs::rename(&staging, &place)
        };
        let written = write();
        if written.is_err() {
            // What is left of it goes with the next that are let go of.
            let _ = fs::remove_dir_all(&staging);
        }
        written.map(|()| Keeping::Kept(id_of(&name, id)))
    }

    /// Lets go of what was not used for long, or is too much. Nothing goes while something is copied.
    pub(crate) fn prune(&self, trash: &Trash, is_short: bool) -> io::Result<()> {
        let Some(_alone) = self.in_use.try_write() else {
            return Ok(());
        };
        let unused = match is_short {
            true => UNUSED_IF_SHORT,
            false => UNUSED,
        };
        for of_repo in entries(&self.dir)? {
            let mut by_use: Vec<(Duration, PathBuf)> = Vec::new();
            for dir in entries(&of_repo)? {
                let used = dir.join(ABOUT).metadata().and_then(|meta| meta.modified());
                // One without it is half made.
                let idle = used.map_or(Duration::MAX, |used| used.elapsed().unwrap_or_default());
                by_use.push((idle, dir));
            }
            by_use.sort();
            for (n, (idle, dir)) in by_use.into_iter().enumerate() {
                if n >= MOST_KEPT || idle > unused {
                    trash.take(&dir, &"setup")?;
                }
            }
        }
        Ok(())
    }
}

fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(entries) = if_there(fs::read_dir(dir))? else {
        return Ok(Vec::new());
    };
    entries.map(|entry| Ok(entry?.path())).collect()
}
