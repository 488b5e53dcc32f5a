//! Webhooks as forges send them and as an attacker would, read through the public API. The payloads of `../samples` are
//! made up, in the shape that each forge documents.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails; clippy.toml allows it only inside #[test]"
)]

mod hostile;
mod samples;

use branchyard_forge::{Hook, Unreadable};

/// The webhook with these headers, by names in lower case.
fn read(headers: &[(&str, &str)], body: &[u8]) -> Result<Hook, Unreadable> {
    branchyard_forge::read(header_of(headers), body)
}

fn header_of<'h>(headers: &[(&str, &'h str)]) -> impl Fn(&str) -> Option<&'h str> {
    |name| {
        let mut found = headers.iter().filter(|(header, _)| *header == name);
        found.next().map(|(_, value)| *value)
    }
}
