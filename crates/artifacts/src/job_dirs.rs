//! The directories that paths of a job may lead into, each by the path that the job sees and by the real one.

use std::path::{Component, Path, PathBuf};

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobDir {
    /// What the job calls it, absolute.
    pub seen: PathBuf,
    /// Where it is. The job decides about what is in it, but not about what leads there.
    pub real: PathBuf,
}

/// All of them. Where one is in another, as the job sees it, the inner one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobDirs {
    /// What relative paths are relative to.
    pub root: JobDir,
    /// What `~` stands for.
    pub home: Option<JobDir>,
    pub mounts: Vec<JobDir>,
}

impl JobDirs {
    /// The root alone.
    pub fn only(root: JobDir) -> Self {
        Self {
            root,
            home: None,
            mounts: Vec::new(),
        }
    }

    /// Each with what it is called where the paths of one job are compared with those of another.
    pub(crate) fn all(&self) -> Vec<(String, &JobDir)> {
        let root = (".".to_owned(), &self.root);
        let home = self.home.iter().map(|home| ("~".to_owned(), home));
        let mounts = self.mounts.iter();
        let mounts = mounts.map(|mount| (mount.seen.to_string_lossy().into_owned(), mount));
        std::iter::once(root).chain(home).chain(mounts).collect()
    }

    /// The directory that a path is in as the job writes it, and where in that; none if it leads out of them.
    pub(crate) fn place(&self, written: &str) -> Option<(&JobDir, PathBuf)> {
        let home = self.home.as_ref();
        let (dir, below) = match (written.strip_prefix('~'), home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                (home, Path::new(rest.trim_start_matches('/')))
            }
            _ if Path::new(written).is_absolute() => {
                let (n, below) = self.find(Path::new(written))?;
                (self.all().get(n)?.1, below)
            }
            _ => (&self.root, Path::new(written)),
        };
        let mut plain = PathBuf::new();
        for part in below.components() {
            match part {
                Component::Normal(name) => plain.push(name),
                Component::CurDir => {}
                _ => return None,
            }
        }
        Some((dir, plain))
    }

    /// Which of them a path that the job sees is in, and where in it.
    pub(crate) fn find<'p>(&self, seen: &'p Path) -> Option<(usize, &'p Path)> {
        let dirs = self.all().into_iter().enumerate();
        let holding =
            dirs.filter_map(|(n, (_, dir))| Some((n, dir, seen.strip_prefix(&dir.seen).ok()?)));
        let inner = holding.max_by_key(|(_, dir, _)| dir.seen.components().count());
        inner.map(|(n, _, rest)| (n, rest))
    }
}
