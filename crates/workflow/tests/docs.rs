//! docs/PIPELINES.md says what the reader does.

use branchyard_workflow::{FaultCode, KeySupport, SupportRow, action_support_table, support_table};

const PAGE: &str = include_str!("../../../docs/PIPELINES.md");

#[test]
fn the_page_has_each_key_as_the_reader_has_it() {
    see("## Keys", support_table());
    see("## Actions of the repository", action_support_table());
}

fn see(heading: &str, table: &[SupportRow]) {
    let rows = table.iter().map(|row| {
        let support = match row.support {
            KeySupport::Taken => "taken",
            KeySupport::NoEffect => "no effect",
            KeySupport::Own => "own",
            KeySupport::NotYet => "not yet",
        };
        format!("| `{}` | `{}` | {support} |", row.level, row.key)
    });
    let section = PAGE
        .split(&format!("\n{heading}\n"))
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next());
    let written = section
        .unwrap_or_default()
        .lines()
        .filter(|line| line.starts_with("| `"));
    assert_eq!(written.collect::<Vec<_>>(), rows.collect::<Vec<_>>());
}

#[test]
fn the_page_has_each_code() {
    for code in [
        FaultCode::WorkflowInvalid,
        FaultCode::ActionNotSupported,
        FaultCode::NotSupportedYet,
        FaultCode::UnsafeInterpolation,
    ] {
        assert!(PAGE.contains(&format!("| `{}` |", code.name())));
    }
}
