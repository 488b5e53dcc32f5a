//! `GET /api/runs/{run}/log`: what a run printed, whole or in part.

mod ask;
mod found;

use axum::body::Body;
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};

use super::extract::{At, Params, RunAt};
use super::negotiate::accepts;
use super::problem::HttpResult;
use super::range::{self, ByteRange};
use super::route::Access::Needs;
use super::route::{IF_RANGE, JSON, RANGE, Route, TEXT, given, is, reads, text};
use super::sinks::Text;
use super::streams::body;
use crate::app::{AuthorizedApp, runs};
use ask::{Ask, LogParams, Wanted};
use branchyard_journal::{Cursor, Excerpt, Output, Pieces, Query, Report, Search, Totals, stream};
use branchyard_model::{Problem, Scope};
use branchyard_runs::View;
use found::{Found, GrepJson, GrepText};

const CONTENT_TYPE: &str = "text/plain; charset=utf-8";

pub(super) fn routes() -> Vec<Route> {
    let output = vec![(TEXT, is(text())), (JSON, given::<Found>())];
    let says = "The output. With `grep` and `Accept: application/json` what was found.";
    vec![
        reads("readLog", "Exactly what a run printed, or a part of it")
            .says(
                "Of a run that is under way it goes on to the end; a part is of what is there \
                 now. `tail`, `lines`, `grep` and `Range` cannot be had together.",
            )
            .headers(&[RANGE, IF_RANGE])
            .answers(200, says, output)
            .writes(206, "The bytes of the range.", &[TEXT])
            .get("/api/runs/{run}/log", Needs(Scope::RepoRead), log),
    ]
}

async fn log(
    app: AuthorizedApp,
    At(id): RunAt,
    Params(params): Params<LogParams>,
    method: Method,
    headers: HeaderMap,
) -> HttpResult {
    let range = range::asked(&method, &headers);
    let Ask { wanted, strip_ansi } = Ask::read(&params, range)?;
    let view = runs::view_run(&app, id)?;
    match wanted {
        Wanted::Whole => whole(&view, strip_ansi).await,
        Wanted::Range(range) => match if_range(&view, &headers).await? {
            true => part(&view, range).await,
            false => whole(&view, false).await,
        },
        Wanted::Tail(count) => {
            let tail = move |output| Excerpt::tail(output, count);
            excerpt(&view, strip_ansi, tail).await
        }
        Wanted::Lines { first, count } => {
            let lines = move |output| Excerpt::lines(output, first, count);
            excerpt(&view, strip_ansi, lines).await
        }
        Wanted::Matches(query) if accepts(&headers, JSON) => {
            search(&view, query, strip_ansi, GrepJson::new(), JSON).await
        }
        Wanted::Matches(query) => {
            let report = GrepText::new(&query);
            search(&view, query, strip_ansi, report, CONTENT_TYPE).await
        }
    }
}

/// All of it; of a run that is under way, to its end.
async fn whole(view: &View, strip_ansi: bool) -> HttpResult {
    let mut sink = Text::exact();
    if strip_ansi {
        sink = sink.without_ansi();
    }
    let totals = match view.is_closed() && !strip_ansi {
        // Where it is damaged, what is before that is given all the same.
        true => totals(view).await.ok(),
        false => None,
    };
    let viewer = view.viewers().as_ref().map(|viewers| viewers.join(false));
    let body = body(view, Cursor::START, sink, viewer).await?;
    let ranges = (!strip_ansi).then_some([(header::ACCEPT_RANGES, "bytes")]);
    let known = totals.map(|totals| {
        [
            (header::ETAG, etag(totals)),
            (header::CONTENT_LENGTH, totals.bytes.to_string()),
        ]
    });
    Ok((ranges, known, answer(body, CONTENT_TYPE)).into_response())
}

/// A range of the bytes that are there now.
async fn part(view: &View, range: ByteRange) -> HttpResult {
    let closed = view.is_closed();
    let (totals, found) = view
        .with_output(move |mut output| {
            let totals = output.totals()?;
            let found = match range.within(totals.bytes) {
                Some((first, count)) => {
                    let excerpt = Excerpt::bytes(output, first, count)?;
                    Some((first, count, excerpt))
                }
                None => None,
            };
            Ok((totals, found))
        })
        .await?;
    let total = totals.bytes;
    let Some((first, count, excerpt)) = found else {
        return Ok(range::unsatisfiable("the output", total));
    };
    let tag = closed.then(|| [(header::ETAG, etag(totals))]);
    let part = range::partial(pieces(excerpt), (first, count), total);
    Ok((tag, [(header::CONTENT_TYPE, CONTENT_TYPE)], part).into_response())
}

async fn excerpt(
    view: &View,
    strip_ansi: bool,
    choose: impl FnOnce(Output) -> std::io::Result<Excerpt> + Send + 'static,
) -> HttpResult {
    let mut excerpt = view.with_output(choose).await?;
    if strip_ansi {
        excerpt = excerpt.without_ansi();
    }
    Ok(answer(pieces(excerpt), CONTENT_TYPE))
}

async fn search(
    view: &View,
    query: Query,
    strip_ansi: bool,
    report: impl Report,
    content_type: &'static str,
) -> HttpResult {
    let mut search = view
        .with_output(move |output| Ok(Search::new(output, query, report)))
        .await?;
    if strip_ansi {
        search = search.without_ansi();
    }
    Ok(answer(pieces(search), content_type))
}

async fn totals(view: &View) -> Result<Totals, Problem> {
    view.with_output(|mut output| output.totals()).await
}

/// What an ended run printed never changes, so its length tells one state of it from another.
fn etag(totals: Totals) -> String {
    format!("\"{}\"", totals.bytes)
}

/// Whether a range may be given: not if the caller has a part of something else.
async fn if_range(view: &View, headers: &HeaderMap) -> Result<bool, Problem> {
    let Some(condition) = headers.get(header::IF_RANGE) else {
        return Ok(true);
    };
    Ok(view.is_closed() && condition.as_bytes() == etag(totals(view).await?).as_bytes())
}

fn pieces(pieces: impl Pieces) -> Body {
    Body::from_stream(stream(pieces))
}

fn answer(body: Body, content_type: &'static str) -> Response {
    ([(header::CONTENT_TYPE, content_type)], body).into_response()
}
