//! The packages in an environment, by the names of what installers leave there. Commands write there what they like: no
//! link is followed, and only so many names are read.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Dir, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// So many names are read of a directory.
const MOST_NAMES: usize = 50_000;

/// Names as they are compared, with their versions.
pub(super) fn installed(env: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let Some(root) = open(CWD, env, ResolveFlags::empty())? else {
        return Ok(found);
    };
    // What conda installs may be no package of Python's.
    for name in names_in(&root, Path::new("conda-meta"))? {
        if let Some((package, version)) = name.strip_suffix(".json").and_then(of_conda) {
            found.insert(normalized(package), version.to_owned());
        }
    }
    for python in names_in(&root, Path::new("lib"))? {
        if !python.starts_with("python") {
            continue;
        }
        let packages = Path::new("lib").join(python).join("site-packages");
        for name in names_in(&root, &packages)? {
            let package = name.strip_suffix(".dist-info");
            if let Some((package, version)) = package.and_then(|name| name.split_once('-')) {
                found.insert(normalized(package), version.to_owned());
            }
        }
    }
    Ok(found)
}

/// `name-version-build`, where the name may have dashes itself.
fn of_conda(name: &str) -> Option<(&str, &str)> {
    let (rest, _build) = name.rsplit_once('-')?;
    rest.rsplit_once('-')
}

/// As Python's index compares names: small letters, and one dash for each run of dashes, dots and underscores.
pub(super) fn normalized(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '-' | '_' | '.' if plain.ends_with('-') => {}
            '-' | '_' | '.' => plain.push('-'),
            letter => plain.push(letter.to_ascii_lowercase()),
        }
    }
    plain
}

fn names_in(root: &OwnedFd, dir: &Path) -> io::Result<Vec<String>> {
    let Some(dir) = open(root, dir, ResolveFlags::BENEATH)? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in Dir::read_from(&dir)?.take(MOST_NAMES) {
        names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
    }
    Ok(names)
}

/// A directory; `None` where there is none, or something else.
fn open(
    root: impl std::os::fd::AsFd,
    path: &Path,
    beneath: ResolveFlags,
) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = match beneath.is_empty() {
        true => beneath,
        false => beneath | ResolveFlags::NO_SYMLINKS,
    };
    match openat2(root, path, flags, Mode::empty(), resolve) {
        Ok(dir) => Ok(Some(dir)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn packages_are_told_by_the_names_of_what_is_installed() {
        let env = tempfile::tempdir().unwrap();
        let packages = env.path().join("lib/python3.12/site-packages");
        for dir in [
            "Foo_Bar-1.2.dist-info",
            "plain-0.1rc1.dist-info",
            "plain",
            "x.dist-info",
        ] {
            fs::create_dir_all(packages.join(dir)).unwrap();
        }
        fs::create_dir_all(env.path().join("conda-meta")).unwrap();
        fs::write(env.path().join("conda-meta/c-ares-1.34.5-h2.json"), "").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir(elsewhere.path().join("secret-1.dist-info")).unwrap();
        fs::create_dir(env.path().join("lib/python3.13")).unwrap();
        let link = env.path().join("lib/python3.13/site-packages");
        std::os::unix::fs::symlink(elsewhere.path(), link).unwrap();
        let found = installed(env.path()).unwrap();
        let expected = [
            ("c-ares", "1.34.5"),
            ("foo-bar", "1.2"),
            ("plain", "0.1rc1"),
        ];
        let expected = expected.map(|(name, version)| (name.to_owned(), version.to_owned()));
        assert_eq!(found, expected.into());
        assert_eq!(normalized("A__b.-C"), "a-b-c");
        assert!(installed(&env.path().join("none")).unwrap().is_empty());
    }
}
