//! `log`: what is logged.

use std::borrow::Cow;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::value::{Text, TextKind};

/// A filter that `tracing` understands: a level, or `target=level` pairs, separated by commas.
pub type LogFilter = Text<Filters>;

#[derive(Clone, PartialEq, Eq)]
pub enum Filters {}

impl TextKind for Filters {
    const EXPECTED: &'static str = r#"a level (error, warn, info, debug, trace, off) or a filter such as "info,branchyard=debug""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
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
            .map(|_| text.into())
            .map_err(|error| error.to_string())
    }
}
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
            assert!(LogFilter::parse(filter).is_ok(), "{filter} was refused");
        }
        for filter in [
            "",
            "inof",
            "info,",
            "branchyard=loud",
            "verbose,hyper=info",
            "\u{2028}[]",
        ] {
            assert!(LogFilter::parse(filter).is_err(), "{filter} was accepted");
        }
    }
}
