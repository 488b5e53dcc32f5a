//! `deliveries`: a page of the messages to forges and webhooks, the latest first.

use super::Context;
use super::client::{Query, repo_path};
use super::exit::Failure;
use super::render::{Cell, Tone};
use super::values;
use branchyard_model::{DeliveryId, RepoName};
use branchyard_outbox::{Delivery, DeliveryState};

/// List the messages to forges and webhooks, the latest first
///
/// Shows which commit statuses and webhooks of a repository were sent, wait to be sent again or were given up, and why; and
/// so the commands of [after.NAME], which follow runs and pipelines.
/// Where there are more than --limit, a note on stderr says how to see them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard deliveries app
  branchyard deliveries app --state failed
  branchyard deliveries app --state waiting --json")]
pub(crate) struct Args {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    repo: RepoName,
    /// Only messages in this state
    #[arg(long, value_parser = ["waiting", "delivered", "failed"])]
    state: Option<String>,
    /// Only messages that were made before this one: the next page
    #[arg(long, value_name = "DELIVERY", value_parser = values::delivery)]
    before: Option<DeliveryId>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let query = filters(args).with("before", args.before);
    let path = query.after(&repo_path(&args.repo, "/deliveries"));
    let answer = context.client.get(&path).await?;
    context.page(
        &answer,
        "no deliveries",
        TITLES,
        |delivery| row(&delivery),
        |next: DeliveryId| next_page(args, next),
    )
}

fn filters(args: &Args) -> Query {
    Query::default()
        .with("limit", Some(args.limit))
        .with("state", args.state.as_ref())
}

/// The same command again, for what comes after.
fn next_page(args: &Args, next: DeliveryId) -> String {
    let query = filters(args).with("before", Some(next));
    query.command(&["deliveries", args.repo.as_str()])
}

const TITLES: &str = "DELIVERY, STATE, KIND, TO, SAYS, FAILURES, MADE, PROBLEM; \
                      FAILURES, KIND, MADE, TO, SAYS";

fn row(delivery: &Delivery) -> Vec<Cell> {
    vec![
        Cell::id(delivery.delivery_id),
        Cell::word(delivery.state).tone(tone(delivery.state)),
        Cell::text(&delivery.kind),
        Cell::text(&delivery.to),
        Cell::text(&delivery.says),
        Cell::number(Some(delivery.failures)),
        Cell::moment(Some(delivery.made_at)),
        Cell::sentence(delivery.problem.as_ref()),
    ]
}

fn tone(state: DeliveryState) -> Tone {
    match state {
        DeliveryState::Delivered => Tone::Good,
        DeliveryState::Waiting => Tone::Warn,
        DeliveryState::Failed => Tone::Bad,
    }
}
