//! How a run ended, in words.

use super::render::{human_duration, short_commit};
use branchyard_model::{Complete, EndState};

/// `succeeded in 1.2s at 1a2b3c4d`
pub(super) fn words(complete: &Complete) -> String {
    let mut text = match complete.end.state {
        EndState::Failed => match complete.end.exit_code {
            Some(code) => format!("failed with exit code {code}"),
            None => "failed".to_owned(),
        },
        EndState::Signalled => match complete.end.signal {
            Some(signal) => format!("ended by signal {signal}"),
            None => "ended by a signal".to_owned(),
        },
        EndState::TimedOut => "timed out".to_owned(),
        EndState::Lost => "the run was lost".to_owned(),
        EndState::Rejected => "the run was rejected".to_owned(),
        EndState::Succeeded | EndState::Cancelled => complete.end.state.as_str().to_owned(),
    };
    if complete.end.duration_ms > 0 {
        let word = match complete.end.state {
            EndState::Succeeded | EndState::Failed => "in",
            _ => "after",
        };
        let took = human_duration(complete.end.duration_ms);
        text.push_str(&format!(" {word} {took}"));
    }
    if let Some(commit) = &complete.end.commit {
        text.push_str(&format!(" at {}", short_commit(commit.as_str())));
    }
    match (&complete.warm, complete.end.incremental) {
        (Some(warm), _) => text.push_str(&format!(", built upon what {} built", warm.branch)),
        (None, Some(true)) => text.push_str(", incremental"),
        (None, _) => {}
    }
    if !complete.edited_meanwhile.is_empty() {
        let files = complete.edited_meanwhile.join(", ");
        text.push_str(&format!(", edited meanwhile: {files}"));
    }
    if let Some(earlier) = &complete.cached {
        text.push_str(&format!(", cached from run {earlier}"));
    }
    if let Some(tests) = &complete.end.tests {
        text.push_str(&format!(", tests: {tests}"));
    }
    if let Some(reason) = &complete.end.reason {
        text.push_str(&format!(": {reason}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_says_how_it_ended_how_long_it_took_and_where() {
        for (json, text) in [
            (
                r#"{"state":"succeeded","exit_code":0,"duration_ms":1234,"commit":"1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b"}"#,
                "succeeded in 1.2s at 1a2b3c4d",
            ),
            (
                r#"{"state":"failed","exit_code":2,"duration_ms":65000,"commit":"1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b"}"#,
                "failed with exit code 2 in 1m05s at 1a2b3c4d",
            ),
            (
                r#"{"state":"succeeded","duration_ms":1234,"commit":"1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b","incremental":true}"#,
                "succeeded in 1.2s at 1a2b3c4d, incremental",
            ),
            (
                r#"{"state":"succeeded","duration_ms":1234,"incremental":true,"warm":{"branch":"main","commit":"1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b","files":1,"bytes":1,"differing":0,"ms":1}}"#,
                "succeeded in 1.2s, built upon what main built",
            ),
            (r#"{"state":"signalled","signal":9}"#, "ended by signal 9"),
            (
                r#"{"state":"lost","commit":null,"reason":"its supervisor is gone"}"#,
                "the run was lost: its supervisor is gone",
            ),
            (
                r#"{"state":"timed_out","duration_ms":600000}"#,
                "timed out after 10m00s",
            ),
            (
                r#"{"state":"succeeded","duration_ms":12,"cached":"0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b"}"#,
                "succeeded in 0.0s, cached from run 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b",
            ),
            (r#"{"state":"cancelled"}"#, "cancelled"),
        ] {
            assert_eq!(words(&serde_json::from_str(json).unwrap()), text);
        }
    }
}
