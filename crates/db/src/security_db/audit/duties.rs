//! What the audit's thread does besides writing: it records refusals that were only counted, and lets old records go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::Connection;

use super::floods::Floods;
use super::retention::{self, Retention};
use super::tables;
use crate::security_db::tally::Tally;
use crate::writer::{Change, Duties};

/// How often it is looked for records that are too old or too many.
const BETWEEN_EXPIRIES: Duration = Duration::from_secs(60 * 60);

pub(super) struct AuditDuties<F> {
    make_room: F,
    tally: Tally,
    floods: Arc<Mutex<Floods>>,
    retention: Retention,
    next_expiry: Instant,
}

impl<F> AuditDuties<F> {
    pub(super) fn new(
        make_room: F,
        tally: Tally,
        floods: Arc<Mutex<Floods>>,
        retention: Retention,
    ) -> Self {
        Self {
            make_room,
            tally,
            floods,
            retention,
            next_expiry: Instant::now(),
        }
    }
}

impl<F: FnMut() -> bool + Send + 'static> Duties for AuditDuties<F> {
    fn make_room(&mut self) -> bool {
        (self.make_room)()
    }

    fn committed(&mut self, connection: &Connection) {
        self.tally.follow(connection);
    }

    fn due(&self) -> Option<Instant> {
        let floods = self.floods.lock().due();
        floods.into_iter().chain([self.next_expiry]).min()
    }

    fn take_due(&mut self, is_end: bool) -> Vec<Change> {
        let now = Instant::now();
        let mut floods = self.floods.lock();
        let told = floods.tell(now, is_end).into_iter();
        let mut changes: Vec<Change> = told
            .map(|(call, end)| -> Change { Box::new(move |to| tables::write(&call, &end, to)) })
            .collect();
        if now >= self.next_expiry && !is_end {
            self.next_expiry = now + BETWEEN_EXPIRIES;
            let retention = self.retention.clone();
            changes.push(Box::new(move |to| {
                retention::expire(to, &retention, retention.clock.now())
            }));
        }
        changes
    }

    fn lost(&mut self, changes: usize) {
        metrics::counter!("branchyard_audit_lost_total").increment(changes as u64);
    }
}
