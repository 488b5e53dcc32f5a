//! Messages to forges and webhooks.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::{needed, only_for};
use crate::app::deliveries::{self, DeliveryFilter};
use crate::mcp::call::Call;
use crate::mcp::page::{Paged, fitted_page};
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{DeliveryId, Problem, RepoName, Scope};
use branchyard_outbox::{Delivery, DeliveryState};

/// Deliveries on one page, where they fit.
const PAGE: usize = 50;

pub(super) fn tool() -> Tool {
    Tool::new::<DeliveriesArgs, Paged<ListedDeliveries<'_>>, _>(
        &ToolEntry {
            name: "deliveries",
            title: "Messages to forges and webhooks, and commands",
            description: "Lists which commit statuses and webhooks of a repository were sent, wait to be sent again \
                or were given up, and why, the newest first, and so the operator's commands after runs and pipelines; \
                or sends or runs one of them once more. Use it when a forge does not show how a pipeline went.",
            set: Toolset::Ops,
            right: Scope::RepoRead,
            effect: Effect::WRITES.reaching_out(),
        },
        deliveries,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeliveriesArgs {
    /// What to do. redeliver needs delivery_id.
    action: DeliveriesAction,
    repo: RepoName,
    /// For list: only those in this state.
    state: Option<DeliveryState>,
    /// For redeliver: the message. A status that a newer one has replaced is refused.
    delivery_id: Option<DeliveryId>,
    /// For list: the next_cursor of the answer before.
    cursor: Option<DeliveryId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DeliveriesAction {
    List,
    Redeliver,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedDeliveries<'a> {
    /// The newest first; the one that is sent once more.
    deliveries: &'a [Delivery],
}

async fn deliveries(call: Call, asked: DeliveriesArgs) -> Result<Reply, Problem> {
    for (field, is_given, action) in [
        ("state", asked.state.is_some(), "list"),
        ("cursor", asked.cursor.is_some(), "list"),
        ("delivery_id", asked.delivery_id.is_some(), "redeliver"),
    ] {
        only_for(field, is_given, action, asked.action)?;
    }
    match asked.action {
        DeliveriesAction::List => list(&call, &asked),
        DeliveriesAction::Redeliver => {
            call.app().require(Scope::Ops)?;
            let id = needed("delivery_id", asked.delivery_id, "redeliver")?;
            let again = deliveries::redeliver(call.app(), &asked.repo, id)?;
            let text = format!("sending once more: {}", line(&again));
            let answer = ListedDeliveries {
                deliveries: std::slice::from_ref(&again),
            };
            call.reply(&Paged::new(answer, None), text)
        }
    }
}

fn list(call: &Call, asked: &DeliveriesArgs) -> Result<Reply, Problem> {
    let filter = DeliveryFilter {
        state: asked.state,
        before: asked.cursor,
    };
    let (found, is_more) = deliveries::list(call.app(), &asked.repo, &filter, PAGE)?;
    let next = |count: usize| {
        let last = found[..count].last();
        let last = last.filter(|_| is_more || count < found.len());
        last.map(|last| last.delivery_id.to_string())
    };
    fitted_page(&found, next, |page| {
        let mut text: String = page.shown.iter().map(line).collect();
        if found.is_empty() {
            text.push_str("no deliveries");
        }
        let answer = ListedDeliveries {
            deliveries: page.shown,
        };
        page.reply(call, &answer, text, false)
    })
}

fn line(delivery: &Delivery) -> String {
    let Delivery {
        delivery_id,
        kind,
        to,
        says,
        failures,
        ..
    } = delivery;
    let state = match delivery.state {
        DeliveryState::Waiting => "waiting",
        DeliveryState::Delivered => "delivered",
        DeliveryState::Failed => "failed",
    };
    let mut line = format!("{delivery_id} {kind} {to}: {says}; {state}");
    if let Some(problem) = &delivery.problem {
        let _ = write!(line, ", failed {failures} times: {problem}");
    }
    line.push('\n');
    line
}
