//! What `make setup` installed.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;

use crate::support::PATIENCE;

/// A Node that is young enough, to run with packages beside it.
pub fn node() -> Command {
    let mut node = command(&home().join("node"));
    node.args(["--preserve-symlinks", "--preserve-symlinks-main"]);
    node
}

/// The Python that has the SDK.
pub fn python() -> Command {
    command(&home().join("venv/bin/python"))
}

/// Something by its place: `drivers` and `page` are links to `tests/clients` and `tests/page`, for scripts look for
/// packages beside themselves; `node_modules` has the packages.
pub fn at(path: &str) -> PathBuf {
    home().join(path)
}

/// Runs to its end, which comes or the test fails. Nothing is left of it then.
pub async fn run(command: Command) -> Output {
    run_for(2 * PATIENCE, command).await
}

/// As [`run`], with more patience.
pub async fn run_for(patience: Duration, mut command: Command) -> Output {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    tokio::time::timeout(patience, child.wait_with_output())
        .await
        .expect("the client ends")
        .unwrap()
}

/// Nothing of the caller's environment reaches it: no proxy, no option for Node, no secret.
fn command(program: &Path) -> Command {
    assert!(
        program.exists(),
        "{} is missing: run `make setup` first",
        program.display()
    );
    let mut command = Command::new(program);
    command.env_clear().env("PATH", env!("PATH"));
    command
}

fn home() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .unwrap()
        .join("clients")
}
