//! What to do about a problem, in the words of this face. What comes with it speaks of addresses and
//! commands, which an agent may not have.

const MEND_WORKFLOW: &str =
    "mend the file at the lines that are named, commit it, and call `pipeline_run` again";

const BY_TOOL: [(&str, &str); 24] = [
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
        "`ls` lists the files of a workspace, `salvage` with action show those of a salvage, `artifacts` those of an artifact",
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
    (
        "not_ended",
        "wait for a run with `run_wait`, for a pipeline with `pipeline_wait`",
    ),
    (
        "pipeline_not_found",
        "`pipelines` with repo lists them; old ones go after a time",
    ),
    (
        "job_not_found",
        "`pipelines` with pipeline_id names the jobs",
    ),
    (
        "nothing_to_retry",
        "name the jobs that are to run again; `pipelines` with pipeline_id has them",
    ),
    (
        "not_held",
        "hold: 30m in the job keeps its worktree for so long after a failure; `artifacts` and `run_log` have what else is left",
    ),
    (
        "artifact_not_found",
        "`artifacts` with pipeline_id lists those of a pipeline; old ones go after a time",
    ),
    ("workflow_invalid", MEND_WORKFLOW),
    ("action_not_supported", MEND_WORKFLOW),
    ("unsafe_interpolation", MEND_WORKFLOW),
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
