//! A call that has begun.

use super::Audit;
use super::record::{AuditOutcome, Call, End};

/// Whatever becomes of it is recorded: of one that is dropped, that nobody knows.
#[derive(Debug)]
#[must_use = "what is dropped is recorded as having come to an unknown end"]
pub struct AuditEntry {
    audit: Audit,
    number: i64,
    /// Taken when it ends.
    call: Option<Call>,
}

impl AuditEntry {
    pub(super) fn new(audit: Audit, number: i64, call: Call) -> Self {
        Self {
            audit,
            number,
            call: Some(call),
        }
    }

    /// Completes what is known of the call, as by what it made.
    pub fn tell(&mut self, tell: impl FnOnce(&mut Call)) {
        if let Some(call) = &mut self.call {
            tell(call);
        }
    }

    pub fn end(mut self, end: End) {
        let Some(call) = self.call.take() else {
            return;
        };
        if end.outcome != AuditOutcome::Refused {
            self.audit.put(Some(self.number), call, end);
            return;
        }
        self.audit.forget(self.number);
        self.audit.refused(call, end);
    }

    /// It was a look after all.
    pub fn forget(mut self) {
        self.call = None;
        self.audit.forget(self.number);
    }
}

impl Drop for AuditEntry {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else {
            return;
        };
        let end = match std::thread::panicking() {
            true => End::new(AuditOutcome::Failed).code("panic"),
            false => End::new(AuditOutcome::Unknown)
                .code("caller_left")
                .detail("the caller left before the answer; what was begun goes on"),
        };
        self.audit.put(Some(self.number), call, end);
    }
}
