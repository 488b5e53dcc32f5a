//! `[tls]`: a certificate and its key, as files that are renewed while the daemon runs.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::HostName;
use super::fault::Fault;
use super::path::resolve;
use super::secret_file;

/// More than any chain of certificates has.
const MAX_BYTES: usize = 256 * 1024;

/// HTTPS in place of HTTP at `listen`. The files are read again when they change, so that a renewed certificate needs no
/// restart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [tls]")]
pub struct TlsConfig {
    /// The certificate and those that lead to its authority, PEM.
    #[schemars(extend("example" = "/etc/branchyard/cert.pem", "x-default" = "none, plain HTTP"))]
    pub cert_file: Option<PathBuf>,
    /// Its private key, PEM, mode 600.
    #[schemars(extend("example" = "/etc/branchyard/key.pem"))]
    pub key_file: Option<PathBuf>,
    /// The name by which the certificate knows this machine: where clients are told to go.
    #[schemars(extend("example" = "yard.example.org", "x-default" = "the address in `listen`"))]
    pub name: Option<HostName>,
}

/// Where certificate and key are, by absolute paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub cert_file: PathBuf,
    pub key_file: PathBuf,
    pub name: Option<HostName>,
}

/// What is in the two files. There is no `Debug`, since one of them is a secret.
pub struct Pem {
    pub certificates: String,
    pub key: String,
}

/// Which files they were: any that took their place since has another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp([Option<OfFile>; 2]);

/// Device, inode, seconds and nanoseconds of the last change, length.
type OfFile = (u64, u64, i64, i64, u64);

impl TlsConfig {
    /// Both files or neither, there and readable; `base` is what relative paths start from.
    pub(super) fn find(&self, base: &Path, home: Option<&Path>) -> Result<Option<Tls>, Fault> {
        let at = |key: &str, path: &Path| {
            resolve(path, base, home).map_err(|message| Fault::new(&["tls", key], message))
        };
        let (cert_file, key_file) = match (&self.cert_file, &self.key_file) {
            (Some(cert), Some(key)) => (at("cert_file", cert)?, at("key_file", key)?),
            (None, None) => match &self.name {
                None => return Ok(None),
                Some(_) => return Err(lacks("cert_file", "name")),
            },
            (Some(_), None) => return Err(lacks("key_file", "cert_file")),
            (None, Some(_)) => return Err(lacks("cert_file", "key_file")),
        };
        let name = self.name.clone();
        let tls = Tls {
            cert_file,
            key_file,
            name,
        };
        tls.read()
            .map_err(|(key, message)| Fault::new(&["tls", key], message))?;
        Ok(Some(tls))
    }
}

fn lacks(missing: &str, given: &str) -> Fault {
    let message =
        format!("{given} needs {missing} beside it: HTTPS takes a certificate and its key");
    Fault::new(&["tls", given], message)
}

impl Tls {
    /// What is in the files now, or the key that names the one at fault, and the rule that it breaks.
    pub fn read(&self) -> Result<Pem, (&'static str, String)> {
        let certificates = certificates(&self.cert_file).map_err(|rule| ("cert_file", rule))?;
        let key = secret_file::read(&self.key_file, MAX_BYTES, "a private key")
            .map_err(|rule| ("key_file", rule))?;
        Ok(Pem { certificates, key })
    }

    /// Take it before [`Tls::read`]: what changes meanwhile is then seen at the next look.
    pub fn stamp(&self) -> Stamp {
        Stamp([&self.cert_file, &self.key_file].map(|path| {
            let data = fs::metadata(path).ok()?;
            Some((
                data.dev(),
                data.ino(),
                data.mtime(),
                data.mtime_nsec(),
                data.len(),
            ))
        }))
    }
}

/// Everybody may know them, so the file may be open to all.
fn certificates(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error: io::Error| format!("failed to read {shown}: {error}");
    let data = fs::metadata(path).map_err(failed)?;
    if !data.is_file() || data.len() > MAX_BYTES as u64 {
        return Err(format!("{shown} is not a file with certificates"));
    }
    fs::read_to_string(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn find(text: &str, dir: &Path) -> Result<Option<Tls>, Fault> {
        let section: TlsConfig = toml::from_str(text).unwrap();
        section.find(dir, None)
    }

    #[test]
    fn certificate_and_key_come_together_and_the_key_is_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let (cert, key) = (dir.path().join("c"), dir.path().join("k"));
        let both = "cert_file = \"c\"\nkey_file = \"k\"";
        assert!(find("", dir.path()).ok().unwrap().is_none());
        for text in [
            both,
            "cert_file = \"c\"",
            "key_file = \"k\"",
            "name = \"n\"",
        ] {
            assert!(find(text, dir.path()).is_err(), "{text}");
        }
        fs::write(&cert, "certificates").unwrap();
        fs::write(&key, "key").unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
        assert!(find(both, dir.path()).is_err(), "an open key");
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        let tls = find(both, dir.path()).ok().unwrap().unwrap();
        assert_eq!(tls.cert_file, cert);
        assert_eq!(tls.read().ok().unwrap().certificates, "certificates");

        let before = tls.stamp();
        assert_eq!(tls.stamp(), before);
        fs::write(dir.path().join("new"), "certificates").unwrap();
        fs::rename(dir.path().join("new"), &cert).unwrap();
        assert_ne!(tls.stamp(), before, "the same text in another file");
    }
}
