//! The lines on stderr that move while a group runs: one for each branch under way. Only on a terminal.

use std::collections::HashMap;

use indicatif::ProgressBar;

use super::live_lines::{LiveLines, spin, style};
use super::render::{Console, printable};
use super::signals::Clear;
use branchyard_model::{GroupRecord, Member, MemberEnded, RunId};

/// With more branches than this, those that wait are only counted.
const MANY: usize = 16;
/// No name makes the lines wider than this.
const WIDEST_NAME: usize = 40;

#[derive(Debug)]
pub(super) struct Rows {
    lines: LiveLines,
    total: ProgressBar,
    width: usize,
    bars: HashMap<RunId, ProgressBar>,
}

impl Rows {
    pub(super) fn new(console: &Console, wanted: bool) -> Self {
        Self {
            lines: LiveLines::new(console, wanted),
            total: ProgressBar::hidden(),
            width: 0,
            bars: HashMap::new(),
        }
    }

    pub(super) fn are_shown(&self) -> bool {
        self.lines.are_shown()
    }

    /// Which runs there are.
    pub(super) fn name(&mut self, group: &GroupRecord) {
        let members = &group.members;
        let names = members
            .iter()
            .map(|member| member.branch.as_str().chars().count());
        self.width = names.max().unwrap_or(0).min(WIDEST_NAME);
        self.total = self.lines.add(ProgressBar::new(members.len() as u64));
        self.total
            .set_style(style("{pos} of {len} done, group {msg}"));
        self.total.set_message(group.group_id.to_string());
        if members.len() <= MANY {
            for member in members {
                self.bar(member).set_message("queued");
            }
        }
        self.total.tick();
    }

    pub(super) fn started(&mut self, member: &Member) {
        let bar = self.bar(member);
        bar.reset_elapsed();
        bar.set_message("running");
    }

    /// The line of one that succeeded gives way to one that stays.
    pub(super) fn succeeded(&mut self, ended: &MemberEnded, sentence: &str) {
        if let Some(bar) = self.bars.remove(&ended.member.run_id) {
            self.lines.remove(&bar);
        }
        self.lines.print(&format!("✓ {sentence}"));
        self.total.inc(1);
    }

    /// That of another says so until the end, when all of them are told.
    pub(super) fn failed(&mut self, ended: &MemberEnded, how: &str) {
        let bar = self.bar(&ended.member);
        bar.disable_steady_tick();
        bar.set_style(style("✗ {prefix} {msg}"));
        bar.set_message(printable(how));
        bar.tick();
        self.total.inc(1);
    }

    /// Says something else meanwhile.
    pub(super) fn aside(&self, say: impl FnOnce()) {
        self.lines.aside(say);
    }

    pub(super) fn clear(&mut self) {
        for (_, bar) in self.bars.drain() {
            bar.finish_and_clear();
        }
        self.total.finish_and_clear();
    }

    pub(super) fn clearing(&self) -> Clear {
        self.lines.clearing()
    }

    fn bar(&mut self, member: &Member) -> ProgressBar {
        let (lines, total, width) = (&self.lines, &self.total, self.width);
        let bar = self.bars.entry(member.run_id).or_insert_with(|| {
            let bar = lines.insert_before(total);
            bar.set_style(style("{spinner} {prefix} {msg:7} {elapsed}"));
            bar.set_prefix(format!("{:width$}", printable(member.branch.as_str())));
            spin(&bar);
            bar
        });
        bar.clone()
    }
}
