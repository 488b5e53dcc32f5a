//! The loop that sends what is due.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::after::RunAfter;
use crate::message::OutgoingMessage;
use crate::outbox::Outbox;
use branchyard_config::crash_point;
use branchyard_runtime::background::Background;

/// So many are on their way at the same time.
const AT_ONCE: usize = 8;
/// And to one receiver.
const AT_ONCE_EACH: usize = 2;
/// So many of them may be commands: messages are not to wait for these.
const COMMANDS_AT_ONCE: usize = 4;
/// The machine's clock may be moved while a message waits.
const LOOK_AT_CLOCK: Duration = Duration::from_secs(20);

/// What is being sent: of two about the same only one, and few to each receiver, so that one that does not answer holds up no
/// other.
#[derive(Debug, Default)]
struct UnderWay(Vec<OutgoingMessage>);

impl UnderWay {
    fn has_place_for(&self, message: &OutgoingMessage) -> bool {
        let receiver = message.receiver();
        let is_to_the_same = |other: &&OutgoingMessage| other.receiver() == receiver;
        let commands = self.0.iter().filter(|other| other.is_command()).count();
        self.0.iter().filter(is_to_the_same).count() < AT_ONCE_EACH
            && !(message.is_command() && commands >= COMMANDS_AT_ONCE)
            && !self.0.iter().any(|other| other.about == message.about)
    }

    fn begin(&mut self, message: &OutgoingMessage) {
        self.0.push(message.clone());
    }

    fn end(&mut self, message: &OutgoingMessage) {
        self.0.retain(|other| other.about != message.about);
    }
}

/// Sends from now on what is due, where there is a use for that.
pub fn start(outbox: &Outbox, background: Background, run_after: RunAfter) {
    if !outbox.is_in_use() {
        return;
    }
    let this = outbox.clone();
    let send = move || send_all(this.clone(), run_after.clone());
    let sending = background.loops.keep("outbox", send);
    let leaving = outbox.leaving();
    background
        .tasks
        .spawn(leaving.run_until_cancelled_owned(sending));
}

/// Sends what is due, for as long as the daemon runs.
async fn send_all(outbox: Outbox, run_after: RunAfter) {
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
        let run_after = run_after.clone();
        tokio::spawn(async move {
            let sending = outbox.send(&message, &run_after);
            // A command goes on without this daemon, and the next one finds out how it ends.
            let result = if message.is_command() {
                outbox.leaving().run_until_cancelled(sending).await
            } else {
                Some(sending.await)
            };
            let Some(result) = result else {
                return;
            };
            crash_point("outbox-sent");
            outbox.settle(&message, result, Timestamp::now());
            under_way.lock().end(&message);
            outbox.wake();
            drop(place);
        });
    }
}
