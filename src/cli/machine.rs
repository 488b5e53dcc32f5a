//! `machine`: how busy the daemon's machine is.

use super::Context;
use super::exit::Failure;
use super::render::{Cell, Listing, Tone};
use branchyard::app::Load;

/// Show how busy the daemon's machine is, and what fills its disk
///
/// `branchyard top` shows the same, again and again.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard machine
  branchyard machine --json | jq .disk.free")]
pub(crate) struct Args {}

pub(super) async fn run(context: &Context) -> Result<u8, Failure> {
    let answer = context.client.get("/api/machine").await?;
    context.show(&answer, |load| {
        context.console.print_listing(listing(&load))
    })
}

fn listing(load: &Load) -> Listing {
    let mut listing = Listing::new("WHAT, NAME, VALUE");
    let mut row = |what: &str, name: &str, value: Cell| {
        let what = Cell::text(what).tone(Tone::Faint);
        listing.row(vec![what, Cell::text(name), value]);
    };
    let count = |count: usize| Cell::text(count.to_string());
    let average = load.load.map(|load| format!("{load:.2}")).join(" ");
    row("machine", "cores", count(load.cores));
    row("machine", "load", Cell::text(average));
    row("memory", "total", Cell::size(Some(load.memory.total)));
    row("memory", "available", Cell::size(load.memory.available));
    row("disk", "total", Cell::size(load.disk.total));
    row("disk", "free", Cell::size(load.disk.free));
    row("runs", "running", count(load.runs.queue.running));
    row("runs", "waiting", count(load.runs.queue.waiting));
    row("runs", "at_once", count(load.runs.at_once));
    for looping in &load.background {
        row("background", &looping.name, Cell::word(looping.state));
    }
    for usage in &load.repos {
        let bytes = usage.clone.unwrap_or(0) + usage.source + usage.build_output;
        row("repo", usage.repo.as_str(), Cell::size(Some(bytes)));
    }
    listing
}
