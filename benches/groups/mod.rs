//! What is measured, a file for each group.

mod growth;
pub mod instructions;
mod listing;
mod mcp;
mod memory;
mod pipelines;
mod prepare;
mod reads;
mod runs;
mod salvage;
mod streaming;
mod submodules;
mod versions;
mod warm;
mod workspaces;

use crate::measure::Report;

/// In the order of the report.
pub const NAMES: [&str; 15] = [
    "workspaces",
    "warm",
    "submodules",
    "prepare",
    "runs",
    "streaming",
    "reads",
    "mcp",
    "growth",
    "memory",
    "salvage",
    "listing",
    "pipelines",
    "instructions",
    "versions",
];

/// Measures one group.
pub async fn run(name: &str, report: &mut Report) {
    let known = NAMES.into_iter().find(|known| *known == name);
    let Some(name) = known else {
        panic!("no group {name:?}; there are {}", NAMES.join(", "));
    };
    report.begin(name);
    match name {
        "workspaces" => workspaces::measure(report).await,
        "warm" => warm::measure(report).await,
        "submodules" => submodules::measure(report).await,
        "prepare" => prepare::measure(report).await,
        "runs" => runs::measure(report).await,
        "streaming" => streaming::measure(report).await,
        "reads" => reads::measure(report).await,
        "mcp" => mcp::measure(report).await,
        "growth" => growth::measure(report).await,
        "memory" => memory::measure(report).await,
        "salvage" => salvage::measure(report).await,
        "listing" => listing::measure(report).await,
        "pipelines" => pipelines::measure(report).await,
        "instructions" => instructions::measure(report),
        _ => versions::measure(report).await,
    }
}
