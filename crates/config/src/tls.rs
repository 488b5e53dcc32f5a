//! `[tls]`: a certificate and its key, as files that are renewed while the daemon runs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::place::Place;
use super::secret_file;
use super::{ConfigError, HostName};

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

/// Which file it was: any that took its place since has another one. Device, inode, seconds and nanoseconds of the last
/// change, length; none of a file that is not there.
pub type Stamp = Option<(u64, u64, i64, i64, u64)>;

pub fn stamp(file: &Path) -> Stamp {
    let data = fs::metadata(file).ok()?;
    Some((
        data.dev(),
        data.ino(),
        data.mtime(),
        data.mtime_nsec(),
        data.len(),
    ))
}

impl TlsConfig {
    /// Both files or neither, there and readable.
    pub(super) fn find(&self, place: &Place<'_>) -> Result<Option<Tls>, ConfigError> {
        let lacks = |missing: &str, given: &str| {
            let rule =
                format!("{given} needs {missing} beside it: HTTPS takes a certificate and its key");
            Err(place.error(&["tls", given], rule))
        };
        let (cert_file, key_file) = match (&self.cert_file, &self.key_file) {
            (Some(cert), Some(key)) => (
                place.path(&["tls", "cert_file"], cert)?,
                place.path(&["tls", "key_file"], key)?,
            ),
            (None, None) if self.name.is_none() => return Ok(None),
            (None, None) => return lacks("cert_file", "name"),
            (Some(_), None) => return lacks("key_file", "cert_file"),
            (None, Some(_)) => return lacks("cert_file", "key_file"),
        };
        let name = self.name.clone();
        let tls = Tls {
            cert_file,
            key_file,
            name,
        };
        let read = tls.read();
        read.map_err(|(key, rule)| place.error(&["tls", key], rule))?;
        Ok(Some(tls))
    }
}

impl Tls {
    /// What is in the files now, or the key that names the one at fault, and the rule that it breaks.
    pub fn read(&self) -> Result<Pem, (&'static str, String)> {
        // They are no secret, so the file may be open to all.
        let certificates = secret_file::read_public(&self.cert_file, MAX_BYTES)
            .map_err(|rule| ("cert_file", rule))?;
        let key = secret_file::read(&self.key_file, MAX_BYTES, "a private key")
            .map_err(|rule| ("key_file", rule))?;
        Ok(Pem { certificates, key })
    }

    /// Take it before [`Tls::read`]: what changes meanwhile is then seen at the next look.
    pub fn stamp(&self) -> [Stamp; 2] {
        [stamp(&self.cert_file), stamp(&self.key_file)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;
    use crate::document;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn find(text: &str, dir: &Path) -> Result<Option<Tls>, ConfigError> {
        let text = format!("[tls]\n{text}");
        let document = document::parse(&dir.join("yard.toml"), text).unwrap();
        document.values.tls.find(&Place {
            file: &document.file,
            env: &Environment::default(),
            home: None,
        })
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
