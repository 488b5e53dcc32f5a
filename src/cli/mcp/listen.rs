//! What the daemon says by itself in a session of the older protocol: a stream that is kept open.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use tokio::time::Instant;

use super::answer::Answer;
use super::daemon::Cut;
use super::proxy::Proxy;
use super::session::Session;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Before a broken stream is taken up again, unless the daemon says otherwise.
const PAUSE: Duration = Duration::from_secs(1);
/// A stream that ends within this, and had nothing to say, cannot go on where it was.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How far a stream was heard, and how it is taken up again.
#[derive(Debug)]
struct Position {
    last: Option<HeaderValue>,
    pause: Duration,
}

/// Listens in whatever session there is, for as long as this is wanted.
pub(super) async fn listen(proxy: Arc<Proxy>) {
    let mut sessions = proxy.sessions().changes();
    loop {
        let session = sessions.borrow_and_update().clone();
        let listening = async {
            if let Some(session) = session {
                listen_in(&proxy, &session).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = listening => {}
            changed = sessions.changed() => if changed.is_err() { return },
        }
    }
}

/// Returns where the daemon has no such stream.
async fn listen_in(proxy: &Proxy, session: &Session) {
    let mut position = Position {
        last: None,
        pause: PAUSE,
    };
    loop {
        let mut headers = session.headers();
        if let Some(last) = &position.last {
            headers.insert(LAST_EVENT_ID, last.clone());
        }
        let opened = Instant::now();
        let mut was_heard = false;
        let opening = proxy.daemon().send(Method::GET, headers, Bytes::new());
        match opening.await {
            Ok(answer) => {
                // Only what is watched by now is repeated: at first, nothing is.
                let repeating = proxy
                    .watched()
                    .repeat(proxy.daemon(), session, proxy.output());
                let hearing = hear(proxy, answer, &mut position);
                ((), was_heard) = tokio::join!(repeating, hearing);
            }
            Err(Cut::Refused(StatusCode::METHOD_NOT_ALLOWED, _)) => return,
            Err(Cut::Refused(StatusCode::NOT_FOUND, _)) => {
                // Whoever has something to say finds out as well, and says what is wrong.
                let _ = proxy.sessions().renew(proxy.daemon(), session).await;
            }
            // The daemon may be on its way back.
            Err(Cut::Unsent(_) | Cut::Broken(_) | Cut::Refused(..)) => {}
        }
        if !was_heard && opened.elapsed() < AT_ONCE {
            position.last = None;
        }
        tokio::time::sleep(position.pause).await;
        proxy.daemon().look_again();
    }
}

/// Passes on what is said until the stream ends; whether anything was.
async fn hear(proxy: &Proxy, mut answer: Answer, position: &mut Position) -> bool {
    let mut was_heard = false;
    while let Ok(Some(event)) = answer.next().await {
        was_heard = true;
        if let Some(Ok(id)) = event.id.as_deref().map(HeaderValue::from_str) {
            position.last = Some(id);
        }
        position.pause = event.retry.unwrap_or(position.pause);
        if !event.data.is_empty() {
            proxy.output().message(&event.data).await;
        }
    }
    was_heard
}
