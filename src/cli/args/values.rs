//! Words of the command line, parsed by the same rules as on the daemon's side, so that a typing
//! error costs no round trip.

use jiff::Timestamp;

use branchyard_config::Toolset;
use branchyard_model::{BranchName, CommitId, GroupId, Problem, RepoName, RunId, SalvageId, Scope};

/// Lines of a file, counted from 1, both ends included; an open end is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineRange {
    pub start: Option<u64>,
    pub end: Option<u64>,
}

pub(super) fn repo(text: &str) -> Result<RepoName, String> {
    RepoName::parse(text).map_err(|problem| in_words(&problem))
}

pub(super) fn branch(text: &str) -> Result<BranchName, String> {
    BranchName::parse(text).map_err(|problem| in_words(&problem))
}

pub(super) fn commit(text: &str) -> Result<CommitId, String> {
    CommitId::parse(text).map_err(|problem| in_words(&problem))
}

pub(super) fn run(text: &str) -> Result<RunId, String> {
    RunId::parse(text)
        .map_err(|_| "not a run id; `branchyard runs` lists the runs and their ids".to_owned())
}

pub(super) fn salvage(text: &str) -> Result<SalvageId, String> {
    SalvageId::parse(text).map_err(|_| {
        "not the id of a salvage; `branchyard salvage list` lists them and their ids".to_owned()
    })
}

/// A name, or a pattern that names several.
pub(super) fn branch_or_glob(text: &str) -> Result<String, String> {
    if !text.starts_with('-') && text.contains(['*', '?', '[', '{']) {
        return Ok(text.to_owned());
    }
    branch(text).map(|_| text.to_owned())
}

pub(super) fn group(text: &str) -> Result<GroupId, String> {
    GroupId::parse(text).map_err(|_| {
        "not a group id; `branchyard make` with several branches names its group".to_owned()
    })
}

/// An id of a run or of a group: they look alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EitherId {
    run: RunId,
    group: GroupId,
}

impl EitherId {
    pub(crate) fn run(self) -> RunId {
        self.run
    }

    pub(crate) fn group(self) -> GroupId {
        self.group
    }
}

pub(super) fn either(text: &str) -> Result<EitherId, String> {
    Ok(EitherId {
        run: run(text)?,
        group: group(text)?,
    })
}

/// Sets of tools with commas between them, or `all`.
pub(super) fn toolsets(text: &str) -> Result<String, String> {
    if text == "all" {
        return Ok(text.to_owned());
    }
    let names: Vec<_> = text.split(',').map(str::trim).collect();
    match names.iter().find(|name| Toolset::parse(name).is_none()) {
        None => Ok(names.join(",")),
        Some(name) => {
            let known = Toolset::ALL.map(Toolset::as_str).join(", ");
            Err(format!(
                "there is no set of tools {name:?}; the sets are {known}, and all"
            ))
        }
    }
}

/// Names of tools with commas between them; the daemon knows which there are.
pub(super) fn tools(text: &str) -> Result<String, String> {
    let names: Vec<_> = text.split(',').map(str::trim).collect();
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    match names.iter().find(|name| !is_name(name)) {
        None => Ok(names.join(",")),
        Some(name) => Err(format!("{name:?} is not the name of a tool")),
    }
}

/// One set of tools.
pub(super) fn toolset(text: &str) -> Result<String, String> {
    if text == "all" {
        return Err("name the sets one by one".to_owned());
    }
    toolsets(text)
}

pub(super) fn scope(text: &str) -> Result<String, String> {
    Scope::parse(text).map(|_| text.to_owned()).ok_or_else(|| {
        let known = Scope::ALL.map(Scope::as_str).join(", ");
        format!("there is no scope {text:?}; the scopes are {known}")
    })
}

/// A token's name or id.
pub(super) fn token(text: &str) -> Result<String, String> {
    let is_fine = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let is_name = !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_fine);
    is_name
        .then(|| text.to_owned())
        .ok_or_else(|| "write it with letters, digits, '.', '_' and '-'".to_owned())
}

/// A time, how long until then, or never; sent as it was written.
pub(super) fn expiry(text: &str) -> Result<String, String> {
    let is_time = text.parse::<Timestamp>().is_ok() || humantime::parse_duration(text).is_ok();
    (is_time || text == "never")
        .then(|| text.to_owned())
        .ok_or_else(|| "write it like 12h, 30d, 2026-12-24T18:00:00Z or never".to_owned())
}

/// Roles are the operator's; whether there is such a one, the daemon says.
pub(super) fn role(text: &str) -> Result<String, String> {
    let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_word
        .then(|| text.to_owned())
        .ok_or_else(|| "write it like dev or ops: one word of plain letters".to_owned())
}

/// A time, or how long ago it was; sent as it was written.
pub(super) fn since(text: &str) -> Result<String, String> {
    let is_time = text.parse::<Timestamp>().is_ok() || humantime::parse_duration(text).is_ok();
    is_time
        .then(|| text.to_owned())
        .ok_or_else(|| "write it like 2h or 2026-11-15T08:00:00Z".to_owned())
}

/// Lines, checked here but sent as they were written.
pub(super) fn span(text: &str) -> Result<String, String> {
    lines(text).map(|_| text.to_owned())
}

/// Checked here, but sent as it was written: the daemon reads the same notation.
pub(super) fn duration(text: &str) -> Result<String, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration.is_zero() => Err("it must be longer than nothing".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("{error}; write it like 90s, 10m or 1h30m")),
    }
}

pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it like NAME=value".to_owned()),
    }
}

pub(super) fn lines(text: &str) -> Result<LineRange, String> {
    let number = |word: &str| match word.parse::<u64>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("write it like 10-40, 10-, -40 or 10; lines are counted from 1".to_owned()),
    };
    let range = match text.split_once('-') {
        None => {
            let only = number(text)?;
            LineRange {
                start: Some(only),
                end: Some(only),
            }
        }
        Some(("", end)) => LineRange {
            start: None,
            end: Some(number(end)?),
        },
        Some((start, "")) => LineRange {
            start: Some(number(start)?),
            end: None,
        },
        Some((start, end)) => LineRange {
            start: Some(number(start)?),
            end: Some(number(end)?),
        },
    };
    match (range.start, range.end) {
        (Some(start), Some(end)) if start > end => Err("it ends before it starts".to_owned()),
        _ => Ok(range),
    }
}

fn in_words(problem: &Problem) -> String {
    match &problem.help {
        Some(help) => format!("{}; {help}", problem.detail),
        None => problem.detail.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ranges_may_be_open() {
        let range = |start, end| Ok(LineRange { start, end });
        assert_eq!(lines("10-40"), range(Some(10), Some(40)));
        assert_eq!(lines("10-"), range(Some(10), None));
        assert_eq!(lines("-40"), range(None, Some(40)));
        assert_eq!(lines("7"), range(Some(7), Some(7)));
        for text in ["", "-", "0-3", "3-2", "a-b", "1-2-3", "-0"] {
            assert!(lines(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_variable_keeps_every_equals_sign_but_the_first() {
        let parsed = variable("FLAGS=-DX=1");
        assert_eq!(parsed, Ok(("FLAGS".to_owned(), "-DX=1".to_owned())));
        assert!(variable("=x").is_err());
        assert!(variable("x").is_err());
    }

    #[test]
    fn durations_are_passed_on_as_written() {
        assert_eq!(duration("1h30m"), Ok("1h30m".to_owned()));
        assert!(duration("0s").is_err());
        assert!(duration("10").is_err());
    }
}
