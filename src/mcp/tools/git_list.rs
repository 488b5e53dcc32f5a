//! What there is by name in a repository, for those who are to read alone: the tools that list it also change it.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::action::only_for;
use super::salvage::line;
use super::verbs::fitting;
use crate::app::verbs::{At, verb};
use crate::app::{SalvageFilter, SalvageItem, salvage};
use crate::mcp::call::Call;
use crate::mcp::reply::{Reply, fitted_items};
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, Problem, RepoName, Scope};

/// As many, where nothing is said.
const LIMIT: usize = 100;

pub(super) fn tool() -> Tool {
    Tool::new::<GitList, Lists, _>(
        &ToolEntry {
            name: "git_list",
            title: "List branches, tags, stashes or salvages",
            description: "Lists the branches or tags that are here, or the stashes or salvages (saved work) of this branch.",
            set: Toolset::GitRead,
            right: Scope::GitRead,
            effect: Effect::READS,
        },
        list,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GitList {
    /// A repository, by its name.
    repo: RepoName,
    /// Such as main or feature/login.
    branch: BranchName,
    /// Which list.
    what: Listable,
    /// Branches and tags: only names that this glob matches.
    pattern: Option<String>,
    /// How many at most, 100 if left out.
    limit: Option<usize>,
    /// To go on: an answer's `next`.
    #[serde(default)]
    skip: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Listable {
    Branches,
    Tags,
    Stashes,
    Salvages,
}

/// One of the lists. Those of branches, tags and stashes are as the verbs give them.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Lists<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    branches: Option<Vec<JsonObject>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<JsonObject>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stashes: Option<Vec<JsonObject>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salvages: Option<&'a [SalvageItem]>,
    /// How many there are in all.
    total: usize,
    /// The `skip` with which the rest can be had, if this is not all.
    next: Option<usize>,
}

async fn list(call: Call, asked: GitList) -> Result<Reply, Problem> {
    let has_pattern = asked.pattern.is_some();
    only_for("pattern", has_pattern, "branches and tags", asked.what)?;
    let pages = asked.skip > 0 || asked.limit.is_some();
    if pages && asked.what == Listable::Stashes {
        let detail = "limit is for all but stashes alone";
        return Err(Problem::unprocessable("limit", detail));
    }
    let (name, mut given) = match asked.what {
        Listable::Salvages => return salvages(&call, asked).await,
        Listable::Stashes => ("stash", json!({"action": "list"})),
        Listable::Branches => ("branch", json!({"action": "list", "skip": asked.skip})),
        Listable::Tags => ("tag", json!({"action": "list", "skip": asked.skip})),
    };
    if let Some(pattern) = asked.pattern {
        given["pattern"] = pattern.into();
    }
    if let Some(limit) = asked.limit {
        given["limit"] = limit.into();
    }
    let at = At {
        repo: asked.repo,
        branch: asked.branch,
    };
    let said = call
        .in_time(verb(name)?.call(call.app(), at, given))
        .await?;
    fitting(&call, said)
}

async fn salvages(call: &Call, asked: GitList) -> Result<Reply, Problem> {
    call.app().check(&asked.repo, &asked.branch)?;
    let filter = SalvageFilter {
        repo: Some(asked.repo),
        branch: Some(asked.branch),
    };
    let found = call.in_time(salvage::salvages(call.app(), &filter)).await?;
    let first = asked.skip.min(found.len());
    let rest = &found[first..];
    let wanted = &rest[..rest.len().min(asked.limit.unwrap_or(LIMIT))];
    let next = |count| (count < rest.len()).then(|| first + count);
    fitted_items(wanted.len(), |count| {
        let (shown, next) = (&wanted[..count], next(count));
        let answer = Lists {
            salvages: Some(shown),
            total: found.len(),
            next,
            ..Lists::default()
        };
        let mut lines: Vec<String> = shown.iter().map(line).collect();
        if lines.is_empty() {
            lines.push("nothing was saved".to_owned());
        }
        lines.extend(next.map(|next| format!("of {}; go on with skip: {next}", found.len())));
        call.reply(&answer, lines.join("\n"))
    })
}
