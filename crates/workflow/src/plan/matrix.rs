//! A matrix into its rows, as GitHub makes them.

use crate::expression::{ExprObject, ExprValue};
use crate::fault::FaultList;
use crate::read::{AxisModel, MatrixModel, TextAt};
use crate::yaml::{YamlKind, YamlNode};

use super::resolve::Resolver;
use super::rows::{MAX_ROWS, Row, expanded};

/// More combinations than this are not even looked at.
const MAX_PRODUCT: usize = 4096;

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
    let is_long = |table: &[Row]| table.len() > MAX_PRODUCT;
    if size.is_none_or(|size| size > MAX_PRODUCT) || is_long(&include) || is_long(&exclude) {
        let message = format!(
            "the matrix has more than {MAX_PRODUCT} combinations before `exclude`, or as many entries of \
             `include` or `exclude`; give it fewer values"
        );
        faults.invalid(at, message);
        return None;
    }
    if let Some((name, _)) = axes.iter().find(|(_, values)| values.is_empty()) {
        faults.invalid(at, format!("`{name}` of the matrix has no values"));
        return None;
    }
    check_excluded(faults, &axes, &exclude, at)?;
    let Some(rows) = expanded(&axes, &include, &exclude) else {
        let message = format!(
            "the matrix has more than {MAX_ROWS} rows; give it fewer values, or exclude some"
        );
        faults.invalid(at, message);
        return None;
    };
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
