//! What is on the screen of `top`: a head that stays, the runs of which one is selected, and what the keys do.

use branchyard_model::{RunId, RunRecord};
use jiff::Timestamp;

use super::keys::Key;
use super::lines::{head, in_full, table};
use super::state::TopState;
use crate::cli::client::command_line;
use crate::cli::render::{Cut, cut, letters, printable};
use crate::cli::runs::why;

/// Above the runs: the machine, a message, the titles. Below them: the selected run, the keys.
const HEAD: usize = 3;
const FOOT: usize = 2;
const KEYS: &str = "q quit  ↑↓ move  c cancel  Enter follow  o open  / filter  ? help";
const HELP: [&str; 11] = [
    "q          quit, and so does Ctrl-C",
    "↑ ↓  k j   select the run above or below",
    "PgUp PgDn  a screen up or down",
    "g G        the first or the last run",
    "c          cancel the selected run, after asking",
    "Enter      leave, and follow the selected run's output",
    "o          open the selected run in the browser",
    "/          show only runs with this text; Enter keeps it, Esc drops it",
    "Esc        show all runs again",
    "?          this help; any key leaves it",
    "",
];

/// What a key asks for beyond the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopAction {
    Quit,
    Follow(RunId),
    Cancel(RunId),
    Open(RunId),
}

/// What the next key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    #[default]
    Runs,
    Filter,
    /// Whether this run is to be cancelled.
    Asking(RunId),
    Help,
}

#[derive(Debug, Default)]
pub(super) struct View {
    mode: Mode,
    filter: String,
    /// The run that was moved to; else the first is selected, whichever that is.
    selected: Option<RunId>,
    /// The first run on the screen, by its place.
    first: usize,
    message: String,
    has_keys: bool,
}

impl View {
    pub(super) fn new(has_keys: bool) -> Self {
        Self {
            has_keys,
            ..Self::default()
        }
    }

    /// Says something until the next key.
    pub(super) fn say(&mut self, message: impl Into<String>) {
        self.message = message.into();
    }

