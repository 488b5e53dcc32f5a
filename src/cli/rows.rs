//! The lines on stderr that move while a group runs: one for each branch under way. Only on a terminal.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::render::{Console, printable};
use super::signals::Clear;
use branchyard_model::{EndState, GroupRecord, Member, MemberEnded, RunId};

const TICK: Duration = Duration::from_millis(120);
/// With more branches than this, those that wait are only counted.
const MANY: usize = 16;
/// No name makes the lines wider than this.
const WIDEST_NAME: usize = 40;

#[derive(Debug)]
pub(super) struct Rows {
    /// `None` where nothing may move.
    lines: Option<MultiProgress>,
    total: ProgressBar,
    width: usize,
    bars: HashMap<RunId, ProgressBar>,
}

impl Rows {
    pub(super) fn new(console: &Console, wanted: bool) -> Self {
        let shown = wanted && console.stderr_is_terminal && !console.quiet && !console.json;
        Self {
            lines: shown.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr())),
            total: ProgressBar::hidden(),
            width: 0,
            bars: HashMap::new(),
        }
    }

    pub(super) fn are_shown(&self) -> bool {
        self.lines.is_some()
    }

    /// Which runs there are.
    pub(super) fn name(&mut self, group: &GroupRecord) {
        let Some(lines) = &self.lines else { return };
        let members = &group.members;
        let names = members
            .iter()
            .map(|member| member.branch.as_str().chars().count());
        self.width = names.max().unwrap_or(0).min(WIDEST_NAME);
        let total = ProgressBar::new(members.len() as u64);
        total.set_style(style("{pos} of {len} done, group {msg}"));
        total.set_message(group.group_id.to_string());
        self.total = lines.add(total);
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

    /// Its line gives way to one that stays.
    pub(super) fn ended(&mut self, ended: &MemberEnded, sentence: &str) {
        let Some(lines) = &self.lines else { return };
        if let Some(bar) = self.bars.remove(&ended.member.run_id) {
            bar.finish_and_clear();
            lines.remove(&bar);
        }
        let mark = match ended.end.state {
            EndState::Succeeded => "✓",
            _ => "✗",
        };
        let _ = lines.println(format!("{mark} {}", printable(sentence)));
        self.total.inc(1);
    }

    /// Says something else meanwhile.
    pub(super) fn aside(&self, say: impl FnOnce()) {
        match &self.lines {
            Some(lines) => lines.suspend(say),
            None => say(),
        }
    }

    pub(super) fn clear(&mut self) {
        for (_, bar) in self.bars.drain() {
            bar.finish_and_clear();
        }
        self.total.finish_and_clear();
    }

    pub(super) fn clearing(&self) -> Clear {
        let lines = self.lines.clone();
        Arc::new(move || {
            if let Some(lines) = &lines {
                // A terminal that is gone needs no clearing.
                let _ = lines.clear();
            }
        })
    }

    fn bar(&mut self, member: &Member) -> ProgressBar {
        let Some(lines) = &self.lines else {
            return ProgressBar::hidden();
        };
        let width = self.width;
        let bar = self.bars.entry(member.run_id).or_insert_with(|| {
            let bar = lines.insert_before(&self.total, ProgressBar::new_spinner());
            bar.set_style(style("{spinner} {prefix} {msg:7} {elapsed}"));
            bar.set_prefix(format!("{:width$}", printable(member.branch.as_str())));
            bar.enable_steady_tick(TICK);
            bar
        });
        bar.clone()
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
