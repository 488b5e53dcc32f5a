//! The rows of a matrix, as GitHub makes them.

use crate::expression::{ExprValue, to_text};

/// As GitHub has it, which counts the rows that `exclude` and `include` leave.
pub(super) const MAX_ROWS: usize = 256;
const MAX_NAME: usize = 100;

/// Values with their names, in order.
pub(super) type Row = Vec<(String, ExprValue)>;

/// All rows: those of the axes but the excluded ones, extended by what is included, and then the rest of that. None if there
/// are more than a matrix may have.
pub(super) fn expanded(
    axes: &[(String, Vec<ExprValue>)],
    include: &[Row],
    exclude: &[Row],
) -> Option<Vec<Row>> {
    let mut rows = kept(axes, exclude)?;
    let originals = rows.clone();
    for included in include {
        let is_axis = |name: &str| axes.iter().any(|(axis, _)| axis == name);
        let of_axes: Row = included
            .iter()
            .filter(|(name, _)| is_axis(name))
            .cloned()
            .collect();
        let mut is_new = true;
        for (row, original) in rows.iter_mut().zip(&originals) {
            if !has_all(original, &of_axes) {
                continue;
            }
            is_new = false;
            for (name, value) in included.iter().filter(|(name, _)| !is_axis(name)) {
                row.retain(|(other, _)| other != name);
                row.push((name.clone(), value.clone()));
            }
        }
        if is_new {
            rows.push(included.clone());
        }
        if rows.len() > MAX_ROWS {
            return None;
        }
    }
    Some(rows)
}

/// The combinations of the axes that no `exclude` leaves out. Only these are copied: each value may be large.
fn kept(axes: &[(String, Vec<ExprValue>)], exclude: &[Row]) -> Option<Vec<Row>> {
    // Without axes the product has one empty row, which is no row of the matrix.
    let product: usize = match axes {
        [] => 0,
        _ => axes.iter().map(|(_, values)| values.len()).product(),
    };
    let combinations = (0..product).map(|number| {
        let mut left = number;
        // The last axis varies fastest.
        let mut row: Vec<_> = axes
            .iter()
            .rev()
            .map(|(name, values)| {
                let value = &values[left % values.len()];
                left /= values.len();
                (name, value)
            })
            .collect();
        row.reverse();
        row
    });
    let is_in = |row: &[(&String, &ExprValue)], excluded: &Row| {
        let mut wanted = excluded.iter();
        wanted.all(|(name, value)| row.contains(&(name, value)))
    };
    let mut rows = Vec::new();
    for row in combinations.filter(|row| !exclude.iter().any(|excluded| is_in(row, excluded))) {
        if rows.len() == MAX_ROWS {
            return None;
        }
        let row = row.into_iter();
        rows.push(
            row.map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        );
    }
    Some(rows)
}

fn has_all(row: &Row, wanted: &Row) -> bool {
    wanted.iter().all(|entry| row.contains(entry))
}

/// A job's name with the values of its row, as `test (linux, 1.95)`.
pub(super) fn name_of_row(name: &str, row: &ExprValue) -> String {
    let mut values = Vec::new();
    leaves(row, &mut values);
    if values.is_empty() {
        return name.to_owned();
    }
    let full = format!("{name} ({})", values.join(", "));
    if full.chars().count() <= MAX_NAME {
        return full;
    }
    let short: String = full.chars().take(MAX_NAME - 3).collect();
    format!("{short}...")
}