    /// What a key does; `page` is how many runs there are on a screen.
    pub(super) fn press(&mut self, key: Key, state: &TopState, height: u16) -> Option<TopAction> {
        self.message.clear();
        match self.mode {
            Mode::Help => self.mode = Mode::Runs,
            Mode::Filter => self.type_filter(key),
            Mode::Asking(run) => {
                self.mode = Mode::Runs;
                return (key == Key::Letter('y')).then_some(TopAction::Cancel(run));
            }
            Mode::Runs => return self.choose(key, state, rows_of(height)),
        }
        None
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.mode = Mode::Runs,
            Key::Escape => {
                self.filter.clear();
                self.mode = Mode::Runs;
            }
            Key::Backspace => drop(self.filter.pop()),
            Key::Letter(letter) => self.filter.push(letter),
            _ => {}
        }
    }

    fn choose(&mut self, key: Key, state: &TopState, page: usize) -> Option<TopAction> {
        let runs = self.shown(state);
        let at = self.place(&runs);
        let last = runs.len().saturating_sub(1);
        let selected = runs.get(at);
        let to = match key {
            Key::Up | Key::Letter('k') => at.saturating_sub(1),
            Key::Down | Key::Letter('j') => at + 1,
            Key::PageUp => at.saturating_sub(page),
            Key::PageDown => at + page,
            Key::Home | Key::Letter('g') => 0,
            Key::End | Key::Letter('G') => last,
            Key::Letter('q') => return Some(TopAction::Quit),
            Key::Enter => return selected.map(|run| TopAction::Follow(run.run_id)),
            Key::Letter('o') => return selected.map(|run| TopAction::Open(run.run_id)),
            Key::Letter('c') => {
                match selected {
                    Some(run) if run.state.is_ended() => self.message = "it has ended".to_owned(),
                    Some(run) => self.mode = Mode::Asking(run.run_id),
                    None => {}
                }
                return None;
            }
            Key::Letter('/') => {
                self.mode = Mode::Filter;
                return None;
            }
            Key::Letter('?') => {
                self.mode = Mode::Help;
                return None;
            }
            Key::Escape => {
                self.filter.clear();
                return None;
            }
            _ => return None,
        };
        self.selected = runs.get(to.min(last)).map(|run| run.run_id);
        None
    }

    /// The runs that the filter lets through.
    fn shown<'s>(&self, state: &'s TopState) -> Vec<&'s RunRecord> {
        let wanted = self.filter.to_lowercase();
        let is_wanted = |run: &&RunRecord| {
            let (spec, why) = (&run.spec, why(run).unwrap_or_default());
            let texts = [
                run.state.as_str(),
                spec.repo.as_str(),
                spec.branch.as_str(),
                &command_line(&spec.argv),
                &spec.principal,
                &why,
            ];
            let mut texts = texts.iter();
            wanted.is_empty() || texts.any(|text| text.to_lowercase().contains(&wanted))
        };
        state.runs().filter(is_wanted).collect()
    }

    fn place(&self, runs: &[&RunRecord]) -> usize {
        let id = self.selected;
        let place = id.and_then(|id| runs.iter().position(|run| run.run_id == id));
        place.unwrap_or(0)
    }

    /// All lines of a screen of this size.
    pub(super) fn lines(
        &mut self,
        state: &TopState,
        (width, height): (u16, u16),
        color: bool,
        now: Timestamp,
    ) -> Vec<String> {
        let runs = self.shown(state);
        let (at, room) = (self.place(&runs), rows_of(height));
        // The selected one is always on the screen.
        self.first = self.first.min(at).max((at + 1).saturating_sub(room));
        self.first = self.first.min(runs.len().saturating_sub(room));
        let columns = usize::from(width);
        let fitting = |text: &str| cut(text, columns, Cut::End);
        let mut lines = vec![head(state.machine(), columns), fitting(&self.told(state))];
        if self.mode == Mode::Help {
            lines.extend(HELP.iter().map(|line| fitting(line)));
        } else if runs.is_empty() {
            lines.push("no runs yet".to_owned());
        } else {
            let mut table = table(&runs, width, color, now).into_iter();
            lines.extend(table.next().map(|titles| format!("  {titles}")));
            let rows = table.enumerate().skip(self.first).take(room);
            lines.extend(rows.map(|(row, line)| match row == at && self.has_keys {
                true => format!("> {line}"),
                false => format!("  {line}"),
            }));
        }
        let height = usize::from(height);
        lines.resize(height.saturating_sub(FOOT), String::new());
        lines.push(fitting(
            &runs.get(at).map_or_else(String::new, |run| in_full(run)),
        ));
        lines.push(self.foot(&runs, room, columns));
        lines.truncate(height);
        lines
    }

    /// The second line: what there is to say or to ask.
    fn told(&self, state: &TopState) -> String {
        match self.mode {
            Mode::Asking(run) => {
                let mut runs = state.runs();
                let run = runs.find(|one| one.run_id == run);
                let what = run.map_or_else(String::new, in_full);
                format!("cancel {what}? y cancels it, any other key does not")
            }
            Mode::Filter => format!("filter: {}▏", printable(&self.filter)),
            _ if state.is_lost() => "the daemon is not there; looking for it".to_owned(),
            _ if !self.message.is_empty() => printable(&self.message),
            _ if !self.filter.is_empty() => format!("filter: {}", printable(&self.filter)),
            _ => String::new(),
        }
    }

    /// The last line: the keys, and which of the runs are shown.
    fn foot(&self, runs: &[&RunRecord], room: usize, columns: usize) -> String {
        let place = match runs.len() {
            all if all > room => format!(
                "{}-{} of {all}",
                self.first + 1,
                (self.first + room).min(all)
            ),
            _ => String::new(),
        };
        let keys = if self.has_keys { KEYS } else { "Ctrl-C leaves" };
        let keys = cut(keys, columns.saturating_sub(letters(&place) + 1), Cut::End);
        let gap = columns.saturating_sub(letters(&keys) + letters(&place));
        format!("{keys}{}{place}", " ".repeat(gap))
            .trim_end()
            .to_owned()
    }
}

/// How many runs there is room for.
fn rows_of(height: u16) -> usize {
    usize::from(height).saturating_sub(HEAD + FOOT).max(1)
}

#[cfg(test)]
mod tests;
