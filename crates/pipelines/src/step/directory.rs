//! Where the script of a step starts.

use std::path::{Component, Path, PathBuf};

use branchyard_runs::step::SeenPlaces;

/// A path within the worktree, or an absolute one within the home or the temporary files of the job. None of any other.
pub(super) fn start_directory(seen: &SeenPlaces, written: &str) -> Option<PathBuf> {
    let path = Path::new(written);
    let within = |root: &Path| plain(path.strip_prefix(root).ok()?);
    let in_worktree = within(&seen.worktree).or_else(|| plain(path));
    let mut roots = [&seen.tmp, &seen.home].into_iter();
    in_worktree.or_else(|| roots.find_map(|root| Some(root.join(within(root)?))))
}

/// Without `.`; none of a path that leads up, or that is absolute.
fn plain(path: &Path) -> Option<PathBuf> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let plain = parts.map(|part| matches!(part, Component::Normal(_)).then_some(part));
    plain.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_starts_in_its_worktree_its_home_or_its_temporary_files() {
        let seen = SeenPlaces {
            worktree: "/yard/app".into(),
            home: "/home/build".into(),
            tmp: "/tmp".into(),
        };
        for (written, found) in [
            (".", Some("")),
            ("sub/./dir", Some("sub/dir")),
            ("/yard/app/sub", Some("sub")),
            ("/tmp", Some("/tmp/")),
            ("/tmp/build/x", Some("/tmp/build/x")),
            ("/home/build/./x", Some("/home/build/x")),
            ("..", None),
            ("sub/../..", None),
            ("/yard", None),
            ("/yard/app/../other", None),
            ("/tmp/../etc", None),
            ("/tmpx", None),
            ("/home/buildx", None),
            ("/", None),
        ] {
            let expected = found.map(PathBuf::from);
            assert_eq!(start_directory(&seen, written), expected, "{written}");
        }
    }
}
