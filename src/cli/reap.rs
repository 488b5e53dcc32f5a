//! `reap`: what goes by itself, now.

use serde_json::json;

use super::Context;
use super::client::Query;
use super::exit::Failure;
use super::progress::patiently;
use super::render::{Cell, Listing, Tone, human_duration, human_size};
use super::values;
use branchyard_model::RepoName;
use branchyard_workspace::{ReapOutcome, Reaping};

/// Make room: remove what nobody uses and nobody would miss
///
/// The daemon does this by itself, by the limits under [reaper] of its configuration; this does
/// it now. Lists each workspace and clone with what is done and why. Piped, each line is action,
/// repository, branch, bytes on disk, seconds idle and why, with tabs between.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard reap --dry-run
  branchyard reap --repo app
  branchyard reap --dry-run | grep -v ^keep")]
pub(crate) struct Args {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Only the workspaces of this repository
    #[arg(long, value_name = "REPO", value_parser = values::repo)]
    repo: Option<RepoName>,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let console = &context.console;
    let query = Query::default().flag("dry_run", args.dry_run);
    let path = query.with("repo", args.repo.as_ref()).after("/api/reap");
    let nothing = json!({});
    let asking = context.client.post(&path, &nothing);
    let answer = patiently(console, "looking at the yard", asking).await?;
    context.show(&answer, |reaping| {
        console.print_listing(listing(&reaping))?;
        console.note(&summary(&reaping));
        Ok(())
    })
}

fn listing(reaping: &Reaping) -> Listing {
    let mut listing = Listing::new("ACTION, REPO, BRANCH, SIZE, IDLE, WHY; REPO, IDLE, SIZE");
    let mut row = |action: Cell, outcome: &Option<ReapOutcome>, why: &str, rest: [Cell; 4]| {
        let (action, why) = match outcome {
            Some(ReapOutcome::Kept { why }) => (Cell::text("keep"), why.as_str()),
            Some(ReapOutcome::Done { .. }) | None => (action, why),
        };
        let tone = match action.plain() {
            "keep" => Tone::Plain,
            _ => Tone::Warn,
        };
        let words = action.plain().replace('_', " ");
        let [repo, branch, size, idle] = rest;
        let action = action.shown_as(words).tone(tone);
        listing.row(vec![
            action,
            repo,
            branch,
            size,
            idle,
            Cell::sentence(Some(why)),
        ]);
    };
    let idle = |seconds: u64| {
        Cell::number(Some(seconds)).shown_as(human_duration(seconds.saturating_mul(1000)))
    };
    for item in &reaping.items {
        let rest = [
            Cell::text(&item.repo),
            Cell::branch(&item.branch),
            Cell::size(item.sizes.map(|sizes| sizes.total())),
            idle(item.idle),
        ];
        row(Cell::word(item.action), &item.outcome, &item.why, rest);
    }
    for store in &reaping.stores {
        let size = Cell::size(Some(store.size));
        let rest = [
            Cell::text(&store.repo),
            Cell::whole(""),
            size,
            idle(store.idle),
        ];
        row(Cell::word(store.action), &store.outcome, &store.why, rest);
    }
    for merged in &reaping.branches {
        let rest = [
            Cell::text(&merged.repo),
            Cell::branch(&merged.branch),
            Cell::size(None),
            Cell::text(""),
        ];
        let action = Cell::text("delete_branch");
        row(action, &merged.outcome, &merged.why, rest);
    }
    listing
}

fn summary(reaping: &Reaping) -> String {
    let is_kept = |outcome: &Option<ReapOutcome>| matches!(outcome, Some(ReapOutcome::Kept { .. }));
    let deleted = reaping.branches.iter();
    let deleted = deleted.filter(|merged| !is_kept(&merged.outcome)).count();
    let totals = &reaping.totals;
    let parts: Vec<String> = [
        (totals.remove, "remove workspaces"),
        (totals.drop_build_output, "drop build output of workspaces"),
        (totals.discard_store, "discard clones"),
        (deleted, "delete merged branches"),
    ]
    .iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{what}: {count}"))
    .collect();
    let (bytes, parts) = (human_size(totals.bytes), parts.join(", "));
    let what = match (parts.is_empty(), reaping.dry_run) {
        (true, _) => "nothing to do".to_owned(),
        (false, true) => format!("would free {bytes}; {parts}"),
        (false, false) => format!("freed {bytes}; {parts}"),
    };
    let free = reaping.disk.free.map_or_else(String::new, |free| {
        format!(", {} are free", human_size(free))
    });
    let yard = human_size(reaping.disk.yard);
    format!("{what} (the yard took {yard}{free})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_and_clones_are_listed_with_what_becomes_of_them() {
        let reaping: Reaping = serde_json::from_str(
            r#"{"dry_run":false,"items":[
                {"repo":"app","branch":"main","action":"remove","why":"idle","pins":[],"sizes":{"source":1024,"build_output":1024,
                 "droppable":0,"measured_at":"2026-01-01T00:00:00Z"},"idle":90000,"last_used":"2026-01-01T00:00:00Z",
                 "pinned":null,"outcome":{"result":"done","bytes":2048}},
                {"repo":"app","branch":"next","action":"remove","why":"idle","pins":[],"sizes":null,"idle":5,
                 "last_used":"2026-01-01T00:00:00Z","pinned":null,"outcome":{"result":"kept","why":"busy"}}],
               "branches":[{"repo":"app","branch":"agent-1-2","why":"main has it","remote":true,"outcome":null}],
               "stores":[{"repo":"app","action":"keep","why":"it has next","size":4096,"idle":0,"outcome":null}],
               "disk":{"free":1048576,"total":1,"low_water":1,"high_water":1,"yard":6144,"max_size":null},
               "totals":{"keep":2,"drop_build_output":0,"remove":1,"discard_store":0,"bytes":2048}}"#,
        )
        .unwrap();
        assert_eq!(
            listing(&reaping).plain(),
            "remove\tapp\tmain\t2048\t90000\tidle\n\
             keep\tapp\tnext\t\t5\tbusy\n\
             keep\tapp\t\t4096\t0\tit has next\n\
             delete_branch\tapp\tagent-1-2\t\t\tmain has it\n"
        );
        let shown = listing(&reaping).table(Some(100), false);
        assert!(
            shown.contains("1d01h") && shown.contains("2.0 KiB"),
            "{shown}"
        );
        assert_eq!(
            summary(&reaping),
            "freed 2.0 KiB; remove workspaces: 1, delete merged branches: 1 (the yard took 6.0 KiB, 1.0 MiB are free)"
        );
    }
}
