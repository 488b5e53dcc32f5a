//! Where the command stands: in which workspace, by what the daemon keeps on disk beside that.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use branchyard_model::{BranchName, RepoName};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::exit::Failure;

/// What the daemon says of itself in git's directory of a workspace, and in that of its repository.
const MARKER: &str = "branchyard.json";
/// No file that is read here is longer.
const MOST: u64 = 1 << 20;

/// A workspace on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Here {
    pub(super) repo: RepoName,
    pub(super) branch: BranchName,
    /// Its directory.
    pub(super) top: PathBuf,
}

#[derive(Deserialize)]
struct OfWorkspace {
    branch: BranchName,
}

#[derive(Deserialize)]
struct OfStore {
    repo: RepoName,
}

impl Here {
    /// The workspace of the current directory; `None` outside of any.
    pub(super) fn find() -> Result<Option<Self>, Failure> {
        match std::env::current_dir() {
            Ok(dir) => Self::above(&dir),
            Err(_) => Ok(None),
        }
    }

    fn above(dir: &Path) -> Result<Option<Self>, Failure> {
        let mut found = dir.ancestors().filter_map(Self::at);
        match (found.next(), found.next()) {
            (here, None) => Ok(here),
            // A build could have made the inner one.
            (Some(inner), Some(outer)) => {
                let detail = format!(
                    "this is the workspace {} and lies in the workspace {}",
                    inner.names(),
                    outer.names()
                );
                Err(Failure::usage(detail).help("write REPO and BRANCH"))
            }
            (None, Some(_)) => Ok(None),
        }
    }

    /// The workspace whose directory this is.
    fn at(dir: &Path) -> Option<Self> {
        let link = text(&dir.join(".git"))?;
        let admin = dir.join(link.strip_prefix("gitdir:")?.trim());
        // <workspaces>/REPO/.git/worktrees/NAME
        let store = admin.parent()?.parent()?;
        let OfWorkspace { branch } = json(&admin.join(MARKER))?;
        let OfStore { repo } = json(&store.join(MARKER))?;
        Some(Self {
            repo,
            branch,
            top: dir.to_owned(),
        })
    }

    /// `app main`
    pub(super) fn names(&self) -> String {
        format!("{} {}", self.repo, self.branch)
    }
}

fn json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_str(&text(path)?).ok()
}

/// The text of a file, which a pipe or a device is not.
fn text(path: &Path) -> Option<String> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(yard: &Path, repo: &str, branch: &str) -> PathBuf {
        let store = yard.join(repo).join(".git");
        let admin = store.join("worktrees").join(branch);
        let top = yard.join(repo).join(branch);
        fs::create_dir_all(&admin).unwrap();
        fs::create_dir_all(top.join("src/deep")).unwrap();
        let of_store = format!(r#"{{"version":1,"repo":"{repo}","url":"x"}}"#);
        fs::write(store.join(MARKER), of_store).unwrap();
        let of_workspace = format!(r#"{{"version":1,"branch":"{branch}"}}"#);
        fs::write(admin.join(MARKER), of_workspace).unwrap();
        fs::write(top.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
        top
    }

    #[test]
    fn a_directory_of_a_workspace_tells_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let top = workspace(dir.path(), "app", "main");
        for below in [".", "src", "src/deep"] {
            let here = Here::above(&top.join(below)).unwrap().unwrap();
            assert_eq!(here.names(), "app main", "{below}");
        }
        for outside in [dir.path().to_owned(), dir.path().join("app")] {
            assert_eq!(Here::above(&outside).unwrap(), None, "{outside:?}");
        }
        // A repository, and a worktree of somebody's own.
        fs::create_dir_all(top.join("src/own/.git")).unwrap();
        fs::write(top.join("src/deep/.git"), "gitdir: /nowhere/at/all\n").unwrap();
        for below in ["src/own", "src/deep"] {
            let here = Here::above(&top.join(below)).unwrap().unwrap();
            assert_eq!(here.names(), "app main", "{below}");
        }
    }

    #[test]
    fn a_workspace_in_a_workspace_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let top = workspace(dir.path(), "app", "main");
        let inner = workspace(&top.join("src"), "other", "secret");
        let refused = Here::above(&inner).unwrap_err();
        assert_eq!(refused.exit, 2);
        assert!(refused.detail.contains("other secret"), "{refused}");
        assert!(refused.detail.contains("app main"), "{refused}");
    }
}
