//! Commits as git itself lists them: those that changed a path, through renames if that is asked for, those since a
//! time, and those that one of two branches has alone. Git has filters of paths in its commit graph, and reads
//! trees faster: libgit2 took two to fifteen times as long on a history of 125,000 commits.

use std::path::Path;
use std::time::Duration;

use git2::Oid;

use super::request::{Merges, Query};
use super::walk::Ends;
use crate::verbs::budget::{MOST_COMMITS, told};
use crate::verbs::person::text;
use crate::{Error, Git};

const PATIENCE: Duration = Duration::from_secs(30);

/// A commit of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub(crate) id: Oid,
    /// What the followed file is called there, if one is followed.
    pub path: Option<String>,
    /// What it was called before, where the commit renamed or copied it.
    pub from: Option<String>,
}

/// The commits that are asked for, in the order of the log; more where a pattern is to choose among them.
pub async fn list(
    git: &Git,
    store: &Path,
    ends: &Ends,
    query: &Query,
    path: Option<&Path>,
) -> Result<Vec<Listed>, Error> {
    let request = query.request();
    let follow = ["--follow", "--name-status"];
    let command = git
        .at(store)
        .read_only(PATIENCE)
        .literal_paths()
        .args(["log", "--format=%H", "-z"])
        .arg(format!("--max-count={}", query.most().min(MOST_COMMITS)))
        .args(follow.iter().filter(|_| request.follow))
        .args(request.first_parent.then_some("--first-parent"))
        .args(match request.merges {
            Merges::Include => None,
            Merges::Exclude => Some("--no-merges"),
            Merges::Only => Some("--merges"),
        })
        .args(query.since().map(|seconds| format!("--since=@{seconds}")))
        .args(query.until().map(|seconds| format!("--until=@{seconds}")))
        .arg("--end-of-options");
    let command = match &ends.shown[..] {
        [one, other] if ends.is_symmetric => command.arg(format!("{one}...{other}")),
        shown => command
            .args(ends.hidden.iter().map(|id| format!("^{id}")))
            .args(shown.iter().map(Oid::to_string)),
    };
    let output = command
        .arg("--")
        .args(path)
        .output()
        .await
        .map_err(|error| told(error, "narrow it by `since` or `range`"))?;
    Ok(parsed(&output, request.follow))
}

/// `<id> NUL`; of a file that is followed, `LF <status> NUL <path> NUL` comes after it or, of renames and copies,
/// `LF <status> NUL <old> NUL <new> NUL`.
fn parsed(output: &[u8], follows: bool) -> Vec<Listed> {
    let mut words = output.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let Some(Ok(id)) = words.next().map(|id| Oid::from_str(&text(id))) {
        let (mut path, mut from) = (None, None);
        if follows {
            let status = words.next().unwrap_or_default().trim_ascii_start();
            path = words.next().map(text);
            if matches!(status.first(), Some(b'R' | b'C')) {
                from = path.take();
                path = words.next().map(text);
            }
        }
        found.push(Listed { id, path, from });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_whatever_is_in_them() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let output = format!("{one}\0\nR100\0a\nb\0{two}\0{two}\0\nM\0 x\0");
        let id = |id: &str| Oid::from_str(id).unwrap();
        let listed = |of: &str, path: Option<&str>, from: Option<&str>| Listed {
            id: id(of),
            path: path.map(str::to_owned),
            from: from.map(str::to_owned),
        };
        let expected = [
            listed(&one, Some(&two), Some("a\nb")),
            listed(&two, Some(" x"), None),
        ];
        assert_eq!(parsed(output.as_bytes(), true), expected);
        let output = format!("{one}\0{two}\0");
        let expected = [listed(&one, None, None), listed(&two, None, None)];
        assert_eq!(parsed(output.as_bytes(), false), expected);
        assert_eq!(parsed(b"", true), []);
    }
}
