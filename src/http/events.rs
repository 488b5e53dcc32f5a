//! Every change in the yard, as a stream: server-sent events, or one JSON object per line.

use std::time::Duration;

use axum::body::{Body as HttpBody, Bytes};
use axum::http::HeaderMap;
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_stream::StreamExt;

use super::extract::Params;
use super::negotiate::{Format, last_event_id};
use super::problem::ProblemResponse;
use super::streams::{FollowParams, streamed};
use crate::app::{AuthorizedApp, Bulletin, Told, yard_events};
use branchyard_runtime::yard_events::{EventCursor, EventItem, YardChange};

/// Proxies close what is silent for longer.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn watch(
    app: AuthorizedApp,
    Params(params): Params<FollowParams>,
    headers: HeaderMap,
) -> Result<Response, ProblemResponse> {
    let from = last_event_id(&headers)?.or(params.from.as_deref());
    let from = from.map(EventCursor::parse).transpose()?;
    let format = match Format::of(&headers) {
        Format::Ndjson => Format::Ndjson,
        Format::Sse | Format::Text => Format::Sse,
    };
    let told = yard_events::watch(&app, from);
    let pieces = async_stream::stream! {
        let mut told = std::pin::pin!(told);
        loop {
            let piece = match tokio::time::timeout(KEEP_ALIVE, told.next()).await {
                Ok(Some(told)) if format == Format::Ndjson => line(&told),
                Ok(Some(told)) => event(&told),
                Ok(None) => break,
                Err(_) if format == Format::Ndjson => "\n".to_owned(),
                Err(_) => ":\n\n".to_owned(),
            };
            yield Ok::<_, std::io::Error>(Bytes::from(piece));
        }
    };
    Ok(streamed(
        HttpBody::from_stream(pieces),
        format,
        "/stream/events",
    ))
}

fn event(told: &Told) -> String {
    let (kind, data) = (kind(told), data(told));
    format!("id: {}\nevent: {kind}\ndata: {data}\n\n", told.place)
}

fn line(told: &Told) -> String {
    let mut data = data(told);
    data["id"] = told.place.to_string().into();
    format!("{data}\n")
}

fn kind(told: &Told) -> &'static str {
    match &told.news {
        Bulletin::Hello => "hello",
        Bulletin::Reset => "reset",
        Bulletin::Changed(item) => item.change.kind(),
        Bulletin::Queue(_) => "queue",
    }
}

fn data(told: &Told) -> Value {
    let mut data = match &told.news {
        Bulletin::Hello => {
            json!({ "version": env!("CARGO_PKG_VERSION"), "at": Timestamp::now() })
        }
        Bulletin::Reset => json!({}),
        Bulletin::Changed(item) => changed(item),
        Bulletin::Queue(queue) => json!(queue),
    };
    data["type"] = kind(told).into();
    data
}

fn changed(item: &EventItem) -> Value {
    let mut data = match &item.change {
        YardChange::Workspace(news) => json!(news),
        YardChange::Run(news) => json!(news),
        YardChange::Repo(news) => json!(news),
        YardChange::Salvage(news) => json!(news),
        YardChange::Reap(news) => json!(news),
    };
    data["at"] = json!(item.at);
    data
}
