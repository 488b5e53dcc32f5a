//! Verbs that are in no table: those that git has and the yard keeps from callers, with the safe
//! way to what they are for, and all others.

use super::verb::forbidden;
use super::writes::STAYS;
use branchyard_model::Problem;

/// Why there is no such verb here.
pub(super) fn verb(operation: &str, args: &[String]) -> Problem {
    let name = super::super::words::shown(operation);
    if operation.is_empty()
        || !operation
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b == b'-')
        || operation.starts_with('-')
    {
        return Problem::bad("operation", format!("{name} is not a git verb"))
            .help("give the verb alone, such as status; what follows it goes into args");
    }
    // Unlike the rest of its verb, foreach is nothing but a way to run a program.
    let runs_programs = operation == "submodule" && args.iter().any(|word| word == "foreach");
    let found = FORBIDDEN
        .iter()
        .find(|(verbs, _)| verbs.contains(&operation));
    match found {
        Some((_, help)) if !runs_programs => forbidden(
            "operation",
            format!("git {operation} is not for callers of the yard"),
            help,
        ),
        _ => Problem::bad("operation", format!("the git verb {name} is not allowed"))
            .help("aliases and verbs that run programs or write outside the workspace do not pass; status, log, diff, add, commit, push and the like do"),
    }
}

const FORBIDDEN: &[(&[&str], &str)] = &[
    (
        &["config", "remote"],
        "configuration is shared by all workspaces and is the operator's; set it for the repository in the yard",
    ),
    (
        &[
            "gc",
            "prune",
            "maintenance",
            "repack",
            "pack-refs",
            "prune-packed",
        ],
        "the yard looks after its stores itself; nothing need be done",
    ),
    (
        &[
            "update-ref",
            "symbolic-ref",
            "replace",
            "filter-branch",
            "filter-repo",
        ],
        "refs are shared by all workspaces; use commit, merge, rebase or reset on the workspace's own branch",
    ),
    (
        &["worktree"],
        "a workspace is a worktree that the yard keeps: PUT or DELETE the branch",
    ),
    (
        &["submodule"],
        "submodules are not supported yet: their directories stay empty, and runs in such a workspace say so",
    ),
    (
        &["stash"],
        "stashes are shared by all worktrees of a repository; use the yard's stash tool, which keeps to this branch, or commit",
    ),
    (
        &["clean"],
        "start a run with clean: true, which saves what is work before it removes anything",
    ),
    (&["switch"], STAYS),
];
