//! The recipes of docs/RECIPES.md, and the guide docs/REPLACE_YOUR_CI.md: what the pages say is taken out of them and done.

mod ci;
mod ends;
mod pushes;
mod replace_your_ci;

use std::path::Path;
use std::process::{Output, Stdio};

use tokio::process::Command;

use crate::support::{PATIENCE, Yard};

const RECIPES: &str = include_str!("../../docs/RECIPES.md");
/// What the pages call the daemon.
const YARD: &str = "https://yard.example.org";
const WORKFLOW: &str =
    "on: push\njobs: {test: {runs-on: linux, steps: [{run: \"test `cat name.txt` != red\"}]}}\n";
const MAKEFILE: &str = "test:\n\t@test `cat name.txt` != red\n";

/// The first block of code after `mark`, as the page shows it.
fn block<'a>(page: &'a str, mark: &str) -> &'a str {
    let (_, after) = page
        .split_once(mark)
        .unwrap_or_else(|| panic!("no {mark:?}"));
    let (_, code) = after.split_once("\n```").expect("a block");
    let (_, code) = code.split_once('\n').expect("its first line");
    code.split_once("```").expect("its end").0
}

/// A yard with a green `main` and a branch that is red, in pipelines and by `make test`.
fn green_and_red(yard: &Yard) {
    yard.origin.write("Makefile", MAKEFILE);
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.origin.branch("red");
}

/// Runs a script of the pages in `dir`, with nothing but these variables.
async fn sh(dir: &Path, script: &str, env: &[(String, String)]) -> Output {
    let mut command = Command::new("sh");
    command
        .args(["-e", "-c", script])
        .current_dir(dir)
        .env_clear()
        .env("PATH", format!("{}:{}", dir.display(), env!("PATH")))
        .env("HOME", dir)
        .envs(env.iter().cloned())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    output.expect("the script ends").unwrap()
}
