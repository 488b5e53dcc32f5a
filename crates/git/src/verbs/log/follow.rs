//! The history of one file through its renames. Which file another was made from is judged by likeness,
//! which libgit2 measures otherwise than git does; so git itself is asked, and says what `git log` would.

use std::path::Path;
use std::time::Duration;

use git2::Oid;

use super::walk::{Bounds, Ends};
use crate::verbs::budget::told;
use crate::verbs::person::text;
use crate::{Error, Git};

const PATIENCE: Duration = Duration::from_secs(30);

/// A commit that changed the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    pub(crate) id: Oid,
    /// What it is called there.
    pub path: String,
    /// What it was called before, where the commit renamed or copied it.
    pub from: Option<String>,
}

/// All commits that changed the file at `path`, in the order of the log.
pub async fn follow(
    git: &Git,
    store: &Path,
    ends: &Ends,
    bounds: Bounds,
    path: &Path,
) -> Result<Vec<Followed>, Error> {
    let mut command = git
        .at(store)
        .read_only(PATIENCE)
        .literal_paths()
        .args(["log", "--follow", "--format=%H", "--name-status", "-z"])
        .args(["--no-ext-diff", "--no-textconv", "--no-show-signature"]);
    if bounds.first_parent {
        command = command.arg("--first-parent");
    }
    for (option, bound) in [("--since", bounds.since), ("--until", bounds.until)] {
        if let Some(seconds) = bound {
            command = command.arg(format!("{option}=@{seconds}"));
        }
    }
    let output = command
        .arg("--end-of-options")
        .args(ends.hidden.iter().map(|id| format!("^{id}")))
        .args(ends.shown.iter().map(Oid::to_string))
        .arg("--")
        .arg(path)
        .output()
        .await
        .map_err(|error| told(error, "narrow it by `since` or `range`"))?;
    Ok(parsed(&output))
}

/// `<id> NUL`, then `LF <status> NUL <path> NUL` or, of renames and copies, `LF <status> NUL <old> NUL
/// <new> NUL`.
fn parsed(output: &[u8]) -> Vec<Followed> {
    let mut words = output.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(id), Some(status), Some(path)) = (words.next(), words.next(), words.next()) {
        let Ok(id) = Oid::from_str(&text(id)) else {
            break;
        };
        let renamed = matches!(status.trim_ascii_start().first(), Some(b'R' | b'C'));
        let (path, from) = match renamed {
            true => (words.next().unwrap_or(path), Some(text(path))),
            false => (path, None),
        };
        found.push(Followed {
            id,
            path: text(path),
            from,
        });
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
        let expected = [
            Followed {
                id: id(&one),
                path: two.clone(),
                from: Some("a\nb".to_owned()),
            },
            Followed {
                id: id(&two),
                path: " x".to_owned(),
                from: None,
            },
        ];
        assert_eq!(parsed(output.as_bytes()), expected);
        assert_eq!(parsed(b""), []);
    }
}
