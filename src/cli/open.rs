//! `open`: the page in a browser, with whoever asks logged in already. The key stays here: the browser gets a link
//! that is good once, for a minute.

use serde_json::json;

use super::Context;
use super::client::Client;
use super::exit::{self, Failure};
use super::run_name::RunName;
use branchyard::http::Link;
use branchyard_model::RunId;

/// Open the page in a browser, logged in
///
/// The browser gets a link that is good once, for a minute; the key stays here. Where no browser
/// can be started, the link is printed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard open
  branchyard open 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b    a run's output
  branchyard open --print                                 for a browser elsewhere")]
pub(crate) struct Args {
    /// A run whose output is to be shown, or @last; else the whole yard
    #[arg(value_name = "RUN", value_parser = RunName::parse)]
    run: Option<RunName>,
    /// Print the link and start no browser
    #[arg(long)]
    print: bool,
}

/// A link that logs a browser in, to a run or to the whole yard; and for how many seconds it is good.
pub(super) async fn link_to(client: &Client, run: Option<RunId>) -> Result<(String, u64), Failure> {
    let Some(address) = client.endpoint().web() else {
        let detail = "the daemon was named by its socket, which no browser can reach";
        return Err(Failure::usage(detail).help("name its address: --url http://127.0.0.1:3344"));
    };
    let answer = client.post("/api/session/ticket", &json!({})).await?;
    let ticket: Link = answer.parse()?;
    let view = run.map_or_else(String::new, |run| format!("#/run/{run}"));
    let link = format!("{address}{}{view}", ticket.path);
    Ok((link, ticket.expires_in))
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let (console, client) = (&context.console, &context.client);
    let run = match &args.run {
        Some(run) => Some(run.find(context).await?),
        None => None,
    };
    let (link, within) = link_to(client, run).await?;
    if args.print || console.json {
        console.print_line(&link)?;
        return Ok(exit::OK);
    }
    if open::that_detached(&link).is_err() {
        console.warning("no browser could be started here");
        console.note(&format!("open this within {within} seconds:"));
        console.print_line(&link)?;
    }
    Ok(exit::OK)
}
