//! `allowed_origins`: pages that may call the daemon from a browser.

use std::fmt;

use super::value::{TextValue, text_value};

/// A web origin in the one spelling that browsers send: `https://yard.example.org`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebOrigin(String);

impl WebOrigin {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextValue for WebOrigin {
    const EXPECTED: &'static str =
        r#"an origin such as "https://yard.example.org" or "http://localhost:8080""#;

    fn from_text(text: &str) -> Result<Self, String> {
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
        Ok(Self(origin))
    }
}
text_value!(WebOrigin);

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
            assert_eq!(WebOrigin::from_text(text).unwrap().as_str(), origin);
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
            assert!(WebOrigin::from_text(text).is_err(), "{text} was accepted");
        }
    }
}
