//! The certificate that is shown to whoever connects. Its files are looked at for each connection, so that
//! a renewed one needs no restart; where the new ones are no good, the old stays.

use std::sync::Arc;

use anyhow::{Context, anyhow, ensure};
use parking_lot::Mutex;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use branchyard_config::{Config, Stamp, Tls as Files};

pub(super) struct Tls {
    files: Files,
    shown: Mutex<ShownCertificate>,
}

struct ShownCertificate {
    acceptor: TlsAcceptor,
    /// Of the files that were last tried, whether they were any good or not.
    tried: [Stamp; 2],
}

impl Tls {
    pub(super) fn open(files: Files) -> anyhow::Result<Self> {
        let tried = files.stamp();
        let acceptor = load(&files)?;
        let shown = Mutex::new(ShownCertificate { acceptor, tried });
        Ok(Self { files, shown })
    }

    /// For the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let mut shown = self.shown.lock();
        let stamp = self.files.stamp();
        if stamp != shown.tried {
            shown.tried = stamp;
            match load(&self.files) {
                Ok(acceptor) => {
                    tracing::info!("the certificate was renewed");
                    shown.acceptor = acceptor;
                }
                // One of the two may be written before the other; then this comes right by itself.
                Err(error) => tracing::error!("the certificate stays as it was: {error:#}"),
            }
        }
        shown.acceptor.clone()
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tls").field(&self.files).finish()
    }
}

/// Whether a daemon could show the certificate that it is configured with.
pub fn check_certificate(config: &Config) -> anyhow::Result<()> {
    config.tls.as_ref().map(load).transpose().map(drop)
}

fn load(files: &Files) -> anyhow::Result<TlsAcceptor> {
    let pem = files
        .read()
        .map_err(|(key, rule)| anyhow!("tls.{key}: {rule}"))?;
    let (cert_file, key_file) = (files.cert_file.display(), files.key_file.display());
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem.certificates.as_bytes())
        .collect::<Result<_, _>>()
        .with_context(|| format!("tls.cert_file: {cert_file} is not PEM"))?;
    ensure!(
        !certificates.is_empty(),
        "tls.cert_file: there is no certificate in {cert_file}"
    );
    // What a parser says of a key may be a part of it.
    let key = PrivateKeyDer::from_pem_slice(pem.key.as_bytes())
        .map_err(|_| anyhow!("tls.key_file: there is no private key in {key_file}"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .with_context(|| format!("tls: {key_file} is not the key of {cert_file}"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
