//! Real edits of a real repository, by chance: the same ones for the same seed. Verbs are compared with
//! the git command on what comes of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::chance::Chance;
use crate::support::{git, git_as};

/// Names that have been trouble before: quoted by git, magic in pathspecs, taken for options.
const STEMS: [&str; 14] = [
    "plain",
    "sp ace",
    "ümläut",
    "quo\"te",
    "tab\tbed",
    "back\\slash",
    "-dash",
    "[glob]*",
    ":colon",
    "日本",
    "new\nline",
    "#hash",
    "!bang",
    "UPPER",
];
const DIRS: [&str; 6] = ["", "", "src", "src/deep/er", "with space", "ünder"];
const PEOPLE: [(&str, &str); 4] = [
    ("Ada", "ada@example.org"),
    ("Bôb Ünder", "bob@example.org"),
    ("C. \"Quote\" D", "c+d@example.org"),
    ("東 京", "tokyo@example.org"),
];

/// Somebody who edits the files of one work tree.
#[derive(Debug)]
pub struct Scribe {
    pub dir: PathBuf,
    pub chance: Chance,
    made: usize,
}

impl Scribe {
    pub fn new(dir: &Path, seed: u64) -> Self {
        Self {
            dir: dir.to_owned(),
            chance: Chance::new(seed),
            made: 0,
        }
    }

    /// A few edits of any kind, some of them staged.
    pub fn edit_and_stage(&mut self, edits: usize) {
        for _ in 0..edits {
            self.edit();
            if self.chance.one_in(6) {
                self.stage_something();
            }
        }
    }

    /// Commits of a few edits each, by several people, minutes apart, some of them merges. They end on
    /// the branch that they began on.
    pub fn history(&mut self, commits: usize) {
        for number in 0..commits {
            match number > 1 && self.chance.one_in(5) {
                true => self.merge(number),
                false => self.commit_edits(number),
            }
        }
    }

    fn commit_edits(&mut self, number: usize) {
        for _ in 0..=self.chance.below(3) {
            self.edit();
        }
        self.commit(number, &["--allow-empty"]);
    }

    /// Commits everything that there is.
    pub fn commit(&mut self, number: usize, args: &[&str]) {
        git(&self.dir, &["add", "-A"]);
        let kind = *self.chance.pick(&["fix", "feat", "docs", "Änder"]);
        let message = match self.chance.one_in(3) {
            true => format!("{kind}: number {number}\n\nWith a body\nof two lines.\n"),
            false => format!("{kind}: number {number}"),
        };
        let args = [&["commit", "-q", "-m", &message], args].concat();
        self.git_dated(number, &args);
    }

    /// A side branch of one commit with a file of its own, merged where both have gone on.
    fn merge(&mut self, number: usize) {
        let tip = git(&self.dir, &["rev-parse", "HEAD"]);
        let side = format!("side-{number}");
        fs::write(self.dir.join(&side), self.text()).unwrap();
        git(&self.dir, &["add", "--", &side]);
        self.git_dated(number, &["commit", "-q", "-m", &side]);
        let other = git(&self.dir, &["rev-parse", "HEAD"]);
        git(&self.dir, &["reset", "-q", "--hard", &tip]);
        self.commit_edits(number);
        let message = format!("Merge {side}");
        self.git_dated(number, &["merge", "-q", "--no-ff", "-m", &message, &other]);
    }

    fn git_dated(&mut self, number: usize, args: &[&str]) {
        let (name, mail) = *self.chance.pick(&PEOPLE);
        let zone = *self.chance.pick(&["+0000", "+0530", "-0800", "+0200"]);
        let date = format!("{} {zone}", 1_700_000_000 + number * 613);
        let args = [&["-c", "core.hooksPath=/dev/null"], args].concat();
        git_as(&self.dir, name, mail, &date, &args);
    }

    /// One edit of the work tree.
    pub fn edit(&mut self) {
        let files = self.tracked();
        if files.is_empty() || self.chance.one_in(4) {
            return self.make();
        }
        let path = self.chance.pick(&files).clone();
        match self.chance.below(10) {
            0..=3 => self.modify(&path),
            4 => remove(&path),
            5 | 6 => self.rename(&path),
            7 => self.change_mode(&path),
            8 => self.change_type(&path),
            _ => self.litter(),
        }
    }

    fn stage_something(&mut self) {
        let files = self.tracked();
        match self.chance.below(4) {
            0 => drop(git(&self.dir, &["add", "-A"])),
            1 => drop(git(&self.dir, &["add", "-u"])),
            _ if files.is_empty() => {}
            2 => {
                let path = self.chance.pick(&files).clone();
                self.git_on(&["rm", "-q", "-f", "--cached"], &path);
            }
            _ => {
                let path = self.chance.pick(&files).clone();
                self.git_on(&["add", "-A"], &path);
            }
        }
    }

