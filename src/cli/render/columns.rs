//! Which columns of a table are shown, and how wide: whatever the width of the terminal, no row takes more than one line.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Between two columns.
pub(super) const GAP: usize = 2;

/// Which part of a text gives way where there is no room for all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::cli) enum Cut {
    Start,
    Middle,
    #[default]
    End,
}

/// A column that holds anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// Its place among all.
    pub at: usize,
    pub width: usize,
    /// How narrow it may get before others are left out for it.
    pub least: usize,
    /// Which of the columns is left out first: the one with the lowest rank. `None` for those that stay.
    pub rank: Option<usize>,
}

/// Leaves out columns, and narrows the widest of the others, until all fit.
pub(super) fn fit(mut columns: Vec<Column>, width: usize) -> Vec<Column> {
    let mut left_out = Vec::new();
    while total(&columns, |column| column.least) > width {
        let ranked = columns.iter().enumerate();
        let ranked = ranked.filter_map(|(place, column)| Some((column.rank?, place)));
        let Some((_, place)) = ranked.min() else {
            break;
        };
        left_out.push(columns.remove(place));
    }
    // A narrow one may have gone for the sake of a wide one that went after it.
    while let Some(column) = left_out.pop() {
        if total(&columns, |column| column.least) + GAP + column.least <= width {
            columns.push(column);
        }
    }
    columns.sort_by_key(|column| column.at);
    narrow(&mut columns, width, |column| column.least);
    narrow(&mut columns, width, |_| 1);
    columns
}

fn total(columns: &[Column], width: impl Fn(&Column) -> usize) -> usize {
    let widths: usize = columns.iter().map(|column| width(column) + GAP).sum();
    widths.saturating_sub(GAP)
}

/// The widest gives way first, as far as `least` lets it.
fn narrow(columns: &mut [Column], width: usize, least: impl Fn(&Column) -> usize) {
    while total(columns, |column| column.width) > width {
        let widest = columns
            .iter_mut()
            .filter(|column| column.width > least(column))
            .max_by_key(|column| column.width);
        match widest {
            Some(column) => column.width -= 1,
            None => return,
        }
    }
}

/// How many columns of a terminal a text takes.
pub(in crate::cli) fn letters(text: &str) -> usize {
    text.width()
}

/// As much of the text as fits into a width.
pub(in crate::cli) fn cut(text: &str, width: usize, which: Cut) -> String {
    if letters(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let (start, end) = match which {
        Cut::Start => (0, room),
        Cut::Middle => (room - room / 2, room / 2),
        Cut::End => (room, 0),
    };
    let mut start = within(text.chars(), start);
    start.push('…');
    let end = within(text.chars().rev(), end);
    start.extend(end.chars().rev());
    start
}

fn within(letters: impl Iterator<Item = char>, width: usize) -> String {
    let mut left = width;
    let fits = |letter: &char| {
        let taken = letter.width().unwrap_or(0);
        let fits = taken <= left;
        left = left.saturating_sub(taken);
        fits
    };
    letters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(at: usize, width: usize, least: usize, rank: Option<usize>) -> Column {
        Column {
            at,
            width,
            least,
            rank,
        }
    }

    #[test]
    fn the_least_important_column_is_left_out_first_and_none_without_need() {
        let columns = || {
            vec![
                column(0, 8, 8, None),
                column(1, 6, 6, Some(0)),
                column(2, 40, 12, Some(1)),
                column(3, 60, 30, None),
            ]
        };
        let shown = |width| {
            let fitted = fit(columns(), width);
            let places = fitted.iter().map(|column| (column.at, column.width));
            places.collect::<Vec<_>>()
        };
        assert_eq!(shown(200), [(0, 8), (1, 6), (2, 40), (3, 60)]);
        assert_eq!(shown(80).len(), 4);
        assert_eq!(shown(58), [(0, 8), (2, 16), (3, 30)]);
        // The second is narrow enough to stay where the third is not.
        assert_eq!(shown(53), [(0, 8), (1, 6), (3, 35)]);
        assert_eq!(shown(45), [(0, 8), (3, 35)]);
        assert_eq!(shown(20), [(0, 8), (3, 10)]);
    }

    #[test]
    fn what_tells_most_is_left_of_a_text() {
        assert_eq!(cut("feature/login", 13, Cut::End), "feature/login");
        assert_eq!(cut("feature/login", 8, Cut::End), "feature…");
        assert_eq!(cut("feature/login", 8, Cut::Start), "…e/login");
        assert_eq!(cut("feature/login", 8, Cut::Middle), "feat…gin");
        assert_eq!(cut("日本語の名前", 6, Cut::End), "日本…");
        assert_eq!(cut("日本語の名前", 6, Cut::Start), "…名前");
        assert_eq!(cut("abc", 0, Cut::End), "…");
    }

    proptest! {
        #[test]
        fn whatever_there_is_fits(
            sizes in proptest::collection::vec((1..80_usize, 1..40_usize, any::<bool>()), 1..12),
            width in 40..160_usize,
        ) {
            let columns = sizes.iter().enumerate().map(|(at, (width, least, stays))| {
                column(at, *width, *least.min(width), (!stays).then_some(at))
            });
            let fitted = fit(columns.collect(), width);
            prop_assert!(total(&fitted, |column| column.width) <= width);
            prop_assert!(fitted.is_sorted_by_key(|column| column.at));
        }

        #[test]
        fn a_cut_text_is_no_wider_than_its_room(text in "[a-z日é]{0,30}", width in 1..20_usize) {
            for which in [Cut::Start, Cut::Middle, Cut::End] {
                prop_assert!(letters(&cut(&text, width, which)) <= width);
            }
        }
    }
}
