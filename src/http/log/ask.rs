//! Which part of a log is asked for.

use axum::http::HeaderValue;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::range::{ByteRange, digits};
use branchyard_journal::{Query, pattern};
use branchyard_model::Problem;

const MAX_CONTEXT: usize = 100;
const DEFAULT_MATCHES: usize = 1_000;
const MAX_MATCHES: usize = 10_000;

/// The query string as it comes: text, so that what is wrong with a value is said under its name.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LogParams {
    /// The last so many lines.
    #[schemars(with = "Option<u64>")]
    tail: Option<String>,
    /// These lines, counted from 1, both ends included: `10-20`, `10-` or `10`.
    #[schemars(regex(pattern = "^[0-9]+(-[0-9]*)?$"))]
    lines: Option<String>,
    /// The lines that match this regular expression.
    grep: Option<String>,
    /// With `grep`: so many lines around each match.
    #[schemars(with = "Option<u64>", range(max = MAX_CONTEXT))]
    context: Option<String>,
    /// With `grep`: at most so many matches; 1,000 if left out.
    #[schemars(with = "Option<u64>", range(max = MAX_MATCHES))]
    limit: Option<String>,
    /// With `grep`: small and capital letters are the same.
    #[schemars(with = "Option<bool>")]
    ignore_case: Option<String>,
    /// Without the escapes that colour a terminal.
    #[schemars(with = "Option<bool>")]
    strip_ansi: Option<String>,
}

#[derive(Debug)]
pub(super) struct Ask {
    pub(super) wanted: Wanted,
    pub(super) strip_ansi: bool,
}

#[derive(Debug)]
pub(super) enum Wanted {
    Whole,
    Range(ByteRange),
    Tail(u64),
    /// Counted from 1.
    Lines {
        first: u64,
        count: u64,
    },
    Matches(Query),
}

impl Ask {
    pub(super) fn read(params: &LogParams, range: Option<&HeaderValue>) -> Result<Self, Problem> {
        let strip_ansi = flag("strip_ansi", params.strip_ansi.as_deref())?;
        let chosen: Vec<_> = [
            ("tail", &params.tail),
            ("lines", &params.lines),
            ("grep", &params.grep),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
        .collect();
        if let [(first, _), (second, _), ..] = chosen[..] {
            return Err(together(second, first));
        }
        refuse_without_grep(params)?;
        if range.is_some() {
            if let Some((name, _)) = chosen.first() {
                return Err(together("Range", name));
            }
            if strip_ansi {
                return Err(together("Range", "strip_ansi"));
            }
        }
        let wanted = match chosen.first() {
            Some(("tail", value)) => Wanted::Tail(number("tail", value)?),
            Some(("lines", value)) => lines(value)?,
            Some((_, pattern)) => Wanted::Matches(query(pattern, params)?),
            // What is no range of bytes is passed over, as HTTP has it.
            None => range
                .and_then(|range| ByteRange::parse(range.to_str().ok()?))
                .map_or(Wanted::Whole, Wanted::Range),
        };
        Ok(Self { wanted, strip_ansi })
    }
}

fn refuse_without_grep(params: &LogParams) -> Result<(), Problem> {
    if params.grep.is_some() {
        return Ok(());
    }
    for (name, value) in [
        ("context", &params.context),
        ("limit", &params.limit),
        ("ignore_case", &params.ignore_case),
    ] {
        if value.is_some() {
            let detail = format!("{name} goes with grep, which is not given");
            return Err(Problem::unprocessable(name, detail));
        }
    }
    Ok(())
}

fn together(name: &str, other: &str) -> Problem {
    Problem::unprocessable(name, format!("{name} and {other} cannot be had together"))
}

fn flag(name: &str, value: Option<&str>) -> Result<bool, Problem> {
    match value {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => {
            let detail = format!("{other:?} is neither true nor false");
            Err(Problem::unprocessable(name, detail))
        }
    }
}

fn number(name: &str, value: &str) -> Result<u64, Problem> {
    digits(value)
        .ok_or_else(|| Problem::unprocessable(name, format!("{value:?} is not a whole number")))
}

fn at_most(name: &str, value: Option<&str>, default: usize, most: usize) -> Result<usize, Problem> {
    let Some(value) = value else {
        return Ok(default);
    };
    usize::try_from(number(name, value)?)
        .ok()
        .filter(|number| *number <= most)
        .ok_or_else(|| Problem::unprocessable(name, format!("{name} is at most {most}")))
}

/// `a-b`, `a-` or `a`.
fn lines(value: &str) -> Result<Wanted, Problem> {
    let (first, last) = value.split_once('-').unwrap_or((value, value));
    let first = digits(first);
    let last = match last {
        "" => Some(u64::MAX),
        last => digits(last),
    };
    match first.zip(last) {
        Some((first, last)) if first >= 1 && last >= first => Ok(Wanted::Lines {
            first,
            count: (last - first).saturating_add(1),
        }),
        _ => Err(
            Problem::unprocessable("lines", format!("{value:?} does not name lines"))
                .help("lines are counted from 1: 10-20, 10- or 10"),
        ),
    }
}

fn query(text: &str, params: &LogParams) -> Result<Query, Problem> {
    let ignore_case = flag("ignore_case", params.ignore_case.as_deref())?;
    let pattern = pattern(text, ignore_case);
    let (context, limit) = (params.context.as_deref(), params.limit.as_deref());
    Ok(Query {
        pattern: pattern.map_err(|error| Problem::unprocessable("grep", error))?,
        context: at_most("context", context, 0, MAX_CONTEXT)?,
        limit: at_most("limit", limit, DEFAULT_MATCHES, MAX_MATCHES)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        for (value, expected) in [
            ("1", Some((1, 1))),
            ("3-3", Some((3, 1))),
            ("3-7", Some((3, 5))),
            ("3-", Some((3, u64::MAX - 2))),
            ("0", None),
            ("0-3", None),
            ("7-3", None),
            ("-3", None),
            ("", None),
            ("a", None),
            ("1-2-3", None),
            ("+1", None),
        ] {
            let found = match lines(value) {
                Ok(Wanted::Lines { first, count }) => Some((first, count)),
                _ => None,
            };
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn a_pattern_cannot_grow_beyond_its_bounds() {
        for pattern in ["(", "a{99999}", "(a{100}){100}{100}", "\\w{2000}"] {
            let problem = query(pattern, &LogParams::default()).unwrap_err();
            assert_eq!(problem.field.as_deref(), Some("grep"), "{pattern}");
        }
    }
}
