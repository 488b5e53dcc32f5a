//! What several verbs refuse, in the same words.

use branchyard_model::{ErrorKind, Problem};

/// Enough names to see what is meant.
const FEW: usize = 20;

/// The first of these names, and how many more there are.
pub fn few<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(FEW).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(FEW) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// It would discard something, and nobody said that it may.
pub fn confirm_needed(what: &str, lost: &[String]) -> Problem {
    let detail = match lost.is_empty() {
        true => format!("{what} has to be confirmed, though nothing would be lost now"),
        false => format!(
            "{what} has to be confirmed, for it would discard: {}",
            few(lost)
        ),
    };
    Problem::new(ErrorKind::Forbidden, "confirm_needed", detail)
        .field("confirm")
        .help("call again with `confirm: true`; what somebody could miss is saved first, and the answer says how to have it back")
}

/// A merge, rebase or the like has to be finished before.
pub fn operation_under_way(operation: &str) -> Problem {
    let verb = operation.replace('-', "_");
    let help = match operation {
        "merge" | "rebase" | "cherry-pick" | "revert" => {
            format!("finish it with git_{verb} and action continue, or go back with action abort")
        }
        _ => "finish it where it was started".to_owned(),
    };
    let detail = format!("a {operation} is under way");
    Problem::new(ErrorKind::Conflict, "operation_under_way", detail).help(help)
}

/// Files that a merge left for somebody to decide about.
pub fn unresolved(files: &[String]) -> Problem {
    let detail = format!("these files have conflicts: {}", few(files));
    Problem::new(ErrorKind::Conflict, "unresolved", detail)
        .help("resolve them with git_resolve, or edit them and name them in `paths` of git_add; then ask again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_says_how_long_it_is() {
        let names: Vec<String> = (0..25).map(|n| n.to_string()).collect();
        assert!(few(&names).ends_with("19 and 5 more"));
        assert_eq!(few(&["a", "b"]), "a, b");
        assert_eq!(few::<&str>(&[]), "");
    }
}
