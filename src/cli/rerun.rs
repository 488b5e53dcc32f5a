//! `rerun`: what a run ran, once more.

use std::collections::BTreeMap;

use serde_json::json;

use super::Context;
use super::client::Start;
use super::exit::Failure;
use super::run::start;
use super::run_name::RunName;
use super::values;

/// Run again what a run ran, as it was asked for then
///
/// The branch is brought up to date first, as it was then. Shows the new run's output and ends
/// with its exit code. Ctrl-C cancels it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard rerun 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard rerun 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --detach")]
pub(crate) struct Args {
    /// The run to repeat: its id, the start or the end of that, or @last
    #[arg(value_parser = RunName::parse)]
    run: RunName,
    /// A variable of the run's environment again: values are not kept after a run's end; may be repeated
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = values::variable)]
    env: Vec<(String, String)>,
    /// Print the new run's id and leave; the run goes on without us
    #[arg(long)]
    detach: bool,
    /// A name for this request: sent again with the same one, it finds the same run
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let env: BTreeMap<_, _> = args.env.iter().cloned().collect();
    let path = format!("/stream/runs/{}/rerun", args.run.find(context).await?);
    let key = args.idempotency_key.as_ref();
    let request = Start::new(path, &json!({ "env": env }), key);
    start(context, &request, false, args.detach).await
}
