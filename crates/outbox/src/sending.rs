//! The loop that sends what is due.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::message::OutgoingMessage;
use crate::outbox::Outbox;
use branchyard_config::crash_point;

/// So many are on their way at the same time.
const AT_ONCE: usize = 8;
/// And to one receiver.
const AT_ONCE_EACH: usize = 2;
/// The machine's clock may be moved while a message waits.
const LOOK_AT_CLOCK: Duration = Duration::from_secs(20);

/// What is being sent: of two about the same only one, and few to each receiver, so that one that does not answer holds up no
/// other.
#[derive(Debug, Default)]
struct UnderWay(Vec<(String, String)>);

impl UnderWay {
    fn has_place_for(&self, message: &OutgoingMessage) -> bool {
        let receiver = message.receiver();
        let to_the_same = self.0.iter().filter(|(_, other)| *other == receiver);
        to_the_same.count() < AT_ONCE_EACH
            && !self.0.iter().any(|(about, _)| *about == message.about)
    }

    fn begin(&mut self, message: &OutgoingMessage) {
        self.0.push((message.about.clone(), message.receiver()));
    }

    fn end(&mut self, message: &OutgoingMessage) {
        self.0.retain(|(about, _)| *about != message.about);
    }
}

/// Sends what is due, for as long as the daemon runs.
pub(crate) async fn send_all(outbox: Outbox) {
    let under_way: Arc<Mutex<UnderWay>> = Arc::default();
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        // Never closed.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let next = {
            let busy = under_way.lock();
            outbox.next(Timestamp::now(), |message| busy.has_place_for(message))
        };
        let message = match next {
            Ok(message) => message,
            Err(at) => {
                let left =
                    at.map(|at| Duration::try_from(Timestamp::now().until(at).unwrap_or_default()));
                let pause = left
                    .and_then(Result::ok)
                    .unwrap_or(LOOK_AT_CLOCK)
                    .min(LOOK_AT_CLOCK);
                tokio::select! {
                    () = outbox.woken() => {}
                    () = tokio::time::sleep(pause) => {}
                }
                continue;
            }
        };
        under_way.lock().begin(&message);
        let (outbox, under_way) = (outbox.clone(), under_way.clone());
        tokio::spawn(async move {
            let result = outbox.send(&message).await;
            crash_point("outbox-sent");
            outbox.settle(&message, result, Timestamp::now());
            under_way.lock().end(&message);
            outbox.wake();
            drop(place);
        });
    }
}
