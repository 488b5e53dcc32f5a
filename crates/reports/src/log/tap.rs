//! The Test Anything Protocol. A test with subtests is a suite: its subtests count, and not it.

use super::groups::{Groups, joined};
use super::tap_lines::{Point, TapLine, parse, unescaped};
use super::tap_yaml::YamlBlock;
use super::{Producer, Total};
use crate::case::named;
use crate::excerpt::{MessageText, name};
use crate::kept::KeptTests;
use crate::source_line::SourceLine;
use branchyard_model::{TestCase, TestCounts, TestState};

/// So many levels of subtests are told apart.
const DEEPEST: usize = 100;

#[derive(Default)]
pub(super) struct Tap {
    document: TapDocument,
}

struct TapDocument {
    kept: KeptTests,
    has_version: bool,
    plan: Option<u64>,
    /// Points that are not indented.
    points: u64,
    subtests: Groups,
    /// Which indentations had points since there was one further out, and whether one of these failed.
    levels: Vec<(usize, bool)>,
    open: Option<OpenPoint>,
    /// What Node counts below its tests.
    said: TestCounts,
}

/// The latest point, which may be explained by the lines below.
struct OpenPoint {
    indent: usize,
    case: TestCase,
    message: MessageText,
    at: Option<SourceLine>,
    yaml: Option<YamlBlock>,
}

impl Default for TapDocument {
    fn default() -> Self {
        Self {
            kept: KeptTests::of_run(),
            has_version: false,
            plan: None,
            points: 0,
            subtests: Groups::default(),
            levels: Vec::new(),
            open: None,
            said: TestCounts::default(),
        }
    }
}

impl Producer for Tap {
    fn line(&mut self, line: &str, total: &mut Total) -> bool {
        if self.document.yaml(line) {
            return true;
        }
        let said = line.trim_start_matches(' ');
        let indent = line.len() - said.len();
        let Some(parsed) = parse(said.trim_end()) else {
            return self.document.text(line, indent);
        };
        if indent == 0 && self.document.is_followed_by(&parsed) {
            self.finish(total);
        }
        self.document.take(indent, &parsed)
    }

    /// Points alone are not enough: a plan or a version says that they are the protocol's.
    fn finish(&mut self, total: &mut Total) {
        let mut document = std::mem::take(&mut self.document);
        document.end_point();
        let has_points = document.kept.counts().total() > 0;
        if has_points && (document.has_version || document.plan.is_some()) {
            total.absorb(document.kept);
        }
    }
}

impl TapDocument {
    /// Whether a line begins the next document.
    fn is_followed_by(&self, line: &TapLine<'_>) -> bool {
        match line {
            TapLine::Version => true,
            TapLine::Plan(_) => self.plan.is_some(),
            TapLine::Point(point) => point.number == 1 && self.points > 0,
            _ => false,
        }
    }

    fn take(&mut self, indent: usize, line: &TapLine<'_>) -> bool {
        match line {
            TapLine::Comment(said) => return self.comment(indent, said),
            TapLine::Subtest(name) => {
                self.end_point();
                self.subtests.open(indent, &unescaped(name));
            }
            TapLine::Version => self.has_version = true,
            TapLine::Plan(count) => {
                self.end_point();
                if indent == 0 {
                    self.plan = Some(*count);
                }
            }
            TapLine::Point(point) => self.point(indent, point),
            TapLine::BailOut(reason) => {
                self.end_point();
                let mut case = named("", "Bail out!", TestState::Failed);
                case.message = (!reason.is_empty()).then(|| name(reason));
                self.kept.add(case);
            }
        }
        true
    }

