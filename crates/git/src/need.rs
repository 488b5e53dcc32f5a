//! How much room a checkout takes.

use git2::{Delta, DiffFile};

use super::{Error, check_extent};
use crate::{ObjectId, Repository};
use branchyard_runtime::disk::Amount;

/// Files take whole blocks; larger ones than this are rare.
const BLOCK: u64 = 4096;

/// What there will be more of on the disk once `to` is checked out where `from` is, or where nothing is.
pub fn checkout_need(
    repo: &Repository,
    from: Option<ObjectId>,
    to: ObjectId,
) -> Result<Amount, Error> {
    let tree = |commit: ObjectId| repo.tree_of(commit.git2());
    let (from, to) = (from.map(tree).transpose()?, tree(to)?);
    check_extent(repo, from.as_ref(), Some(&to))?;
    let diff = repo.diff_trees(from.as_ref(), Some(&to))?;
    let odb = repo.git2().odb()?;
    let size = |file: &DiffFile<'_>| match odb.read_header(file.id()) {
        Ok((bytes, _)) => (bytes as u64).next_multiple_of(BLOCK),
        // A submodule's commit, which is not checked out, or the other side of a file that comes or goes.
        Err(_) => 0,
    };
    let (mut written, mut gone) = (Amount::default(), Amount::default());
    for delta in diff.deltas() {
        written.bytes += size(&delta.new_file());
        gone.bytes += size(&delta.old_file());
        match delta.status() {
            Delta::Added => written.inodes += 1,
            Delta::Deleted => gone.inodes += 1,
            _ => {}
        }
    }
    Ok(Amount {
        bytes: written.bytes.saturating_sub(gone.bytes),
        inodes: written.inodes.saturating_sub(gone.inodes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(repo: &Repository, files: &[(&str, usize)]) -> ObjectId {
        let mut tree = repo.git2().treebuilder(None).unwrap();
        for (name, len) in files {
            let blob = repo.git2().blob(&vec![b'x'; *len]).unwrap();
            tree.insert(name, blob, 0o100_644).unwrap();
        }
        let tree = repo.git2().find_tree(tree.write().unwrap()).unwrap();
        let me = git2::Signature::now("me", "me@localhost").unwrap();
        let made = repo.git2().commit(None, &me, &me, "", &tree, &[]);
        ObjectId::of(made.unwrap())
    }

    #[test]
    fn only_what_differs_counts_and_in_whole_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        let small = commit(&repo, &[("a", 1), ("b", 5000)]);
        let large = commit(&repo, &[("b", 5000), ("c", 9000), ("d", 0)]);
        let need = |from, to| checkout_need(&repo, from, to).unwrap();
        let amount = |blocks, inodes| Amount {
            bytes: blocks * BLOCK,
            inodes,
        };
        assert_eq!(need(None, small), amount(3, 2));
        assert_eq!(need(Some(small), small), amount(0, 0));
        assert_eq!(need(Some(small), large), amount(2, 1));
        assert_eq!(need(Some(large), small), amount(0, 0));
    }
}
