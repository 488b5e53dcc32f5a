//! `held_worktree`: the files of a failed job, as it left them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::{needed, only_for};
use super::files::list_files;
use super::grep::show_matches;
use super::read_file::{PartRead, go_on, show_part};
use crate::app::pipelines;
use crate::mcp::call::Call;
use crate::mcp::page::Paged;
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{CommitId, PipelineId, Problem, Scope};
use branchyard_workspace::files::held;
use branchyard_workspace::{Entry, GrepRequest, LineMatch, ListRequest, ReadRequest};

pub(super) fn tool() -> Tool {
    let entry = ToolEntry {
        name: "held_worktree",
        title: "Look into a failed job's worktree",
        description: "Lists, reads or searches what a failed job with `hold` left on disk; go on with next_cursor.",
        set: Toolset::Pipelines,
        right: Scope::RepoRead,
        effect: Effect::READS,
    };
    Tool::new::<HeldWorktree, Paged<HeldAnswer<'_>>, _>(&entry, held_worktree)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HeldWorktree {
    pipeline_id: PipelineId,
    /// The job, by its id.
    job: String,
    /// read needs path; grep needs pattern.
    action: HeldAction,
    /// A directory for list, a file for read, either for grep.
    path: Option<String>,
    /// For grep: a regular expression, matched against each line.
    pattern: Option<String>,
    /// An answer's next_cursor.
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum HeldAction {
    List,
    Read,
    Grep,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HeldAnswer<'a> {
    pipeline_id: PipelineId,
    job: &'a str,
    /// The commit that the job began with.
    commit: &'a CommitId,
    #[serde(flatten)]
    found: InWorktree<'a>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct InWorktree<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<&'a [Entry]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PartRead<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<LineMatch>>,
}

async fn held_worktree(call: Call, asked: HeldWorktree) -> Result<Reply, Problem> {
    let action = asked.action;
    only_for("pattern", asked.pattern.is_some(), "grep", action)?;
    let finding = pipelines::held(call.app(), asked.pipeline_id, &asked.job);
    let (commit, worktree) = call.in_time(finding).await?;
    let answer = |found| HeldAnswer {
        pipeline_id: asked.pipeline_id,
        job: &asked.job,
        commit: &commit,
        found,
    };
    let cursor = asked.cursor.as_deref();
    let path = asked.path.clone();
    match action {
        HeldAction::List => {
            let request = ListRequest {
                path: path.unwrap_or_default(),
                recursive: false,
                all: true,
            };
            let listing = call
                .in_time(async { Ok(held::list(&worktree, request).await?) })
                .await?;
            list_files(&call, &listing, cursor, |entries| {
                answer(InWorktree {
                    entries: Some(entries),
                    ..InWorktree::default()
                })
            })
        }
        HeldAction::Read => {
            let mut request = ReadRequest {
                path: needed("path", path, "read")?,
                ..ReadRequest::default()
            };
            let exact = go_on(&mut request, cursor)?;
            let max = pipelines::max_read(call.app());
            let part = call
                .in_time(async { Ok(held::read(&worktree, request, max).await?) })
                .await?;
            show_part(&call, &part, exact, |file| {
                let next_cursor = file.next_cursor().map(str::to_owned);
                let found = InWorktree {
                    file: Some(file),
                    ..InWorktree::default()
                };
                Paged::new(answer(found), next_cursor)
            })
        }
        HeldAction::Grep => {
            let request = GrepRequest {
                pattern: needed("pattern", asked.pattern.clone(), "grep")?,
                path: path.unwrap_or_default(),
                cursor: asked.cursor.clone(),
                ..GrepRequest::default()
            };
            let grep = request.check()?;
            let found = call
                .in_time(async { Ok(held::grep(&worktree, grep).await?) })
                .await?;
            show_matches(&call, &found, 0, |matches| {
                answer(InWorktree {
                    matches: Some(matches),
                    ..InWorktree::default()
                })
            })
        }
    }
}
