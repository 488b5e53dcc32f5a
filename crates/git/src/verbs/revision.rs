//! Revisions as callers name them, into objects of this repository. They are resolved here, in-process,
//! before anything else is done with them; git itself is then given full ids.

use std::borrow::Cow;

use git2::{Commit, ErrorCode, Object, Tree};

use crate::{Error, ObjectId, Repository, read_ref};
use branchyard_model::{ErrorKind, Problem};

/// Longer than any that means something, with a path of the longest length behind it.
const LONGEST: usize = 8_192;

/// The object that the caller named in `field`: a branch, tag or commit, `HEAD~2`, `origin/main`,
/// `main:src/lib.rs`. A branch that is only at the remote needs no `origin/`.
pub(super) fn object<'repo>(
    repo: &'repo Repository,
    field: &str,
    revision: &str,
) -> Result<Object<'repo>, Error> {
    check(revision).map_err(|problem| problem.field(field))?;
    let meant = of_branch(repo, revision);
    if is_set_apart(&meant) {
        return Err(absent(revision).field(field).into());
    }
    let found = repo.git2().revparse_single(&meant).or_else(|error| {
        let at_remote = format!("refs/remotes/origin/{revision}");
        repo.git2().revparse_single(&at_remote).map_err(|_| error)
    });
    Ok(found.map_err(|error| unresolved(revision, &error).field(field))?)
}

/// The commit that the caller named in `field`, itself or by a tag.
pub(super) fn commit<'repo>(
    repo: &'repo Repository,
    field: &str,
    revision: &str,
) -> Result<Commit<'repo>, Error> {
    let object = object(repo, field, revision)?;
    let commit = object.peel_to_commit();
    Ok(commit.map_err(|_| other_kind(&object, revision, "commit").field(field))?)
}

/// The id of what the caller named in `field`, whatever it is.
pub fn object_id(repo: &Repository, field: &str, revision: &str) -> Result<ObjectId, Error> {
    Ok(ObjectId::of(object(repo, field, revision)?.id()))
}

/// The id of the commit that the caller named in `field`, itself or by a tag.
pub fn commit_id(repo: &Repository, field: &str, revision: &str) -> Result<ObjectId, Error> {
    Ok(ObjectId::of(commit(repo, field, revision)?.id()))
}

/// The tree that the caller named in `field`, itself or by a commit or tag.
pub(super) fn tree<'repo>(
    repo: &'repo Repository,
    field: &str,
    revision: &str,
) -> Result<Tree<'repo>, Error> {
    let object = object(repo, field, revision)?;
    let tree = object.peel_to_tree();
    Ok(tree.map_err(|_| other_kind(&object, revision, "tree").field(field))?)
}

/// Whether a revision begins with a stash or a salvage. These hold what was never committed, of whichever
/// branch; the verbs for them know whose they are, and no others are to reach them.
pub fn is_set_apart(revision: &str) -> bool {
    let name = name_in(revision);
    let short = name.strip_prefix("refs/").unwrap_or(name);
    short == "stash"
        || short.starts_with("branchyard/salvage/")
        || name.starts_with("refs/branchyard/")
}

/// What it begins with: the name of a ref, or an id.
fn name_in(revision: &str) -> &str {
    let end = revision.find(['~', '^', ':', '@']);
    &revision[..end.unwrap_or(revision.len())]
}

/// Git takes a name that a branch and a tag share for the tag. Here it is the branch's: nobody's merge is
/// to go elsewhere because somebody made a tag.
fn of_branch<'a>(repo: &Repository, revision: &'a str) -> Cow<'a, str> {
    let name = name_in(revision);
    let has = |kind: &str| matches!(read_ref(repo, &format!("refs/{kind}/{name}")), Ok(Some(_)));
    match (has("tags") || is_set_apart(revision)) && has("heads") {
        true => format!("refs/heads/{revision}").into(),
        false => revision.into(),
    }
}

/// What cannot be a revision, or would cost a walk through all history.
fn check(revision: &str) -> Result<(), Problem> {
    let refused = |detail: &str| Err(Problem::bad("revision", detail));
    if revision.is_empty() {
        return refused("a revision cannot be empty");
    }
    if revision.len() > LONGEST {
        return refused("this is too long for a revision");
    }
    if revision.starts_with('-') {
        return refused("a revision cannot begin with `-`");
    }
    if revision.contains(char::is_control) {
        return refused("a revision cannot hold control characters");
    }
    if revision.starts_with(":/") || revision.contains("^{/") {
        return refused("a revision cannot be a search through messages")
            .map_err(|problem| problem.help("find the commit with the log verb's `grep`"));
    }
    let name = revision.split(':').next().unwrap_or_default();
    if name.contains("..") || name.starts_with('^') {
        return refused("this is a range, and one revision is wanted")
            .map_err(|problem| problem.help("name each end in a field of its own"));
    }
    Ok(())
}

fn unresolved(revision: &str, error: &git2::Error) -> Problem {
    let named = revision.escape_debug();
    match error.code() {
        ErrorCode::Ambiguous => Problem::new(
            ErrorKind::Unprocessable,
            "revision_ambiguous",
            format!("more than one object is called {named}"),
        )
        .help("give more digits of the id, or a full name such as `refs/heads/…`"),
        ErrorCode::InvalidSpec => Problem::bad("revision", format!("{named} is no revision")),
        _ => absent(revision),
    }
}

fn absent(revision: &str) -> Problem {
    let named = revision.escape_debug();
    Problem::new(
        ErrorKind::NotFound,
        "revision_not_found",
        format!("there is no {named} here"),
    )
    .help("name a branch, a tag, a commit id, or one from there as in `HEAD~2`; what is only at the remote has to be fetched first")
}

fn other_kind(object: &Object<'_>, revision: &str, wanted: &str) -> Problem {
    let kind = object.kind().map_or("something else", |kind| kind.str());
    let named = revision.escape_debug();
    Problem::new(
        ErrorKind::Unprocessable,
        "revision_of_other_kind",
        format!("{named} is a {kind}, and a {wanted} is wanted"),
    )
    .help("name a commit, or a branch or tag that leads to one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_aside_is_told_from_what_is_only_called_so() {
        for apart in [
            "stash",
            "stash@{0}",
            "refs/stash^2:a",
            "refs/branchyard/seen/main",
            "refs/branchyard/salvage/x:worktree/.env",
            "branchyard/salvage/x",
        ] {
            assert!(is_set_apart(apart), "{apart}");
        }
        for other in ["stash-it", "refs/heads/stash", "branchyard/x", "main:stash"] {
            assert!(!is_set_apart(other), "{other}");
        }
    }

    #[test]
    fn what_cannot_be_a_revision_is_refused_unresolved() {
        for bad in [
            "",
            "-x",
            "--upload-pack=touch p",
            "a..b",
            "a...b",
            "^main",
            ":/fix",
            "HEAD^{/fix}",
            "a\0b",
            "a\nb",
            &"x".repeat(9_000),
        ] {
            let problem = check(bad).unwrap_err();
            assert_eq!(problem.kind, ErrorKind::BadRequest, "{bad:?}");
        }
        for good in [
            "main",
            "HEAD~2^{tree}",
            "HEAD:a..b",
            "v1^0",
            "main@{1 day ago}",
        ] {
            assert!(check(good).is_ok(), "{good:?}");
        }
    }
}
