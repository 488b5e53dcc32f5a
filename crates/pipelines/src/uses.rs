//! What the built-in actions need of the machine.

use std::collections::BTreeMap;

use crate::versions::is_satisfied;
use branchyard_model::{ErrorKind, Problem};
use branchyard_runs::{Runs, step};
use branchyard_workflow::{BuiltIn, Planned, PlannedJob, StepAction};
use branchyard_workspace::repos::Repo;

/// The program of a tool that later steps call, and the option by which it tells its version.
const PROGRAMS: [(&str, &str, &str); 15] = [
    ("node", "node", "--version"),
    ("python", "python", "--version"),
    ("go", "go", "version"),
    ("java", "java", "-version"),
    ("dotnet", "dotnet", "--version"),
    ("ruby", "ruby", "--version"),
    ("rust", "cargo", "--version"),
    ("uv", "uv", "--version"),
    ("deno", "deno", "--version"),
    ("bun", "bun", "--version"),
    ("pnpm", "pnpm", "--version"),
    ("php", "php", "--version"),
    ("zig", "zig", "version"),
    ("beam", "erl", "-version"),
    ("haskell", "ghc", "--version"),
];

/// Refuses a job one of whose steps sets up a tool that this machine does not have.
pub(crate) async fn check_tools(runs: &Runs, repo: &Repo, job: &PlannedJob) -> Result<(), Problem> {
    for planned in &job.steps {
        let StepAction::Uses {
            action: BuiltIn::Toolchain { tool },
            uses,
        } = &planned.action
        else {
            continue;
        };
        let wanted = wanted_version(tool, &planned.with);
        let Some((_, program, option)) = PROGRAMS.iter().find(|(name, ..)| name == tool) else {
            let detail = format!("{uses}: it is not known how to look for {tool} on this machine");
            return Err(missing(detail));
        };
        let said = step::tool_version(runs, repo, program, option).await;
        let said = said.map_err(|why| {
            missing(format!(
                "{uses} promises the program `{program}` to later steps, and it cannot be had: {why}"
            ))
        })?;
        if !is_satisfied(&wanted, &said) {
            let line = said.lines().next().unwrap_or_default();
            let detail =
                format!("{uses} wants {wanted}, and `{program}` of this machine is {line}");
            return Err(missing(detail));
        }
    }
    Ok(())
}

fn missing(detail: String) -> Problem {
    Problem::new(ErrorKind::Unprocessable, "toolchain_missing", detail)
        .help("the operator installs the tool where builds find it (build.path), or the file asks for the version that is there")
}

/// The version that a step asks for, as far as it is written out.
fn wanted_version(tool: &str, with: &BTreeMap<String, Planned<String>>) -> String {
    let names = [
        format!("{tool}-version"),
        "version".to_owned(),
        "toolchain".to_owned(),
    ];
    let found = names.iter().find_map(|name| with.get(name));
    match found {
        Some(Planned::Value(version)) => version.trim().to_owned(),
        // What only a running job knows is left to the steps after it.
        Some(Planned::Template(_)) | None => String::new(),
    }
}
