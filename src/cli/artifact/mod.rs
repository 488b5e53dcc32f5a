//! `artifact`: what jobs of pipelines left behind, listed and fetched.

mod fetch;
mod get;
mod list;

use clap::Subcommand;

use super::Context;
use super::client::{encode, repo_path};
use super::exit::Failure;
use super::values;
use branchyard_model::{PipelineId, RepoName};

/// See and fetch what jobs of pipelines left behind
///
/// Jobs keep files with `actions/upload-artifact`. They stay for as long as the operator says, by `[artifacts] keep`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard artifact list 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard artifact get 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b dist
  branchyard artifact get app dist --branch main -o /tmp/dist")]
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

/// Where an artifact is: in a pipeline, or in the newest of a branch that succeeded and has one of its name.
#[derive(Debug, Clone)]
enum ArtifactSource {
    Pipeline(PipelineId),
    Latest(RepoName),
}

fn source(text: &str) -> Result<ArtifactSource, String> {
    match PipelineId::parse(text) {
        Ok(id) => Ok(ArtifactSource::Pipeline(id)),
        Err(_) => values::repo(text).map(ArtifactSource::Latest),
    }
}

/// `/api/…` of an artifact.
fn path_of(source: &ArtifactSource, name: &str) -> String {
    let name = encode(name);
    match source {
        ArtifactSource::Pipeline(id) => format!("/api/pipelines/{id}/artifacts/{name}"),
        ArtifactSource::Latest(repo) => repo_path(repo, &format!("/artifacts/{name}")),
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
