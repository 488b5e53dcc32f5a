//! `warm`: what a new workspace starts from.

use super::value::{TextValue, text_value};

/// Whether a new workspace takes over what a sibling has built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WarmStart {
    /// From the sibling whose files differ least.
    #[default]
    Nearest,
    /// Always a plain checkout.
    Off,
}

impl TextValue for WarmStart {
    const EXPECTED: &'static str = r#""nearest" or "off""#;

    fn from_text(text: &str) -> Result<Self, String> {
        match text {
            "nearest" => Ok(Self::Nearest),
            "off" => Ok(Self::Off),
            _ => Err("there is no such way to start".to_owned()),
        }
    }
}
text_value!(WarmStart);
