//! What a Rust test printed before it failed: the message without the backtrace, and where it panicked.

use crate::excerpt::MessageText;
use crate::source_line::SourceLine;

#[derive(Default)]
pub(super) struct PanicOutput {
    text: MessageText,
    at: Option<SourceLine>,
    is_backtrace: bool,
}

impl PanicOutput {
    pub(super) fn line(&mut self, line: &str) {
        if self.at.is_none() {
            self.at = SourceLine::of_panic(line);
        }
        if line == "stack backtrace:" {
            self.is_backtrace = true;
        } else if line.starts_with("note: ") && line.contains("RUST_BACKTRACE") {
            self.is_backtrace = false;
        } else if !self.is_backtrace {
            self.text.push_line(line);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn finish(self) -> (Option<String>, Option<SourceLine>) {
        (self.text.finish(), self.at)
    }
}
