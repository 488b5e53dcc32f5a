//! `env`: what a build in a workspace would find.

use super::Context;
use super::exit::Failure;
use super::progress::patiently;
use super::render::{Cell, Listing, Tone, human_size};
use super::values::{BranchArgs, PREPARING};
use branchyard::app::EnvironmentReport;
use branchyard::http::Said;

/// Show what a build of a branch finds: machine, tools and environment
///
/// Prepares the workspace if there is none.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Example:
  branchyard env app main")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let path = args.at.path("/env");
    let asking = context.client.get_slowly(&path);
    let answer = patiently(&context.console, PREPARING, asking).await?;
    context.show(&answer, |found| {
        context.console.print_listing(listing(found))
    })
}

fn listing(found: Said<EnvironmentReport>) -> Listing {
    let mut listing = Listing::new("WHAT, NAME, VALUE, WHERE; WHERE, WHAT");
    let mut row = |what: &str, name: &str, value: Cell, place: &str| {
        let what = Cell::text(what).tone(Tone::Faint);
        listing.row(vec![what, Cell::text(name), value, Cell::text(place)]);
    };
    let EnvironmentReport {
        machine,
        tools,
        environment,
    } = found.answer;
    // Sizes among words stand to the left.
    let size = |bytes: u64| Cell::text(bytes.to_string()).shown_as(human_size(bytes));
    row("machine", "os", Cell::text(machine.os), "");
    row("machine", "cpus", Cell::text(machine.cpus.to_string()), "");
    row("machine", "memory", size(machine.memory_bytes), "");
    row("machine", "disk_free", size(machine.disk_free_bytes), "");
    let commit = Cell::commit(Some(found.about.commit.as_str()));
    row("machine", "commit", commit, "");
    for tool in tools {
        row("tool", &tool.name, Cell::text(tool.version), &tool.path);
    }
    for (name, value) in environment {
        row("env", &name, Cell::text(value), "");
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surroundings_are_one_list() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let found = serde_json::from_value(serde_json::json!({
            "repo": "app", "branch": "main", "commit": commit, "tree": commit, "ahead": 0, "behind": 0,
            "machine": {"os": "linux", "cpus": 2, "memory_bytes": 1024, "disk_free_bytes": 2048},
            "tools": [{"name": "make", "path": "/usr/bin/make", "version": "4.3"}],
            "environment": {"CI": "true"},
        }))
        .unwrap();
        assert_eq!(
            listing(found).plain(),
            format!(
                "machine\tos\tlinux\t\nmachine\tcpus\t2\t\nmachine\tmemory\t1024\t\nmachine\tdisk_free\t2048\t\n\
                 machine\tcommit\t{commit}\t\ntool\tmake\t4.3\t/usr/bin/make\nenv\tCI\ttrue\t\n"
            )
        );
    }
}
