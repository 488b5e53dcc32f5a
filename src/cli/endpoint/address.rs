//! Addresses as people write them: a URL, or the path of a socket.

use std::path::PathBuf;

use crate::cli::exit::Failure;

/// How a Unix socket is written where a URL is expected.
pub(super) const SOCKET: &str = "unix:";

pub(super) fn checked_socket(path: &str, source: &str) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
    if path.is_absolute() {
        return Ok(path);
    }
    let what = format!("the address in {source} is not the absolute path of a socket");
    Err(Failure::usage(what).help("write it like unix:/run/branchyard.sock"))
}

pub(super) fn checked_url(text: &str, source: &str) -> Result<String, Failure> {
    // The address itself is not repeated: somebody may have put a password in it.
    let bad = |what: &str| {
        Failure::usage(format!("the address in {source} {what}"))
            .help("write it like http://127.0.0.1:3344, https://yard.example.org or unix:/path")
    };
    let url = url::Url::parse(text).map_err(|error| bad(&format!("is no URL: {error}")))?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err(bad("is not an http:// or https:// URL"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad(
            "holds a user or a password; the key goes into a key file",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("has a query or a fragment"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}
