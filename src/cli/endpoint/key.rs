//! The file that holds the key.

use std::fs;
use std::io;
use std::path::Path;

use reqwest::header::HeaderValue;

use crate::cli::exit::Failure;

const MAX_KEY_FILE: u64 = 64 * 1024;

/// A key file holds the bare key or the whole header line.
pub(super) fn read_key(path: &Path) -> Result<HeaderValue, Failure> {
    let shown = path.display();
    let bad = |what: &str| {
        Failure::usage(format!("the key file {shown} {what}"))
            .help("it holds one line: the key, or `Authorization: Bearer KEY`")
    };
    let read = || -> io::Result<String> {
        if fs::metadata(path)?.len() > MAX_KEY_FILE {
            return Err(io::Error::other("it is too large"));
        }
        fs::read_to_string(path)
    };
    let text = read().map_err(|error| bad(&format!("cannot be read: {error}")))?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return Err(bad("does not hold exactly one line"));
    };
    let credentials = match line.split_once(':') {
        Some((name, rest)) if name.eq_ignore_ascii_case("authorization") => rest,
        _ => line,
    };
    let words: Vec<&str> = credentials.split_whitespace().collect();
    let key = match words[..] {
        [scheme, key] if scheme.eq_ignore_ascii_case("bearer") => key,
        [key] if !key.eq_ignore_ascii_case("bearer") => key,
        _ => return Err(bad("does not hold a key")),
    };
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
        .map_err(|_| bad("holds characters that a key cannot have"))?;
    value.set_sensitive(true);
    Ok(value)
}
