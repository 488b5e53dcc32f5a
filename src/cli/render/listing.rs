//! Lists: a table for people, lines with tabs for programs.

use comfy_table::{Attribute, CellAlignment, Color, ContentArrangement, Table, presets};

use super::cell::{Cell, Tone, shorten_ids};
use super::columns::{Column, cut, fit, letters};

/// A list, ready to be shown either way.
#[derive(Debug)]
pub(crate) struct Listing {
    titles: Vec<&'static str>,
    /// The columns that a narrow terminal does without, the least important first.
    least: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Listing {
    /// The titles stand in one text, with commas between them. After a semicolon stand again those of the columns
    /// that a narrow terminal does without, the least important first.
    pub(crate) fn new(titles: &'static str) -> Self {
        let (titles, least) = titles.split_once("; ").unwrap_or((titles, ""));
        let least = least.split(", ").filter(|title| !title.is_empty());
        Self {
            titles: titles.split(", ").collect(),
            least: least.collect(),
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

    pub(crate) fn table(mut self, width: Option<u16>, color: bool) -> String {
        for at in 0..self.titles.len() {
            shorten_ids(self.rows.iter_mut().map(|row| &mut row[at]));
        }
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
        let header = columns.iter().map(|column| {
            // A title stands where its values stand.
            let is_right = self.rows.first().is_some_and(|row| row[column.at].how().1);
            let title = cut(self.titles[column.at], column.width, Default::default());
            aligned(comfy_table::Cell::new(title), is_right).add_attribute(Attribute::Bold)
        });
        table.set_header(header.collect::<Vec<_>>());
        for row in &self.rows {
            let cells = columns
                .iter()
                .map(|column| comfy(&row[column.at], column.width));
            table.add_row(cells.collect::<Vec<_>>());
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let mut text = table.trim_fmt();
        text.push('\n');
        text
    }

    /// The columns that hold anything, as wide as the terminal lets them be.
    fn columns(&self, width: Option<u16>) -> Vec<Column> {
        let columns = self.titles.iter().enumerate().filter_map(|(at, title)| {
            let cells = self.rows.iter().map(|row| row[at].widths());
            let (widest, least) = cells.reduce(|one, other| {
                let (wide, least) = other;
                (one.0.max(wide), one.1.max(least))
            })?;
            (widest > 0).then(|| Column {
                at,
                width: widest.max(letters(title)),
                least: least.max(letters(title)),
                rank: self.least.iter().position(|one| one == title),
            })
        });
        match width {
            Some(width) => fit(columns.collect(), width.into()),
            // A terminal that does not say how wide it is wraps for itself.
            None => columns.collect(),
        }
    }
}

fn aligned(cell: comfy_table::Cell, is_right: bool) -> comfy_table::Cell {
    if is_right {
        cell.set_alignment(CellAlignment::Right)
    } else {
        cell
    }
}

fn comfy(cell: &Cell, width: usize) -> comfy_table::Cell {
    let (tone, is_right, which) = cell.how();
    let text = cut(cell.human(), width, which);
    let shown = aligned(comfy_table::Cell::new(text), is_right);
    match tone {
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
        let words = "make a great many things one after the other";
        let error = "src/a.c:3:5: error: no such thing as this one here";
        let table = |width| {
            let mut listing = Listing::new("STATE, NOTHING, COMMAND, PATH, WHY; COMMAND");
            listing.row(vec![
                Cell::whole("succeeded"),
                Cell::text(""),
                Cell::text(words),
                Cell::path("/home/me/build-workspaces/app/main"),
                Cell::sentence(Some(error)),
            ]);
            listing.table(width, false)
        };
        for width in [60, 80, 100, 120] {
            let table = table(Some(width));
            for line in table.lines() {
                assert!(letters(line) <= width.into(), "{table}");
            }
            assert!(table.contains("succeeded"), "{table}");
            assert!(table.contains("src/a.c:3:5: error: "), "{table}");
            assert_eq!(table.contains("COMMAND"), width > 60, "{table}");
        }
        assert!(table(Some(60)).contains("…"));
        let unknown = table(None);
        let row = format!("succeeded  {words}  /home/me/build-workspaces/app/main  {error}");
        assert_eq!(unknown.lines().nth(1), Some(row.as_str()));
        assert!(!unknown.contains("NOTHING"));
    }

    #[test]
    fn ids_are_shown_by_as_much_of_their_ends_as_tells_them_apart() {
        let shown = |ids: &[&str]| {
            let listing = Listing::of("RUN", ids, |id| vec![Cell::id(id)]);
            let table = listing.table(Some(80), false);
            let lines: Vec<_> = table.lines().skip(1).map(str::to_owned).collect();
            lines.join(" ")
        };
        let (one, other) = (
            "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b",
            "0197a3b4-5c6d-7e8f-9a0b-1c2e3e4f5a6b",
        );
        assert_eq!(shown(&[one]), "3e4f5a6b");
        assert_eq!(shown(&[one, other, one]), "d3e4f5a6b e3e4f5a6b d3e4f5a6b");
    }
}
