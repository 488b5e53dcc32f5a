//! `artifact`: what jobs of pipelines and runs left behind, listed and fetched.

mod fetch;
mod get;
mod list;

use clap::Subcommand;

use super::Context;
use super::client::{Answer, encode};
use super::exit::Failure;
use branchyard_artifacts::SetOwner;

/// See and fetch what jobs of pipelines and runs left behind
///
/// Jobs keep files with `actions/upload-artifact`; runs keep what the repository's `artifacts` names. Both stay for as long
/// as the operator says, by `[artifacts] keep`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard artifact list 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard artifact get 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b dist
  branchyard artifact get app dist --branch main -o /tmp/dist
  branchyard artifact get 0197a3b4-9f1e-7c55-8d02-6b7a8c9d0e1f artifact        of a run")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: ArtifactAction,
}

#[derive(Debug, Subcommand)]
enum ArtifactAction {
    List(list::Args),
    Get(get::Args),
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    match args.action {
        ArtifactAction::List(args) => list::run(context, &args).await,
        ArtifactAction::Get(args) => get::run(context, &args).await,
    }
}

/// Asks for the artifacts of a pipeline or a run, or for what of them `rest` names.
async fn ask(context: &Context, id: &str, rest: &str) -> Result<Answer, Failure> {
    let path = |of: &str| format!("/api/{of}/{id}/artifacts{rest}");
    match context.client.get(&path("pipelines")).await {
        Err(error) if error.code() == Some("pipeline_not_found") => {}
        answered => return Ok(answered?),
    }
    match context.client.get(&path("runs")).await {
        Err(error) if error.code() == Some("run_not_found") => {
            let detail = format!("there is no pipeline and no run {id}");
            let help = "`branchyard pipeline list REPO` and `branchyard runs` list them";
            Err(Failure::daemon(detail).help(help))
        }
        answered => Ok(answered?),
    }
}

/// `/api/…` of an artifact.
fn path_of(owner: SetOwner, name: &str) -> String {
    let name = encode(name);
    match owner {
        SetOwner::Pipeline(id) => format!("/api/pipelines/{id}/artifacts/{name}"),
        SetOwner::Run(id) => format!("/api/runs/{id}/artifacts/{name}"),
    }
}

/// A name that is one segment of an address, and of a path. Jobs may use others that have no address.
fn name(text: &str) -> Result<String, String> {
    match text {
        "" | "." | ".." => Err("it is not a name that can be asked for".to_owned()),
        _ if text.contains('/') => Err("the name of an artifact has no slash".to_owned()),
        _ => Ok(text.to_owned()),
    }
}
