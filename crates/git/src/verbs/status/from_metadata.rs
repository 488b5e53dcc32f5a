//! The usual status without a process: metadata tell of all but some files that they are as they were.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::found::{staged, unstaged};
use super::{Found, Request};
use crate::verbs::Verbosity;
use crate::verbs::changes::shown;
use crate::verbs::suspects::is_within;
use crate::{Error, Head, MetadataStatus, Repository, Untracked, compared};

impl Found {
    /// All that differs from HEAD, or `None` where git has to be asked.
    pub(super) fn status(
        repo: &Repository,
        head: &Head,
        paths: &[PathBuf],
        request: &Request,
        status: &MetadataStatus,
    ) -> Result<Option<Self>, Error> {
        let with_sides = request.verbosity == Verbosity::Full;
        let mut found = Self::default();
        if request.untracked {
            let mode_of = |path: &Path| status.tracked(path).map(|(mode, _)| mode);
            let untracked = Untracked::among(status.untracked(), repo, mode_of, request.each_file)?;
            // Of a directory in which nothing is tracked only a part is asked for.
            let is_split = |dir: &PathBuf| {
                paths
                    .iter()
                    .any(|path| path != dir && path.starts_with(dir))
            };
            if untracked.is_doubtful || untracked.paths.iter().any(is_split) {
                return Ok(None);
            }
            let untracked = untracked.paths.iter();
            let untracked = untracked.filter(|path| is_within(path, paths));
            found.untracked = untracked.map(|path| shown(path)).collect();
        }
        if !status.has_staged(head.tree) {
            found.staged = staged(repo, head, paths, with_sides)?;
        }
        let suspects = status.entries_of_suspects();
        let suspects = suspects.map(|(mode, id, path)| (mode, id, OsStr::from_bytes(path).into()));
        let suspects = suspects.filter(|(_, _, path): &(_, _, PathBuf)| is_within(path, paths));
        found.unstaged = unstaged(compared(repo, suspects.collect())?, with_sides);
        Ok(Some(found))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use proptest::prelude::*;

    use super::*;
    use crate::{For, Git, UntrackedEntry, head, scan, tracked_changes, untracked_entries};

    /// What somebody may do at a path, whatever is there.
    #[derive(Debug, Clone)]
    enum Deed {
        Write(&'static str),
        Directory,
        Link(&'static str),
        Pipe,
        Executable,
        Remove,
        Repository,
        Rewrite,
    }

    const PATHS: &[&str] = &[
        "a",
        "a/b",
        "a/b/c",
        "a.b",
        "d/e.o",
        "d/keep.o",
        "d",
        "f",
        "f/.gitignore",
        "g/h/i",
        "g/h",
        ".gitignore",
        "link",
        "new",
        "n/m/k.o",
        "n/m/x",
    ];

    fn deed() -> impl Strategy<Value = Deed> {
        prop_oneof![
            4 => prop::sample::select(vec!["x", "other", "*.o\n", "*\n!keep.o\n", "n/\n", "/d\n!/d/keep.o\n"])
                .prop_map(Deed::Write),
            2 => Just(Deed::Directory),
            1 => prop::sample::select(vec!["g", "nowhere", "/"]).prop_map(Deed::Link),
            1 => Just(Deed::Pipe),
            1 => Just(Deed::Executable),
            2 => Just(Deed::Remove),
            1 => Just(Deed::Repository),
            2 => Just(Deed::Rewrite),
        ]
    }

    /// Does it, unless something on the way is in the way.
    fn act(root: &Path, path: &str, deed: &Deed) -> std::io::Result<()> {
        let place = root.join(path);
        let clear = || match place.symlink_metadata() {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&place),
            Ok(_) => fs::remove_file(&place),
            Err(_) => fs::create_dir_all(place.parent().unwrap()),
        };
        match deed {
            Deed::Write(text) => clear().and_then(|()| fs::write(&place, text)),
            Deed::Directory => clear().and_then(|()| fs::create_dir(&place)),
            Deed::Link(target) => clear().and_then(|()| symlink(target, &place)),
            // In place of a tracked file it makes that one `deleted` to libgit2, and `modified` to git.
            Deed::Pipe if path != "new" => Ok(()),
            Deed::Pipe => clear().and_then(|()| {
                let kind = rustix::fs::FileType::Fifo;
                let mode = rustix::fs::Mode::RUSR;
                Ok(rustix::fs::mknodat(rustix::fs::CWD, &place, kind, mode, 0)?)
            }),
            Deed::Executable => fs::set_permissions(&place, fs::Permissions::from_mode(0o755)),
            Deed::Remove => clear(),
            Deed::Repository => clear().and_then(|()| {
                fs::create_dir(&place)?;
                Repository::init(&place)
                    .map(drop)
                    .map_err(std::io::Error::other)
            }),
            // The same content, at another time. A pipe would wait for a writer.
            Deed::Rewrite if !place.is_file() => Ok(()),
            Deed::Rewrite => fs::read(&place).and_then(|text| fs::write(&place, text)),
        }
    }

    async fn committed() -> (tempfile::TempDir, Git) {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::for_tests(&dir);
        for (path, text) in [
            ("a/b/c", "c"),
            ("a.b", "ab"),
            ("d/e.o", "eo"),
            ("f", "f"),
            ("g/h/i", "i"),
            (".gitignore", "*.o\n"),
        ] {
            act(dir.path(), path, &Deed::Write(text)).unwrap();
        }
        symlink("a/b", dir.path().join("link")).unwrap();
        for args in [
            &["init", "-q"][..],
            &["add", "-f", "."],
            &["commit", "-qm", "all"],
        ] {
            git.at(dir.path()).args(args).output().await.unwrap();
        }
        (dir, git)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 200, ..ProptestConfig::default() })]

        #[test]
        fn a_glance_says_what_git_says(
            deeds in prop::collection::vec((prop::sample::select(PATHS), deed()), 0..7),
            staged in 0..4_usize,
            each_file in any::<bool>(),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (dir, git) = committed().await;
                for (number, (path, deed)) in deeds.iter().enumerate() {
                    // What is staged by then may be tracked; see `Deed::Pipe`.
                    if matches!(deed, Deed::Pipe) && (1..=number).contains(&staged) {
                        continue;
                    }
                    // What cannot be done is left undone, and git adds no repository without a commit.
                    let _ = act(dir.path(), path, deed);
                    if number + 1 == staged {
                        let _ = git.at(dir.path()).args(["add", "--all"]).output().await;
                    }
                }
                let request = Request { each_file, ..Request::default() };
                let said = Found::ask(&git, dir.path(), &[], &request).await.unwrap();
                let repo = Repository::open(dir.path()).unwrap();
                assert_eq!(tracked_changes(&repo).unwrap(), said.has_tracked_changes());
                let status = MetadataStatus::at(&repo, For::Both).unwrap().unwrap();
                let looked = scan(&repo).unwrap();
                assert_eq!(looked.changed, said.has_tracked_changes());
                let paths = |untracked: &[UntrackedEntry]| untracked.iter().map(|item| item.path.clone()).collect::<Vec<_>>();
                assert_eq!(paths(&looked.untracked), paths(&untracked_entries(&repo).unwrap()));
                if let Some(mut found) = Found::status(&repo, &head(&repo).unwrap(), &[], &request, &status).unwrap() {
                    found.unstaged.sort_by(|a, b| a.path.cmp(&b.path));
                    assert_eq!(found, said);
                }
            });
        }
    }
}
