//! `log`: what is logged.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::value::{TextValue, text_value};

/// A filter that `tracing` understands: a level, or `target=level` pairs, separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for LogFilter {
    fn default() -> Self {
        Self("info".to_owned())
    }
}

impl TextValue for LogFilter {
    const EXPECTED: &'static str = r#"a level (error, warn, info, debug, trace, off) or a filter such as "info,branchyard=debug""#;

    fn from_text(text: &str) -> Result<Self, String> {
        // A lone word is a target for `tracing`, so that a misspelt level would log everything of
        // a target that does not exist, and nothing else.
        for word in text.split(',').map(str::trim) {
            let lone = word.bytes().all(|b| b.is_ascii_alphanumeric());
            if word.is_empty() || (lone && word.parse::<LevelFilter>().is_err()) {
                return Err(format!("{word:?} is not a level"));
            }
        }
        // It panics on others.
        if !text.is_ascii() {
            return Err("it holds a character that is not ASCII".to_owned());
        }
        EnvFilter::try_new(text)
            .map(|_| Self(text.to_owned()))
            .map_err(|error| error.to_string())
    }
}
text_value!(LogFilter);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_checked_and_misspelt_levels_found() {
        for filter in [
            "info",
            "WARN",
            "info,branchyard=debug",
            "branchyard::git=trace",
            "off",
        ] {
            assert!(LogFilter::from_text(filter).is_ok(), "{filter} was refused");
        }
        for filter in [
            "",
            "inof",
            "info,",
            "branchyard=loud",
            "verbose,hyper=info",
            "\u{2028}[]",
        ] {
            assert!(
                LogFilter::from_text(filter).is_err(),
                "{filter} was accepted"
            );
        }
    }
}
