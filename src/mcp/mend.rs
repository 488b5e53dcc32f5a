//! What to do about a problem, in the words of this face. What comes with it speaks of addresses and
//! commands, which an agent may not have.

const BY_TOOL: [(&str, &str); 16] = [
    (
        "repo_not_found",
        "`list` names the repos; `repos` (toolset admin) registers one",
    ),
    (
        "repo_in_use",
        "push what is to be kept; `list` names the workspaces, `workspace` with action remove takes one away",
    ),
    (
        "branch_not_found",
        "`list` with remote: true names the branches; `workspace` with action prepare and from creates one",
    ),
    ("no_workspace", "`workspace` with action prepare makes one"),
    (
        "workspace_pinned",
        "`workspace` with action unpin lets it go",
    ),
    (
        "file_not_found",
        "`ls` lists the files of a workspace, `salvage` with action show those of a salvage",
    ),
    (
        "salvage_not_found",
        "`salvage` with action list names them; they expire after a time",
    ),
    (
        "salvage_incomplete",
        "the operator can put the archive back; `salvage` with action read gives the other files one by one",
    ),
    (
        "salvage_damaged",
        "nothing of it was removed; `findings` with mend: true (toolset ops) brings back what can still be read",
    ),
    (
        "workspace_busy",
        "nothing was done; wait for the run with `run_wait` or stop it with `run_cancel`, then call again",
    ),
    (
        "not_done_yet",
        "what was begun goes on; look with `git_status` how far a git verb came before you call it again",
    ),
    (
        "protected_branch",
        "work on a branch of your own, which `git_clone` makes, and have it merged",
    ),
    ("group_not_found", "`runs` names the group of each run"),
    ("run_not_found", "`runs` lists them"),
    ("not_ended", "wait for it with `run_wait`"),
    (
        "disk_full",
        "`reap` (toolset ops) makes room, and so does `workspace` with action remove; then call again",
    ),
];

/// Which tool helps, where one does.
pub(super) fn by_tool(code: &str) -> Option<&'static str> {
    let known = BY_TOOL.iter().find(|(known, _)| *known == code);
    known.map(|(_, help)| *help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tools;

    #[test]
    fn every_tool_that_is_named_is_there() {
        let known = tools::all();
        for (code, help) in BY_TOOL {
            for name in help.split('`').skip(1).step_by(2) {
                let is_known = known.iter().any(|tool| tool.name() == name);
                assert!(is_known, "{code}: {name}");
            }
        }
        assert_eq!(by_tool("drifted"), None);
    }
}
