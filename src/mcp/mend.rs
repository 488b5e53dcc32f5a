//! What to do about a problem, in the words of this face. What comes with it speaks of addresses and
//! commands, which an agent may not have.

const MEND_WORKFLOW: &str =
    "mend the file at the lines that are named, commit it, and call `pipeline_run` again";

const BY_TOOL: &[(&str, &str)] = &[
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
    (
        "out_of_bounds",
        "`list` names the repos and branches that the credential is for",
    ),
    (
        "wider_than_own",
        "a token can be made for what you may do yourself, or less, and for no longer",
    ),
    (
        "token_not_found",
        "name a token that you made yourself, by its name or its id",
    ),
    (
        "stays_on_branch",
        "`workspace` with action prepare gives the workspace of that branch; `git_branch` with action create makes a new one",
    ),
    (
        "delivery_not_found",
        "of those that have ended only the latest are kept",
    ),
    (
        "sandbox_unavailable",
        "the operator adds what the machine lacks, or changes sandbox.profile",
    ),
    (
        "network_not_bounded",
        "the operator adds what the machine lacks, or changes sandbox.network; then the daemon is to be started anew",
    ),
    (
        "env_gone",
        "start the command anew, with its variables in env",
    ),
    (
        "no_default_branch",
        "`list` tells which branches there are; name one",
    ),
    ("code_env_failed", "`run_log` has what it said"),
    ("ticket_used", "a link is good once; ask for another"),
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
    (
        "exec_needs_sandbox",
        "run a task that the repo declares with `task`, or have the operator set sandbox.profile",
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

/// What came with a problem, unless it speaks of addresses or commands.
pub(super) fn neutral(help: Option<String>) -> Option<String> {
    // The help for names says how they are spelt in addresses, too.
    let help = help?.split("; in a URL").next()?.to_owned();
    Some(help).filter(|help| !is_of_another_face(help))
}

fn is_of_another_face(text: &str) -> bool {
    let methods = ["GET", "POST", "PUT", "DELETE", "PATCH"];
    let mut words = text.split(|letter: char| !letter.is_ascii_alphabetic());
    let others = [
        "/api/",
        "/stream/",
        "in a URL",
        "Idempotency-Key",
        "`branchyard ",
    ];
    words.any(|word| methods.contains(&word)) || others.iter().any(|other| text.contains(other))
}

#[cfg(test)]
mod tests {
    use branchyard_reference::{codes, helps};

    use super::*;
    use crate::mcp::tools;

    #[test]
    fn no_help_names_what_an_agent_does_not_have() {
        for (code, help) in BY_TOOL {
            assert!(!is_of_another_face(help), "{code}: {help}");
        }
        let (mut unknown, mut of_others) = (Vec::new(), 0);
        for (file, code, help) in helps(&codes()) {
            // The command has its own.
            if file.starts_with("src/cli/") || !is_of_another_face(&help) {
                continue;
            }
            assert!(!file.starts_with("src/mcp/"), "{file}: {help}");
            of_others += 1;
            // What has no code of its own comes without help.
            if code.as_deref().is_some_and(|code| by_tool(code).is_none()) {
                unknown.push(format!("{file}: {code:?}: {help}"));
            }
        }
        assert!(of_others > 20, "{of_others}");
        assert!(unknown.is_empty(), "{unknown:#?}");
        let route = Some("GET /api/runs lists them".to_owned());
        assert_eq!(neutral(route), None);
        let plain = Some("push it first".to_owned());
        assert_eq!(neutral(plain.clone()), plain);
    }

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
