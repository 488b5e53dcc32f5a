//! How a run of a group ended, in words: for people, and with tabs for programs.

use crate::cli::render::{Cell, Cut, Listing, cut, printable};
use crate::cli::run_name::short;
use crate::cli::verdict;
use branchyard_model::{Complete, EndState, MemberEnded, RunEnd};

/// `main: succeeded in 1.2s`
pub(super) fn sentence(ended: &MemberEnded) -> String {
    format!("{}: {}", ended.member.branch, how(ended))
}

/// `failed with exit code 2 in 1.2s`
pub(super) fn how(ended: &MemberEnded) -> String {
    verdict::words(&Complete {
        end: RunEnd {
            commit: None,
            reason: None,
            ..ended.end.clone()
        },
        head_moved: false,
        edited_meanwhile: Vec::new(),
        cached: None,
        warm: None,
    })
}

/// `main: failed with exit code 2 in 1.2s (branchyard log 3e4f5a6b): src/a.c:3:5: error: …`, on one line of a terminal.
pub(super) fn failure(ended: &MemberEnded, width: Option<u16>) -> String {
    let run = ended.member.run_id;
    let run = width.map_or_else(|| run.to_string(), |_| short(run));
    let because = because(ended).map(|why| format!(": {why}"));
    let because = because.unwrap_or_default();
    let line = format!("{} (branchyard log {run}){because}", sentence(ended));
    match width {
        Some(width) => cut(&printable(&line), width.into(), Cut::End),
        None => line,
    }
}

/// What is most worth knowing about an end that is no success.
fn because(ended: &MemberEnded) -> Option<String> {
    let error = ended.error.as_ref().map(|error| error.detail.clone());
    let found = ended.end.diagnostics.as_ref();
    let found = found.and_then(|found| found.first_error());
    error
        .or_else(|| found.map(ToString::to_string))
        .or_else(|| ended.end.reason.clone())
        .filter(|_| ended.end.state != EndState::Succeeded)
}

/// Branch, state, exit code, run, milliseconds, and why, with tabs between.
pub(super) fn row(ended: &MemberEnded) -> String {
    let mut listing = Listing::new("BRANCH, STATE, EXIT, RUN, TOOK, WHY");
    listing.row(vec![
        Cell::text(&ended.member.branch),
        Cell::text(ended.end.state.as_str()),
        Cell::maybe(ended.end.exit_code),
        Cell::text(ended.member.run_id),
        Cell::text(ended.end.duration_ms),
        Cell::maybe(because(ended)),
    ]);
    listing.plain()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    fn ended(rest: &str) -> MemberEnded {
        let text = format!(r#"{{"branch":"main","run_id":"{RUN}",{rest}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_run_that_ended_is_one_line_either_way() {
        let failed = ended(
            r#""state":"failed","exit_code":2,"duration_ms":1234,"diagnostics":{"errors":1,"warnings":0,
                "first":{"file":"a.c","line":3,"severity":"error","message":"no\tx"}}"#,
        );
        assert_eq!(
            failure(&failed, None),
            format!(
                "main: failed with exit code 2 in 1.2s (branchyard log {RUN}): a.c:3: error: no\tx"
            )
        );
        assert_eq!(
            failure(&failed, Some(80)),
            "main: failed with exit code 2 in 1.2s (branchyard log 3e4f5a6b): a.c:3: error: …"
        );
        assert_eq!(
            row(&failed),
            format!("main\tfailed\t2\t{RUN}\t1234\ta.c:3: error: no\\tx\n")
        );
        let well = ended(
            r#""state":"succeeded","exit_code":0,"duration_ms":10,"diagnostics":{"errors":1,"warnings":0,
                "first":{"severity":"error","message":"not meant"}}"#,
        );
        assert_eq!(row(&well), format!("main\tsucceeded\t0\t{RUN}\t10\t\n"));
    }
}
