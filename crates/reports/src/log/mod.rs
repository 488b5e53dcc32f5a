//! Tests in a log, in the formats that test runners print. Each format recognises its own lines, so that several
//! producers may write into one log.

mod go;
mod groups;
mod jest;
mod libtest;
mod mocha;
mod nextest;
mod node;
mod panic_output;
mod pytest;
mod pytest_lines;
mod tally;
mod tap;
mod tap_lines;
mod tap_yaml;

use crate::excerpt;
use crate::kept::KeptTests;
use branchyard_model::TestReport;

/// Reads the tests that are told of in a log, from its lines in their order.
pub struct LogReader {
    producers: [Box<dyn Producer + Send>; 8],
    /// Which of them the latest line was of. It sees the next one first.
    latest: usize,
    total: Total,
}

/// A format, and where in it the log is.
trait Producer {
    /// Whether the line is of this producer. Then no other one sees it.
    fn line(&mut self, line: &str, total: &mut Total) -> bool;

    /// The log has ended.
    fn finish(&mut self, total: &mut Total);
}

/// The tests of all runs that are sure to be runs.
struct Total {
    kept: KeptTests,
    has_any: bool,
}

impl Total {
    fn absorb(&mut self, run: KeptTests) {
        self.has_any = true;
        self.kept.absorb(run);
    }
}

impl Default for LogReader {
    fn default() -> Self {
        Self {
            producers: [
                Box::new(nextest::Nextest::default()),
                Box::new(pytest::Pytest::default()),
                Box::new(libtest::Libtest::default()),
                Box::new(go::GoTest::default()),
                Box::new(tap::Tap::default()),
                Box::new(jest::Jest::default()),
                Box::new(node::NodeTest::default()),
                Box::new(mocha::Mocha::default()),
            ],
            latest: 0,
            total: Total {
                kept: KeptTests::of_report(),
                has_any: false,
            },
        }
    }
}

impl LogReader {
    /// Takes the next line, with or without its newline.
    pub fn line(&mut self, line: &[u8]) {
        let line = excerpt::line(line);
        if self.producers[self.latest].line(&line, &mut self.total) {
            return;
        }
        for (number, producer) in self.producers.iter_mut().enumerate() {
            if number != self.latest && producer.line(&line, &mut self.total) {
                self.latest = number;
                return;
            }
        }
    }

    /// `None` if no test runner wrote into the log.
    pub fn finish(mut self) -> Option<TestReport> {
        for producer in &mut self.producers {
            producer.finish(&mut self.total);
        }
        self.total.has_any.then(|| self.total.kept.finish())
    }
}
