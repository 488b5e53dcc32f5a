//! What an expression evaluates to.

use std::fmt;
use std::sync::Arc;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value of an expression. Lists and objects are shared: GitHub compares them by identity, and a clone keeps it.
#[derive(Debug, Clone, Default)]
pub enum ExprValue {
    #[default]
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Arc<Vec<ExprValue>>),
    Object(Arc<ExprObject>),
}

/// Names with their values, in the order in which they were written. A name is found whatever its case.
#[derive(Debug, Clone, Default)]
pub struct ExprObject {
    entries: Vec<(String, ExprValue)>,
}

impl ExprObject {
    /// Keeps the first of two entries whose names differ only in case, as GitHub does.
    pub fn insert(&mut self, name: impl Into<String>, value: ExprValue) {
        let name = name.into();
        if self.position(&name).is_none() {
            self.entries.push((name, value));
        }
    }

    /// Takes the place of an entry that is there already.
    pub fn replace(&mut self, name: impl Into<String>, value: ExprValue) {
        let name = name.into();
        match self.position(&name) {
            Some(at) => self.entries[at].1 = value,
            None => self.entries.push((name, value)),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(at) = self.position(name) {
            self.entries.remove(at);
        }
    }

    pub fn get(&self, name: &str) -> Option<&ExprValue> {
        self.position(name).map(|at| &self.entries[at].1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &ExprValue)> {
        let entries = self.entries.iter();
        entries.map(|(name, value)| (name.as_str(), value))
    }

    fn position(&self, name: &str) -> Option<usize> {
        let exact = self.entries.iter().position(|(other, _)| other == name);
        exact.or_else(|| {
            let wanted = name.to_lowercase();
            let mut entries = self.entries.iter();
            entries.position(|(other, _)| {
                other.eq_ignore_ascii_case(name)
                    || (!other.is_ascii() && other.to_lowercase() == wanted)
            })
        })
    }
}

impl<N: Into<String>> FromIterator<(N, ExprValue)> for ExprObject {
    fn from_iter<I: IntoIterator<Item = (N, ExprValue)>>(entries: I) -> Self {
        let mut object = Self::default();
        for (name, value) in entries {
            object.insert(name, value);
        }
        object
    }
}

impl ExprValue {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(Arc::new(items.into_iter().collect()))
    }

    pub fn object<N: Into<String>>(entries: impl IntoIterator<Item = (N, Self)>) -> Self {
        Self::Object(Arc::new(entries.into_iter().collect()))
    }

    pub(crate) fn is_primitive(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Object(_))
    }

    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(value) => *value != 0.0 && !value.is_nan(),
            Self::Text(text) => !text.is_empty(),
            Self::List(_) | Self::Object(_) => true,
        }
    }

    /// The entry of an object, or null.
    pub(crate) fn property(&self, name: &str) -> Self {
        match self {
            Self::Object(object) => object.get(name).cloned().unwrap_or_default(),
            _ => Self::Null,
        }
    }
}

/// Whether two values are the same data, which is not how `==` of an expression compares them.
impl PartialEq for ExprValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a.entries == b.entries,
            _ => false,
        }
    }
}

impl Serialize for ExprValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items.iter() {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.entries.len()))?;
                for (name, value) in object.iter() {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for ExprValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = ExprValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of an expression")
    }

    fn visit_unit<E>(self) -> Result<ExprValue, E> {
        Ok(ExprValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<ExprValue, E> {
        Ok(ExprValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<ExprValue, E> {
        Ok(ExprValue::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<ExprValue, E> {
        Ok(ExprValue::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<ExprValue, E> {
        Ok(ExprValue::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<ExprValue, E> {
        Ok(ExprValue::text(text))
    }

    fn visit_string<E>(self, text: String) -> Result<ExprValue, E> {
        Ok(ExprValue::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ExprValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(ExprValue::list(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<ExprValue, A::Error> {
        // Of two entries with the very same name JSON keeps the last value, at the place of the first.
        let mut exact: Vec<(String, ExprValue)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        while let Some((name, value)) = entries.next_entry::<String, ExprValue>()? {
            match places.get(&name) {
                Some(at) => exact[*at] = (name, value),
                None => {
                    places.insert(name.clone(), exact.len());
                    exact.push((name, value));
                }
            }
        }
        // Whether names differ only in case is asked once for all: an object may have thousands.
        let mut seen = std::collections::HashSet::new();
        exact.retain(|(name, _)| seen.insert(name.to_lowercase()));
        Ok(ExprValue::Object(Arc::new(ExprObject { entries: exact })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> ExprValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn names_are_found_whatever_their_case_and_the_first_stays() {
        let value = json(r#"{"Key": 1, "KEY": 2, "other": 3, "other": 4}"#);
        assert_eq!(value.property("kEy"), ExprValue::Number(1.0));
        assert_eq!(value.property("other"), ExprValue::Number(4.0));
        assert_eq!(value.property("none"), ExprValue::Null);
    }

    #[test]
    fn order_and_types_survive_json() {
        let text = r#"{"z":1.5,"a":[null,true,"x"],"m":{"b":{},"a":[]}}"#;
        assert_eq!(serde_json::to_string(&json(text)).unwrap(), text);
    }

    #[test]
    fn truth_is_as_in_the_reference() {
        for text in ["null", "false", "0", "-0.0", "\"\""] {
            assert!(!json(text).is_truthy(), "{text}");
        }
        for text in ["true", "1", "\"0\"", "\"false\"", "[]", "{}"] {
            assert!(json(text).is_truthy(), "{text}");
        }
        assert!(!ExprValue::Number(f64::NAN).is_truthy());
    }
}
