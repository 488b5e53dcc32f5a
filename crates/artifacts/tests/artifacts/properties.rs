//! What holds for any tree of files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;

use crate::cache_yard::CacheYard;
use crate::yard::Yard;

/// Paths with their contents and whether they are executable.
type Tree = BTreeMap<String, (Vec<u8>, bool)>;

fn trees() -> impl Strategy<Value = Tree> {
    let name = "[a-zü \\[\\]*?!'\\\\{}-][a-zA-Z0-9_. é-]{0,12}";
    let path = prop::collection::vec(name, 1..5).prop_map(|names| names.join("/"));
    let content = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        (any::<u8>(), 0..100_000_usize).prop_map(|(byte, size)| vec![byte; size]),
    ];
    prop::collection::btree_map(path, (content, any::<bool>()), 1..40)
}

/// Writes what can be there together, and returns that.
fn write(tree: Tree, to: &Path) -> Tree {
    let mut written = Tree::new();
    for (path, (content, is_executable)) in tree {
        let place = to.join(&path);
        if place.exists() || fs::create_dir_all(place.parent().unwrap()).is_err() {
            continue;
        }
        fs::write(&place, &content).unwrap();
        let mode = if is_executable { 0o755 } else { 0o644 };
        fs::set_permissions(&place, PermissionsExt::from_mode(mode)).unwrap();
        written.insert(path, (content, is_executable));
    }
    written
}

fn read(dir: &Path, at: &str, tree: &mut Tree) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = format!("{at}{}", entry.file_name().into_string().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => read(&entry.path(), &format!("{path}/"), tree),
            false => {
                let mode = entry.metadata().unwrap().permissions().mode();
                assert!([0o755, 0o644].contains(&(mode & 0o7777)));
                let content = fs::read(entry.path()).unwrap();
                tree.insert(path, (content, mode & 0o100 != 0));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_was_collected_is_restored(tree in trees()) {
        let yard = Yard::new();
        let tree = write(tree, &yard.job());
        let set = yard.set("all");
        let into = yard.path("into");
        fs::create_dir(&into).unwrap();
        yard.restore_to(&set, &into).unwrap();
        let mut restored = Tree::new();
        read(&into, "", &mut restored);
        prop_assert!(restored == tree);
        let paths: Vec<_> = set.files.iter().map(|file| &file.path).collect();
        prop_assert!(paths.into_iter().eq(tree.keys()));
    }

    #[test]
    fn what_was_saved_in_a_cache_is_restored(tree in trees(), links in prop::collection::vec("[a-z]{1,3}(/[a-z]{1,3})?", 0..5)) {
        let yard = CacheYard::new();
        let tree = write(tree, &yard.path("job"));
        for link in &links {
            // Where there is something, or a file instead of its directory, there is none.
            let _ = symlink("target", yard.path("job").join(link));
        }
        let links: Vec<_> = links.iter().filter(|link| yard.path("job").join(link).is_symlink()).collect();
        yard.save("main", "key", &["."]);
        let restored = yard.restore(&["main"], &["key"], &["."]).unwrap();
        let into = yard.path("later/job");
        for link in &links {
            prop_assert_eq!(fs::read_link(into.join(link)).unwrap(), Path::new("target"));
            let _ = fs::remove_file(into.join(link));
        }
        let mut copy = Tree::new();
        read(&into, "", &mut copy);
        prop_assert!(copy == tree);
        prop_assert!(restored.files >= tree.len());
    }

    #[test]
    fn no_pattern_panics_or_finds_what_is_outside(pattern in "[a-b!~*?\\[\\]{}/.\\\\ \\^-]{0,24}") {
        let yard = Yard::new();
        yard.write(&["a", "b/a", "b/b/a"]);
        if let Ok(collected) = yard.collect("x", &[&pattern]) {
            for file in collected.set.iter().flat_map(|set| &set.files) {
                prop_assert!(Path::new(&file.path).is_relative() && !file.path.contains(".."));
            }
        }
    }
}
