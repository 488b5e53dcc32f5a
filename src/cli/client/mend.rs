//! What to do about a problem, in commands. What comes with it may speak of addresses, or of the tools of agents.

use branchyard_model::Problem;

/// The daemon's words for requests.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PATCH"];
const OF_HTTP: [&str; 4] = ["/api/", "/stream/", "in a URL", "Idempotency-Key"];
/// Its words for the tools of agents, which begin like these.
const OF_TOOLS: [&str; 5] = ["the tool `", "git_", "run_log", "run_wait", "run_cancel"];

/// What helps, in commands: of this problem, or what came with it if that speaks of none but commands.
pub(in crate::cli) fn help(code: &str, came: Option<&String>) -> Option<String> {
    let known = by_command(code).map(str::to_owned);
    let came = came.map(|help| without_url(help));
    known.or_else(|| Some(came.filter(|help| !is_of_another_face(help))?.to_owned()))
}

/// The same of a problem of this side, where names are written down on a command line.
pub(in crate::cli) fn help_of(problem: &Problem) -> Option<String> {
    help(&problem.code, problem.help.as_ref())
}

/// The help for names says how they are spelt in addresses, too.
fn without_url(help: &str) -> &str {
    help.split("; in a URL").next().unwrap_or(help)
}

/// Whether a text speaks of routes or tools, which nobody has on a command line.
fn is_of_another_face(text: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_ascii_alphabetic());
    let of_http = OF_HTTP.iter().chain(&OF_TOOLS);
    words.any(|word| METHODS.contains(&word)) || of_http.into_iter().any(|of| text.contains(of))
}

/// Which command helps, where one does.
fn by_command(code: &str) -> Option<&'static str> {
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
        "file_not_found" => {
            "`branchyard ls REPO BRANCH` lists the files of a workspace, `branchyard salvage show SALVAGE` those of a salvage"
        }
        "path_not_found" => {
            "`branchyard git REPO BRANCH status` names what changed, `branchyard ls REPO BRANCH` what there is"
        }
        "stays_on_branch" => {
            "`branchyard prepare REPO OTHER` gives the workspace of that branch; with --from it creates the branch"
        }
        "local_changes" => "commit or stash them in the workspace, then ask again",
        "git_refused" | "no_conflicts" | "nothing_under_way" => {
            "nothing is lost; `branchyard git REPO BRANCH status` tells how the workspace stands"
        }
        "unrelated_histories"
        | "not_fast_forward"
        | "not_conflicted"
        | "unresolved"
        | "conflicts"
        | "rewritten"
        | "behind"
        | "has_stashes"
        | "tag_not_found"
        | "no_such_submodule" => {
            "`branchyard git REPO BRANCH status` tells how the workspace stands"
        }
        "workspace_too_large" => {
            "remove files, or the workspace with `branchyard rm REPO BRANCH`; the operator can raise the limit"
        }
        "in_the_way" => "commit, move or remove them, and ask again",
        "parked" => "create a branch of another name from here",
        "no_default_branch" => "`branchyard repos` tells which repositories have one",
        "code_env_failed" => "`branchyard log RUN` has what it said",
        "out_of_bounds" => {
            "`branchyard whoami` tells which repos and branches the credential is for"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_reference::{codes, helps, source};

    #[test]
    fn no_help_names_what_a_command_line_does_not_have() {
        let codes = codes();
        let helps = helps(&codes);
        assert!(helps.len() > 200, "{}", helps.len());
        for code in &codes {
            let ours = by_command(code).unwrap_or_default();
            assert!(!is_of_another_face(ours), "{code}: {ours}");
        }
        let (mut unknown, mut of_others) = (Vec::new(), 0);
        for (file, code, help) in &helps {
            if file.starts_with("src/cli/") {
                assert!(!is_of_another_face(help), "{file}: {help}");
            } else if is_of_another_face(help) {
                of_others += 1;
                // What has no code of its own comes without help.
                let is_known = code
                    .as_deref()
                    .is_none_or(|code| by_command(code).is_some());
                if !is_known && !file.starts_with("src/mcp/") {
                    unknown.push(format!("{file}: {code:?}: {help}"));
                }
            }
        }
        assert!(of_others > 20, "{of_others}");
        assert!(unknown.is_empty(), "{unknown:#?}");
    }

    /// What the command itself prints: its messages, its help and its examples.
    #[test]
    fn no_message_names_what_a_command_line_does_not_have() {
        let printing = [
            "note(",
            "warning(",
            "usage(",
            "daemon(",
            "local(",
            "println!(",
            "writeln!(out, ",
            "help(",
        ];
        let mut looked_at = 0;
        for (file, text) in source() {
            // Those for agents and for other programs speak their languages.
            let is_ours = file.starts_with("src/cli/") && !file.starts_with("src/cli/mcp/");
            for printed in printing.iter().filter(|_| is_ours) {
                for (literal, _) in branchyard_reference::literals_after(&text, printed) {
                    looked_at += 1;
                    assert!(!is_of_another_face(literal), "{file}: {literal}");
                }
            }
        }
        assert!(looked_at > 40, "{looked_at}");
    }

    #[test]
    fn help_is_ours_or_speaks_of_no_other_face() {
        let came = |help: &str| Some(help.to_owned());
        let route = came("list them with GET /api/salvage or `branchyard salvage list`");
        assert_eq!(help("something_else", route.as_ref()), None);
        let ours = help("salvage_not_found", route.as_ref()).unwrap();
        assert!(ours.starts_with("`branchyard salvage list`"), "{ours}");
        let tool = came("git_status tells how the workspace stands");
        assert_eq!(help("something_else", tool.as_ref()), None);
        let name = came("give the short name; in a URL a slash is %2F");
        assert_eq!(
            help("something_else", name.as_ref()),
            came("give the short name")
        );
        let plain = came("get the branch, PUTTING nothing");
        assert_eq!(help("something_else", plain.as_ref()), plain);
    }
}
