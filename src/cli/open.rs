//! `open`: the page in a browser, with whoever asks logged in already. The key stays here: the browser gets a link
//! that is good once, for a minute.

use serde::Deserialize;
use serde_json::json;

use super::Context;
use super::args::OpenArgs;
use super::exit::{self, Failure};

#[derive(Deserialize)]
struct Ticket {
    path: String,
    expires_in: u64,
}

pub(super) async fn open(context: &Context, args: &OpenArgs) -> Result<u8, Failure> {
    let (console, client) = (&context.console, &context.client);
    let Some(address) = client.endpoint().web() else {
        let detail = "the daemon was named by its socket, which no browser can reach";
        return Err(Failure::usage(detail).help("name its address: --url http://127.0.0.1:3344"));
    };
    let answer = client.post("/api/session/ticket", &json!({})).await?;
    let ticket: Ticket = answer.parse()?;
    let view = match &args.run {
        Some(run) => format!("#/run/{run}"),
        None => String::new(),
    };
    let link = format!("{address}{}{view}", ticket.path);
    if args.print || console.json() {
        console.print_line(&link)?;
        return Ok(exit::OK);
    }
    if open::that_detached(&link).is_err() {
        console.warning("no browser could be started here");
        let within = ticket.expires_in;
        console.note(&format!("open this within {within} seconds:"));
        console.print_line(&link)?;
    }
    Ok(exit::OK)
}
