//! `redeliver`: a message to a forge or webhook, once more.

use serde_json::json;

use super::Context;
use super::client::repo_path;
use super::exit::Failure;
use super::id_name::{self, IdName};
use super::values;
use branchyard_model::{DeliveryId, RepoName};

/// Send a message to a forge or webhook once more
///
/// Whatever became of it, it is sent again at once and then as often as a new one; a command of [after.NAME] is run again. A status that a newer one has replaced
/// is refused. Does not wait for the receiver; `branchyard deliveries` shows what became of it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Example:
  branchyard redeliver app 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b")]
pub(crate) struct Args {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    repo: RepoName,
    /// The message: its id, or the start or the end of that
    #[arg(value_parser = id_name::delivery)]
    delivery: IdName<DeliveryId>,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let id = args.delivery.find(context, &args.repo).await?;
    let path = repo_path(&args.repo, &format!("/deliveries/{id}/redeliver"));
    let answer = context.client.post(&path, &json!({})).await?;
    context.done(&answer, &format!("sending {id} once more"))
}
