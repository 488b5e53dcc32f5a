//! `diagnostics`: what a run's output complains about, a line each.

use serde::Deserialize;

use super::Context;
use super::args::DiagnosticsArgs;
use super::exit::{self, Failure};
use super::finding::{Finding, Findings};
use super::render::printable;

#[derive(Deserialize)]
struct DiagnosticsPage {
    items: Vec<Finding>,
    summary: Findings,
    #[serde(default)]
    truncated: bool,
}

pub(super) async fn list(context: &Context, args: &DiagnosticsArgs) -> Result<u8, Failure> {
    let console = &context.console;
    let path = format!("/api/runs/{}/diagnostics", args.run);
    let answer = context.client.get(&path).await?;
    if console.json() {
        console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let found: DiagnosticsPage = answer.parse()?;
    let lines: String = found
        .items
        .iter()
        .map(|finding| format!("{}\n", printable(&finding.to_string())))
        .collect();
    console.print(lines.as_bytes())?;
    let mut note = found.summary.count();
    if found.truncated {
        note.push_str(&format!("; only the first {} were kept", found.items.len()));
    }
    console.note(&note);
    Ok(exit::OK)
}
