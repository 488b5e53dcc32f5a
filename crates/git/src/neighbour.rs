//! Remotes on this machine: what their branches are at is read, where another remote is asked by a process.

use std::collections::HashMap;
use std::path::Path;

use git2::{ErrorCode, RepositoryOpenFlags};

use branchyard_model::CommitId;

/// Configuration by which a repository keeps refs from those who ask; what it means is git's to say.
const HIDING: &str = "^(transfer|uploadpack)\\.hiderefs$";

/// As [`super::remote_heads`], of a repository that is on this machine. `None` where git has to be asked: there is
/// something odd about it, or it is not there at all, and git knows the words for that. Blocks.
pub fn neighbour_heads(url: &str, refs: &[String]) -> Option<HashMap<String, CommitId>> {
    let path = match url.strip_prefix("file://") {
        // Git would decode it first.
        Some(path) if path.contains('%') => return None,
        Some(path) => path,
        None => url,
    };
    let nowhere_else: [&str; 0] = [];
    let flags = RepositoryOpenFlags::NO_SEARCH;
    let repo = git2::Repository::open_ext(Path::new(path), flags, nowhere_else).ok()?;
    if repo
        .config()
        .ok()?
        .entries(Some(HIDING))
        .ok()?
        .next()
        .is_some()
    {
        return None;
    }
    let objects = repo.odb().ok()?;
    let mut heads = HashMap::new();
    for name in refs {
        let reference = match repo.find_reference(name) {
            Err(error) if error.code() == ErrorCode::NotFound => continue,
            found => found.ok()?,
        };
        let head = reference.resolve().ok()?.target()?;
        if !objects.exists(head) {
            return None;
        }
        heads.insert(name.clone(), CommitId::parse(&head.to_string()).ok()?);
    }
    Some(heads)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use git2::Repository;

    use super::*;
    use crate::{Git, remote_heads};

    fn commit(repo: &Repository, name: &str) {
        let who = git2::Signature::now("Test", "test@localhost").unwrap();
        let tree = repo.treebuilder(None).unwrap().write().unwrap();
        let tree = repo.find_tree(tree).unwrap();
        repo.commit(Some(name), &who, &who, name, &tree, &[])
            .unwrap();
    }

    #[tokio::test]
    async fn it_is_what_git_says_or_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::for_tests(&dir);
        let (bare, usual) = (dir.path().join("bare.git"), dir.path().join("usual"));
        let refs: Vec<_> = ["main", "topic/x", "alias", "packed", "gone"]
            .map(|name| format!("refs/heads/{name}"))
            .into();
        for repo in [
            Repository::init_bare(&bare).unwrap(),
            Repository::init(&usual).unwrap(),
        ] {
            for name in &refs[..2] {
                commit(&repo, name);
            }
            commit(&repo, "refs/heads/packed");
            let packed = repo.refname_to_id("refs/heads/packed").unwrap();
            fs::write(
                repo.path().join("packed-refs"),
                format!(
                    "# pack-refs with: peeled fully-peeled sorted \n{packed} refs/heads/packed\n"
                ),
            )
            .unwrap();
            fs::remove_file(repo.path().join("refs/heads/packed")).unwrap();
            repo.reference_symbolic("refs/heads/alias", "refs/heads/main", true, "")
                .unwrap();
        }
        for path in [&bare, &usual] {
            let path = path.to_str().unwrap();
            for url in [path.to_owned(), format!("file://{path}")] {
                let said = remote_heads(&git, &url, &refs).await.unwrap();
                assert_eq!(said.len(), 4);
                assert_eq!(neighbour_heads(&url, &refs), Some(said), "{url}");
            }
        }

        let url = bare.to_str().unwrap();
        let without_suffix = url.strip_suffix(".git").unwrap();
        for odd in [without_suffix, &format!("file://{url}%20"), "/nonexistent"] {
            assert_eq!(neighbour_heads(odd, &refs), None, "{odd}");
        }
        let repo = Repository::open(&bare).unwrap();
        fs::write(
            bare.join("refs/heads/gone"),
            format!("{}\n", "1".repeat(40)),
        )
        .unwrap();
        assert_eq!(neighbour_heads(url, &refs), None);
        fs::remove_file(bare.join("refs/heads/gone")).unwrap();
        let mut config = repo.config().unwrap();
        config
            .set_str("uploadpack.hideRefs", "refs/heads/topic")
            .unwrap();
        assert_eq!(neighbour_heads(url, &refs), None);
    }
}
