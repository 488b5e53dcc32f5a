//! Every change in the yard, as a stream: server-sent events, or one JSON object per line.

use std::time::Duration;

use axum::body::{Body as HttpBody, Bytes};
use axum::http::HeaderMap;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_stream::StreamExt;

use super::extract::Params;
use super::negotiate::{Format, last_event_id};
use super::openapi::events::of_the_yard;
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{NDJSON, Route, SSE, reads};
use super::streams::{FollowParams, LAST_EVENT_ID, streamed};
use crate::app::{AuthorizedApp, Bulletin, Queue, Told, yard_events};
use branchyard_model::Scope;
use branchyard_runtime::yard_events::EventCursor;

/// Proxies close what is silent for longer.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const EVENTS: &str = "`Accept` chooses between server-sent events (`id`, `event`, `data`) and NDJSON (the same with `id` \
    and `type` inside). The first event is `hello` (`version`, `at`). Then come `workspace` (`repo`, `branch`, `change`), \
    `run` (`change`, `run`), `repo` (`repo`, `change`), `salvage` (`repo`, `branch`, `salvage`, `change`), `reap` \
    (`action`, `repo`, `branch`, `why`, `bytes`), each with `at`, and `queue` (`running`, `waiting`). `reset` says that \
    what came in between is not known any more. Take events and fields that you do not know for ones of a later version.";

pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("watchEvents", "Every change in the yard, as it happens")
            .says(EVENTS)
            .headers(&[LAST_EVENT_ID])
            .streams("The stream. It has no end.", &[SSE, NDJSON], of_the_yard)
            .get("/stream/events", Needs(Scope::RepoRead), watch),
    ]
}

async fn watch(
    app: AuthorizedApp,
    Params(params): Params<FollowParams>,
    headers: HeaderMap,
) -> HttpResult {
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
    let body = HttpBody::from_stream(pieces);
    Ok(streamed(body, format, "/stream/events"))
}

fn event(told: &Told) -> String {
    let data = data(told);
    let kind = data["type"].as_str().unwrap_or_default();
    format!("id: {}\nevent: {kind}\ndata: {data}\n\n", told.place)
}

fn line(told: &Told) -> String {
    let mut data = data(told);
    data["id"] = told.place.to_string().into();
    format!("{data}\n")
}

fn data(told: &Told) -> Value {
    match &told.news {
        Bulletin::Hello => {
            let version = env!("CARGO_PKG_VERSION");
            json!({ "type": "hello", "version": version, "at": Timestamp::now() })
        }
        Bulletin::Reset => json!({ "type": "reset" }),
        Bulletin::Queue(Queue { running, waiting }) => {
            json!({ "type": "queue", "running": running, "waiting": waiting })
        }
        Bulletin::Changed(item) => {
            let mut data = json!(item.change);
            data["at"] = json!(item.at);
            data
        }
    }
}
