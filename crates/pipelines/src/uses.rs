//! What the built-in actions need of the machine.

use std::collections::BTreeMap;

use branchyard_model::{ErrorKind, Problem};
use branchyard_runs::{Runs, step};
use branchyard_workflow::{BuiltIn, Planned, PlannedJob, StepAction};
use branchyard_workspace::repos::Repo;

/// The program of a tool, and the option by which it tells its version.
const PROGRAMS: [(&str, &str, &str); 15] = [
    ("node", "node", "--version"),
    ("python", "python3", "--version"),
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
/// Versions that whatever there is satisfies.
const ANY: [&str; 7] = ["", "latest", "stable", "lts", "lts/*", "current", "*"];

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
        let said = said.map_err(|why| missing(format!("{uses}: {why}")))?;
        if !is_satisfied(&wanted, &said) {
            let line = said.lines().next().unwrap_or_default();
            let detail = format!("{uses} wants {wanted}, and this machine has {line}");
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

/// Whether a tool that says this is of the version: its numbers begin with those that are wanted.
fn is_satisfied(wanted: &str, said: &str) -> bool {
    let wanted = wanted.trim_start_matches(['v', '^', '~', '=', '>', ' ']);
    if ANY.contains(&wanted) || wanted == "nightly" || wanted == "beta" {
        return true;
    }
    let numbers = |text: &str| -> Vec<String> { text.split('.').map(str::to_owned).collect() };
    let wanted: Vec<_> = numbers(wanted)
        .into_iter()
        .take_while(|part| part != "x" && part != "*")
        .collect();
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let words = said.split(|c: char| c.is_whitespace() || c == '"');
    let mut words = words.map(|word| word.trim_start_matches(['v', 'g', 'o']));
    let Some(found) = words.find(is_version) else {
        return false;
    };
    numbers(found).starts_with(&wanted)
}

#[cfg(test)]
mod tests {
    use super::is_satisfied;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (wanted, said, expected) in [
            ("20", "v20.20.2", true),
            ("20.x", "v20.20.2", true),
            ("2", "v20.20.2", false),
            ("22", "v20.20.2", false),
            ("3.11", "Python 3.11.7", true),
            ("3.1", "Python 3.11.7", false),
            ("1.22", "go version go1.22.5 linux/amd64", true),
            ("17", "openjdk version \"17.0.15\" 2025-04-15", true),
            ("stable", "cargo 1.95.0 (f2d3ce0bd 2026-03-21)", true),
            ("1.95.0", "cargo 1.95.0 (f2d3ce0bd 2026-03-21)", true),
            ("lts/*", "v20.20.2", true),
            ("20", "no version", false),
        ] {
            assert_eq!(is_satisfied(wanted, said), expected, "{wanted} {said}");
        }
    }
}
