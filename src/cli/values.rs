//! Words of the command line, parsed by the same rules as on the daemon's side, so that a typing
//! error costs no round trip.

use jiff::Timestamp;

use super::client::{branch_path, help_of};
use super::exit::with_help;
use branchyard_config::Toolset;
use branchyard_model::{
    BranchName, CommitId, DeliveryId, GroupId, PipelineId, Problem, RepoName, RunId, SalvageId,
    Scope,
};

/// What commands on a branch wait for where it has no workspace yet.
pub(crate) const PREPARING: &str = "preparing the workspace";

/// Of a part of an id that is shorter, most would be those of others.
const SHORTEST_PART: usize = 4;

// No doc comment: clap would take it for the help of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct BranchArgs {
    /// The repository's name
    #[arg(value_parser = repo)]
    pub(crate) repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = branch)]
    pub(crate) branch: BranchName,
}

impl BranchArgs {
    /// The branch's address, with what follows it.
    pub(crate) fn path(&self, rest: &str) -> String {
        branch_path(&self.repo, &self.branch, rest)
    }
}

/// Whether this could be the start or the end of an id.
pub(crate) fn is_part(text: &str) -> bool {
    let is_of_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    text.len() >= SHORTEST_PART && !text.starts_with('-') && text.bytes().all(is_of_id)
}

/// Lines of a file, counted from 1, both ends included; an open end is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineRange {
    pub start: Option<usize>,
    pub end: Option<usize>,
}

pub(crate) fn repo(text: &str) -> Result<RepoName, String> {
    RepoName::parse(text).map_err(|problem| in_words(&problem))
}

pub(crate) fn branch(text: &str) -> Result<BranchName, String> {
    BranchName::parse(text).map_err(|problem| in_words(&problem))
}

pub(crate) fn commit(text: &str) -> Result<CommitId, String> {
    CommitId::parse(text).map_err(|problem| in_words(&problem))
}

pub(crate) fn run(text: &str) -> Result<RunId, String> {
    RunId::parse(text)
        .map_err(|_| "not a run id; `branchyard runs` lists the runs and their ids".to_owned())
}

pub(crate) fn pipeline(text: &str) -> Result<PipelineId, String> {
    PipelineId::parse(text).map_err(|_| {
        "not the id of a pipeline; `branchyard pipeline list REPO` lists them and their ids"
            .to_owned()
    })
}

pub(crate) fn delivery(text: &str) -> Result<DeliveryId, String> {
    DeliveryId::parse(text).map_err(|_| {
        "not the id of a message; `branchyard deliveries REPO` lists them and their ids".to_owned()
    })
}

/// An id does not tell of which of them it is.
pub(crate) fn run_or_pipeline(text: &str) -> Result<String, String> {
    match PipelineId::parse(text) {
        Ok(id) => Ok(id.to_string()),
        Err(_) => Err(
            "not the id of a run or a pipeline; `branchyard runs` and `branchyard pipeline list REPO` list them"
                .to_owned(),
        ),
    }
}

pub(crate) fn salvage(text: &str) -> Result<SalvageId, String> {
    SalvageId::parse(text).map_err(|_| {
        "not the id of a salvage; `branchyard salvage list` lists them and their ids".to_owned()
    })
}

/// A name, or a pattern that names several.
pub(crate) fn branch_or_glob(text: &str) -> Result<String, String> {
    if !text.starts_with('-') && text.contains(['*', '?', '[', '{']) {
        return Ok(text.to_owned());
    }
    branch(text).map(|_| text.to_owned())
}

pub(crate) fn group(text: &str) -> Result<GroupId, String> {
    GroupId::parse(text).map_err(|_| {
        "not a group id; `branchyard make` with several branches names its group".to_owned()
    })
}

/// Sets of tools with commas between them, or `all`.
pub(crate) fn toolsets(text: &str) -> Result<String, String> {
    if text == "all" {
        return Ok(text.to_owned());
    }
    let names: Vec<_> = text.split(',').map(str::trim).collect();
    match names.iter().find(|name| Toolset::parse(name).is_none()) {
        None => Ok(names.join(",")),
        Some(name) => Err(no_toolset(name)),
    }
}

/// Names of tools with commas between them; the daemon knows which there are.
pub(crate) fn tools(text: &str) -> Result<String, String> {
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
pub(crate) fn toolset(text: &str) -> Result<Toolset, String> {
    let name = text.trim();
    Toolset::parse(name).ok_or_else(|| match name {
        "all" => "name the sets one by one".to_owned(),
        _ => no_toolset(name),
    })
}

fn no_toolset(name: &str) -> String {
    let known = Toolset::ALL.map(Toolset::as_str).join(", ");
    format!("there is no set of tools {name:?}; the sets are {known}, and all")
}

pub(crate) fn scope(text: &str) -> Result<Scope, String> {
    Scope::parse(text).ok_or_else(|| {
        let known = Scope::ALL.map(Scope::as_str).join(", ");
        format!("there is no scope {text:?}; the scopes are {known}")
    })
}

/// A token's name or id.
pub(crate) fn token(text: &str) -> Result<String, String> {
    let is_fine = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let is_name = !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_fine);
    let advice = "write it with letters, digits, '.', '_' and '-'";
    checked(text, is_name, advice)
}

/// A time, how long until then, or never; sent as it was written.
pub(crate) fn expiry(text: &str) -> Result<String, String> {
    let advice = "write it like 12h, 30d, 2026-12-24T18:00:00Z or never";
    checked(text, is_time(text) || text == "never", advice)
}

/// Roles are the operator's; whether there is such a one, the daemon says.
pub(crate) fn role(text: &str) -> Result<String, String> {
    let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let advice = "write it like dev or ops: one word of plain letters";
    checked(text, is_word, advice)
}

/// A time, or how long ago it was; sent as it was written.
pub(crate) fn since(text: &str) -> Result<String, String> {
    let advice = "write it like 2h or 2026-11-15T08:00:00Z";
    checked(text, is_time(text), advice)
}

/// Lines, checked here but sent as they were written.
pub(crate) fn span(text: &str) -> Result<String, String> {
    lines(text).map(|_| text.to_owned())
}

/// Checked here, but sent as it was written: the daemon reads the same notation.
pub(crate) fn duration(text: &str) -> Result<String, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration.is_zero() => Err("it must be longer than nothing".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("{error}; write it like 90s, 10m or 1h30m")),
    }
}

pub(crate) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it like NAME=value".to_owned()),
    }
}

pub(crate) fn lines(text: &str) -> Result<LineRange, String> {
    let number = |word: &str| match word.parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("write it like 10-40, 10-, -40 or 10; lines are counted from 1".to_owned()),
    };
    let (start, end) = match text.split_once('-') {
        None => (Some(number(text)?), Some(number(text)?)),
        Some(("", end)) => (None, Some(number(end)?)),
        Some((start, "")) => (Some(number(start)?), None),
        Some((start, end)) => (Some(number(start)?), Some(number(end)?)),
    };
    match (start, end) {
        (Some(start), Some(end)) if start > end => Err("it ends before it starts".to_owned()),
        _ => Ok(LineRange { start, end }),
    }
}

/// As it was written, if that is fine.
fn checked(text: &str, is_fine: bool, advice: &str) -> Result<String, String> {
    match is_fine {
        true => Ok(text.to_owned()),
        false => Err(advice.to_owned()),
    }
}

fn is_time(text: &str) -> bool {
    text.parse::<Timestamp>().is_ok() || humantime::parse_duration(text).is_ok()
}

fn in_words(problem: &Problem) -> String {
    with_help(problem.detail.clone(), help_of(problem).as_ref())
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
