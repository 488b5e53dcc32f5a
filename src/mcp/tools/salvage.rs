//! Work that was saved before something would have discarded it.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::{needed, only_for};
use super::excerpt::{ByteCursor, Excerpt, ExcerptSource};
use super::workspace::standing;
use crate::app::{RestoreRequest, SalvageFilter, SalvageItem, salvage};
use crate::mcp::call::Call;
use crate::mcp::page::{Paged, paged};
use crate::mcp::reply::{CONTENT, Reply, fitted_items};
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, Problem, RepoName, SalvageId, SalvagedFile, Scope, Warning};
use branchyard_workspace::Description;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new::<SalvageArgs, Paged<Answer<'_>>, _>(
        &ToolEntry {
            name: "salvage",
            title: "Look at and restore saved work",
            description: "Work that a reset, a clean or a forced removal would have discarded is kept for a time \
                as a salvage. Lists salvages, shows the files of one, reads one of them, restores a salvage \
                into its branch or a new one, or drops it for good.",
            set: Toolset::Yard,
            right: Scope::GitRead,
            effect: Effect::DESTROYS.reaching_out(),
        },
        salvage,
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SalvageArgs {
    /// What to do. All but list need salvage_id, read needs path too.
    action: SalvageAction,
    salvage_id: Option<SalvageId>,
    /// For list: only of this repository.
    repo: Option<RepoName>,
    /// For list: only of this branch. For restore: as this new branch, in place of the one that it is of.
    branch: Option<BranchName>,
    /// For read: the file, as show lists it.
    path: Option<String>,
    /// For restore: save what is in the workspace now, and restore in its place.
    #[serde(default)]
    force: bool,
    /// For list, show and read: the next_cursor of the answer before.
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SalvageAction {
    List,
    Show,
    Read,
    Restore,
    Drop,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct Answer<'a> {
    /// The newest first; the one that was asked for.
    salvages: &'a [SalvageItem],
    /// The files of the one that was asked for, against the commit that it was saved at.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'a [SalvagedFile]>,
    /// The text of the file that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Excerpt>,
    /// Where it was restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<Description>,
    /// What one should know, though it was done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

async fn salvage(call: Call, asked: SalvageArgs) -> Result<Reply, Problem> {
    let action = asked.action;
    if action == SalvageAction::List && asked.salvage_id.is_some() {
        let detail = "salvage_id is for the other actions alone";
        return Err(Problem::unprocessable("salvage_id", detail));
    }
    for (field, is_given, actions) in [
        ("repo", asked.repo.is_some(), "list"),
        ("branch", asked.branch.is_some(), "list and restore"),
        ("path", asked.path.is_some(), "read"),
        ("force", asked.force, "restore"),
        ("cursor", asked.cursor.is_some(), "list, show and read"),
    ] {
        only_for(field, is_given, actions, action)?;
    }
    let id = |action| needed("salvage_id", asked.salvage_id, action);
    match action {
        SalvageAction::List => list(&call, asked).await,
        SalvageAction::Show => show(&call, id("show")?, asked.cursor.as_deref()).await,
        SalvageAction::Read => {
            let path = needed("path", asked.path.as_deref(), "read")?;
            read(&call, id("read")?, path, asked.cursor.as_deref()).await
        }
        SalvageAction::Restore => {
            call.app().require(Scope::GitWrite)?;
            let request = RestoreRequest {
                branch: asked.branch.clone(),
                force: asked.force,
            };
            restore(&call, id("restore")?, &request).await
        }
        SalvageAction::Drop => {
            call.app().require(Scope::Ops)?;
            let id = id("drop")?;
            call.in_time(salvage::drop_salvage(call.app(), id)).await?;
            let gone = Paged::new(Answer::default(), None);
            call.reply(&gone, format!("salvage {id} is gone for good"))
        }
    }
}

async fn list(call: &Call, asked: SalvageArgs) -> Result<Reply, Problem> {
    let filter = SalvageFilter {
        repo: asked.repo,
        branch: asked.branch,
    };
    let found = call.in_time(salvage::salvages(call.app(), &filter)).await?;
    paged(&found, asked.cursor.as_deref(), |page| {
        let answer = Answer {
            salvages: page.shown,
            ..Answer::default()
        };
        let mut text: String = page.shown.iter().map(|item| line(item) + "\n").collect();
        if found.is_empty() {
            text.push_str("nothing was saved");
        }
        page.reply(call, &answer, text, false)
    })
}

async fn show(call: &Call, id: SalvageId, cursor: Option<&str>) -> Result<Reply, Problem> {
    let detail = call.in_time(salvage::get(call.app(), id)).await?;
    paged(&detail.files, cursor, |page| {
        let answer = Answer {
            salvages: std::slice::from_ref(&detail.item),
            files: Some(page.shown),
            ..Answer::default()
        };
        let mut text = format!("{}\n", line(&detail.item));
        for file in page.shown {
            let _ = writeln!(text, "{:?} {}", file.change, file.path);
        }
        page.reply(call, &answer, text, false)
    })
}

async fn read(
    call: &Call,
    id: SalvageId,
    path: &str,
    cursor: Option<&str>,
) -> Result<Reply, Problem> {
    let reading = salvage::salvaged_file(call.app(), id, path);
    let bytes = call.in_time(reading).await?;
    let cursor = cursor.map(ByteCursor::read).transpose()?;
    let start = cursor
        .map_or(0, |cursor| cursor.byte)
        .min(bytes.len() as u64);
    let (before, rest) = bytes.split_at(usize::try_from(start).unwrap_or(bytes.len()));
    let source = ExcerptSource {
        bytes: rest,
        start_byte: start,
        first_line: Some(memchr::memchr_iter(b'\n', before).count() + 1),
        more: false,
        exact: cursor.is_some_and(|cursor| cursor.exact),
    };
    fitted_items(rest.len().min(CONTENT), |most| {
        let excerpt = source.excerpt(most);
        let text = excerpt.told(call.is_text_alone());
        let next_cursor = excerpt.next_cursor().map(str::to_owned);
        let answer = Answer {
            file: Some(excerpt),
            ..Answer::default()
        };
        call.reply(&Paged::new(answer, next_cursor), text)
    })
}

async fn restore(call: &Call, id: SalvageId, request: &RestoreRequest) -> Result<Reply, Problem> {
    let restoring = salvage::restore(call.app(), id, request);
    let (workspace, warnings) = call.in_time(restoring).await?;
    let mut text = format!("restored; {}", standing(&workspace));
    for warning in &warnings {
        let _ = write!(text, "\nwarning: {}", warning.message);
    }
    let answer = Answer {
        workspace: Some(workspace),
        warnings,
        ..Answer::default()
    };
    call.reply(&Paged::new(answer, None), text)
}

pub(super) fn line(item: &SalvageItem) -> String {
    let salvage = &item.salvage;
    let (id, repo, branch, at) = (salvage.id, &salvage.repo, &salvage.branch, salvage.at);
    format!("{id} {repo} {branch} {at}: {}", salvage.summary())
}
