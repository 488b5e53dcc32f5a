//! `salvage`: work that was saved before something discarded it.

use clap::Subcommand;
use serde_json::json;

use super::Context;
use super::client::{Answer, Query};
use super::exit::{self, Failure};
use super::id_name::{self, IdName};
use super::progress::patiently;
use super::render::{Cell, Listing, Tone};
use super::values;
use branchyard::app::{RestoreRequest, SalvageDetail, SalvageItem};
use branchyard::http::Ready;
use branchyard_model::{BranchName, FileChange, RepoName, SalvageId};

/// See, restore and let go of work that was saved
///
/// Before `--sync reset`, `--clean` or `rm --force` discards anything, all work is saved: commits,
/// index, changes, files of your own, an operation under way. It is kept for
/// `reaper.salvage_ttl`, 30 days by default.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard salvage list --repo app
  branchyard salvage show 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard salvage restore 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --branch rescued
  branchyard salvage drop 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: SalvageAction,
}

#[derive(Debug, Subcommand)]
enum SalvageAction {
    /// List what was saved, the newest first
    List {
        /// Only of this repository
        #[arg(long, value_name = "REPO", value_parser = values::repo)]
        repo: Option<RepoName>,
        /// Only of this branch
        #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
        branch: Option<BranchName>,
    },
    /// Show what one salvage holds, or print one file of it
    Show {
        /// The salvage: its id, or the start or the end of that
        #[arg(value_parser = id_name::salvage)]
        id: IdName<SalvageId>,
        /// Print this file, byte for byte
        path: Option<String>,
    },
    /// Bring a salvage back: files, index, commits and all
    ///
    /// Without --branch it goes into the workspace of the branch that it was saved from, which is
    /// made if it is not there. It is kept after that until it is dropped or expires.
    Restore {
        /// The salvage: its id, or the start or the end of that
        #[arg(value_parser = id_name::salvage)]
        id: IdName<SalvageId>,
        /// As a new branch of this name
        #[arg(long, value_name = "NAME", value_parser = values::branch)]
        branch: Option<BranchName>,
        /// Also if there is other work in the workspace, which is saved first
        #[arg(long)]
        force: bool,
    },
    /// Let go of a salvage for good
    Drop {
        /// The salvage: its id, or the start or the end of that
        #[arg(value_parser = id_name::salvage)]
        id: IdName<SalvageId>,
    },
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let client = &context.client;
    match args.action {
        SalvageAction::List { repo, branch } => {
            let query = Query::default().with("repo", repo).with("branch", branch);
            let answer = client.get(&query.after("/api/salvage")).await?;
            let none = "nothing was saved: nothing had to be";
            context.list(&answer, none, TITLES, row)
        }
        SalvageAction::Show { id, path: None } => {
            let id = id.find(context).await?;
            let answer = client.get(&at(id, "")).await?;
            context.show(&answer, |salvage| show(context, salvage))
        }
        SalvageAction::Show { id, path } => {
            let id = id.find(context).await?;
            let query = Query::default().with("path", path);
            let answer = client.get(&query.after(&at(id, "/file"))).await?;
            context.console.passage().print(&answer.body)?;
            Ok(exit::OK)
        }
        SalvageAction::Restore { id, branch, force } => {
            let id = id.find(context).await?;
            let (path, request) = (at(id, "/restore"), RestoreRequest { branch, force });
            let asking = client.post(&path, &request);
            let answer = patiently(&context.console, "restoring", asking).await?;
            context.show(&answer, |ready| restored(context, id, ready))
        }
        SalvageAction::Drop { id } => {
            let id = id.find(context).await?;
            client.delete(&at(id, "")).await?;
            let done = Answer::ours(&json!({ "salvage": id, "dropped": true }));
            context.done(&done, &format!("dropped {id}"))
        }
    }
}

const TITLES: &str = "SALVAGE, REPO, BRANCH, SAVED, REASON, BY, WORK; BY, REASON, REPO, SAVED";

fn row(SalvageItem { salvage, .. }: SalvageItem) -> Vec<Cell> {
    vec![
        Cell::id(salvage.id),
        Cell::text(salvage.repo),
        Cell::branch(salvage.branch),
        Cell::moment(Some(salvage.at)),
        Cell::word(salvage.reason),
        Cell::text(salvage.by),
        Cell::sentence(Some(salvage.work.join(", "))),
    ]
}

fn show(context: &Context, detail: SalvageDetail) -> Result<(), Failure> {
    let (salvage, console) = (detail.item.salvage, &context.console);
    let commit = salvage.commit.as_ref();
    console.note(&format!(
        "{} of {}, saved at {} from {} by {}: {}",
        salvage.branch,
        salvage.repo,
        commit.map_or("no commit", |commit| commit.as_str()),
        Cell::word(salvage.reason).plain(),
        salvage.by,
        salvage.work.join("; ")
    ));
    if !salvage.not_saved.is_empty() {
        let paths = salvage.not_saved.join(", ");
        console.note(&format!("could not be saved: {paths}"));
    }
    let listing = Listing::of("CHANGE, SIZE, FILE", detail.files, |file| {
        let tone = match file.change {
            FileChange::Added => Tone::Good,
            FileChange::Changed => Tone::Warn,
            FileChange::Deleted => Tone::Bad,
        };
        vec![
            Cell::word(file.change).tone(tone),
            Cell::size(Some(file.size)),
            Cell::path(file.path),
        ]
    });
    if listing.is_empty() {
        console.note("its files are those of its commit");
    }
    console.print_listing(listing)
}

fn restored(context: &Context, id: SalvageId, ready: Ready) -> Result<(), Failure> {
    for warning in &ready.warnings {
        context.console.warning(&warning.message);
    }
    let workspace = ready.workspace;
    context.console.note(&format!(
        "{} is as it was saved; the salvage is kept until `branchyard salvage drop {id}`",
        workspace.branch
    ));
    let path = workspace.path.unwrap_or_default();
    context.console.print_line(&path.to_string_lossy())
}

fn at(id: SalvageId, rest: &str) -> String {
    format!("/api/salvage/{id}{rest}")
}
