//! Make's command line, read as make reads it, by a list of its own.

use branchyard_model::Problem;
use branchyard_runs::argv::{MakePolicy, make, with_jobs};

use super::shape_of;

const MAX_JOBS: u32 = 8;

/// Options of make's that take nothing.
const ALONE: &str = "BdhiknLpqrRsStvw";
const LONG: &str = "\
    always-make directory debug file makefile help ignore-errors keep-going load-average \
    max-load check-symlink-times just-print dry-run recon old-file assume-old output-sync \
    print-data-base question no-builtin-rules no-builtin-variables silent quiet no-silent \
    no-keep-going stop touch trace version print-directory no-print-directory what-if \
    new-file assume-new warn-undefined-variables";

const LONG_WITH_PATH: &str =
    "directory file makefile old-file assume-old what-if new-file assume-new";

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

pub fn check(words: Vec<String>) -> Result<Vec<String>, Problem> {
    let policy = MakePolicy {
        max_jobs: MAX_JOBS,
        jobs: None,
        allow: &[],
    };
    let checked = make(words, &policy)?;
    let again = make(checked.args.clone(), &policy).expect("what passed passes again");
    assert_eq!(
        (&again.args, &again.beneath),
        (&checked.args, &checked.beneath)
    );
    for at in &checked.open_jobs {
        cluster_of(
            with_jobs(&checked.args[*at], 1).trim_start_matches('-'),
            &mut [].iter(),
        );
    }
    for path in &checked.beneath {
        stays_beneath(path);
    }
    let mut words = checked.args.iter();
    let mut shape = vec!["make".to_owned()];
    while let Some(word) = words.next() {
        shape.push(shape_of(word));
        if word == "--" {
            words.by_ref().for_each(|word| is_operand(word));
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long
                .split_once('=')
                .map_or((long, None), |(n, v)| (n, Some(v)));
            assert!(is_in(LONG, name), "{word:?}");
            if is_in(LONG_WITH_PATH, name) && value.is_none() {
                words.next().expect("a value");
            }
        } else if let Some(cluster) = word.strip_prefix('-') {
            cluster_of(cluster, &mut words);
        } else {
            is_operand(word);
        }
    }
    Ok(shape)
}

/// Letters behind one dash, as getopt reads them.
fn cluster_of<'a>(cluster: &str, words: &mut impl Iterator<Item = &'a String>) {
    for (at, letter) in cluster.char_indices() {
        let rest = &cluster[at + letter.len_utf8()..];
        match letter {
            'j' => {
                assert!(
                    rest.parse::<u32>()
                        .is_ok_and(|jobs| (1..=MAX_JOBS).contains(&jobs)),
                    "{cluster:?}"
                );
                return;
            }
            'l' | 'O' => return,
            'W' | 'C' | 'f' | 'o' => {
                if rest.is_empty() {
                    words.next().expect("a value");
                }
                return;
            }
            letter => assert!(ALONE.contains(letter), "-{letter}"),
        }
    }
}

fn is_operand(word: &str) {
    match word.split_once('=') {
        Some((name, value)) => {
            let name = name.trim_end_matches([':', '?', '+']);
            let own = [
                "SHELL",
                "MAKEFLAGS",
                "MAKEFILES",
                "PATH",
                "VPATH",
                "MAKE",
                "HOME",
                ".SHELLFLAGS",
            ];
            assert!(
                !own.contains(&name) && !name.starts_with("LD_") && !name.ends_with('!'),
                "{word:?}"
            );
            assert!(!value.contains('$') && !name.contains('$'), "{word:?}");
        }
        None => {
            assert!(
                !word.starts_with(['/', '~', '-']) && !word.contains('$'),
                "{word:?}"
            );
            assert!(word.split('/').all(|part| part != ".."), "{word:?}");
        }
    }
    assert!(!word.contains(['\0', '\n', '\r']), "{word:?}");
}

fn stays_beneath(path: &str) {
    assert!(!path.starts_with('/'), "{path:?}");
    let mut depth = 0i32;
    for part in path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
    {
        depth += if part == ".." { -1 } else { 1 };
        assert!(depth >= 0, "{path:?}");
    }
}
