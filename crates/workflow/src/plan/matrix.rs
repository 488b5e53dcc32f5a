//! A matrix into its rows, as GitHub makes them.

use crate::expression::{ExprObject, ExprValue, to_text};
use crate::fault::FaultList;
use crate::read::{AxisModel, MatrixModel, TextAt};
use crate::yaml::{YamlKind, YamlNode};

use super::resolve::Resolver;

/// More rows than this are not even made.
const MAX_ROWS: usize = 256;
/// As GitHub has it.
const MAX_NAME: usize = 100;

/// Values with their names, in order.
type Row = Vec<(String, ExprValue)>;

/// The rows, or none where something is wrong, which is reported.
pub(super) fn rows(
    resolver: &mut Resolver<'_, '_, '_>,
    matrix: &MatrixModel,
    at: usize,
) -> Option<Vec<ExprValue>> {
    let (axes, include, exclude) = match matrix {
        MatrixModel::Expression(text) => of_value(resolver, text)?,
        MatrixModel::Axes {
            axes,
            include,
            exclude,
        } => {
            let mut values = Vec::new();
            for (name, axis) in axes {
                values.push((name.text.clone(), axis_values(resolver, &name.text, axis)?));
            }
            let include = table(resolver, "include", include.as_ref())?;
            let exclude = table(resolver, "exclude", exclude.as_ref())?;
            (values, include, exclude)
        }
    };
    let faults = resolver.faults();
    let size = axes
        .iter()
        .try_fold(1usize, |size, (_, values)| size.checked_mul(values.len()));
    if size.is_none_or(|size| size > MAX_ROWS) || include.len() > MAX_ROWS {
        faults.invalid(
            at,
            format!("the matrix has more than {MAX_ROWS} rows; give it fewer values"),
        );
        return None;
    }
    if let Some((name, _)) = axes.iter().find(|(_, values)| values.is_empty()) {
        faults.invalid(at, format!("`{name}` of the matrix has no values"));
        return None;
    }
    check_excluded(faults, &axes, &exclude, at)?;
    let rows = expanded(&axes, &include, &exclude);
    if rows.is_empty() {
        faults.invalid(at, "the matrix has no rows: all are excluded");
        return None;
    }
    Some(rows.into_iter().map(ExprValue::object).collect())
}

fn check_excluded(
    faults: &mut FaultList<'_>,
    axes: &[(String, Vec<ExprValue>)],
    exclude: &[Row],
    at: usize,
) -> Option<()> {
    for (name, _) in exclude.iter().flatten() {
        if !axes.iter().any(|(axis, _)| axis == name) {
            faults.invalid(
                at,
                format!("`exclude` names `{name}`, which the matrix does not have"),
            );
            return None;
        }
    }
    Some(())
}

fn expanded(axes: &[(String, Vec<ExprValue>)], include: &[Row], exclude: &[Row]) -> Vec<Row> {
    // Without axes the product has one empty row, which is no row of the matrix.
    let mut rows: Vec<Row> = if axes.is_empty() {
        Vec::new()
    } else {
        vec![Vec::new()]
    };
    for (name, values) in axes {
        let longer = |row: &Row| -> Vec<Row> {
            let with = |value: &ExprValue| {
                row.iter()
                    .cloned()
                    .chain([(name.clone(), value.clone())])
                    .collect()
            };
            values.iter().map(with).collect()
        };
        rows = rows.iter().flat_map(longer).collect();
    }
    rows.retain(|row| !exclude.iter().any(|excluded| has_all(row, excluded)));
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
    }
    rows
}

fn has_all(row: &Row, wanted: &Row) -> bool {
    wanted.iter().all(|entry| row.contains(entry))
}

type Table = (Vec<(String, Vec<ExprValue>)>, Vec<Row>, Vec<Row>);

/// A whole matrix that an expression makes.
fn of_value(resolver: &mut Resolver<'_, '_, '_>, text: &TextAt) -> Option<Table> {
    let ExprValue::Object(object) = resolver.value(text)? else {
        resolver.faults().invalid(
            text.at,
            "the expression makes no matrix: it must be an object with lists",
        );
        return None;
    };
    let mut axes = Vec::new();
    let mut include = Vec::new();
    let mut exclude = Vec::new();
    for (name, value) in object.iter() {
        match name {
            "include" => include = table_of(resolver, name, text.at, value)?,
            "exclude" => exclude = table_of(resolver, name, text.at, value)?,
            _ => axes.push((name.to_owned(), list_of(resolver, name, text.at, value)?)),
        }
    }
    Some((axes, include, exclude))
}

fn axis_values(
    resolver: &mut Resolver<'_, '_, '_>,
    name: &str,
    axis: &AxisModel,
) -> Option<Vec<ExprValue>> {
    match axis {
        AxisModel::Expression(text) => {
            let value = resolver.value(text)?;
            list_of(resolver, name, text.at, &value)
        }
        AxisModel::Values(nodes) => nodes
            .iter()
            .map(|node| node_value(resolver, node))
            .collect(),
    }
}

fn table(
    resolver: &mut Resolver<'_, '_, '_>,
    name: &str,
    axis: Option<&AxisModel>,
) -> Option<Vec<Row>> {
    let Some(axis) = axis else {
        return Some(Vec::new());
    };
    let at = match axis {
        AxisModel::Expression(text) => text.at,
        AxisModel::Values(nodes) => nodes.first().map_or(0, |node| node.at),
    };
    let values = axis_values(resolver, name, axis)?;
    table_of(resolver, name, at, &ExprValue::list(values))
}

fn table_of(
    resolver: &mut Resolver<'_, '_, '_>,
    name: &str,
    at: usize,
    value: &ExprValue,
) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    for row in list_of(resolver, name, at, value)? {
        let ExprValue::Object(row) = row else {
            resolver.faults().invalid(
                at,
                format!("`{name}` of the matrix has an item that is no mapping"),
            );
            return None;
        };
        rows.push(
            row.iter()
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect(),
        );
    }
    Some(rows)
}

fn list_of(
    resolver: &mut Resolver<'_, '_, '_>,
    name: &str,
    at: usize,
    value: &ExprValue,
) -> Option<Vec<ExprValue>> {
    match value {
        ExprValue::List(items) => Some(items.to_vec()),
        _ => {
            resolver
                .faults()
                .invalid(at, format!("`{name}` of the matrix is no list"));
            None
        }
    }
}

/// A value that is written out, with the expressions in it.
fn node_value(resolver: &mut Resolver<'_, '_, '_>, node: &YamlNode) -> Option<ExprValue> {
    match &node.kind {
        YamlKind::Text(text) => resolver.value(&TextAt {
            text: text.clone(),
            at: node.at,
        }),
        YamlKind::List(items) => {
            let items: Option<Vec<_>> = items
                .iter()
                .map(|item| node_value(resolver, item))
                .collect();
            items.map(ExprValue::list)
        }
        YamlKind::Map(entries) => {
            let mut object = ExprObject::default();
            for (key, value) in entries {
                object.insert(key.scalar_text()?, node_value(resolver, value)?);
            }
            Some(ExprValue::Object(object.into()))
        }
        YamlKind::Null | YamlKind::Bool(_) | YamlKind::Number(_) => Some(node.value()),
    }
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
        let rows = expanded(&axes, &table(include), &table(exclude));
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
