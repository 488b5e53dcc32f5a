//! Where a connection comes from, as far as limits tell origins apart.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use branchyard_model::Problem;

/// The connection that a request came on, as far as the check of credentials has to do with it.
pub trait Connection: Send + Sync {
    /// Notes that a good credential was shown. Refused where callers with a credential have too many connections.
    fn authenticated(&self) -> Result<(), Problem>;
}

/// Whoever can use one of these can as easily use any address that counts as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// An address of version 4, or the /64 network of one of version 6.
    Network(IpAddr),
    /// This machine.
    Loopback,
    /// The Unix socket, which only the daemon's own user can open.
    Socket,
}

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        match address {
            _ if address.is_loopback() => Self::Loopback,
            IpAddr::V4(_) => Self::Network(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self::Network(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
        }
    }
}

impl Default for Peer {
    /// Nobody said: all of these are one.
    fn default() -> Self {
        Self::Network(Ipv4Addr::UNSPECIFIED.into())
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Network(IpAddr::V6(network)) => write!(f, "{network}/64"),
            Self::Loopback => f.write_str("loopback"),
            Self::Socket => f.write_str("socket"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_one_sender_has_many_of_are_one() {
        let peer = |text: &str| Peer::from(text.parse::<IpAddr>().unwrap());
        for (one, other) in [
            ("127.0.0.1", "127.9.9.9"),
            ("127.0.0.1", "::1"),
            ("127.0.0.1", "::ffff:127.0.0.1"),
            ("10.0.0.1", "::ffff:10.0.0.1"),
            ("2001:db8::1", "2001:db8::ffff:1"),
        ] {
            assert_eq!(peer(one), peer(other), "{one} {other}");
        }
        for (one, other) in [
            ("10.0.0.1", "10.0.0.2"),
            ("2001:db8::1", "2001:db8:0:1::1"),
            ("10.0.0.1", "127.0.0.1"),
        ] {
            assert_ne!(peer(one), peer(other), "{one} {other}");
        }
    }
}
