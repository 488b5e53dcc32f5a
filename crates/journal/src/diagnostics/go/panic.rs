//! A Go program that panics: the message, and the traces of its goroutines. The place is the first frame
//! of the first trace that is neither the standard library's nor a dependency's.

use super::super::found::{Complaint, Complaints, Weight};
use super::super::place::SourcePlace;
use super::TOOL;

/// A trace follows the message within so many lines. Other programs say `panic: …` as well.
const PATIENCE: usize = 16;

/// A trace has at most 100 frames, of two lines each.
const LONGEST_TRACE: usize = 256;

#[derive(Clone, Default)]
pub(super) struct Panic {
    waiting: Option<PendingPanic>,
}

#[derive(Clone)]
struct PendingPanic {
    since: u64,
    message: String,
    patience: usize,
    in_trace: bool,
}

/// `panic: boom`, `fatal error: all goroutines are asleep - deadlock!`
pub(super) fn begins(line: &str) -> bool {
    line.starts_with("panic: ") || line.starts_with("fatal error: ")
}

impl Panic {
    pub(super) fn in_the_middle(&self) -> bool {
        self.waiting.is_some()
    }

    /// A line that [`begins`] a panic, in the test of this name.
    pub(super) fn begin(&mut self, number: u64, line: &str, test: Option<String>) {
        // The testing package catches it, and panics again.
        let said = line.strip_suffix(" [recovered]").unwrap_or(line);
        let message = test.map_or_else(|| said.to_owned(), |test| format!("{test}: {said}"));
        self.waiting = Some(PendingPanic {
            since: number,
            message,
            patience: PATIENCE,
            in_trace: false,
        });
    }

    /// Whether the line belonged to a trace.
    pub(super) fn line(&mut self, line: &str, found: &mut Complaints) -> bool {
        let Some(waiting) = &mut self.waiting else {
            return false;
        };
        waiting.patience -= 1;
        if !waiting.in_trace {
            waiting.in_trace = line.starts_with("goroutine ") && line.ends_with("]:");
            if waiting.in_trace {
                waiting.patience = LONGEST_TRACE;
            } else if waiting.patience == 0 {
                self.waiting = None;
            }
            return self.in_trace();
        }
        let place = frame(line);
        if place.is_some() || line.is_empty() || waiting.patience == 0 {
            self.tell(place, found);
        }
        true
    }

    pub(super) fn finish(&mut self, found: &mut Complaints) {
        self.tell(None, found);
    }

    fn in_trace(&self) -> bool {
        self.waiting
            .as_ref()
            .is_some_and(|waiting| waiting.in_trace)
    }

    fn tell(&mut self, place: Option<SourcePlace>, found: &mut Complaints) {
        if let Some(waiting) = self.waiting.take().filter(|waiting| waiting.in_trace) {
            let complaint = Complaint::new(TOOL, Weight::Error, place, &waiting.message);
            found.add(waiting.since, complaint);
        }
    }
}

/// The place of `\t/x/main.go:7 +0x1d`, if that is the program's own.
fn frame(line: &str) -> Option<SourcePlace> {
    let place = line.strip_prefix('\t')?;
    let (place, _) = place.rsplit_once(" +0x").unwrap_or((place, ""));
    SourcePlace::parse(place).filter(|place| place.ending() == Some("go") && is_own(&place.file))
}

/// Neither from the module cache nor from the standard library, whose packages have no dot in their
/// first part: `/usr/local/go/src/net/http/server.go`, with `-trimpath` only `runtime/panic.go`.
fn is_own(file: &str) -> bool {
    let standard = ["runtime/", "testing/"]
        .iter()
        .any(|package| file.starts_with(package));
    let in_sources = file.split_once("/src/").is_some_and(|(root, package)| {
        let root = root.rsplit('/').next().unwrap_or_default();
        let package = package.split('/').next().unwrap_or_default();
        (root.starts_with("go") || root == "libexec") && !package.contains('.')
    });
    !standard && !in_sources && !file.contains("/pkg/mod/") && !file.contains("@v")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_frames_are_places() {
        for (line, is_one) in [
            ("\t/build/a.go:7", true),
            ("\t/build/my dir/a.go:7 +0x1d", true),
            ("\t/root/go/src/example.com/app/a.go:7 +0x1d", true),
            ("\texample.com/app/a.go:7 +0x1d", true),
            ("\t/usr/local/go/src/net/http/server.go:7 +0x1d", false),
            ("\t/usr/lib/go-1.19/src/testing/testing.go:7 +0x1d", false),
            ("\t/opt/go/1.21/libexec/src/sort/sort.go:7 +0x1d", false),
            ("\t/root/go/pkg/mod/example.org/x@v1.0.0/x.go:7 +0x1", false),
            ("\texample.org/x@v1.0.0/x.go:7 +0x1", false),
            ("\truntime/panic.go:884 +0x212", false),
            ("\t_cgo_export.c:7 +0x1", false),
            ("main.main()", false),
        ] {
            assert_eq!(frame(line).is_some(), is_one, "{line}");
        }
    }
}
