//! `network` of a sandbox: where its commands may connect to.

use std::borrow::Cow;

use super::HostName;
use super::value::{Text, TextKind};

/// A host and a port, such as `index.crates.io:443`; `*.` before a name stands for all names below it.
pub type Destination = Text<Destinations>;

#[derive(Clone, PartialEq, Eq)]
pub enum Destinations {}

impl TextKind for Destinations {
    const EXPECTED: &'static str =
        r#"a host and a port, such as "index.crates.io:443" or "*.example.org:443""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        let (host, port) = text.rsplit_once(':').ok_or("the port is missing")?;
        match port.parse::<u16>() {
            Ok(port) if port > 0 => {}
            _ => return Err(format!("{port:?} is no port")),
        }
        let (below, name) = match host.strip_prefix("*.") {
            Some(name) => ("*.", name),
            None => ("", host),
        };
        let name = HostName::parse(name)?;
        Ok(format!("{below}{name}:{port}").into())
    }
}

impl Destination {
    /// Whether a connection to this host and port is one to here.
    pub fn covers(&self, host: &HostName, port: u16) -> bool {
        let Some((own, own_port)) = self.as_str().rsplit_once(':') else {
            return false;
        };
        if own_port.parse() != Ok(port) {
            return false;
        }
        let host = host.to_string();
        match own.strip_prefix('*') {
            Some(below) => host.len() > below.len() && host.ends_with(below),
            None => host == own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_one_host_or_those_below_it_at_one_port() {
        let covers = |own: &str, host: &str, port| {
            let own = Destination::parse(own).unwrap();
            own.covers(&HostName::parse(host).unwrap(), port)
        };
        assert!(covers("Index.Crates.io:443", "index.crates.IO.", 443));
        assert!(!covers("crates.io:443", "index.crates.io", 443));
        assert!(!covers("crates.io:443", "crates.io", 80));
        assert!(covers("*.crates.io:443", "a.b.crates.io", 443));
        assert!(!covers("*.crates.io:443", "crates.io", 443));
        assert!(!covers("*.crates.io:443", "evilcrates.io", 443));
        assert!(covers("127.0.0.1:80", "127.1", 80));
        assert!(covers("[::1]:80", "::1", 80));
        for wrong in [
            "crates.io",
            "crates.io:0",
            "crates.io:x",
            ":443",
            "*:443",
            "a b:1",
            "*.:1",
        ] {
            assert!(Destination::parse(wrong).is_err(), "{wrong}");
        }
    }
}
