//! Lists: a table for people, lines with tabs for programs.

use std::fmt::Display;

use comfy_table::{Attribute, CellAlignment, Color, ContentArrangement, Table, presets};
use jiff::Timestamp;
use serde::Serialize;

use super::human::{human_age, human_size, printable, short_commit};

/// Between two columns.
const GAP: usize = 2;
/// No column is made narrower than this.
const READABLE: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Good,
    Warn,
    Bad,
    Faint,
}

/// One value in a list: for people and for programs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    human: String,
    plain: String,
    tone: Tone,
    right: bool,
    whole: bool,
    keep_end: bool,
}

/// A list, ready to be shown either way.
#[derive(Debug)]
pub(crate) struct Listing {
    titles: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Cell {
    pub(crate) fn text(text: impl Display) -> Self {
        let text = printable(&text.to_string());
        Self {
            human: text.clone(),
            plain: text,
            ..Self::default()
        }
    }

    /// Unknown is empty.
    pub(crate) fn maybe(text: Option<impl Display>) -> Self {
        text.map_or_else(Self::default, Self::text)
    }

    /// A word of the daemon's, as the wire spells it.
    pub(crate) fn word(word: impl Serialize) -> Self {
        let word = serde_json::json!(word);
        Self::maybe(word.as_str())
    }

    /// What programs see.
    pub(crate) fn plain(&self) -> &str {
        &self.plain
    }

    /// What people see instead; programs go on seeing the value.
    #[must_use]
    pub(crate) fn shown_as(mut self, human: impl Into<String>) -> Self {
        self.human = printable(&human.into());
        self
    }

    #[must_use]
    pub(crate) fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    /// A value that stands to the right, under others of its kind.
    pub(crate) fn number(number: Option<impl Display>) -> Self {
        Self {
            right: true,
            ..Self::maybe(number)
        }
    }

    /// Something to copy from the screen: it stays on one line, however narrow that is.
    pub(crate) fn whole(text: impl Display) -> Self {
        Self {
            whole: true,
            ..Self::text(text)
        }
    }

    /// Where something is; the end of it matters most.
    pub(crate) fn path(text: impl Display) -> Self {
        Self {
            keep_end: true,
            ..Self::text(text)
        }
    }

    /// A number of bytes; unknown is empty.
    pub(crate) fn size(bytes: Option<u64>) -> Self {
        Self::number(bytes).shown_as(bytes.map(human_size).unwrap_or_default())
    }

    /// A moment: its age for people, RFC 3339 for programs; unknown is empty.
    pub(crate) fn moment(moment: Option<Timestamp>) -> Self {
        let age = moment.map(|moment| human_age(moment, Timestamp::now()));
        Self::maybe(moment).shown_as(age.unwrap_or_default())
    }

    /// A commit: its first digits for people.
    pub(crate) fn commit(commit: Option<&str>) -> Self {
        let commit = commit.unwrap_or_default();
        Self::text(commit).shown_as(short_commit(commit))
    }
}

impl Listing {
    /// The titles stand in one text, with commas between them.
    pub(crate) fn new(titles: &'static str) -> Self {
        Self {
            titles: titles.split(", ").collect(),
            rows: Vec::new(),
        }
    }

    /// A list with a row for each of the items.
    pub(crate) fn of<T>(
        titles: &'static str,
        items: impl IntoIterator<Item = T>,
        cells: impl Fn(T) -> Vec<Cell>,
    ) -> Self {
        let mut listing = Self::new(titles);
        for item in items {
            listing.row(cells(item));
        }
        listing
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.titles.len(), "a cell for every title");
        self.rows.push(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn plain(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            let cells: Vec<&str> = row.iter().map(Cell::plain).collect();
            cells.join("\t") + "\n"
        });
        rows.collect()
    }

