//! What to do about a problem, in commands. What comes with it speaks of addresses.

/// Which command helps, where one does.
pub(super) fn by_command(code: &str) -> Option<&'static str> {
    Some(match code {
        "repo_not_found" => "`branchyard repos` lists them, `branchyard repos add` adds one",
        "branch_not_found" => {
            "`branchyard branches REPO --remote` lists them; `branchyard prepare REPO BRANCH --from BASE` creates one"
        }
        "no_workspace" => "`branchyard prepare REPO BRANCH` makes one",
        "workspace_pinned" => "`branchyard unpin REPO BRANCH` lets it go",
        "workspace_busy" => {
            "nothing was done; `branchyard follow RUN` waits for the run, `branchyard cancel RUN` ends it"
        }
        "run_not_found" => "`branchyard runs` lists them",
        "group_not_found" => "`branchyard runs --json` names the group of each run",
        "not_ended" => {
            "`branchyard follow RUN` waits for a run, `branchyard pipeline follow PIPELINE` for a pipeline"
        }
        "pipeline_not_found" => "`branchyard pipeline list REPO` lists them",
        "job_not_found" => "`branchyard pipeline show PIPELINE` names them",
        "nothing_to_retry" => {
            "name the jobs that are to run again; `branchyard pipeline show PIPELINE` has them"
        }
        "artifact_not_found" => "`branchyard artifact list ID` lists them",
        "delivery_not_found" => "`branchyard deliveries REPO` lists them",
        "salvage_not_found" => {
            "`branchyard salvage list` lists them; they are kept for `reaper.salvage_ttl`"
        }
        "salvage_incomplete" => {
            "put the archive back into `.branchyard/salvage/` of the workspaces; `branchyard salvage show ID FILE` prints the other files"
        }
        "protected_branch" => "push to a branch of your own and have it merged",
        "out_of_bounds" => {
            "`branchyard whoami` tells which repos and branches the credential is for"
        }
        _ => return None,
    })
}
