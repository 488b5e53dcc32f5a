//! Repositories of any number of files, written by `git fast-import` in no time: sizes, depths and history
//! as projects have them.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use super::dice::Dice;
use super::plain::command;

const COMMITS: usize = 60;
const FILES_IN_A_DIRECTORY: usize = 24;
/// Text that files are pieces of.
const POOL: usize = 1 << 20;

/// Branches of a repository: `bench-0` and so on, each a commit on top of `main` that changes a few files.
#[derive(Debug, Clone, Copy)]
pub struct Branches(pub usize);

/// Puts so many files, some history and branches on top of what `main` of this bare repository has.
pub fn generate(bare: &Path, files: usize, branches: Branches) {
    let mut dice = Dice::new(files as u64 * 2 + 1);
    let pool = pool(&mut dice);
    let paths: Vec<_> = (0..files).map(|n| path(n, &mut dice)).collect();
    let mut import = Import::start(bare);
    import.commit("main", "refs/heads/main^0");
    for path in &paths {
        import.file(path, content(&pool, &mut dice));
    }
    for _ in 0..COMMITS {
        let before = import.last();
        import.commit("main", &before);
        for _ in 0..3 {
            let path = &paths[dice.below(files)];
            import.file(path, content(&pool, &mut dice));
        }
    }
    let main = import.last();
    for n in 0..branches.0 {
        let name = format!("bench-{n}");
        import.commit(&name, &main);
        import.file("name.txt", format!("{name}\n").as_bytes());
        for _ in 0..5 {
            let path = &paths[dice.below(files)];
            import.file(path, content(&pool, &mut dice));
        }
    }
    import.end();
}

/// Puts a long history of 200 files on top of what `main` of this bare repository has: each is changed in turn.
pub fn lengthen(bare: &Path, commits: usize) {
    let mut import = Import::start(bare);
    import.commit("main", "refs/heads/main^0");
    for n in 0..commits {
        let before = import.last();
        import.commit("main", &before);
        import.file(
            &format!("part/{}.txt", n % 200),
            format!("{n}\n").as_bytes(),
        );
    }
    import.end();
}

/// Puts such branches on top of what `main` of any bare repository has.
pub fn branch_out(bare: &Path, branches: Branches) {
    let mut import = Import::start(bare);
    for n in 0..branches.0 {
        let name = format!("bench-{n}");
        import.commit(&name, "refs/heads/main^0");
        import.file("branchyard-bench.txt", format!("{name}\n").as_bytes());
    }
    import.end();
}

/// Lines that look like code.
fn pool(dice: &mut Dice) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "int", "static", "return", "buffer", "length", "struct", "node", "if", "next", "count",
        "offset", "const", "char", "error", "context", "flags",
    ];
    let mut pool = Vec::with_capacity(POOL + 128);
    while pool.len() < POOL {
        pool.extend(b"    ".repeat(dice.below(4)));
        for _ in 0..=dice.below(8) {
            let word = WORDS[dice.below(WORDS.len())];
            pool.extend(format!("{word}_{} ", dice.below(500)).into_bytes());
        }
        pool.extend(b";\n");
    }
    pool
}

/// Most files have a few KB, some are tiny, and a few are large: 4.5 KB on average.
fn content<'a>(pool: &'a [u8], dice: &mut Dice) -> &'a [u8] {
    let size = match dice.below(20) {
        0..5 => 40 + dice.below(900),
        5..16 => 900 + dice.below(4_000),
        16..19 => 5_000 + dice.below(10_000),
        _ => 15_000 + dice.below(30_000),
    };
    let start = dice.below(pool.len() - size);
    &pool[start..start + size]
}

/// Two to six directories deep, with a few dozen files in each.
fn path(n: usize, dice: &mut Dice) -> String {
    let directory = n / FILES_IN_A_DIRECTORY;
    let mut path = format!("area{}/module{}/", directory % 7, directory);
    // The same for all files of a directory.
    for level in 0..(directory * 7 + directory / 5) % 5 {
        path.push_str(&format!("part{level}/"));
    }
    let kind = ["c", "h", "c", "txt"][dice.below(4)];
    path + &format!("file{n}.{kind}")
}

/// A `git fast-import` that is being told commits.
struct Import {
    child: Child,
    to: BufWriter<std::process::ChildStdin>,
    commits: usize,
}

impl Import {
    fn start(bare: &Path) -> Self {
        let args = ["-c", "core.compression=1", "fast-import", "--quiet"];
        let mut child = command(bare, "git", &args)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let to = BufWriter::with_capacity(1 << 20, child.stdin.take().unwrap());
        Self {
            child,
            to,
            commits: 0,
        }
    }

    /// Begins a commit on `branch` after `from`; files follow.
    fn commit(&mut self, branch: &str, from: &str) {
        self.commits += 1;
        let (mark, time) = (self.commits, 1_700_000_000 + self.commits);
        let message = format!("Change {mark}\n");
        write!(
            self.to,
            "commit refs/heads/{branch}\nmark :{mark}\n\
             committer Bench <bench@localhost> {time} +0000\ndata {}\n{message}from {from}\n",
            message.len()
        )
        .unwrap();
    }

    /// The commit that was told last.
    fn last(&self) -> String {
        format!(":{}", self.commits)
    }

    fn file(&mut self, path: &str, content: &[u8]) {
        write!(self.to, "M 100644 inline {path}\ndata {}\n", content.len()).unwrap();
        self.to.write_all(content).unwrap();
        self.to.write_all(b"\n").unwrap();
    }

    fn end(self) {
        let Self { mut child, to, .. } = self;
        drop(to.into_inner().unwrap());
        assert!(child.wait().unwrap().success(), "git fast-import");
    }
}
