//! `allowed_origins`: pages that may call the daemon from a browser.

use std::borrow::Cow;

use super::value::{Text, TextKind};

/// A web origin in the one spelling that browsers send: `https://yard.example.org`.
pub type WebOrigin = Text<Origins>;

#[derive(Clone, PartialEq, Eq)]
pub enum Origins {}

impl TextKind for Origins {
    const EXPECTED: &'static str =
        r#"an origin such as "https://yard.example.org" or "http://localhost:8080""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        let url = ::url::Url::parse(text).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("its scheme is neither http nor https".to_owned());
        }
        let origin = url.origin().ascii_serialization();
        let spelt = text.strip_suffix('/').unwrap_or(text);
        if !spelt.eq_ignore_ascii_case(&origin) {
            return Err(format!(
                "an origin has a scheme, a host and a port only; it may be {origin:?}"
            ));
        }
        Ok(origin.into())
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_kept_as_browsers_spell_them() {
        for (text, origin) in [
            ("https://yard.example.org", "https://yard.example.org"),
            ("https://Yard.Example.org/", "https://yard.example.org"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://[::1]:1", "http://[::1]:1"),
        ] {
            assert_eq!(WebOrigin::parse(text).unwrap().as_str(), origin);
        }
        for text in [
            "*",
            "null",
            "yard.example.org",
            "https://yard.example.org/page",
            "https://user@yard.example.org",
            "https://yard.example.org:443",
            "file:///x",
            "https://yard.example.org?x",
        ] {
            assert!(WebOrigin::parse(text).is_err(), "{text} was accepted");
        }
    }
}
