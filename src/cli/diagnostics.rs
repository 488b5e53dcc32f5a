//! `diagnostics`: what a run's output complains about, a line each.

use super::Context;
use super::exit::Failure;
use super::render::printable;
use super::run_name::RunArgs;
use branchyard_journal::diagnostics::Diagnostics;
use branchyard_model::DiagnosticsSummary;

/// Print the errors and warnings in a run's output
///
/// One on each line, spelt as compilers do, so that editors find the place:
/// file:line:column: error: message.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard diagnostics app main
  vim -q <(branchyard diagnostics 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b)")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) of: RunArgs,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let console = &context.console;
    let run = args.of.find(context).await?;
    let path = format!("/api/runs/{run}/diagnostics");
    let answer = context.client.get(&path).await?;
    context.show(&answer, |found: Diagnostics| {
        let lines = found.items.iter();
        let lines = lines.map(|found| format!("{}\n", printable(&found.to_string())));
        console.print(lines.collect::<String>().as_bytes())?;
        let mut note = count(&found.summary);
        if found.so_far {
            note.push_str(" so far");
        }
        if found.truncated {
            note.push_str(&format!("; only the first {} were kept", found.items.len()));
        }
        console.note(&note);
        Ok(())
    })
}

/// `2 errors, 1 warning`
fn count(found: &DiagnosticsSummary) -> String {
    let some = |count: usize, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        _ => Some(format!("{count} {noun}s")),
    };
    let counts = [some(found.errors, "error"), some(found.warnings, "warning")];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    match counts.is_empty() {
        true => "no errors or warnings".to_owned(),
        false => counts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_words() {
        let count = |errors, warnings| {
            count(&DiagnosticsSummary {
                errors,
                warnings,
                first: None,
            })
        };
        assert_eq!(count(2, 1), "2 errors, 1 warning");
        assert_eq!(count(0, 3), "3 warnings");
        assert_eq!(count(0, 0), "no errors or warnings");
    }
}
