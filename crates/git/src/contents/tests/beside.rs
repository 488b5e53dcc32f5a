//! Two worktrees of one commit: one filled as workspaces are, one by `git worktree add`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use git2::{ObjectType, Oid, Signature};

use crate::{Error, Git, Repository, Store, Worktree, contents, isolate_libgit2};
use branchyard_model::{BranchName, CommitId};

pub(super) struct Beside {
    dir: tempfile::TempDir,
    store: Store,
    pub repo: Repository,
    pub git: Git,
}

#[derive(Debug)]
pub(crate) struct Found {
    pub mode: u32,
    /// Of a link, where it leads.
    pub content: Vec<u8>,
}

impl Beside {
    pub(super) fn new() -> Self {
        isolate_libgit2();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let repo = Repository::init_bare(&path).unwrap();
        let store = Store::at(path, "file:///nowhere".to_owned());
        store.guard().unwrap();
        let git = Git::for_tests(&dir);
        Self {
            dir,
            store,
            repo,
            git,
        }
    }

    pub(super) fn commit(&self, tree: Oid) -> CommitId {
        let me = Signature::now("me", "me@localhost").unwrap();
        // By hand: libgit2 would look into the tree.
        let text = format!("tree {tree}\nauthor {me} 0 +0000\ncommitter {me} 0 +0000\n\n");
        let odb = self.repo.git2().odb().unwrap();
        let id = odb.write(ObjectType::Commit, text.as_bytes()).unwrap();
        CommitId::parse(&id.to_string()).unwrap()
    }

    /// A tree with exactly these entries in this order.
    pub(super) fn raw_tree(&self, entries: &[(&str, &[u8], Oid)]) -> Oid {
        let mut raw = Vec::new();
        for (mode, name, id) in entries {
            raw.extend_from_slice(format!("{mode} ").as_bytes());
            raw.extend_from_slice(name);
            raw.push(0);
            raw.extend_from_slice(id.as_bytes());
        }
        let odb = self.repo.git2().odb().unwrap();
        odb.write(ObjectType::Tree, &raw).unwrap()
    }

    fn worktree(&self, branch: &str) -> Worktree {
        let branch = BranchName::parse(branch).unwrap();
        let path = self.dir.path().join(branch.dir().as_str());
        Worktree::new(&self.store, path, branch)
    }

    pub(super) async fn registered_by_git(&self, commit: &CommitId, branch: &str) -> Worktree {
        let worktree = self.worktree(branch);
        self.git
            .at(self.store.path())
            .args(["worktree", "add", "--quiet", "--no-checkout", "--lock"])
            .args(["--reason", "preparing", "--no-track", "-b", branch])
            .arg(worktree.path())
            .arg(commit.as_str())
            .output()
            .await
            .unwrap();
        worktree
    }

    /// A worktree without files.
    pub(super) async fn registered(&self, commit: &CommitId, branch: &str) -> Worktree {
        let worktree = self.worktree(branch);
        worktree
            .add(&self.git, &self.store, commit, false)
            .await
            .unwrap();
        worktree
    }

    pub(super) async fn filled(&self, commit: &CommitId, branch: &str) -> Worktree {
        let worktree = self.registered(commit, branch).await;
        contents::fill(&worktree, &self.git).await.unwrap();
        assert!(worktree.is_ready());
        worktree
    }

    pub(super) async fn filled_by_git(
        &self,
        commit: &CommitId,
        branch: &str,
    ) -> Result<Worktree, Error> {
        let worktree = self.worktree(branch);
        self.git
            .at(self.store.path())
            .args(["worktree", "add", "--quiet", "--no-track", "-b", branch])
            .arg(worktree.path())
            .arg(commit.as_str())
            .output()
            .await?;
        Ok(worktree)
    }

    async fn say(&self, worktree: &Worktree, args: &[&str]) -> String {
        let said = self.git.at(worktree.path()).args(args).output().await;
        String::from_utf8(said.unwrap()).unwrap()
    }

    /// The same files, modes and index.
    pub(super) async fn assert_equal(&self, ours: &Worktree, theirs: &Worktree) {
        let (written, expected) = (listing(ours.path()), listing(theirs.path()));
        assert_eq!(
            written.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>()
        );
        for (path, expected) in &expected {
            let written = &written[path];
            assert_eq!(written.mode, expected.mode, "{path}");
            assert_eq!(written.content, expected.content, "{path}");
        }
        let stages = &["ls-files", "--stage", "-t", "-v"];
        assert_eq!(self.say(ours, stages).await, self.say(theirs, stages).await);
        assert_true_index(ours, true);
    }

