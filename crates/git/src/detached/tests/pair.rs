//! A detached worktree, and fresh checkouts by git of the same commits.

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::contents::tests::beside::listing;
use crate::contents::tests::trees::Item;
use crate::{DetachedWorktree, Git, Repository, Store, SwitchRules, UntrackedFiles};
use crate::{Settings, isolate_libgit2};
use branchyard_model::CommitId;
use branchyard_runtime::disk::Trash;
use git2::{ObjectType, Signature};

pub(super) struct Pair {
    dir: tempfile::TempDir,
    repo: Repository,
    pub git: Git,
    pub ours: DetachedWorktree,
}

impl Pair {
    pub(super) fn new() -> Self {
        isolate_libgit2();
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("repo");
        let path = home.join(".git");
        fs::create_dir(&home).unwrap();
        let repo = Repository::init_bare(&path).unwrap();
        let store = Store::at(path, "file:///nowhere".to_owned());
        store.guard().unwrap();
        let trash = Trash::open(dir.path().join("trash"), &Default::default()).unwrap();
        let git = Git::new(Settings::for_tests(), Err("a test".to_owned()), trash);
        let ours = DetachedWorktree::scratch(&store, 1);
        Self {
            dir,
            repo,
            git,
            ours,
        }
    }

    pub(super) fn files(&self) -> &Path {
        self.ours.path()
    }

    pub(super) fn commit(&self, root: &Item) -> CommitId {
        let me = Signature::now("me", "me@localhost").unwrap();
        let tree = root.write(&self.repo);
        // By hand: libgit2 would look into the tree.
        let text = format!("tree {tree}\nauthor {me} 0 +0000\ncommitter {me} 0 +0000\n\n");
        let odb = self.repo.git2().odb().unwrap();
        let id = odb.write(ObjectType::Commit, text.as_bytes()).unwrap();
        CommitId::parse(&id.to_string()).unwrap()
    }

    pub(super) async fn switch(&self, commit: &CommitId, untracked: UntrackedFiles) {
        if !self.ours.is_there() {
            self.ours.make_anew(self.git.trash()).unwrap();
        }
        self.ours.check(commit).unwrap();
        let rules = SwitchRules {
            untracked,
            submodules: &[],
            looked_at: None,
        };
        let switched = self.ours.switch(&self.git, commit, rules, 7).await;
        switched.unwrap();
        assert!(self.ours.is_whole());
    }

    async fn fresh(&self, commit: &CommitId) -> tempfile::TempDir {
        let fresh = tempfile::tempdir_in(self.dir.path()).unwrap();
        self.git
            .at(self.repo.path())
            .args(["worktree", "add", "--quiet", "--detach"])
            .arg(fresh.path().join("files"))
            .arg(commit.as_str())
            .output()
            .await
            .unwrap();
        fresh
    }

    /// The files are those of a fresh checkout, and the index is that of the commit.
    pub(super) async fn assert_exact(&self, commit: &CommitId) {
        let fresh = self.fresh(commit).await;
        let (found, expected) = (listing(self.files()), listing(&fresh.path().join("files")));
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>()
        );
        for (path, expected) in &expected {
            let found = &found[path];
            assert_eq!(found.mode, expected.mode, "{path}");
            assert_eq!(found.content, expected.content, "{path}");
        }
        let staged = self.say(&["ls-files", "--stage", "-t", "-v"]).await;
        let tree = self.say(&["write-tree"]).await;
        let wanted = self
            .say(&["rev-parse", &format!("{commit}^{{tree}}")])
            .await;
        assert_eq!(tree, wanted);
        assert!(
            !staged.lines().any(|line| !line.starts_with("H ")),
            "{staged}"
        );
    }

    /// Git has nothing to say about any file.
    pub(super) async fn assert_clean(&self) {
        assert_eq!(self.status(&["--ignored"]).await, "");
    }

    /// As [`Pair::assert_exact`] of tracked files alone.
    pub(super) async fn assert_tracked(&self, commit: &CommitId) {
        let fresh = self.fresh(commit).await;
        let (found, expected) = (listing(self.files()), listing(&fresh.path().join("files")));
        for (path, expected) in &expected {
            let found = &found[path];
            assert_eq!(found.mode, expected.mode, "{path}");
            assert_eq!(found.content, expected.content, "{path}");
        }
    }

    pub(super) async fn status(&self, args: &[&str]) -> String {
        self.status_in(self.files(), args).await
    }

    async fn status_in(&self, dir: &Path, args: &[&str]) -> String {
        let status = self
            .git
            .at(dir)
            .args(["status", "--porcelain"])
            .args(args)
            .read_only(std::time::Duration::from_secs(60));
        String::from_utf8(status.output().await.unwrap()).unwrap()
    }

    pub(super) async fn say(&self, args: &[&str]) -> String {
        let said = self.git.at(self.files()).args(args).output().await;
        String::from_utf8(said.unwrap()).unwrap()
    }

    /// Prints how long it takes to make a worktree of so many files, and to move it, beside git.
    pub(super) async fn measure(&self, files: usize) {
        let root = |changed: &str| {
            let mut directories = std::collections::BTreeMap::new();
            for n in 0..files {
                let text = if n % 200 == 0 { changed } else { "" };
                let file = format!("file {n} {text}\n").repeat(40).into_bytes();
                let within = directories
                    .entry(format!("d{}", n / 20))
                    .or_insert_with(std::collections::BTreeMap::new);
                within.insert(format!("f{n}.c"), Item::File(file));
            }
            let directories = directories.into_iter();
            Item::Directory(
                directories
                    .map(|(name, files)| (name, Item::Directory(files)))
                    .collect(),
            )
        };
        let commits = [self.commit(&root("one")), self.commit(&root("other"))];
        self.git
            .at(self.repo.path())
            .args(["update-ref", "refs/heads/one", commits[0].as_str()])
            .output()
            .await
            .unwrap();
        self.git
            .at(self.repo.path())
            .args(["update-ref", "refs/heads/other", commits[1].as_str()])
            .output()
            .await
            .unwrap();
        self.git
            .at(self.repo.path())
            .args(["repack", "-q", "-a", "-d"])
            .output()
            .await
            .unwrap();
        let begin = Instant::now();
        self.switch(&commits[0], UntrackedFiles::Discard).await;
        println!("ours, made: {:?}", begin.elapsed());
        let begin = Instant::now();
        let fresh = self.fresh(&commits[0]).await;
        println!("git, made: {:?}", begin.elapsed());
        let theirs = fresh.path().join("files");
        for n in [1, 0, 1, 0, 0] {
            let begin = Instant::now();
            self.switch(&commits[n], UntrackedFiles::Discard).await;
            println!("ours, moved: {:?}", begin.elapsed());
            let begin = Instant::now();
            let to = commits[n].as_str();
            self.git
                .at(&theirs)
                .args(["checkout", "-q", "-f", to])
                .output()
                .await
                .unwrap();
            print!("git checkout -f: {:?}", begin.elapsed());
            self.git
                .at(&theirs)
                .args(["clean", "-q", "-ffdx"])
                .output()
                .await
                .unwrap();
            println!(", with clean -ffdx: {:?}", begin.elapsed());
        }
    }
}
