//! What `git status --porcelain=v2 -z` found.

use std::path::{Path, PathBuf};

use super::conflict::Conflict;
use super::{Change, Found, Request};
use crate::verbs::Verbosity;
use crate::verbs::conflicts::ConflictKind;
use crate::verbs::delta::{ChangeKind, Side};
use crate::verbs::person::text;
use crate::verbs::suspects::PATIENCE;
use crate::{Error, Git, refuse_traps};

/// Words of a record up to its path: of a change, of a rename, of a conflict.
const CHANGE: usize = 9;
const RENAME: usize = 10;
const CONFLICT: usize = 11;

impl Found {
    /// The same as a look in-process finds, but for what git was told to overlook.
    pub async fn ask(
        git: &Git,
        dir: &Path,
        paths: &[PathBuf],
        request: &Request,
    ) -> Result<Self, Error> {
        let untracked = match (request.untracked, request.each_file) {
            (false, _) if !request.ignored => "--untracked-files=no",
            (_, true) => "--untracked-files=all",
            _ => "--untracked-files=normal",
        };
        let ignored = match request.ignored {
            true => "--ignored=traditional",
            false => "--ignored=no",
        };
        refuse_traps(dir, paths).await?;
        let output = git
            .in_worktree(dir)
            .read_only(PATIENCE)
            .literal_paths()
            .args(["status", "--porcelain=v2", "-z", "--find-renames=50%"])
            .args([untracked, ignored, "--"])
            .args(paths)
            .output()
            .await?;
        let mut found = parsed(&output, request.verbosity == Verbosity::Full);
        if !request.untracked {
            found.untracked.clear();
        }
        Ok(found)
    }
}

fn parsed(output: &[u8], with_sides: bool) -> Found {
    let mut found = Found::default();
    let mut records = output.split(|byte| *byte == 0);
    while let Some(record) = records.next() {
        match record.first() {
            Some(b'1') => add_change(&mut found, &words(record, CHANGE), None, with_sides),
            Some(b'2') => {
                let from = records.next().map(text);
                add_change(
                    &mut found,
                    &words(record, RENAME),
                    from.as_ref(),
                    with_sides,
                );
            }
            Some(b'u') => found
                .conflicted
                .extend(conflict(&words(record, CONFLICT), with_sides)),
            Some(b'?') => found.untracked.extend(words(record, 2).pop()),
            Some(b'!') => found.ignored.extend(words(record, 2).pop()),
            // The end, or a kind of record that is yet to be.
            _ => {}
        }
    }
    found
}

/// The words of a record; the last one, a path, may hold spaces.
fn words(record: &[u8], count: usize) -> Vec<String> {
    record
        .splitn(count, |byte| *byte == b' ')
        .map(text)
        .collect()
}

/// `[mark, XY, submodule, modes of HEAD, index and file, ids of HEAD and index, …, path]`
fn add_change(found: &mut Found, words: &[String], from: Option<&String>, with_sides: bool) {
    let [
        _,
        letters,
        _,
        in_head,
        in_index,
        in_files,
        head_id,
        index_id,
        ..,
        path,
    ] = words
    else {
        return;
    };
    let mut letters = letters.chars().map(kind);
    let sides = [
        (side(in_head, Some(head_id)), side(in_index, Some(index_id))),
        (side(in_index, Some(index_id)), side(in_files, None)),
    ];
    for (list, (old, new)) in [&mut found.staged, &mut found.unstaged]
        .into_iter()
        .zip(sides)
    {
        let Some(kind) = letters.next().flatten() else {
            continue;
        };
        let is_moved = matches!(kind, ChangeKind::Renamed | ChangeKind::Copied);
        list.push(Change {
            path: path.clone(),
            change: kind,
            from: from.filter(|_| is_moved).cloned(),
            overlooked: false,
            old: old.filter(|_| with_sides),
            new: new.filter(|_| with_sides),
        });
    }
}

/// `[mark, XY, submodule, modes of base, ours, theirs and file, ids of base, ours and theirs, path]`
fn conflict(words: &[String], with_sides: bool) -> Option<Conflict> {
    let [
        _,
        _,
        _,
        base,
        ours,
        theirs,
        _,
        base_id,
        ours_id,
        theirs_id,
        path,
    ] = words
    else {
        return None;
    };
    let sides = [(base, base_id), (ours, ours_id), (theirs, theirs_id)];
    let [base, ours, theirs] = sides.map(|(mode, id)| side(mode, Some(id)));
    Some(Conflict {
        path: path.clone(),
        kind: ConflictKind::of_stages(base.is_some(), ours.is_some(), theirs.is_some()),
        base: base.filter(|_| with_sides),
        ours: ours.filter(|_| with_sides),
        theirs: theirs.filter(|_| with_sides),
    })
}

fn kind(letter: char) -> Option<ChangeKind> {
    Some(match letter {
        'A' => ChangeKind::Added,
        'M' => ChangeKind::Modified,
        'D' => ChangeKind::Deleted,
        'R' => ChangeKind::Renamed,
        'C' => ChangeKind::Copied,
        'T' => ChangeKind::TypeChanged,
        _ => return None,
    })
}

/// `None` where there is nothing: its mode is all zeros.
fn side(mode: &str, id: Option<&String>) -> Option<Side> {
    let is_there = mode.contains(|digit| digit != '0');
    is_there.then(|| Side {
        mode: mode.to_owned(),
        id: id.filter(|id| id.contains(|digit| digit != '0')).cloned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_every_kind_are_read() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let output = format!(
            "1 AM N... 000000 100644 100755 {z} {a} sp ace\0\
             2 R. N... 100644 100644 100644 {a} {a} R100 new name\0old\nname\0\
             u UD N... 100644 100644 000000 100644 {a} {b} {z} torn\0\
             ? dir/\0! x.o\0",
            z = "0".repeat(40),
        );
        let found = parsed(output.as_bytes(), true);
        let [added, renamed] = &found.staged[..] else {
            panic!("{found:?}");
        };
        assert_eq!((&*added.path, added.change), ("sp ace", ChangeKind::Added));
        assert_eq!((&added.old, added.new.is_some()), (&None, true));
        assert_eq!(renamed.from.as_deref(), Some("old\nname"));
        assert_eq!(found.unstaged.len(), 1);
        assert_eq!(found.unstaged[0].new.as_ref().unwrap().mode, "100755");
        assert_eq!(found.conflicted[0].kind, ConflictKind::DeletedByThem);
        assert_eq!(found.conflicted[0].path, "torn");
        assert_eq!(found.untracked, ["dir/"]);
        assert_eq!(found.ignored, ["x.o"]);
    }

    #[test]
    fn records_that_are_cut_off_are_no_panic() {
        for output in ["1 A", "2 R. N...\0", "u UU\0", "1 .M N... 1 2 3 4 5\0x"] {
            assert_eq!(parsed(output.as_bytes(), false), Found::default());
        }
    }
}
