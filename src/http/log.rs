//! `GET /api/runs/{run}/log`: what a run printed, whole or in part.

mod ask;
mod found;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};

use super::extract::{Params, RunAt};
use super::problem::ProblemResponse;
use super::range::{self, ByteRange};
use super::sinks::Text;
use super::streams::body;
use crate::app::{AuthorizedApp, runs};
use ask::{Ask, Wanted};
use branchyard_journal::{Cursor, Excerpt, Output, Pieces, Query, Report, Search, Totals, stream};
use branchyard_model::Problem;
use branchyard_runs::View;
use found::{GrepJson, GrepText};

pub(super) use ask::LogParams;
pub(super) use found::Found;

type Outcome = Result<Response, ProblemResponse>;

const TEXT: &str = "text/plain; charset=utf-8";

pub(super) async fn log(
    app: AuthorizedApp,
    RunAt(id): RunAt,
    Params(params): Params<LogParams>,
    method: Method,
    headers: HeaderMap,
) -> Outcome {
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
            excerpt(&view, strip_ansi, move |output| {
                Excerpt::tail(output, count)
            })
            .await
        }
        Wanted::Lines { first, count } => {
            excerpt(&view, strip_ansi, move |output| {
                Excerpt::lines(output, first, count)
            })
            .await
        }
        Wanted::Matches(query) if accepts_json(&headers) => {
            search(
                &view,
                query,
                strip_ansi,
                GrepJson::new(),
                "application/json",
            )
            .await
        }
        Wanted::Matches(query) => {
            let report = GrepText::new(&query);
            search(&view, query, strip_ansi, report, TEXT).await
        }
    }
}

/// All of it; of a run that is under way, to its end.
async fn whole(view: &View, strip_ansi: bool) -> Outcome {
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
    let mut response = answer(body, TEXT);
    if !strip_ansi {
        set(&mut response, header::ACCEPT_RANGES, "bytes");
    }
    if let Some(totals) = totals {
        set(&mut response, header::ETAG, &etag(totals));
        set(
            &mut response,
            header::CONTENT_LENGTH,
            &totals.bytes.to_string(),
        );
    }
    Ok(response)
}

/// A range of the bytes that are there now.
async fn part(view: &View, range: ByteRange) -> Outcome {
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
    let mut response = range::partial(pieces(excerpt), (first, count), total);
    set(&mut response, header::CONTENT_TYPE, TEXT);
    set(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    if closed {
        set(&mut response, header::ETAG, &etag(totals));
    }
    Ok(response)
}

async fn excerpt(
    view: &View,
    strip_ansi: bool,
    choose: impl FnOnce(Output) -> std::io::Result<Excerpt> + Send + 'static,
) -> Outcome {
    let mut excerpt = view.with_output(choose).await?;
    if strip_ansi {
        excerpt = excerpt.without_ansi();
    }
    Ok(answer(pieces(excerpt), TEXT))
}

async fn search(
    view: &View,
    query: Query,
    strip_ansi: bool,
    report: impl Report,
    content_type: &'static str,
) -> Outcome {
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

fn accepts_json(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|part| part.split(';').next().unwrap_or_default().trim() == "application/json")
}

fn pieces(pieces: impl Pieces) -> Body {
    Body::from_stream(stream(pieces))
}

fn answer(body: Body, content_type: &'static str) -> Response {
    let mut response = body.into_response();
    set(&mut response, header::CONTENT_TYPE, content_type);
    set(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    response
}

fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
