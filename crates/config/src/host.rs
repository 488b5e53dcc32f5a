//! Hosts: parsed once, so that the many spellings of one address are one value.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ::url::Host;

use super::value::{TextValue, text_value};

/// A host name or address without scheme or port. `127.1`, `0x7f000001` and `127.0.0.1` are equal,
/// as they are for the resolver; names are lower-case, without the dot at the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostName(Host<String>);

/// Names of this machine that need no resolver, besides `*.localhost`.
const OWN_NAMES: [&str; 5] = [
    "localhost",
    "localhost.localdomain",
    "localhost6.localdomain6",
    "ip6-localhost",
    "ip6-loopback",
];

impl HostName {
    /// The host, or the rule that the text breaks. ASCII only: programs differ in what they make
    /// of the rest, and what is checked here must be what they connect to.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("the host is empty");
        }
        if text.starts_with('-') {
            return Err("the host starts with '-'");
        }
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Ok(Self(Host::Ipv6(address)));
        }
        let bracketed = text.starts_with('[');
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        if !bracketed && !text.bytes().all(plain) {
            return Err("the host holds a character that is not a letter, digit, '.', '_' or '-'");
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        // What is left of `localhost..` would be another name than `localhost`, and the same host.
        if !bracketed && text.split('.').any(str::is_empty) {
            return Err("the host has nothing between two of its dots");
        }
        match Host::parse(text) {
            Ok(host) => Ok(Self(host)),
            Err(_) if bracketed => Err("the host is not an IPv6 address"),
            Err(_) => Err("the host is not a valid name or address"),
        }
    }

    /// Whether this is an address, or a name by itself, of this machine or its neighbourhood:
    /// loopback, link-local, private, unspecified, multicast or otherwise not on the internet.
    pub fn is_internal(&self) -> bool {
        match &self.0 {
            Host::Domain(name) => {
                OWN_NAMES.contains(&name.as_str()) || name.ends_with(".localhost")
            }
            Host::Ipv4(address) => is_internal_v4(*address),
            Host::Ipv6(address) => is_internal_v6(*address),
        }
    }

    /// The address, where the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        match &self.0 {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(IpAddr::V4(*address)),
            Host::Ipv6(address) => Some(IpAddr::V6(*address)),
        }
    }
}

impl From<IpAddr> for HostName {
    fn from(address: IpAddr) -> Self {
        Self(match address {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        })
    }
}

fn is_internal_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    a == 0
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b & 0xfe) == 18)
}

fn is_internal_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // An IPv4 address in one of the wrappings that a kernel or a gateway takes off again.
    let embedded = match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some((high, low))
        }
        [0x2002, high, low, ..] => Some((high, low)),
        _ => None,
    };
    if let Some((high, low)) = embedded {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        return is_internal_v4(Ipv4Addr::new(a, b, c, d));
    }
    address.is_multicast()
        || (segments[0] & 0xfe00) == 0xfc00 // unique local
        || (segments[0] & 0xff80) == 0xfe80 // link-local, and the old site-local
        || (segments[0] == 0x64 && segments[1] == 0xff9b) // translation within a network
        || segments[0] == 0 // nothing here is routed; ::1 and :: end in a v4 address above
}

impl TextValue for HostName {
    const EXPECTED: &'static str =
        r#"a host without scheme or port, such as "git.example.org" or "10.0.0.5""#;

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(str::to_owned)
    }
}
text_value!(HostName);

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_inner_address_is_known() {
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.b.localhost",
            "ip6-localhost",
            "127.0.0.1",
            "127.1",
            "127.0.0.1.",
            "0x7f000001",
            "0X7F.1",
            "0177.0.0.1",
            "017700000001",
            "2130706433",
            "0",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0xa9fea9fe",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "[::1]",
            "::1",
            "[::]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::127.0.0.1]",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::127.0.0.1]",
            "[2002:7f00:1::]",
            "[fe80::1]",
            "[fec0::1]",
            "[fd00::1]",
            "[ff02::1]",
        ] {
            let parsed = HostName::parse(host).unwrap_or_else(|rule| panic!("{host}: {rule}"));
            assert!(parsed.is_internal(), "{host} passed for a public host");
        }
    }

    #[test]
    fn public_hosts_are_not_taken_for_inner_ones() {
        for host in [
            "github.com",
            "localhost.example.org",
            "mylocalhost",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "[2606:4700::1111]",
            "[::ffff:8.8.8.8]",
            "my_host.example",
            "xn--bcher-kva.example",
        ] {
            assert!(!HostName::parse(host).unwrap().is_internal(), "{host}");
        }
    }

    #[test]
    fn what_programs_read_differently_is_no_host() {
        for host in [
            "",
            "-x",
            "a b",
            "a%41",
            "a@b",
            "a:1",
            "a/b",
            "bücher.example",
            "127。0。0。1",
            "1.2.3.4.5",
            "256.1.1.1",
            "[::1",
            "[fe80::1%eth0]",
            "[x]",
            ".",
            "a\\b",
            "a\0",
        ] {
            assert!(HostName::parse(host).is_err(), "{host:?} was accepted");
        }
    }

    #[test]
    fn one_host_is_one_value() {
        let host = |text| HostName::parse(text).unwrap();
        assert_eq!(host("127.1"), host("0x7f000001"));
        assert_eq!(host("Git.Example.org."), host("git.example.org"));
        assert_eq!(host("::1").to_string(), "[::1]");
    }
}
