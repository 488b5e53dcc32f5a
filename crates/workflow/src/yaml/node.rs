//! A part of a YAML file.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

use super::lines::LineIndex;
use crate::expression::{ExprValue, number_text};

#[derive(Debug, Clone)]
pub(crate) struct YamlNode {
    pub kind: YamlKind,
    /// The byte at which it stands; for what came by an alias, the byte at which it was written.
    pub at: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum YamlKind {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<YamlNode>),
    /// Keys that are written twice are in it twice.
    Map(Vec<(YamlNode, YamlNode)>),
}

impl YamlNode {
    /// Adds all texts in it but the keys of maps.
    pub(crate) fn add_texts<'n>(&'n self, texts: &mut Vec<&'n str>) {
        match &self.kind {
            YamlKind::Text(text) => texts.push(text),
            YamlKind::List(items) => items.iter().for_each(|item| item.add_texts(texts)),
            YamlKind::Map(entries) => entries.iter().for_each(|(_, value)| value.add_texts(texts)),
            YamlKind::Null | YamlKind::Bool(_) | YamlKind::Number(_) => {}
        }
    }

    /// What a scalar is as a text, as GitHub writes numbers and truth.
    pub(crate) fn scalar_text(&self) -> Option<String> {
        match &self.kind {
            YamlKind::Null => Some(String::new()),
            YamlKind::Bool(value) => Some(value.to_string()),
            YamlKind::Number(value) => Some(number_text(*value)),
            YamlKind::Text(text) => Some(text.clone()),
            YamlKind::List(_) | YamlKind::Map(_) => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.kind, YamlKind::Null)
    }

    /// As a value of an expression, with texts as they are written.
    pub(crate) fn value(&self) -> ExprValue {
        match &self.kind {
            YamlKind::Null => ExprValue::Null,
            YamlKind::Bool(value) => ExprValue::Bool(*value),
            YamlKind::Number(value) => ExprValue::Number(*value),
            YamlKind::Text(text) => ExprValue::text(text.as_str()),
            YamlKind::List(items) => ExprValue::list(items.iter().map(Self::value)),
            YamlKind::Map(entries) => {
                let entries = entries.iter();
                ExprValue::object(
                    entries
                        .map(|(key, value)| (key.scalar_text().unwrap_or_default(), value.value())),
                )
            }
        }
    }

    /// In words, for messages.
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            YamlKind::Null => "nothing",
            YamlKind::Bool(_) => "true or false",
            YamlKind::Number(_) => "a number",
            YamlKind::Text(_) => "a text",
            YamlKind::List(_) => "a list",
            YamlKind::Map(_) => "a mapping",
        }
    }
}

/// A part as the parser gives it, with its line and column.
pub(super) struct WrittenNode {
    kind: WrittenKind,
    place: Location,
}

enum WrittenKind {
    Scalar(YamlKind),
    List(Vec<WrittenNode>),
    Map(Vec<(WrittenNode, WrittenNode)>),
}

impl WrittenNode {
    pub(super) fn into_node(self, lines: &LineIndex) -> YamlNode {
        let kind = match self.kind {
            WrittenKind::Scalar(kind) => kind,
            WrittenKind::List(items) => YamlKind::List(
                items
                    .into_iter()
                    .map(|item| item.into_node(lines))
                    .collect(),
            ),
            WrittenKind::Map(entries) => {
                let entries = entries.into_iter();
                let nodes =
                    entries.map(|(key, value)| (key.into_node(lines), value.into_node(lines)));
                YamlKind::Map(nodes.collect())
            }
        };
        YamlNode {
            kind,
            at: lines.byte_of(&self.place),
        }
    }
}

impl<'de> Deserialize<'de> for WrittenNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<WrittenKind>::deserialize(deserializer)?;
        Ok(Self {
            kind: spanned.value,
            place: spanned.defined,
        })
    }
}

impl<'de> Deserialize<'de> for WrittenKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = WrittenKind;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("YAML")
    }

    fn visit_unit<E>(self) -> Result<WrittenKind, E> {
        Ok(WrittenKind::Scalar(YamlKind::Null))
    }

    fn visit_none<E>(self) -> Result<WrittenKind, E> {
        Ok(WrittenKind::Scalar(YamlKind::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<WrittenKind, E> {
        Ok(WrittenKind::Scalar(YamlKind::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<WrittenKind, E> {
        Ok(WrittenKind::Scalar(YamlKind::Number(value as f64)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<WrittenKind, E> {
        Ok(WrittenKind::Scalar(YamlKind::Number(value as f64)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<WrittenKind, E> {
        Ok(WrittenKind::Scalar(YamlKind::Number(value)))
    }

    fn visit_str<E>(self, text: &str) -> Result<WrittenKind, E> {
        Ok(WrittenKind::Scalar(YamlKind::Text(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<WrittenKind, E> {
        Ok(WrittenKind::Scalar(YamlKind::Text(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<WrittenKind, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(WrittenKind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<WrittenKind, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(WrittenKind::Map(map))
    }
}
