//! Values that are written as text, in the file and in variables alike, refused in one wording.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

use super::redact;
use branchyard_model::BranchName;

/// A value that is written as text.
pub(super) trait TextValue: Sized {
    /// What a reader should write instead, completing "expected …".
    const EXPECTED: &'static str;

    /// Whether a refusal does not repeat the text, as where it may be a secret.
    const QUIET: bool = false;

    /// The value, or the rule that the text breaks. The rule must not quote a secret.
    fn from_text(text: &str) -> Result<Self, String>;
}

/// Text that follows the rule of its kind, such as [`super::EnvName`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<Kind>(String, PhantomData<Kind>);

pub trait TextKind {
    /// As in [`TextValue`].
    const EXPECTED: &'static str;
    const QUIET: bool = false;

    /// The text as it is kept, or the rule that it breaks.
    fn read(text: &str) -> Result<Cow<'_, str>, String>;
}

impl<Kind: TextKind> Text<Kind> {
    /// The text, or the rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        Kind::read(text).map(|text| Self(text.into_owned(), PhantomData))
    }
}

impl<Kind> Text<Kind> {
    /// Of text that is known to follow the rule.
    pub(super) fn known(text: &str) -> Self {
        Self(text.to_owned(), PhantomData)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<Kind: TextKind> TextValue for Text<Kind> {
    const EXPECTED: &'static str = Kind::EXPECTED;
    const QUIET: bool = Kind::QUIET;

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl<'de, Kind: TextKind> Deserialize<'de> for Text<Kind> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        self::text(from)
    }
}

impl<Kind> Serialize for Text<Kind> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<Kind: TextKind> JsonSchema for Text<Kind> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema::<Self>()
    }
}

impl<Kind> fmt::Display for Text<Kind> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<Kind> fmt::Debug for Text<Kind> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// The value, or a whole sentence that quotes the text, names the rule and says what was expected; for a quiet one the
/// rule alone.
pub(super) fn parse<T: TextValue>(text: &str) -> Result<T, String> {
    T::from_text(text).map_err(|rule| match T::QUIET {
        true => rule,
        false => {
            let text = redact::value(text);
            format!("invalid value {text:?}: {rule}; expected {}", T::EXPECTED)
        }
    })
}

/// For `#[serde(deserialize_with = "value::text")]`, and for the impls made by [`text_value!`].
pub(super) fn text<'de, D: Deserializer<'de>, T: TextValue>(from: D) -> Result<T, D::Error> {
    struct Text<T>(PhantomData<T>);
    impl<T: TextValue> Visitor<'_> for Text<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTED)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            parse(text).map_err(E::custom)
        }
    }
    from.deserialize_str(Text(PhantomData))
}

/// For lists of branches: a refusal is placed at its item, not at the list.
pub(super) fn branches<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<BranchName>, D::Error> {
    let names = Vec::<Text<BranchName>>::deserialize(from)?;
    let names = names.iter().map(|name| BranchName::parse(name.as_str()));
    names.collect::<Result<_, _>>().map_err(D::Error::custom)
}

impl TextKind for BranchName {
    const EXPECTED: &'static str = "a name, in quotes";
    // What is wrong with a name is said with the name.
    const QUIET: bool = true;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        let parsed = Self::parse(text).map_err(|problem| problem.detail);
        parsed.map(|_| text.into())
    }
}

/// How the schema of the file describes a [`TextValue`].
pub(super) fn schema<T: TextValue>() -> Schema {
    json_schema!({ "type": "string", EXPECTED: T::EXPECTED })
}

/// For `#[schemars(schema_with = "value::described::<T>")]`.
pub(super) fn described<T: TextValue>(_: &mut SchemaGenerator) -> Schema {
    schema::<T>()
}

/// What the schema of a value calls its [`TextValue::EXPECTED`].
pub(super) const EXPECTED: &str = "x-expected";

/// Gives a [`TextValue`] that can be displayed its way from and to a file.
macro_rules! text_value {
    ($type:ident) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::value::text(from)
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::value::schema::<Self>()
            }
        }
    };
}
pub(super) use text_value;

impl TextValue for SocketAddr {
    const EXPECTED: &'static str =
        r#"an IP address and a port, such as "127.0.0.1:3344" or "[::1]:3344""#;

    fn from_text(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| "it is not an address and port".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_quotes_the_value_and_says_what_was_expected() {
        assert_eq!(
            parse::<SocketAddr>("localhost:3344").unwrap_err(),
            "invalid value \"localhost:3344\": it is not an address and port; expected an IP \
             address and a port, such as \"127.0.0.1:3344\" or \"[::1]:3344\""
        );
    }
}
