//! Random histories: merges that take a file from one side, from the other or from neither, several
//! roots, equal times and clocks that went wrong, files that move and come back.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const PATHS: [&str; 6] = ["a", "b", "dir/a", "dir/b", "dir/deep/c", "d e"];
pub const PEOPLE: [&str; 3] = ["Ada <ada@localhost>", "Bob <bob@localhost>", "Eve <eve@x>"];
/// The time of the first commit.
pub const BEGAN: i64 = 1_700_000_000;

/// Small, and the same for the same seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides
    }
}

type Files = BTreeMap<String, Vec<String>>;

/// Writes `count` commits into the bare repository, of which `refs/heads/tangle` and, of the others,
/// `refs/heads/side` lead to the last.
pub fn tangle(bare: &Path, seed: u64, count: usize) {
    let mut dice = Dice::new(seed);
    let mut trees: Vec<Files> = Vec::new();
    let (mut stream, mut time) = (String::new(), BEGAN);
    for n in 0..count {
        let parents = parents(&mut dice, n);
        let mut files = merged(&mut dice, parents.iter().map(|parent| &trees[*parent]));
        // Some merges and some commits change nothing.
        for _ in 0..dice.roll(3).min(if parents.len() > 1 { 1 } else { 2 }) {
            change(&mut dice, &mut files, n);
        }
        time += [0, 0, 1, 60, 3600][dice.roll(5)];
        let skew = [0, 0, 0, 0, 0, -100_000, 50][dice.roll(7)];
        let branch = if n % 7 == 3 { "side" } else { "tangle" };
        commit(
            &mut stream,
            &mut dice,
            n,
            branch,
            time + skew,
            &parents,
            &files,
        );
        trees.push(files);
    }
    import(bare, &stream);
}

fn parents(dice: &mut Dice, n: usize) -> Vec<usize> {
    let near = |dice: &mut Dice| n - 1 - dice.roll(n.min(6));
    let mut parents = match (n, dice.roll(12)) {
        (0, _) | (_, 0) if n < 20 => vec![],
        (_, 1..=3) => vec![near(dice), near(dice)],
        (_, 4) => vec![near(dice), near(dice), near(dice)],
        _ => vec![near(dice)],
    };
    let mut seen = Vec::new();
    parents.retain(|parent| {
        let is_new = !seen.contains(parent);
        seen.push(*parent);
        is_new
    });
    parents
}

/// All files of one parent, or each of any.
fn merged<'a>(dice: &mut Dice, parents: impl Iterator<Item = &'a Files>) -> Files {
    let parents: Vec<&Files> = parents.collect();
    if parents.is_empty() {
        return Files::new();
    }
    if dice.roll(3) == 0 {
        return parents[dice.roll(parents.len())].clone();
    }
    let mut files = Files::new();
    for path in parents.iter().flat_map(|parent| parent.keys()) {
        if let Some(lines) = parents[dice.roll(parents.len())].get(path) {
            files.insert(path.clone(), lines.clone());
        }
    }
    files
}

fn change(dice: &mut Dice, files: &mut Files, n: usize) {
    let path = PATHS[dice.roll(PATHS.len())].to_owned();
    match dice.roll(8) {
        0 => drop(files.remove(&path)),
        1 => {
            let to = PATHS[dice.roll(PATHS.len())].to_owned();
            if let Some(lines) = files.remove(&path) {
                files.insert(to, lines);
            }
        }
        _ => {
            let lines = files.entry(path).or_default();
            if lines.len() < 4 {
                lines.extend((0..6).map(|line| format!("{n}.{line}")));
            }
            let at = dice.roll(lines.len());
            match dice.roll(3) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, format!("{n} new")),
                _ => lines[at] = format!("{n} changed"),
            }
        }
    }
}

fn commit(
    stream: &mut String,
    dice: &mut Dice,
    n: usize,
    branch: &str,
    time: i64,
    parents: &[usize],
    files: &Files,
) {
    let (author, committer) = (PEOPLE[dice.roll(3)], PEOPLE[dice.roll(3)]);
    let subject = ["feat: a", "fix(x): b", "words", "feat!: c"][dice.roll(4)];
    let message = format!("{subject} {n}\n\nbody of {n}\nReviewed-by: nobody\n");
    if parents.is_empty() {
        let _ = writeln!(stream, "reset refs/heads/{branch}");
    }
    let _ = writeln!(stream, "commit refs/heads/{branch}\nmark :{}", n + 1);
    let _ = writeln!(stream, "author {author} {} +0530", time - 5);
    let _ = writeln!(stream, "committer {committer} {time} -0100");
    let _ = writeln!(stream, "data {}\n{message}", message.len());
    for (place, parent) in parents.iter().enumerate() {
        let word = if place == 0 { "from" } else { "merge" };
        let _ = writeln!(stream, "{word} :{}", parent + 1);
    }
    stream.push_str("deleteall\n");
    for (path, lines) in files {
        let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let _ = writeln!(
            stream,
            "M 100644 inline \"{path}\"\ndata {}\n{content}",
            content.len()
        );
    }
}

fn import(bare: &Path, stream: &str) {
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet", "--force"])
        .current_dir(bare)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = import.stdin.take().unwrap();
    input.write_all(stream.as_bytes()).unwrap();
    drop(input);
    assert!(import.wait().unwrap().success());
}
