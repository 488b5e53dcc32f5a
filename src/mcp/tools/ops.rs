//! Keeping the yard in order: reap, findings.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{inconsistencies, reaper};
use crate::mcp::call::Call;
use crate::mcp::page::{Paged, paged};
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{Problem, RepoName, Scope};
use branchyard_workspace::{Mended, ReapAction, Reaping};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new::<Reap, Paged<Reaping>, _>(
            &ToolEntry {
                name: "reap",
                title: "Make room",
                description: "Says which build output, workspaces and clones would go to make room, and why the \
                    others stay; with dry_run: false they go. Nothing goes that anybody could miss. Look at \
                    the plan before you carry it out.",
                set: Toolset::Ops,
                right: Scope::Ops,
                effect: Effect::DESTROYS.repeatable(),
            },
            reap,
        ),
        Tool::new::<Findings, Paged<DiskFindings<'_>>, _>(
            &ToolEntry {
                name: "findings",
                title: "Find and mend damage",
                description: "Lists what is on disk and should not be so: half-made workspaces, broken refs, stale \
                    locks, damaged clones; with mend: true it is put right, and whatever has to make way is kept \
                    aside. Use it when git or a build complains of the repository itself.",
                set: Toolset::Ops,
                right: Scope::Ops,
                effect: Effect::WRITES.repeatable().reaching_out(),
            },
            findings,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reap {
    /// Only in this repository; in all of them if left out.
    repo: Option<RepoName>,
    /// Only say what would be done. True if left out.
    #[serde(default = "yes")]
    dry_run: bool,
    /// The next_cursor of the answer before, for a dry run.
    cursor: Option<String>,
}

fn yes() -> bool {
    true
}

async fn reap(call: Call, asked: Reap) -> Result<Reply, Problem> {
    if asked.cursor.is_some() && !asked.dry_run {
        let detail = "a cursor is for the rest of a plan: what is reaped is reaped once";
        return Err(Problem::unprocessable("cursor", detail));
    }
    let reaping = reaper::reap(call.app(), asked.dry_run, asked.repo);
    let mut reaping = call.in_time(reaping).await?;
    let mut items = std::mem::take(&mut reaping.items);
    items.sort_by_key(|item| item.action == ReapAction::Keep);
    paged(&items, asked.cursor.as_deref(), |page| {
        let mut text = told(&reaping);
        for item in page.shown {
            let (repo, branch, why) = (&item.repo, &item.branch, &item.why);
            let _ = writeln!(text, "{} {repo} {branch}: {why}", word(item.action));
        }
        let answer = Reaping {
            items: page.shown.to_vec(),
            ..reaping.clone()
        };
        page.reply(&call, &answer, text, false)
    })
}

/// All in all, and what becomes of the clones.
fn told(reaping: &Reaping) -> String {
    let totals = &reaping.totals;
    let mut text = format!(
        "{}: {} workspaces removed, {} without build output, {} clones discarded, {} kept; {} bytes\n",
        if reaping.dry_run { "the plan" } else { "done" },
        totals.remove,
        totals.drop_build_output,
        totals.discard_store,
        totals.keep,
        totals.bytes,
    );
    for store in &reaping.stores {
        let _ = writeln!(text, "{} {}: {}", word(store.action), store.repo, store.why);
    }
    for merged in &reaping.branches {
        let (repo, branch, why) = (&merged.repo, &merged.branch, &merged.why);
        let _ = writeln!(text, "delete branch {repo} {branch}: {why}");
    }
    text
}

fn word(action: ReapAction) -> &'static str {
    match action {
        ReapAction::Keep => "keep",
        ReapAction::DropBuildOutput => "drop build output",
        ReapAction::Remove => "remove",
        ReapAction::DiscardStore => "discard clone",
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Findings {
    /// Put right what can be. Needs the right admin.
    #[serde(default)]
    mend: bool,
    /// An answer's next_cursor.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DiskFindings<'a> {
    items: &'a [Mended],
}

async fn findings(call: Call, asked: Findings) -> Result<Reply, Problem> {
    let found = if asked.mend {
        call.app().require(Scope::Admin)?;
        let mending = inconsistencies::mend_findings(call.app());
        call.in_time(mending).await?
    } else {
        let found = call.in_time(inconsistencies::findings(call.app())).await?;
        let untouched = found.now.into_iter().map(|finding| Mended {
            finding,
            done: None,
        });
        untouched.chain(found.mended_at_start).collect()
    };
    paged(&found, asked.cursor.as_deref(), |page| {
        let answer = DiskFindings { items: page.shown };
        let mut text = String::new();
        if found.is_empty() {
            text.push_str("all is as it should be");
        }
        for Mended { finding, done } in page.shown {
            let place = finding
                .repo
                .as_ref()
                .map_or("the yard", |repo| repo.as_str());
            let what = match (done, &finding.mend) {
                (Some(done), _) => format!("done: {done}"),
                (None, Some(mend)) if !asked.mend => format!("mend: {mend}"),
                (None, _) => "left alone".to_owned(),
            };
            let (code, detail) = (&finding.code, &finding.detail);
            let _ = writeln!(text, "{code} in {place}: {detail}; {what}");
        }
        page.reply(&call, &answer, text, false)
    })
}
