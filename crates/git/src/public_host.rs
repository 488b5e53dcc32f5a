//! Where the name of a remote leads. A caller who registers a repository names its host, and a name can lead
//! into this network, today or by the next answer of its DNS server. So it is looked up before each command that
//! talks to that remote, refused where an address of it is an inner one, and git over HTTP is kept to the
//! addresses that were checked.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::net::lookup_host;

use super::RemoteFailure;
use branchyard_config::{HostName, WebHost};

/// The host of a remote that must not be an inner one.
#[derive(Debug)]
pub struct PublicHost {
    name: HostName,
    /// Where git is told which addresses to use; ssh and git's own protocol have no such setting.
    web: Option<WebHost>,
    /// What the latest look-up gave.
    checked: Mutex<Vec<IpAddr>>,
}

/// Why a name must not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    pub failure: RemoteFailure,
    pub why: String,
}

impl PublicHost {
    pub fn new(name: HostName, web: Option<WebHost>) -> Self {
        Self {
            name,
            web,
            checked: Mutex::default(),
        }
    }

    /// Looks the name up, within this time, and remembers its addresses.
    pub async fn check(&self, within: Duration) -> Result<(), Unusable> {
        let name = self.name.to_string();
        let port = self.web.as_ref().map_or(0, WebHost::port);
        let found = tokio::time::timeout(within, lookup_host((name.as_str(), port))).await;
        let unresolved = |why: String| Unusable {
            failure: RemoteFailure::Dns,
            why,
        };
        let found = found
            .map_err(|_| unresolved(format!("the look-up of {name} takes too long")))?
            .map_err(|error| unresolved(format!("could not resolve host {name}: {error}")))?;
        self.judge(found.map(|address| address.ip()).collect())
    }

    fn judge(&self, addresses: Vec<IpAddr>) -> Result<(), Unusable> {
        let name = &self.name;
        let is_inner = |address: &&IpAddr| HostName::from(**address).is_internal();
        if let Some(inner) = addresses.iter().find(is_inner) {
            return Err(Unusable {
                failure: RemoteFailure::InnerAddress,
                why: format!(
                    "the host {name} leads to {inner}, a loopback, link-local, private or otherwise inner address"
                ),
            });
        }
        *self.checked.lock().unwrap_or_else(PoisonError::into_inner) = addresses;
        Ok(())
    }

    /// Configuration by which git uses the checked addresses and looks up no others.
    pub(super) fn pin(&self) -> Option<(&'static str, String)> {
        let web = self.web.as_ref()?;
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let addresses: Vec<String> = checked
            .iter()
            .map(|address| HostName::from(*address).to_string())
            .collect();
        let addresses = addresses.join(",");
        let pin = || format!("{}:{addresses}", web.address());
        (!addresses.is_empty()).then(|| ("http.curloptResolve", pin()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> PublicHost {
        let url = "https://git.example.org/a.git";
        let name = HostName::parse("git.example.org").unwrap();
        PublicHost::new(name, WebHost::of_url(url))
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn one_inner_address_among_others_is_enough() {
        for inner in [
            "127.0.0.1",
            "10.1.2.3",
            "169.254.169.254",
            "192.168.1.1",
            "0.0.0.0",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "ff02::1",
        ] {
            for all in [&[inner][..], &["93.184.216.34", inner], &[inner, "2600::1"]] {
                let host = host();
                let refused = host.judge(addresses(all)).unwrap_err();
                assert_eq!(refused.failure, RemoteFailure::InnerAddress);
                assert!(refused.why.contains("git.example.org"), "{refused:?}");
                assert_eq!(host.pin(), None, "{all:?}");
            }
        }
    }

    #[test]
    fn git_is_kept_to_what_was_checked() {
        let host = host();
        assert_eq!(host.pin(), None);
        host.judge(addresses(&["93.184.216.34", "2600::1"]))
            .unwrap();
        let pinned = "git.example.org:443:93.184.216.34,[2600::1]".to_owned();
        assert_eq!(host.pin(), Some(("http.curloptResolve", pinned.clone())));
        // A refusal leaves what was good.
        host.judge(addresses(&["10.0.0.1"])).unwrap_err();
        assert_eq!(host.pin(), Some(("http.curloptResolve", pinned)));
        let ssh = PublicHost::new(HostName::parse("git.example.org").unwrap(), None);
        ssh.judge(addresses(&["93.184.216.34"])).unwrap();
        assert_eq!(ssh.pin(), None);
    }
}
