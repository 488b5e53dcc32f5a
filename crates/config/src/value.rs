//! Values that are written as text, in the file and in variables alike, refused in one wording.

use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::redact;
use branchyard_model::Problem;

/// A value that is written as text.
pub(super) trait TextValue: Sized {
    /// What a reader should write instead, completing "expected …".
    const EXPECTED: &'static str;

    /// The value, or the rule that the text breaks. The rule must not quote a secret.
    fn from_text(text: &str) -> Result<Self, String>;
}

/// The value, or a whole sentence that quotes the text, names the rule and says what was expected.
pub(super) fn parse<T: TextValue>(text: &str) -> Result<T, String> {
    T::from_text(text).map_err(|rule| {
        let text = redact::value(text);
        format!("invalid value {text:?}: {rule}; expected {}", T::EXPECTED)
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

/// For lists of names that are parsed by the model: a refusal is placed at its item, not at the list.
pub(super) fn names<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<String, Error = Problem>,
{
    struct Name<T>(T);
    impl<'de, T: TryFrom<String, Error = Problem>> Deserialize<'de> for Name<T> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            from.deserialize_str(Name(PhantomData::<T>))
        }
    }
    impl<T: TryFrom<String, Error = Problem>> Visitor<'_> for Name<PhantomData<T>> {
        type Value = Name<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a name, in quotes")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Name<T>, E> {
            T::try_from(text.to_owned()).map(Name).map_err(E::custom)
        }
    }
    let names = Vec::<Name<T>>::deserialize(from)?;
    Ok(names.into_iter().map(|Name(name)| name).collect())
}

/// Gives a [`TextValue`] its `Deserialize`.
macro_rules! text_value {
    ($type:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::value::text(from)
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