    pub(crate) fn table(&self, width: Option<u16>, color: bool) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        if color {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        // Each row is one line: what does not fit is cut here, never broken over lines.
        table.set_content_arrangement(ContentArrangement::Disabled);
        let columns = self.columns(width);
        let header = |(column, _): &(usize, usize)| {
            // A title stands where its values stand.
            let is_right = self.rows.first().is_some_and(|row| row[*column].right);
            let title = comfy_table::Cell::new(self.titles[*column]);
            aligned(title, is_right).add_attribute(Attribute::Bold)
        };
        table.set_header(columns.iter().map(header).collect::<Vec<_>>());
        for row in &self.rows {
            let cells = columns
                .iter()
                .map(|(column, width)| comfy(&row[*column], *width));
            table.add_row(cells.collect::<Vec<_>>());
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let mut text = table.trim_fmt();
        text.push('\n');
        text
    }

    /// The columns that hold anything, each with its width: the widest give way until all fit, as
    /// far as that leaves them readable.
    fn columns(&self, width: Option<u16>) -> Vec<(usize, usize)> {
        let is_empty = |column: usize| self.rows.iter().all(|row| row[column].human.is_empty());
        let natural = |column: usize| {
            let cells = self.rows.iter().map(|row| letters(&row[column].human));
            cells
                .chain([letters(self.titles[column])])
                .max()
                .unwrap_or(0)
        };
        let mut columns: Vec<(usize, usize)> = (0..self.titles.len())
            .filter(|column| !is_empty(*column))
            .map(|column| (column, natural(column)))
            .collect();
        let Some(width) = width else {
            // A terminal that does not say how wide it is wraps for itself.
            return columns;
        };
        let gives_way = |column: usize| {
            self.rows
                .iter()
                .all(|row| !row[column].whole && !row[column].right)
        };
        loop {
            let total: usize = columns.iter().map(|(_, width)| width + GAP).sum();
            if total <= usize::from(width) + GAP {
                return columns;
            }
            let widest = columns
                .iter_mut()
                .filter(|(column, width)| *width > READABLE && gives_way(*column))
                .max_by_key(|(_, width)| *width);
            match widest {
                Some((_, width)) => *width -= 1,
                None => return columns,
            }
        }
    }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// As much of the text as fits; of a path the end says more than the start.
fn cut(text: &str, width: usize, keep_end: bool) -> String {
    let over = letters(text).saturating_sub(width);
    if over == 0 {
        return text.to_owned();
    }
    if keep_end {
        let rest = text.chars().skip(over + 1);
        return "…".chars().chain(rest).collect();
    }
    let start = text.chars().take(width.saturating_sub(1));
    start.chain(['…']).collect()
}

fn aligned(cell: comfy_table::Cell, is_right: bool) -> comfy_table::Cell {
    if is_right {
        cell.set_alignment(CellAlignment::Right)
    } else {
        cell
    }
}

fn comfy(cell: &Cell, width: usize) -> comfy_table::Cell {
    let text = cut(&cell.human, width, cell.keep_end);
    let shown = aligned(comfy_table::Cell::new(text), cell.right);
    match cell.tone {
        Tone::Plain => shown,
        Tone::Good => shown.fg(Color::Green),
        Tone::Warn => shown.fg(Color::Yellow),
        Tone::Bad => shown.fg(Color::Red),
        Tone::Faint => shown.add_attribute(Attribute::Dim),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let mut listing = Listing::new("NAME, SIZE, USED");
        listing.row(vec![
            Cell::text("main"),
            Cell::size(Some(1536)),
            Cell::moment(Some("2024-05-06T07:08:09Z".parse().unwrap())),
        ]);
        listing.row(vec![
            Cell::text("odd\tname\n\u{1b}[31m").tone(Tone::Bad),
            Cell::size(None),
            Cell::moment(None),
        ]);
        listing
    }

    #[test]
    fn piped_lists_have_exact_values_and_one_line_per_row() {
        assert_eq!(
            listing().plain(),
            "main\t1536\t2024-05-06T07:08:09Z\nodd\\tname\\n\\u{1b}[31m\t\t\n"
        );
        assert_eq!(Listing::new("A").plain(), "");
    }

    #[test]
    fn tables_have_a_header_human_values_and_no_borders() {
        let table = listing().table(Some(100), false);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3, "{table}");
        assert!(lines[0].starts_with("NAME") && lines[0].contains("SIZE"));
        assert!(
            lines[1].contains("1.5 KiB") && lines[1].ends_with("d ago"),
            "{table}"
        );
        assert!(!table.contains(['|', '+', '\u{1b}']), "{table}");
        assert!(listing().table(Some(100), true).contains('\u{1b}'));
    }

    #[test]
    fn a_row_is_one_line_however_narrow_the_terminal() {
        let id = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";
        let words = "make a great many things one after the other";
        let mut listing = Listing::new("RUN, NOTHING, COMMAND, PATH");
        listing.row(vec![
            Cell::whole(id),
            Cell::text(""),
            Cell::text(words),
            Cell::path("/home/me/build-workspaces/app/main"),
        ]);
        let row = |width| {
            listing
                .table(width, false)
                .lines()
                .nth(1)
                .map(str::to_owned)
        };
        let narrow = row(Some(70)).unwrap();
        assert!(letters(&narrow) <= 70 && narrow.starts_with(id), "{narrow}");
        assert!(
            narrow.contains("…  …") && narrow.ends_with("/main"),
            "{narrow}"
        );
        let unknown = row(None).unwrap();
        assert_eq!(
            unknown,
            format!("{id}  {words}  /home/me/build-workspaces/app/main")
        );
        assert!(!listing.table(None, false).contains("NOTHING"));
    }
}
