//! `concurrency` and `defaults`, which files and jobs both have.

use super::keys::{CONCURRENCY, DEFAULTS, DEFAULTS_RUN};
use super::model::{ConcurrencyModel, DefaultsModel};
use super::reader::Reader;
use crate::yaml::{YamlKind, YamlNode};

pub(super) fn read_concurrency(
    reader: &mut Reader<'_>,
    node: &YamlNode,
) -> Option<ConcurrencyModel> {
    if !matches!(node.kind, YamlKind::Map(_)) {
        let group = reader.full_text(node, CONCURRENCY)?;
        return Some(ConcurrencyModel {
            group,
            cancel: None,
            is_single: false,
        });
    }
    let mut group = None;
    let mut cancel = None;
    let mut is_single = false;
    for (key, _, value) in reader.keys(node, CONCURRENCY) {
        match key {
            "group" => group = reader.full_text(value, key),
            "cancel-in-progress" => cancel = reader.flag(value, key),
            _ => match value.scalar_text().as_deref() {
                Some("single") => is_single = true,
                Some("max") => is_single = false,
                _ => reader.invalid(
                    value.at,
                    "`queue` is `max` (all wait) or `single` (the newest waits)",
                ),
            },
        }
    }
    let Some(group) = group else {
        reader.invalid(node.at, "`concurrency` needs `group`");
        return None;
    };
    Some(ConcurrencyModel {
        group,
        cancel,
        is_single,
    })
}

pub(super) fn read_defaults(reader: &mut Reader<'_>, node: &YamlNode) -> DefaultsModel {
    let mut defaults = DefaultsModel::default();
    if node.is_null() {
        return defaults;
    }
    for (_, _, run) in reader.keys(node, DEFAULTS) {
        for (key, _, value) in reader.keys(run, DEFAULTS_RUN) {
            let text = reader.full_text(value, key);
            match key {
                "shell" => defaults.shell = text,
                _ => defaults.working_directory = text,
            }
        }
    }
    defaults
}