    /// The same view of git on both, and the same tree of the same change.
    pub(super) async fn assert_same_view(&self, ours: &Worktree, theirs: &Worktree) {
        for question in [
            // First, for it does not refresh the index.
            ["diff-files", "--raw"].as_slice(),
            &[
                "status",
                "--porcelain=v2",
                "--untracked-files=all",
                "--ignored",
            ],
            &["write-tree"],
        ] {
            let (ours, theirs) = (self.say(ours, question), self.say(theirs, question));
            assert_eq!(ours.await, theirs.await, "{question:?}");
        }
        let mut trees = Vec::new();
        for worktree in [ours, theirs] {
            change_a_file_of_some_directories(worktree.path());
            self.say(worktree, &["add", "--all"]).await;
            trees.push(self.say(worktree, &["write-tree"]).await);
        }
        assert_eq!(trees[0], trees[1]);
        self.say(ours, &["fsck", "--no-dangling"]).await;
    }
}

/// A text about a worktree without its names, and without when it was written.
pub(super) fn nameless(content: &[u8], worktree: &Worktree) -> String {
    let branch = worktree.branch();
    let text = String::from_utf8(content.to_vec()).unwrap();
    let text = text
        .replace(branch.dir().as_str(), "DIRECTORY")
        .replace(branch.as_str(), "BRANCH");
    let when = regex::Regex::new(r"> [0-9]+ [+-][0-9]{4}").unwrap();
    when.replace_all(&text, "> WHEN").into_owned()
}

/// All that lies beneath, directories included, but for git's own link.
pub(crate) fn listing(root: &Path) -> BTreeMap<String, Found> {
    let mut found = BTreeMap::new();
    list(root, "", &mut found);
    found.remove(".git");
    found
}

fn list(root: &Path, within: &str, found: &mut BTreeMap<String, Found>) {
    for entry in fs::read_dir(root.join(within)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = match within {
            "" => name,
            _ => format!("{within}/{name}"),
        };
        let meta = entry.metadata().unwrap();
        let content = if meta.is_symlink() {
            fs::read_link(entry.path())
                .unwrap()
                .into_os_string()
                .into_encoded_bytes()
        } else if meta.is_file() {
            fs::read(entry.path()).unwrap()
        } else {
            if meta.is_dir() {
                list(root, &path, found);
            }
            Vec::new()
        };
        let found_here = Found {
            mode: meta.mode(),
            content,
        };
        found.insert(path, found_here);
    }
}

/// What the index says of each file is what the file system says, but for the device, at which git does not look. Git gives a file that it wants to look at
/// again the size 0, which it may if it had a part in it.
#[expect(clippy::cast_possible_truncation, reason = "as the index has it")]
pub(super) fn assert_true_index(worktree: &Worktree, may_have_doubts: bool) {
    let index = worktree.open().unwrap().git2().index().unwrap();
    for entry in index.iter().filter(|entry| entry.mode != 0o160_000) {
        let path = String::from_utf8(entry.path.clone()).unwrap();
        let meta = fs::symlink_metadata(worktree.path().join(&path)).unwrap();
        if may_have_doubts && entry.file_size == 0 {
            continue;
        }
        let of_file = [
            meta.mtime() as u32,
            meta.mtime_nsec() as u32,
            meta.ctime() as u32,
            meta.ctime_nsec() as u32,
            meta.ino() as u32,
            meta.uid(),
            meta.gid(),
            meta.size() as u32,
        ];
        let of_entry = [
            entry.mtime.seconds() as u32,
            entry.mtime.nanoseconds(),
            entry.ctime.seconds() as u32,
            entry.ctime.nanoseconds(),
            entry.ino,
            entry.uid,
            entry.gid,
            entry.file_size,
        ];
        assert_eq!(of_entry, of_file, "{path}");
    }
}

/// The cache of trees in an index counts when some of it is used and some is not.
fn change_a_file_of_some_directories(root: &Path) {
    let mut changed = std::collections::BTreeSet::new();
    for (path, found) in listing(root) {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let is_file = found.mode & 0o170_000 == 0o100_000 && directory.len() % 2 == 0;
        if is_file && !path.ends_with(".gitattributes") && changed.insert(directory.to_owned()) {
            fs::write(root.join(&path), "changed\n").unwrap();
        }
    }
}
