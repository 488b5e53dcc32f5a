//! The usual status without a look at every file: nothing is staged, and metadata tells of all but some files that
//! they are as they were.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::Repository;

use super::found::changes;
use super::{Found, Request};
use crate::git::verbs::delta;
use crate::git::verbs::person::text;
use crate::git::verbs::suspects::Suspects;
use crate::git::{Error, GITLINK, Glance, Head, Stray, StrayKind, strays_in};

impl Found {
    /// All that differs from HEAD, or `None` where that has to be found in another way.
    pub(super) fn glance(
        repo: &Repository,
        head: &Head,
        request: &Request,
        glance: &Glance,
    ) -> Result<Option<Self>, Error> {
        let Some(suspects) = Suspects::of(glance).filter(|_| glance.has_staged(head.tree)) else {
            return Ok(None);
        };
        let mut found = Self::default();
        if request.untracked {
            match Untracked::among(glance, repo, request.each_file)? {
                Some(untracked) => found.untracked = untracked,
                None => return Ok(None),
            }
        }
        if !suspects.paths.is_empty() {
            suspects.stand_for_index(repo)?;
            let mut options = delta::options(&suspects.paths);
            let files = repo.diff_index_to_workdir(None, Some(&mut options))?;
            found.unstaged = changes(&files, false);
        }
        Ok(Some(found))
    }
}

/// What git would show of all that is not tracked.
struct Untracked<'a> {
    repo: &'a Repository,
    workdir: &'a Path,
    each_file: bool,
    shown: Vec<String>,
    /// Something may be a repository or only look like one, which git judges by what is in it.
    is_doubtful: bool,
    /// Directories with something tracked in them, and whether they are ignored all the same.
    ignored: HashMap<PathBuf, bool>,
}

impl<'a> Untracked<'a> {
    fn among(
        glance: &Glance,
        repo: &'a Repository,
        each_file: bool,
    ) -> Result<Option<Vec<String>>, Error> {
        let Some(workdir) = repo.workdir() else {
            return Ok(None);
        };
        let mut untracked = Self {
            repo,
            workdir,
            each_file,
            shown: Vec::new(),
            is_doubtful: false,
            ignored: HashMap::new(),
        };
        for stray in &glance.strays {
            if untracked.is_below_ignored(&stray.path)? {
                continue;
            }
            match glance.tracked(&stray.path) {
                None => untracked.add(stray)?,
                // A submodule is not looked into.
                Some((GITLINK, _)) => {}
                // Of a file that became a directory git says that the file is gone, and nothing of the directory.
                Some(_) if each_file => untracked.add(stray)?,
                Some(_) => {}
            }
        }
        untracked.shown.sort_unstable();
        Ok((!untracked.is_doubtful).then_some(untracked.shown))
    }

    fn add(&mut self, stray: &Stray) -> Result<(), Error> {
        let path = &stray.path;
        if self.is_hidden(stray)? {
            return Ok(());
        }
        let name = text(path.as_os_str().as_bytes());
        match stray.kind {
            StrayKind::File => self.shown.push(name),
            StrayKind::Repository => self.is_doubtful = true,
            StrayKind::Directory if self.each_file => {
                for inside in strays_in(self.workdir, path)? {
                    self.add(&inside)?;
                }
            }
            StrayKind::Directory => {
                if self.has_something(path)? {
                    self.shown.push(format!("{name}/"));
                }
            }
        }
        Ok(())
    }

    /// Whether there is a file in it, however deep, that is shown.
    fn has_something(&mut self, dir: &Path) -> Result<bool, Error> {
        for stray in strays_in(self.workdir, dir)? {
            if self.is_hidden(&stray)? {
                continue;
            }
            let is_shown = match stray.kind {
                StrayKind::File => true,
                StrayKind::Directory => self.has_something(&stray.path)?,
                StrayKind::Repository => {
                    self.is_doubtful = true;
                    true
                }
            };
            if is_shown {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Nothing in a directory that is ignored is shown, whatever else is said of it.
    fn is_below_ignored(&mut self, path: &Path) -> Result<bool, Error> {
        let above = path.parent().filter(|above| *above != Path::new(""));
        let Some(above) = above else {
            return Ok(false);
        };
        if let Some(known) = self.ignored.get(above) {
            return Ok(*known);
        }
        let is_ignored = self.is_below_ignored(above)? || self.repo.is_path_ignored(above)?;
        self.ignored.insert(above.to_owned(), is_ignored);
        Ok(is_ignored)
    }

    /// Ignored, or of a kind that git knows nothing of.
    fn is_hidden(&self, stray: &Stray) -> Result<bool, Error> {
        let kind = stray.meta.file_type();
        let is_known = kind.is_dir() || kind.is_file() || kind.is_symlink();
        Ok(!is_known || self.repo.is_path_ignored(&stray.path)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use proptest::prelude::*;

    use super::*;
    use crate::git::{For, Git, Settings, head, look, strays, tracked_changes};

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
            // The same content, at another time.
            Deed::Rewrite => fs::read(&place).and_then(|text| fs::write(&place, text)),
        }
    }

    async fn committed() -> (tempfile::TempDir, Git) {
        let (dir, git) = (
            tempfile::tempdir().unwrap(),
            Git::new(Settings::for_tests(), None),
        );
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
            each_file in any::<bool>(),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (dir, git) = committed().await;
                for (path, deed) in &deeds {
                    // What cannot be done is left undone.
                    let _ = act(dir.path(), path, deed);
                }
                let request = Request { each_file, ..Request::default() };
                let said = Found::ask(&git, dir.path(), &[], &request).await.unwrap();
                let repo = Repository::open(dir.path()).unwrap();
                assert_eq!(tracked_changes(&repo).unwrap(), said.has_tracked_changes());
                let glance = Glance::at(&repo, For::Both).unwrap().unwrap();
                let looked = look(&repo).unwrap();
                assert_eq!(looked.changed, said.has_tracked_changes());
                let paths = |strays: &[Stray]| strays.iter().map(|stray| stray.path.clone()).collect::<Vec<_>>();
                assert_eq!(paths(&looked.strays), paths(&strays(&repo).unwrap()));
                if let Some(mut found) = Found::glance(&repo, &head(&repo).unwrap(), &request, &glance).unwrap() {
                    found.unstaged.sort_by(|a, b| a.path.cmp(&b.path));
                    assert_eq!(found, said);
                }
            });
        }
    }
}
