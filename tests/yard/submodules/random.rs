//! Repositories by chance, with submodules, attributes and odd names: a workspace that follows, and a new one, have what git's
//! own commands make of each commit.

use std::fs;
use std::path::Path;

use super::assert_as_cloned;
use crate::support::beside::{Beside, work};
use crate::support::chance::Chance;
use crate::support::{Yard, git, warnings_of};

const NAMES: [&str; 9] = [
    "a",
    "a.c",
    "B.bat",
    "x.TXT",
    "ä",
    "with space",
    "-n",
    "new\nline",
    "\"quoted\"",
];
const DIRECTORIES: [&str; 5] = ["", "lib", "-d/deep", "ü b", "lib/inner"];
/// No file is in one of them.
const PLACES: [&str; 5] = [
    "mods/one",
    "mods/t w o",
    "mods/ü",
    "mods/deep/er/x",
    "mods/\"q\"",
];
const CONTENTS: [&str; 5] = [
    "",
    "one\ntwo\n",
    "one\r\ntwo\r\n",
    "$Id$\nmixed\r\nends",
    "\0binary\r\n",
];
const ATTRIBUTES: [&str; 8] = [
    "* text=auto",
    "* -text",
    "*.bat text eol=crlf",
    "*.TXT ident",
    "* text eol=crlf",
    "a.c filter=nobody",
    "[attr]dos text eol=crlf\nB.bat dos",
    "lib/** text eol=crlf",
];
const LIBRARIES: [&str; 3] = ["lib", "with space", "-ü"];
/// Each of these found a defect once.
const SEEDS: std::ops::Range<u64> = 1..3;
const COMMITS: usize = 4;

/// A repository that others have as a submodule, and its commits.
struct Library {
    name: &'static str,
    commits: Vec<String>,
}

/// Has a work tree be something else, with these as submodules, and commits that.
fn make(work: &Path, libraries: &[Library], chance: &mut Chance) {
    git(
        work,
        &["rm", "-r", "-q", "-f", "--cached", "--ignore-unmatch", "."],
    );
    for entry in fs::read_dir(work).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() && !path.is_symlink() {
            true if path.ends_with(".git") => {}
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }
    let write = |path: &str, content: &str| {
        let path = work.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    for _ in 0..=chance.below(8) {
        let (directory, name) = (*chance.pick(&DIRECTORIES), *chance.pick(&NAMES));
        write(
            format!("{directory}/{name}").trim_start_matches('/'),
            CONTENTS[chance.below(CONTENTS.len())],
        );
    }
    let mut attributes = String::new();
    for _ in 0..chance.below(4) {
        attributes += &format!("{}\n", chance.pick(&ATTRIBUTES));
    }
    // Make reads it as it is, and git its own file.
    attributes += "/Makefile -text -ident\n/.gitmodules -text -ident\n";
    write(".gitattributes", &attributes);
    write("Makefile", "t:\n\t@true\n");
    let (mut modules, mut links) = (String::new(), Vec::new());
    for (n, place) in PLACES.iter().enumerate() {
        if libraries.is_empty() || chance.one_in(2) {
            continue;
        }
        let library = chance.pick(libraries);
        let path = place.replace('"', "\\\"");
        modules += &format!(
            "[submodule \"m{n}\"]\n\tpath = \"{path}\"\n\turl = \"../{}.git\"\n",
            library.name
        );
        links.push(format!("160000,{},{place}", chance.pick(&library.commits)));
    }
    if !links.is_empty() {
        write(".gitmodules", &modules);
    }
    git(work, &["add", "-A", "-f"]);
    for link in &links {
        git(work, &["update-index", "--add", "--cacheinfo", link]);
    }
    git(work, &["commit", "-q", "--allow-empty", "-m", "by chance"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_chance_makes_is_there_as_git_has_it() {
    for seed in SEEDS {
        let chance = &mut Chance::new(seed);
        let mut yard = Yard::new().await;
        let mut libraries: Vec<Library> = Vec::new();
        for name in LIBRARIES {
            let beside = Beside::new(&yard, name);
            let mut commits = Vec::new();
            for _ in 0..3 {
                make(&beside.work, &libraries, chance);
                git(&beside.work, &["push", "-q", "origin", "HEAD:main"]);
                commits.push(git(&beside.work, &["rev-parse", "HEAD"]));
            }
            libraries.push(Library { name, commits });
        }
        for n in 0..COMMITS {
            make(&work(&yard), &libraries, chance);
            let fresh = format!("fresh-{n}");
            yard.origin.push("main");
            yard.origin.push(&fresh);
            for branch in ["main", &fresh] {
                let events = yard.make(branch, &["t"]).await;
                let end = &events.last().unwrap().data;
                assert_eq!(end["state"], "succeeded", "{seed}, {n}: {end:#}");
                assert_eq!(warnings_of(&events), [""; 0], "{seed}, {n}: {events:#?}");
                println!("seed {seed}, commit {n}, {branch}");
                assert_as_cloned(&yard, branch);
            }
        }
        yard.stop().await;
    }
}