fn leaves(value: &ExprValue, found: &mut Vec<String>) {
    match value {
        ExprValue::List(items) => items.iter().for_each(|item| leaves(item, found)),
        ExprValue::Object(object) => object.iter().for_each(|(_, value)| leaves(value, found)),
        _ => found.extend(Some(to_text(value)).filter(|text| !text.is_empty())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(json: &str) -> Vec<Row> {
        let value: ExprValue = serde_json::from_str(json).unwrap();
        let ExprValue::List(rows) = value else {
            panic!("{json}")
        };
        let row = |row: &ExprValue| match row {
            ExprValue::Object(row) => row
                .iter()
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect(),
            _ => panic!("{json}"),
        };
        rows.iter().map(row).collect()
    }

    fn shown(axes: &[(&str, &[&str])], include: &str, exclude: &str) -> Vec<String> {
        let texts = |values: &[&str]| values.iter().map(|value| ExprValue::text(*value)).collect();
        let axes: Vec<_> = axes
            .iter()
            .map(|(name, values)| ((*name).to_owned(), texts(values)))
            .collect();
        let rows = expanded(&axes, &table(include), &table(exclude)).unwrap();
        rows.iter()
            .map(|row| {
                row.iter()
                    .map(|(name, value)| format!("{name}={}", to_text(value)))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
    }

    #[test]
    fn the_first_axis_varies_slowest() {
        let rows = shown(&[("os", &["a", "b"]), ("v", &["1", "2"])], "[]", "[]");
        assert_eq!(rows, ["os=a v=1", "os=a v=2", "os=b v=1", "os=b v=2"]);
    }

    #[test]
    fn excluded_rows_are_matched_in_part() {
        let axes: &[(&str, &[&str])] = &[("os", &["a", "b"]), ("v", &["1", "2"])];
        assert_eq!(
            shown(axes, "[]", r#"[{"os":"a"}]"#),
            ["os=b v=1", "os=b v=2"]
        );
        assert_eq!(
            shown(axes, "[]", r#"[{"os":"a","v":"1"},{"v":"2"}]"#),
            ["os=b v=1"]
        );
    }

    #[test]
    fn included_rows_extend_or_are_added() {
        let axes: &[(&str, &[&str])] =
            &[("fruit", &["apple", "pear"]), ("animal", &["cat", "dog"])];
        let include = r#"[{"color":"green"},{"color":"pink","animal":"cat"},{"fruit":"apple","shape":"circle"},
            {"fruit":"banana"},{"fruit":"banana","animal":"cat"}]"#;
        assert_eq!(
            shown(axes, include, "[]"),
            [
                "fruit=apple animal=cat color=pink shape=circle",
                "fruit=apple animal=dog color=green shape=circle",
                "fruit=pear animal=cat color=pink",
                "fruit=pear animal=dog color=green",
                "fruit=banana",
                "fruit=banana animal=cat",
            ]
        );
        assert_eq!(shown(&[], r#"[{"a":"1"},{"a":"2"}]"#, "[]"), ["a=1", "a=2"]);
    }

    #[test]
    fn only_the_rows_that_are_left_are_counted() {
        let numbers = |most: u32| (0..most).map(|n| ExprValue::Number(n.into())).collect();
        let axes: [(String, Vec<_>); 2] =
            [("a".to_owned(), numbers(17)), ("b".to_owned(), numbers(16))];
        let count = |include: &str, exclude: &str| {
            expanded(&axes, &table(include), &table(exclude)).map(|rows| rows.len())
        };
        assert_eq!(count("[]", "[]"), None);
        assert_eq!(count("[]", r#"[{"a":3}]"#), Some(256));
        assert_eq!(count(r#"[{"a":17}]"#, r#"[{"a":3}]"#), None);
        assert_eq!(count(r#"[{"a":17}]"#, r#"[{"a":3},{"b":0}]"#), Some(241));
        assert_eq!(count(r#"[{"a":4,"c":1}]"#, r#"[{"a":3}]"#), Some(256));
    }

    #[test]
    fn names_have_the_values_of_the_row() {
        let row: ExprValue =
            serde_json::from_str(r#"{"os":"a","f":"","c":{"x":[1,true]}}"#).unwrap();
        assert_eq!(name_of_row("test", &row), "test (a, 1, true)");
        assert_eq!(
            name_of_row("test", &ExprValue::object::<String>([])),
            "test"
        );
        let long = ExprValue::object([("a", ExprValue::text("é".repeat(200)))]);
        assert_eq!(name_of_row("test", &long).chars().count(), MAX_NAME);
    }
}
