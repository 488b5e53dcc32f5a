//! `reap`, `pin` and `unpin`: what goes by itself, and what does not.

use serde::Deserialize;
use serde_json::json;

use super::Context;
use super::args::{PinArgs, ReapArgs, UnpinArgs};
use super::client::{Answer, Query, branch_path};
use super::exit::{self, Failure};
use super::progress::patiently;
use super::render::{Cell, Listing, Tone, human_duration, human_size};

#[derive(Deserialize)]
struct Reaping {
    dry_run: bool,
    items: Vec<ReapedItem>,
    stores: Vec<ReapedItem>,
    #[serde(default)]
    branches: Vec<Merged>,
    disk: Disk,
    totals: ReapTotals,
}

/// A workspace, or without a branch a clone.
#[derive(Deserialize)]
struct ReapedItem {
    repo: String,
    #[serde(default)]
    branch: Option<String>,
    action: String,
    why: String,
    /// Of a workspace.
    #[serde(default)]
    sizes: Option<Sizes>,
    /// Of a clone.
    #[serde(default)]
    size: Option<u64>,
    idle: u64,
    #[serde(default)]
    outcome: Option<ReapOutcome>,
}

/// A branch of an agent's that was merged.
#[derive(Deserialize)]
struct Merged {
    repo: String,
    branch: String,
    why: String,
    #[serde(default)]
    outcome: Option<ReapOutcome>,
}

#[derive(Deserialize)]
struct Sizes {
    source: u64,
    build_output: u64,
}

#[derive(Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum ReapOutcome {
    Done,
    Kept { why: String },
}

#[derive(Deserialize)]
struct Disk {
    #[serde(default)]
    free: Option<u64>,
    yard: u64,
}

#[derive(Deserialize)]
struct ReapTotals {
    drop_build_output: usize,
    remove: usize,
    discard_store: usize,
    bytes: u64,
}

pub(super) async fn reap(context: &Context, args: &ReapArgs) -> Result<u8, Failure> {
    let console = &context.console;
    let mut query = Query::default();
    if args.dry_run {
        query.add("dry_run", "true");
    }
    query.add_some("repo", args.repo.as_ref().map(|repo| repo.as_str()));
    let path = query.after("/api/reap");
    let nothing = json!({});
    let asking = context.client.post(&path, &nothing);
    let answer = patiently(console, "looking at the yard", asking).await?;
    if console.json() {
        console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let reaping: Reaping = answer.parse()?;
    let listing = listing(&reaping);
    if !listing.is_empty() {
        console.print_listing(&listing)?;
    }
    console.note(&summary(&reaping));
    Ok(exit::OK)
}

pub(super) async fn pin(context: &Context, args: &PinArgs) -> Result<u8, Failure> {
    let path = branch_path(&args.repo, &args.branch, "/pin");
    let body = match &args.reason {
        Some(reason) => json!({"reason": reason}),
        None => json!({}),
    };
    let answer = context.client.put(&path, &body).await?;
    if context.console.json() {
        context.console.print_json(&answer)?;
    } else {
        let note = format!("pinned the workspace of {} of {}", args.branch, args.repo);
        context.console.note(&note);
    }
    Ok(exit::OK)
}

pub(super) async fn unpin(context: &Context, args: &UnpinArgs) -> Result<u8, Failure> {
    let path = branch_path(&args.repo, &args.branch, "/pin");
    context.client.delete(&path).await?;
    if context.console.json() {
        let done = json!({"repo": args.repo, "branch": args.branch, "pinned": null});
        context.console.print_json(&Answer::ours(&done))?;
    } else {
        let note = format!("unpinned the workspace of {} of {}", args.branch, args.repo);
        context.console.note(&note);
    }
    Ok(exit::OK)
}

fn listing(reaping: &Reaping) -> Listing {
    let mut listing = Listing::new(&["ACTION", "REPO", "BRANCH", "SIZE", "IDLE", "WHY"]);
    for item in reaping.items.iter().chain(&reaping.stores) {
        let (action, why) = match &item.outcome {
            Some(ReapOutcome::Kept { why }) => ("keep", why),
            Some(ReapOutcome::Done) | None => (item.action.as_str(), &item.why),
        };
        let tone = match action {
            "keep" => Tone::Plain,
            _ => Tone::Warn,
        };
        let measured = item.sizes.as_ref();
        let size = measured.map(|sizes| sizes.source + sizes.build_output);
        listing.row(vec![
            Cell::text(action)
                .shown_as(action.replace('_', " "))
                .tone(tone),
            Cell::text(&item.repo),
            Cell::whole(item.branch.as_deref().unwrap_or_default()),
            Cell::size(size.or(item.size)),
            Cell::number(item.idle.to_string())
                .shown_as(human_duration(item.idle.saturating_mul(1000))),
            Cell::text(why),
        ]);
    }
    for merged in &reaping.branches {
        let (action, why, tone) = match &merged.outcome {
            Some(ReapOutcome::Kept { why }) => ("keep", why, Tone::Plain),
            Some(ReapOutcome::Done) | None => ("delete_branch", &merged.why, Tone::Warn),
        };
        listing.row(vec![
            Cell::text(action)
                .shown_as(action.replace('_', " "))
                .tone(tone),
            Cell::text(&merged.repo),
            Cell::whole(&merged.branch),
            Cell::size(None),
            Cell::text(""),
            Cell::text(why),
        ]);
    }
    listing
}

fn summary(reaping: &Reaping) -> String {
    let ReapTotals {
        drop_build_output,
        remove,
        discard_store,
        bytes,
    } = reaping.totals;
    let is_going = |merged: &&Merged| !matches!(merged.outcome, Some(ReapOutcome::Kept { .. }));
    let deleted = reaping.branches.iter().filter(is_going).count();
    let parts: Vec<String> = [
        (remove, "remove workspaces"),
        (drop_build_output, "drop build output of workspaces"),
        (discard_store, "discard clones"),
        (deleted, "delete merged branches"),
    ]
    .iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{what}: {count}"))
    .collect();
    let what = match (parts.is_empty(), reaping.dry_run) {
        (true, _) => "nothing to do".to_owned(),
        (false, true) => format!("would free {}; {}", human_size(bytes), parts.join(", ")),
        (false, false) => format!("freed {}; {}", human_size(bytes), parts.join(", ")),
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
