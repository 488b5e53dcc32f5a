//! `artifact list`: the artifacts of a pipeline or a run, or the files of one of them.

use super::{ask, name};
use crate::cli::Context;
use crate::cli::client::encode;
use crate::cli::exit::Failure;
use crate::cli::id_name::{self, IdName};
use crate::cli::render::{Cell, Listing};
use branchyard_artifacts::{ArtifactFile, ArtifactSet};

/// List the artifacts of a pipeline or a run, or the files of one
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard artifact list 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard artifact list 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b dist")]
pub(crate) struct Args {
    /// A pipeline or a run: its id, or the start or the end of that
    #[arg(value_name = "PIPELINE|RUN", value_parser = id_name::run_or_pipeline)]
    owner: IdName<String>,
    /// List the files of this artifact
    #[arg(value_parser = name)]
    name: Option<String>,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let owner = args.owner.find(context).await?;
    match &args.name {
        None => {
            let answer = ask(context, &owner, "").await?;
            let titles = "NAME, JOB, FILES, SIZE, MADE, EXPIRES; EXPIRES, JOB";
            context.list(&answer, "no artifacts", titles, set_row)
        }
        Some(name) => {
            let answer = ask(context, &owner, &format!("/{}", encode(name))).await?;
            context.show(&answer, |set: ArtifactSet| {
                let files = Listing::of(
                    "SIZE, MODE, SHA256, FILE; SHA256, MODE",
                    set.files,
                    file_row,
                );
                context.console.print_listing(files)
            })
        }
    }
}

fn set_row(set: ArtifactSet) -> Vec<Cell> {
    vec![
        Cell::whole(set.name),
        Cell::maybe(set.job),
        Cell::number(Some(set.files.len())),
        Cell::size(Some(set.bytes)),
        Cell::moment(Some(set.created_at)),
        Cell::maybe(set.expires_at),
    ]
}

fn file_row(file: ArtifactFile) -> Vec<Cell> {
    vec![
        Cell::size(Some(file.size)),
        Cell::text(format!("{:o}", file.mode)),
        Cell::text(file.sha256),
        Cell::path(file.path),
    ]
}
