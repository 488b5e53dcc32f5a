//! What all readers of parts share: known keys, and values of the right kind.

use std::collections::HashSet;

use branchyard_model::{Globs, Stars};

use super::keys::{self, KeySupport};
use super::model::TextAt;
use super::suggest::suggestion;
use crate::expression::{ALL_VARIABLES, is_variable_name};
use crate::fault::{FaultCode, FaultList};
use crate::yaml::{YamlKind, YamlNode};

/// Reads one file.
pub(crate) struct Reader<'r> {
    faults: FaultList<'r>,
    allows_own: bool,
    skip: Globs,
    linux_labels: &'r [String],
    is_lenient: bool,
}

impl<'r> Reader<'r> {
    pub(crate) fn new(
        mut faults: FaultList<'r>,
        allows_own: bool,
        skip: &[String],
        linux_labels: &'r [String],
    ) -> Self {
        let skip = Globs::all(skip.iter().map(String::as_str), Stars::WithinSegment)
            .unwrap_or_else(|error| {
                faults.invalid(
                    0,
                    format!("`skip_actions` of the configuration is not valid: {error}"),
                );
                Globs::none()
            });
        Self {
            faults,
            allows_own,
            skip,
            linux_labels,
            is_lenient: false,
        }
    }

    pub(crate) fn faults(&mut self) -> &mut FaultList<'r> {
        &mut self.faults
    }

    pub(crate) fn into_faults(self) -> FaultList<'r> {
        self.faults
    }

    pub(super) fn linux_labels(&self) -> &'r [String] {
        self.linux_labels
    }

    /// For the steps of a job that is never run here, such as one on Windows: what they use is not refused.
    pub(super) fn set_lenient(&mut self, is_lenient: bool) {
        self.is_lenient = is_lenient;
    }

    pub(super) fn is_lenient(&self) -> bool {
        self.is_lenient
    }

    pub(super) fn skips(&self, action: &str) -> bool {
        self.skip.matches(action)
    }

    pub(super) fn invalid(&mut self, at: usize, message: impl Into<String>) {
        self.faults.invalid(at, message);
    }

    /// The known keys of a mapping with their values; all others are refused.
    pub(super) fn keys<'n>(
        &mut self,
        node: &'n YamlNode,
        level: &'static str,
    ) -> Vec<(&'static str, &'n YamlNode, &'n YamlNode)> {
        let mut known = Vec::new();
        for (name, key, value) in self.entries(node, level) {
            match keys::find(level, &name) {
                None => {
                    let hint = suggestion(&name, keys::keys_of(level));
                    let hint = if hint.is_empty() {
                        let all: Vec<_> = keys::keys_of(level).collect();
                        format!("; there are: {}", all.join(", "))
                    } else {
                        hint
                    };
                    self.invalid(key.at, format!("`{level}` has no key `{name}`{hint}"));
                }
                Some(row) => match row.support {
                    KeySupport::NotYet => {
                        let message = format!(
                            "`{name}` is not supported yet; remove it, or run this job elsewhere"
                        );
                        self.faults
                            .refuse(FaultCode::NotSupportedYet, key.at, message);
                    }
                    KeySupport::Own if !self.allows_own => {
                        let message = format!(
                            "`{name}` is Branchyard's own key; only files in .branchyard/workflows/ may have it"
                        );
                        self.invalid(key.at, message);
                    }
                    KeySupport::Taken | KeySupport::NoEffect | KeySupport::Own => {
                        known.push((row.key, key, value));
                    }
                },
            }
        }
        known
    }

    /// The entries of a mapping whose keys the file chooses.
    pub(super) fn entries<'n>(
        &mut self,
        node: &'n YamlNode,
        what: &str,
    ) -> Vec<(String, &'n YamlNode, &'n YamlNode)> {
        let YamlKind::Map(entries) = &node.kind else {
            self.expected(node, what, "a mapping");
            return Vec::new();
        };
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for (key, value) in entries {
            match key.scalar_text() {
                Some(name) if name.is_empty() => {
                    self.invalid(key.at, format!("a key of `{what}` is empty"));
                }
                Some(name) if seen.insert(name.clone()) => found.push((name, key, value)),
                Some(name) => self.invalid(
                    key.at,
                    format!("`{name}` is there twice; remove one of them"),
                ),
                None => self.invalid(
                    key.at,
                    format!("a key of `{what}` is a list or a mapping; it must be a text"),
                ),
            }
        }
        found
    }

    pub(super) fn expected(&mut self, node: &YamlNode, what: &str, kind: &str) {
        let given = node.what();
        self.invalid(node.at, format!("`{what}` is {given}; it must be {kind}"));
    }

    /// A text, number or truth, as a text.
    pub(super) fn text(&mut self, node: &YamlNode, what: &str) -> Option<TextAt> {
        match node.scalar_text() {
            Some(text) => Some(TextAt { text, at: node.at }),
            None => {
                self.expected(node, what, "a text");
                None
            }
        }
    }

    pub(super) fn full_text(&mut self, node: &YamlNode, what: &str) -> Option<TextAt> {
        let text = self.text(node, what)?;
        if text.text.trim().is_empty() {
            self.invalid(
                node.at,
                format!("`{what}` is empty; write a text or remove the key"),
            );
            return None;
        }
        Some(text)
    }

    /// One text, or a list of texts.
    pub(super) fn texts(&mut self, node: &YamlNode, what: &str) -> Vec<TextAt> {
        match &node.kind {
            YamlKind::List(items) => items
                .iter()
                .filter_map(|item| self.full_text(item, what))
                .collect(),
            _ => self.full_text(node, what).into_iter().collect(),
        }
    }

    pub(super) fn list(&mut self, node: &YamlNode, what: &str) -> Vec<TextAt> {
        if matches!(node.kind, YamlKind::List(_)) {
            return self.texts(node, what);
        }
        self.expected(node, what, "a list");
        Vec::new()
    }

    /// True or false, or one expression that says which.
    pub(super) fn flag(&mut self, node: &YamlNode, what: &str) -> Option<TextAt> {
        let is_right = matches!(node.kind, YamlKind::Bool(_)) || is_expression(node);
        self.one_of_kind(node, is_right, what, "true, false or an expression")
    }

    pub(super) fn number(&mut self, node: &YamlNode, what: &str) -> Option<TextAt> {
        let is_right =
            matches!(node.kind, YamlKind::Number(value) if value > 0.0) || is_expression(node);
        self.one_of_kind(node, is_right, what, "a number above 0 or an expression")
    }

    /// Refuses more of something than a workflow may have.
    pub(super) fn bound(&mut self, at: usize, what: &str, given: usize, most: usize) {
        if given > most {
            self.invalid(
                at,
                format!("there are {given} {what}; there may be at most {most}"),
            );
        }
    }

    pub(super) fn plain_flag(&mut self, node: &YamlNode, what: &str) -> bool {
        if let YamlKind::Bool(value) = node.kind {
            return value;
        }
        self.expected(node, what, "true or false");
        false
    }

    /// Names with their texts, as `env` and `with` have them.
    pub(super) fn text_map(&mut self, node: &YamlNode, what: &str) -> Vec<(TextAt, TextAt)> {
        if node.is_null() {
            return Vec::new();
        }
        let entries = self.entries(node, what);
        let texts = entries.into_iter().filter_map(|(name, key, value)| {
            let value = self.text(value, &format!("{what}.{name}"))?;
            Some((
                TextAt {
                    text: name,
                    at: key.at,
                },
                value,
            ))
        });
        texts.collect()
    }

    /// Variables, or one expression that makes all of them.
    pub(super) fn env(&mut self, node: &YamlNode) -> Vec<(TextAt, TextAt)> {
        if is_expression(node) {
            let name = TextAt {
                text: ALL_VARIABLES.to_owned(),
                at: node.at,
            };
            let text = self.text(node, "env");
            return text.map(|text| (name, text)).into_iter().collect();
        }
        let entries = self.text_map(node, "env");
        for (name, _) in &entries {
            if !is_variable_name(&name.text) {
                let message = format!(
                    "`{}` is no name of a variable; use letters, digits and _",
                    name.text
                );
                self.invalid(name.at, message);
            }
        }
        entries
    }

    fn one_of_kind(
        &mut self,
        node: &YamlNode,
        is_right: bool,
        what: &str,
        kind: &str,
    ) -> Option<TextAt> {
        if is_right {
            return self.text(node, what);
        }
        self.expected(node, what, kind);
        None
    }
}

fn is_expression(node: &YamlNode) -> bool {
    matches!(&node.kind, YamlKind::Text(text) if text.trim().starts_with("${{") && text.trim().ends_with("}}"))
}
