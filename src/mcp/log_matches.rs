//! Lines of a run's log that match.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::reply::cut;
use super::window::{Window, readable};
use branchyard_journal::{Pieces, Query, Report, Search, SearchLine};
use branchyard_model::Problem;
use branchyard_runs::View;

/// What is shown of a line that matches.
const LINE_CHARS: usize = 400;

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(super) struct Match {
    pub(super) line: u64,
    pub(super) text: String,
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
}

/// What a search found.
#[derive(Debug, Default)]
pub(super) struct LogMatches {
    pub(super) items: Vec<Match>,
    pub(super) truncated: bool,
    /// The first line that was not searched.
    pub(super) next_line: u64,
}

impl LogMatches {
    /// Searches from this line on, counted from 1.
    pub(super) async fn find(view: &View, query: Query, first: u64) -> Result<Self, Problem> {
        view.with_output(move |output| {
            let mut search = Search::new(output, query, Self::default())
                .from_line(first)?
                .without_ansi();
            while search.piece()?.is_some() {}
            let next_line = search.next_line();
            Ok(Self {
                next_line,
                ..search.into_report()
            })
        })
        .await
    }

    /// The lines that match, with their numbers, to be shown in place of the output.
    pub(super) async fn window(view: &View, query: Query) -> Result<Window, Problem> {
        let found = Self::find(view, query, 1).await?;
        let lines = found.items.iter().map(Match::text).collect();
        Window::instead(view, lines, found.truncated).await
    }
}

impl Match {
    /// In the manner of `grep -n`.
    pub(super) fn text(&self) -> String {
        let before = self.before.iter().map(|line| format!("  {line}\n"));
        let after = self.after.iter().map(|line| format!("  {line}\n"));
        let line = format!("{}: {}\n", self.line, self.text);
        before.chain([line]).chain(after).collect()
    }
}

impl Report for LogMatches {
    fn matched(&mut self, number: u64, text: &[u8], before: &[SearchLine]) {
        self.items.push(Match {
            line: number,
            text: shown(text),
            before: before.iter().map(|line| shown(&line.text)).collect(),
            after: Vec::new(),
        });
    }

    fn after(&mut self, _: u64, text: &[u8]) {
        if let Some(last) = self.items.last_mut() {
            last.after.push(shown(text));
        }
    }

    fn end(&mut self, truncated: bool) {
        self.truncated = truncated;
    }

    /// All of it is taken at the end.
    fn buffered(&self) -> usize {
        0
    }

    fn take(&mut self) -> Bytes {
        Bytes::new()
    }
}

fn shown(line: &[u8]) -> String {
    cut(&readable(line), LINE_CHARS)
}