    fn git_on(&self, args: &[&str], path: &Path) {
        let path = path.strip_prefix(&self.dir).unwrap().to_str().unwrap();
        let args = [&["--literal-pathspecs"], args, &["--", path]].concat();
        git(&self.dir, &args);
    }

    /// What git tracks and is still there as a file or link.
    fn tracked(&self) -> Vec<PathBuf> {
        let listed = git(&self.dir, &["ls-files", "-z"]);
        // Git reads no ignore rules behind a link, and a file of one line is like any other.
        let stays = [".gitignore", "name.txt", ""];
        let is_ours = |path: &&str| !stays.contains(path);
        let paths = listed.split('\0').filter(is_ours);
        let paths = paths.map(|path| self.dir.join(path));
        paths
            .filter(|path| fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_dir()))
            .collect()
    }

    fn fresh_path(&mut self) -> PathBuf {
        self.made += 1;
        let dir = self.dir.join(self.chance.pick(&DIRS));
        let stem = *self.chance.pick(&STEMS);
        let dir = match fs::create_dir_all(&dir) {
            Ok(()) => dir,
            // A file took its place.
            Err(_) => self.dir.clone(),
        };
        // The place within the sequence keeps it from being one that was there.
        dir.join(format!(
            "{stem}-{}-{}.txt",
            self.made,
            self.chance.below(1_000_000)
        ))
    }

    fn make(&mut self) {
        let path = self.fresh_path();
        let content = self.content();
        fs::write(path, content).unwrap();
    }

    fn modify(&mut self, path: &Path) {
        if is_link(path) {
            return;
        }
        let mut content = fs::read(path).unwrap();
        let added = format!("added {}\n", self.word());
        match content.iter().position(|byte| *byte == b'\n') {
            Some(at) if self.chance.one_in(2) => {
                content.splice(at + 1..at + 1, added.into_bytes());
            }
            _ => content.extend(added.into_bytes()),
        }
        fs::write(path, content).unwrap();
    }

    /// Moves a file, and sometimes changes a little of it. Links stay: libgit2 takes none for renamed.
    fn rename(&mut self, path: &Path) {
        if is_link(path) {
            return;
        }
        let new = self.fresh_path();
        fs::rename(path, &new).unwrap();
        let is_long = fs::metadata(&new).is_ok_and(|meta| meta.len() > 300);
        if is_long && self.chance.one_in(2) {
            self.modify(&new);
        }
    }

    fn change_mode(&mut self, path: &Path) {
        if is_link(path) {
            return;
        }
        let mode = fs::metadata(path).unwrap().permissions().mode();
        fs::set_permissions(path, fs::Permissions::from_mode(mode ^ 0o111)).unwrap();
    }

    /// A file becomes a link, a link a file, or either a directory.
    fn change_type(&mut self, path: &Path) {
        let was_link = is_link(path);
        fs::remove_file(path).unwrap();
        match self.chance.below(4) {
            0 => {
                fs::create_dir(path).unwrap();
                fs::write(path.join("inside"), self.text()).unwrap();
            }
            _ if was_link => fs::write(path, self.text()).unwrap(),
            _ => symlink(format!("to-{}", self.word()), path).unwrap(),
        }
    }

    /// What lies about: untracked directories, empty ones, ignored files.
    fn litter(&mut self) {
        self.made += 1;
        let name = format!("litter-{}", self.made);
        let dir = self.dir.join(name);
        match self.chance.below(4) {
            0 => fs::create_dir_all(dir.join("empty")).unwrap(),
            1 => {
                fs::create_dir_all(dir.join("deep")).unwrap();
                fs::write(dir.join("deep/one"), self.text()).unwrap();
                fs::write(dir.join("two.o"), self.text()).unwrap();
            }
            2 => fs::write(self.dir.join(format!("made-{}.o", self.made)), "x").unwrap(),
            _ => {
                fs::create_dir_all(self.dir.join("ignored")).unwrap();
                fs::write(self.dir.join(format!("ignored/{}", self.made)), "x").unwrap();
            }
        }
    }

    fn content(&mut self) -> Vec<u8> {
        match self.chance.below(8) {
            0 => self.text().replace('\n', "\r\n").into_bytes(),
            1 => self.text().trim_end().to_owned().into_bytes(),
            2 => (0..800).map(|_| self.chance.byte()).chain([0]).collect(),
            3 => [b"\xe4\xf6\xfc ".to_vec(), self.text().into_bytes()].concat(),
            _ => self.text().into_bytes(),
        }
    }

    /// Lines that no other file has, so that git and we agree on what was renamed to what.
    fn text(&mut self) -> String {
        let lines = 10 + self.chance.below(30);
        (0..lines).map(|_| self.word() + "\n").collect()
    }

    fn word(&mut self) -> String {
        format!("{:016x}", self.chance.next())
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

/// Removes a file, and directories that it leaves empty.
fn remove(path: &Path) {
    fs::remove_file(path).unwrap();
    if let Some(parent) = path.parent() {
        // It is not empty as a rule.
        drop(fs::remove_dir(parent));
    }
}
