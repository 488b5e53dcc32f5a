//! How busy the machine is.

use crate::app::{Load, load};
use crate::mcp::call::Call;
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Nothing, Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{Problem, Scope};

pub(super) fn tool() -> Tool {
    Tool::new::<Nothing, Load, _>(
        &ToolEntry {
            name: "machine",
            title: "How busy the machine is",
            description: "Says how busy the machine is: cores, load, memory, disk, the runs that wait and what each \
                repository takes up. Ask before starting many builds, or when one waits for long.",
            set: Toolset::Ops,
            right: Scope::RepoRead,
            effect: Effect::READS,
        },
        machine,
    )
}

async fn machine(call: Call, _: Nothing) -> Result<Reply, Problem> {
    let now = call.in_time(load::current(call.app())).await?;
    let (runs, free) = (&now.runs, now.disk.free);
    let free = free.map_or("unknown".to_owned(), |free| format!("{free} bytes"));
    let text = format!(
        "load {:.2} on {} cores; runs: {} running, {} waiting, at most {} at once; disk free: {free}",
        now.load[0], now.cores, runs.queue.running, runs.queue.waiting, runs.at_once,
    );
    call.reply(&now, text)
}
