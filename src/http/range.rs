//! `Range`: a part of an answer, by bytes.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::problem::ProblemResponse;
use branchyard_model::{ErrorKind, Problem};

/// One range of `Range: bytes=…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteRange {
    From { first: u64, last: u64 },
    Last(u64),
}

impl ByteRange {
    /// `None` for what HTTP tells a server to pass over: other units, and what is no range. Several
    /// ranges at once are not served either.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let (unit, range) = value.split_once('=')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (first, last) = range.trim().split_once('-')?;
        if first.is_empty() {
            return digits(last).map(Self::Last);
        }
        let first = digits(first)?;
        let last = match last {
            "" => u64::MAX,
            last => digits(last)?,
        };
        (first <= last).then_some(Self::From { first, last })
    }

    /// The first byte and how many of `total`; `None` if there is none.
    pub(super) fn within(self, total: u64) -> Option<(u64, u64)> {
        let (first, end) = match self {
            Self::From { first, last } => (first, last.saturating_add(1).min(total)),
            Self::Last(count) => (total.saturating_sub(count), total),
        };
        (first < end).then(|| (first, end - first))
    }
}

/// The header, of a request that it has a meaning for.
pub(super) fn asked<'a>(method: &Method, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
    let range = headers.get(header::RANGE);
    range.filter(|_| *method == Method::GET)
}

/// The answer with bytes `first` and `count - 1` after it of `total`.
pub(super) fn partial(body: Body, (first, count): (u64, u64), total: u64) -> Response {
    let range = format!("bytes {first}-{}/{total}", first + count - 1);
    let headers = [
        (header::CONTENT_RANGE, range),
        (header::CONTENT_LENGTH, count.to_string()),
        (header::ACCEPT_RANGES, "bytes".to_owned()),
    ];
    (StatusCode::PARTIAL_CONTENT, headers, body).into_response()
}

/// What is said of a range without any byte of `total` in it.
pub(super) fn unsatisfiable(what: &str, total: u64) -> Response {
    let problem = Problem::new(
        ErrorKind::RangeNotSatisfiable,
        "range_not_satisfiable",
        format!("{what} has {total} bytes, and none of them is in that range"),
    );
    let place = [(header::CONTENT_RANGE, format!("bytes */{total}"))];
    (place, ProblemResponse(problem.field("Range"))).into_response()
}

/// Plain decimal digits; more than can be counted is as many as can be.
pub(super) fn digits(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        for (value, total, expected) in [
            ("bytes=0-0", 10, Some((0, 1))),
            ("bytes=2-5", 10, Some((2, 4))),
            ("bytes=2-500", 10, Some((2, 8))),
            ("bytes=9-", 10, Some((9, 1))),
            ("bytes=10-", 10, None),
            ("bytes=-3", 10, Some((7, 3))),
            ("bytes=-30", 10, Some((0, 10))),
            ("bytes=-0", 10, None),
            ("bytes=0-", 0, None),
            ("bytes=-1", 0, None),
            ("Bytes = 1-1", 10, Some((1, 1))),
            ("bytes=99999999999999999999-", 10, None),
            ("bytes=0-99999999999999999999", 10, Some((0, 10))),
        ] {
            let range = ByteRange::parse(value).expect(value);
            assert_eq!(range.within(total), expected, "{value} of {total}");
        }
        for value in [
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-2",
            "bytes=0-1,4-5",
            "lines=0-1",
            "bytes=+1-2",
            "bytes=1-x",
            "bytes=--1",
        ] {
            assert_eq!(ByteRange::parse(value), None, "{value}");
        }
    }
}
