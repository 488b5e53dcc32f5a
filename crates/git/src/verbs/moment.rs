//! Points in time as callers write them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

use branchyard_model::Problem;

/// Which end of a day a bare date stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    First,
    Last,
}

/// Seconds since 1970 of what the caller wrote in `field`: an RFC 3339 time, a date or a time without a
/// zone (both UTC), or how long ago, as in `2d`.
pub(super) fn moment(
    field: &str,
    written: &str,
    edge: Edge,
    now: Timestamp,
) -> Result<i64, Problem> {
    let written = written.trim();
    let refused = |detail: String| {
        Problem::unprocessable(field, detail)
            .help("write a time such as 2026-01-31T12:00:00Z, a date such as 2026-01-31, or how long ago, such as 36h or 2d")
    };
    let nonsense = || refused(format!("{written:?} is no point in time"));
    let in_utc = |at: DateTime| at.to_zoned(TimeZone::UTC).map(|at| at.timestamp());
    let at = if let Ok(at) = written.parse::<Timestamp>() {
        at
    } else if written.len() == "2026-01-31".len() {
        let day: Date = written.parse().map_err(|_| nonsense())?;
        let time = match edge {
            Edge::First => Time::midnight(),
            Edge::Last => Time::MAX,
        };
        in_utc(day.to_datetime(time)).map_err(|_| nonsense())?
    } else if let Ok(at) = written.parse::<DateTime>() {
        in_utc(at).map_err(|_| nonsense())?
    } else {
        let ago = humantime::parse_duration(written).map_err(|_| nonsense())?;
        now.checked_sub(ago)
            .map_err(|_| refused(format!("{written} ago is before all time")))?
    };
    Ok(at.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_dates_and_durations_are_understood() {
        let now: Timestamp = "2026-02-03T00:00:00Z".parse().unwrap();
        for (written, edge, expected) in [
            ("2026-01-31T12:00:00Z", Edge::First, "2026-01-31T12:00:00Z"),
            (
                "2026-01-31T12:00:00+02:00",
                Edge::First,
                "2026-01-31T10:00:00Z",
            ),
            ("2026-01-31T12:30", Edge::Last, "2026-01-31T12:30:00Z"),
            ("2026-01-31", Edge::First, "2026-01-31T00:00:00Z"),
            ("2026-01-31", Edge::Last, "2026-01-31T23:59:59Z"),
            ("2d", Edge::Last, "2026-02-01T00:00:00Z"),
            (" 1h 30m ", Edge::First, "2026-02-02T22:30:00Z"),
        ] {
            let expected: Timestamp = expected.parse().unwrap();
            let read = moment("since", written, edge, now);
            assert_eq!(read, Ok(expected.as_second()), "{written}");
        }
        for written in ["", "yesterday", "2026-13-01", "10", "-2d", "99999999years"] {
            let problem = moment("until", written, Edge::First, now).unwrap_err();
            assert_eq!(problem.field.as_deref(), Some("until"), "{written:?}");
        }
    }
}
