//! At which commit a repository at a gitlink is. Git itself would open it by its own configuration; here a few
//! files of it are read as text, without waiting for any and without following a link at the last name.

use std::path::Path;

use git2::Oid;

use super::plain_file::read_plain;

/// A ref, or the name of a directory, is shorter.
const SHORT: u64 = 8 << 10;
/// Refs that are packed beyond that are not looked for.
const PACKED: u64 = 4 << 20;

/// HEAD of the repository at `dir`; `None` where there is none that tells.
pub(super) fn nested_head(dir: &Path) -> Option<Oid> {
    let text = |path: &Path, most| {
        let content = read_plain(path, most).ok().flatten()?;
        String::from_utf8(content).ok()
    };
    let link = dir.join(".git");
    let git_dir = match link.is_dir() {
        true => link,
        false => dir.join(text(&link, SHORT)?.strip_prefix("gitdir: ")?.trim_end()),
    };
    let head = text(&git_dir.join("HEAD"), SHORT)?;
    let Some(name) = head.trim_end().strip_prefix("ref: ") else {
        return Oid::from_str(head.trim_end()).ok();
    };
    if !name.starts_with("refs/") || name.split('/').any(|part| part == "..") {
        return None;
    }
    if let Some(id) = text(&git_dir.join(name), SHORT) {
        return Oid::from_str(id.trim_end()).ok();
    }
    let packed = text(&git_dir.join("packed-refs"), PACKED)?;
    let id = packed
        .lines()
        .find_map(|line| line.strip_suffix(name)?.strip_suffix(' '));
    Oid::from_str(id?).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::Repository;
    use git2::Signature;

    use super::*;

    #[test]
    fn head_is_found_wherever_git_keeps_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("sub");
        assert_eq!(nested_head(&at), None);
        let repo = Repository::init(&at).unwrap();
        assert_eq!(nested_head(&at), None);
        let who = Signature::now("Test", "test@localhost").unwrap();
        let tree = repo.git2().treebuilder(None).unwrap().write().unwrap();
        let tree = repo.git2().find_tree(tree).unwrap();
        let id = repo
            .git2()
            .commit(Some("HEAD"), &who, &who, "one", &tree, &[])
            .unwrap();
        assert_eq!(nested_head(&at), Some(id));
        let branch = repo.git2().head().unwrap().name().unwrap().to_owned();
        let git_dir = at.join(".git");
        fs::remove_file(git_dir.join(&branch)).unwrap();
        fs::write(
            git_dir.join("packed-refs"),
            format!("# pack-refs\n{id} {branch}\n"),
        )
        .unwrap();
        assert_eq!(nested_head(&at), Some(id));
        fs::rename(&git_dir, dir.path().join("elsewhere")).unwrap();
        fs::write(&git_dir, "gitdir: ../elsewhere\n").unwrap();
        assert_eq!(nested_head(&at), Some(id));
        fs::write(dir.path().join("elsewhere/HEAD"), format!("{id}\n")).unwrap();
        assert_eq!(nested_head(&at), Some(id));
        fs::write(dir.path().join("elsewhere/HEAD"), "ref: refs/../../x\n").unwrap();
        assert_eq!(nested_head(&at), None);
    }
}