    fn point(&mut self, indent: usize, point: &Point<'_>) {
        self.end_point();
        self.points += u64::from(indent == 0);
        let mut has_subtests = false;
        let mut has_failed = false;
        while let Some((_, failed)) = self.levels.pop_if(|(level, _)| *level > indent) {
            has_subtests = true;
            has_failed |= failed;
        }
        let failed = point.state == TestState::Failed;
        let same = self.levels.last_mut().filter(|(level, _)| *level == indent);
        if let Some((_, any)) = same {
            *any |= failed;
        } else if self.levels.len() < DEEPEST {
            self.levels.push((indent, failed));
        }
        // A parent that failed by itself, for a plan that was not kept, is told of.
        if has_subtests && (has_failed || !failed) {
            return;
        }
        let suite = joined(&self.subtests.around(indent));
        let title = match point.name {
            "" => point.number.to_string(),
            title => unescaped(title),
        };
        let mut message = MessageText::default();
        message.push(point.reason);
        self.open = Some(OpenPoint {
            indent,
            case: named(&suite, &title, point.state),
            message,
            at: None,
            yaml: None,
        });
    }

    fn end_point(&mut self) {
        if let Some(point) = self.open.take() {
            self.kept.add(point.finish());
        }
    }

    /// Whether a line is of the block below a point.
    fn yaml(&mut self, line: &str) -> bool {
        let Some(point) = &mut self.open else {
            return false;
        };
        if let Some(yaml) = &mut point.yaml {
            if yaml.line(line) {
                return true;
            }
            let is_end = line.trim() == "...";
            point.end_yaml();
            return is_end;
        }
        let said = line.trim_start_matches(' ');
        let indent = line.len() - said.len();
        if said == "---" && indent > point.indent {
            point.yaml = Some(YamlBlock::new(indent));
        }
        point.yaml.is_some()
    }

    /// Older producers explain a failure in comments, and Mocha without any sign.
    fn text(&mut self, line: &str, indent: usize) -> bool {
        if let Some(point) = &mut self.open
            && point.case.state == TestState::Failed
            && indent >= point.indent + 2
        {
            if !line.trim_start().starts_with("at ") {
                point.message.push_line(&line[point.indent + 2..]);
            }
            let frame = || SourceLine::of_stack_frame(line);
            point.at = point.at.take().or_else(frame);
        }
        // It may be another producer's just as well.
        false
    }

    fn comment(&mut self, indent: usize, said: &str) -> bool {
        if indent == 0 && self.node_count(said.trim()) {
            return true;
        }
        let Some(point) = &mut self.open else {
            return false;
        };
        let is_of_it = indent == point.indent && point.case.state == TestState::Failed;
        if is_of_it && !said.starts_with(" Looks like you ") {
            point
                .message
                .push_line(said.strip_prefix(' ').unwrap_or(said));
            point.at = point.at.take().or(SourceLine::in_words(said));
        }
        is_of_it
    }

    /// Node's counts are of what it calls tests, and not of its suites. `todo` is the last of them.
    fn node_count(&mut self, said: &str) -> bool {
        let Some((word, number)) = said.split_once(' ') else {
            return false;
        };
        let Ok(number) = number.parse::<u32>().map(u64::from) else {
            return false;
        };
        match word {
            "pass" => self.said.passed = number,
            "fail" => self.said.failed = number,
            "cancelled" => self.said.failed = self.said.failed.saturating_add(number),
            "skipped" => self.said.skipped = number,
            "todo" => {
                self.end_point();
                self.said.skipped = self.said.skipped.saturating_add(number);
                if self.said.total() > 0 {
                    self.kept.set_counts(self.said);
                }
            }
            "tests" | "suites" => {}
            _ => return false,
        }
        true
    }
}

impl OpenPoint {
    fn end_yaml(&mut self) {
        if let Some(yaml) = self.yaml.take() {
            let (message, at, ms) = yaml.finish();
            self.message.push(message.as_str());
            self.at = at.or(self.at.take());
            self.case.ms = ms.or(self.case.ms);
        }
    }

    fn finish(mut self) -> TestCase {
        self.end_yaml();
        self.case.message = self.message.finish();
        if let Some(at) = self.at {
            (self.case.file, self.case.line) = (Some(at.file), Some(at.line));
        }
        self.case
    }
}
