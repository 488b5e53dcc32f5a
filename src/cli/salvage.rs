//! `salvage`: work that was saved before something discarded it.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Context;
use super::args::SalvageAction;
use super::client::{Answer, Query, encode};
use super::exit::{self, Failure};
use super::progress::patiently;
use super::render::{Cell, Listing, Tone};
use branchyard_model::{BranchName, RepoName, SalvageId};

#[derive(Deserialize)]
struct SalvagePage {
    items: Vec<Salvage>,
}

#[derive(Deserialize)]
struct Salvage {
    id: String,
    repo: String,
    branch: String,
    at: Timestamp,
    reason: String,
    by: String,
    #[serde(default)]
    commit: Option<String>,
    work: Vec<String>,
    #[serde(default)]
    not_saved: Vec<String>,
    #[serde(default)]
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    path: String,
    change: String,
    size: u64,
}

#[derive(Deserialize)]
struct Restored {
    branch: String,
    path: String,
    #[serde(default)]
    warnings: Vec<Value>,
}

pub(super) async fn salvage(context: &Context, action: &SalvageAction) -> Result<u8, Failure> {
    match action {
        SalvageAction::List { repo, branch } => {
            list(context, repo.as_ref(), branch.as_ref()).await?;
        }
        SalvageAction::Show { id, path: None } => show(context, *id).await?,
        SalvageAction::Show {
            id,
            path: Some(path),
        } => print(context, *id, path).await?,
        SalvageAction::Restore { id, branch, force } => {
            restore(context, *id, branch.as_ref(), *force).await?;
        }
        SalvageAction::Drop { id } => forget(context, *id).await?,
    }
    Ok(exit::OK)
}

async fn list(
    context: &Context,
    repo: Option<&RepoName>,
    branch: Option<&BranchName>,
) -> Result<(), Failure> {
    let mut query = Query::default();
    query.add_some("repo", repo.map(RepoName::as_str));
    query.add_some("branch", branch.map(BranchName::as_str));
    let answer = context.client.get(&query.after("/api/salvage")).await?;
    if context.console.json() {
        return context.console.print_json(&answer);
    }
    let page: SalvagePage = answer.parse()?;
    if page.items.is_empty() {
        context.console.note("nothing was saved: nothing had to be");
        return Ok(());
    }
    let mut listing = Listing::new(&["SALVAGE", "REPO", "BRANCH", "SAVED", "REASON", "BY", "WORK"]);
    for item in page.items {
        listing.row(vec![
            Cell::whole(item.id),
            Cell::text(item.repo),
            Cell::whole(item.branch),
            Cell::moment(Some(item.at)),
            Cell::text(item.reason),
            Cell::text(item.by),
            Cell::text(item.work.join(", ")),
        ]);
    }
    context.console.print_listing(&listing)
}

async fn show(context: &Context, id: SalvageId) -> Result<(), Failure> {
    let answer = context.client.get(&at(id, "")).await?;
    if context.console.json() {
        return context.console.print_json(&answer);
    }
    let salvage: Salvage = answer.parse()?;
    context.console.note(&format!(
        "{} of {}, saved at {} from {} by {}: {}",
        salvage.branch,
        salvage.repo,
        salvage.commit.as_deref().unwrap_or("no commit"),
        salvage.reason,
        salvage.by,
        salvage.work.join("; ")
    ));
    if !salvage.not_saved.is_empty() {
        let paths = salvage.not_saved.join(", ");
        context
            .console
            .note(&format!("could not be saved: {paths}"));
    }
    let mut listing = Listing::new(&["CHANGE", "SIZE", "FILE"]);
    for file in salvage.files {
        let tone = match file.change.as_str() {
            "added" => Tone::Good,
            "deleted" => Tone::Bad,
            _ => Tone::Warn,
        };
        listing.row(vec![
            Cell::text(file.change).tone(tone),
            Cell::size(Some(file.size)),
            Cell::path(file.path),
        ]);
    }
    if listing.is_empty() {
        context.console.note("its files are those of its commit");
        return Ok(());
    }
    context.console.print_listing(&listing)
}

async fn print(context: &Context, id: SalvageId, path: &str) -> Result<(), Failure> {
    let path = at(id, &format!("/file?path={}", encode(path)));
    let answer = context.client.get(&path).await?;
    context.console.passage().print(&answer.body)
}

async fn restore(
    context: &Context,
    id: SalvageId,
    branch: Option<&BranchName>,
    force: bool,
) -> Result<(), Failure> {
    let body = json!({ "branch": branch, "force": force });
    let path = at(id, "/restore");
    let asking = context.client.post(&path, &body);
    let answer = patiently(&context.console, "restoring", asking).await?;
    if context.console.json() {
        return context.console.print_json(&answer);
    }
    let restored: Restored = answer.parse()?;
    for warning in &restored.warnings {
        context
            .console
            .warning(warning["message"].as_str().unwrap_or_default());
    }
    context.console.note(&format!(
        "{} is as it was saved; the salvage is kept until `branchyard salvage drop {id}`",
        restored.branch
    ));
    context.console.print_line(&restored.path)
}

async fn forget(context: &Context, id: SalvageId) -> Result<(), Failure> {
    context.client.delete(&at(id, "")).await?;
    if context.console.json() {
        let done = json!({ "salvage": id, "dropped": true });
        return context.console.print_json(&Answer::ours(&done));
    }
    context.console.note(&format!("dropped {id}"));
    Ok(())
}

fn at(id: SalvageId, rest: &str) -> String {
    format!("/api/salvage/{id}{rest}")
}
