//! Stashes and salvages of a repository lie in one store, whosever they are. They hold what was never
//! committed, so a git command reaches none of them: they have verbs of their own, which know whose they are.

use super::verb::{Parsed, forbidden};
use branchyard_git::verbs::revision::is_set_apart;
use branchyard_model::Problem;

/// Verbs whose words before `--` are paths or patterns.
const WITHOUT_REVISIONS: [&str; 8] = [
    "add", "branch", "commit", "ls-files", "mv", "restore", "rm", "tag",
];
/// Options whose value is a revision.
const TAKE_REVISIONS: [&str; 12] = [
    "--ancestry-path=",
    "--contains=",
    "--find-object=",
    "--ignore-rev=",
    "--merged=",
    "--no-contains=",
    "--no-merged=",
    "--onto=",
    "--points-at=",
    "--source=",
    "--with-tree=",
    "-s",
];
/// Verbs to which `--all` means all refs.
const WALK_REFS: [&str; 6] = ["log", "reflog", "rev-list", "rev-parse", "shortlog", "show"];
/// Each counts for the next option that stands for many refs.
pub(super) const BUT: [&str; 2] = ["--exclude=refs/stash", "--exclude=refs/branchyard/*"];

/// Refuses words that name one of them, and leaves them out of what stands for many refs.
pub(super) fn keep_apart(verb: &str, parsed: &mut Parsed) -> Result<(), Problem> {
    let before = parsed.before.iter().map(String::as_str);
    let words = before.filter(|_| !WITHOUT_REVISIONS.contains(&verb));
    let values = parsed.options.iter().filter_map(|option| {
        let mut names = TAKE_REVISIONS.iter();
        names.find_map(|name| option.strip_prefix(name))
    });
    if words.chain(values).any(names_one) {
        return Err(forbidden(
            "args",
            "stashes and salvages are not for git commands",
            "use the stash verb (git_stash) or salvage; a path of that name goes behind --",
        ));
    }
    if WALK_REFS.contains(&verb) {
        let options = std::mem::take(&mut parsed.options);
        for option in options {
            if option == "--all" || option.starts_with("--glob=") {
                parsed.options.extend(BUT.map(str::to_owned));
            }
            parsed.options.push(option);
        }
    }
    Ok(())
}

/// By itself, or at an end of a range.
fn names_one(word: &str) -> bool {
    let mut ends = word.split("..");
    ends.any(|end| is_set_apart(end.trim_start_matches(['.', '^'])))
}
