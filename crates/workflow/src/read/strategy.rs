//! `strategy` and its matrix.

use super::keys::STRATEGY;
use super::model::{AxisModel, MatrixModel, StrategyModel, TextAt};
use super::reader::Reader;
use crate::yaml::{YamlKind, YamlNode};

pub(super) fn read_strategy(reader: &mut Reader<'_>, node: &YamlNode) -> StrategyModel {
    let mut strategy = StrategyModel::default();
    for (key, at, value) in reader.keys(node, STRATEGY) {
        match key {
            "matrix" => strategy.matrix = read_matrix(reader, at.at, value),
            "fail-fast" => strategy.fail_fast = reader.flag(value, key),
            _ => strategy.max_parallel = reader.number(value, key),
        }
    }
    strategy
}

fn read_matrix(reader: &mut Reader<'_>, at: usize, node: &YamlNode) -> Option<MatrixModel> {
    if let Some(expression) = expression(node) {
        return Some(MatrixModel::Expression(expression));
    }
    let mut axes = Vec::new();
    let mut include = None;
    let mut exclude = None;
    let entries = reader.entries(node, "matrix");
    let is_empty = entries.is_empty();
    for (name, key, value) in entries {
        match name.as_str() {
            "include" => include = read_rows(reader, &name, value),
            "exclude" => exclude = read_rows(reader, &name, value),
            _ => {
                if let Some(axis) = read_values(reader, &name, value) {
                    axes.push((
                        TextAt {
                            text: name,
                            at: key.at,
                        },
                        axis,
                    ));
                }
            }
        }
    }
    if is_empty && matches!(node.kind, YamlKind::Map(_)) {
        reader.invalid(
            at,
            "`matrix` is empty; give it a list of values, or remove it",
        );
    }
    Some(MatrixModel::Axes {
        axes,
        include,
        exclude,
    })
}

fn read_values(reader: &mut Reader<'_>, name: &str, node: &YamlNode) -> Option<AxisModel> {
    if let Some(expression) = expression(node) {
        return Some(AxisModel::Expression(expression));
    }
    match &node.kind {
        YamlKind::List(values) if values.is_empty() => {
            reader.invalid(
                node.at,
                format!("`{name}` of the matrix has no values; add one, or remove the key"),
            );
            None
        }
        YamlKind::List(values) => Some(AxisModel::Values(values.clone())),
        _ => {
            reader.expected(
                node,
                name,
                "a list of values, or an expression that makes one",
            );
            None
        }
    }
}

fn read_rows(reader: &mut Reader<'_>, name: &str, node: &YamlNode) -> Option<AxisModel> {
    if let Some(expression) = expression(node) {
        return Some(AxisModel::Expression(expression));
    }
    let YamlKind::List(rows) = &node.kind else {
        reader.expected(node, name, "a list of mappings");
        return None;
    };
    for row in rows {
        // An expression may make a row.
        if expression(row).is_none() {
            reader.entries(row, name);
        }
    }
    Some(AxisModel::Values(rows.clone()))
}

fn expression(node: &YamlNode) -> Option<TextAt> {
    match &node.kind {
        YamlKind::Text(text) if text.trim().starts_with("${{") => Some(TextAt {
            text: text.trim().to_owned(),
            at: node.at,
        }),
        _ => None,
    }
}
