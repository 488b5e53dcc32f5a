//! An OAuth issuer: where its keys are, and what they are now.

use std::time::Duration;

use ::url::Url;
use jsonwebtoken::Algorithm;
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, CACHE_CONTROL, HeaderMap};
use reqwest::{Certificate, Client, redirect};
use serde::Deserialize;

use super::keys::Keys;
use branchyard_config::{OauthConfig, SecureUrl};

/// For one question, from its beginning to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Of one answer.
const MAX_BYTES: usize = 256 * 1024;
/// For how long keys are taken to be what they were, where the issuer says nothing, or too little or too
/// much.
const FRESH: Duration = Duration::from_secs(15 * 60);
const SHORTEST_FRESH: Duration = Duration::from_secs(5 * 60);
const LONGEST_FRESH: Duration = Duration::from_secs(60 * 60);

#[derive(Debug)]
pub(super) struct Issuer {
    client: Client,
    name: SecureUrl,
    algorithms: Vec<Algorithm>,
    /// As the operator says.
    jwks_uri: Option<SecureUrl>,
    /// As the issuer says; forgotten when it does not answer there.
    found: Mutex<Option<SecureUrl>>,
}

#[derive(Debug)]
pub(super) struct Published {
    pub(super) keys: Keys,
    pub(super) fresh_for: Duration,
}

/// What counts of the metadata (RFC 8414, OpenID Connect Discovery).
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

impl Issuer {
    pub(super) fn new(config: &OauthConfig) -> Result<Self, String> {
        let mut client = Client::builder()
            .no_proxy()
            .timeout(PATIENCE)
            // Whoever can have the daemon sent elsewhere could name keys of their own.
            .redirect(redirect::Policy::none());
        if let Some(path) = &config.ca_file {
            let shown = path.display();
            let pem = std::fs::read(path)
                .map_err(|error| format!("ca_file: failed to read {shown}: {error}"))?;
            let certificates = Certificate::from_pem_bundle(&pem)
                .map_err(|error| format!("ca_file: {shown}: {error}"))?;
            if certificates.is_empty() {
                return Err(format!("ca_file: there is no certificate in {shown}"));
            }
            client = client.tls_certs_only(certificates);
        }
        Ok(Self {
            client: client.build().map_err(|error| why(&error))?,
            name: config.issuer.clone(),
            algorithms: config.algorithms.clone(),
            jwks_uri: config.jwks_uri.clone(),
            found: Mutex::new(None),
        })
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The keys as they are now, or why they cannot be had.
    pub(super) async fn keys(&self) -> Result<Published, String> {
        let known = self.jwks_uri.clone().or_else(|| self.found.lock().clone());
        let uri = match known {
            Some(uri) => uri,
            None => self.discover().await?,
        };
        let published = self.published(&uri).await;
        *self.found.lock() = published.is_ok().then_some(uri);
        published
    }

    async fn published(&self, uri: &SecureUrl) -> Result<Published, String> {
        let (headers, body) = self.get(uri.url()).await?;
        let keys = Keys::of_set(&body, &self.algorithms);
        Ok(Published {
            keys: keys.map_err(|fault| format!("{}: {fault}", uri.as_str()))?,
            fresh_for: fresh_for(&headers),
        })
    }

    async fn discover(&self) -> Result<SecureUrl, String> {
        let mut failures = Vec::new();
        for url in metadata_urls(self.name.url()) {
            let read = |body: Vec<u8>| {
                let metadata = serde_json::from_slice::<Metadata>(&body);
                metadata.map_err(|error| format!("{url} holds no metadata: {error}"))
            };
            match self.get(&url).await.and_then(|(_, body)| read(body)) {
                Ok(metadata) => return self.believed(&metadata, &url),
                Err(failure) => failures.push(failure),
            }
        }
        Err(failures.join("; "))
    }

    /// What is said of another issuer does not count here, whoever says it.
    fn believed(&self, metadata: &Metadata, url: &Url) -> Result<SecureUrl, String> {
        if metadata.issuer != self.name() {
            let other = &metadata.issuer;
            return Err(format!("{url} is about another issuer, {other:?}"));
        }
        let uri = SecureUrl::parse(&metadata.jwks_uri)
            .map_err(|rule| format!("{url} names a jwks_uri that is refused: {rule}"))?;
        match self.name.url().scheme() == "https" && uri.url().scheme() != "https" {
            true => Err(format!("{url} names a jwks_uri without TLS")),
            false => Ok(uri),
        }
    }

    async fn get(&self, url: &Url) -> Result<(HeaderMap, Vec<u8>), String> {
        let failed = |error: reqwest::Error| format!("{url}: {}", why(&error));
        let request = self.client.get(url.clone());
        let request = request.header(ACCEPT, "application/json");
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status();
        if status.is_redirection() {
            return Err(format!(
                "{url} leads elsewhere ({status}), which is not followed"
            ));
        }
        if !status.is_success() {
            return Err(format!("{url} answers {status}"));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BYTES {
                return Err(format!("{url} answers with more than {MAX_BYTES} bytes"));
            }
        }
        Ok((response.headers().clone(), body))
    }
}

/// Where an issuer's metadata may be: the well-known part stands before its path, or in the older manner
/// behind it.
fn metadata_urls(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
        format!("{path}/.well-known/openid-configuration"),
    ];
    paths.dedup();
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    };
    paths.into_iter().map(at).collect()
}

fn fresh_for(headers: &HeaderMap) -> Duration {
    let control = headers
        .get(CACHE_CONTROL)
        .and_then(|value| value.to_str().ok());
    let max_age = control.and_then(|control| {
        let mut directives = control.split(',').map(str::trim);
        directives.find_map(|directive| directive.strip_prefix("max-age=")?.parse().ok())
    });
    let fresh_for = max_age.map_or(FRESH, Duration::from_secs);
    fresh_for.clamp(SHORTEST_FRESH, LONGEST_FRESH)
}

/// The innermost reason; the outer ones only say that there was one.
fn why(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_looked_for_where_they_may_be() {
        let urls = |issuer: &str| -> Vec<String> {
            let urls = metadata_urls(&Url::parse(issuer).unwrap());
            urls.iter().map(Url::to_string).collect()
        };
        assert_eq!(
            urls("https://i.example/"),
            [
                "https://i.example/.well-known/oauth-authorization-server",
                "https://i.example/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            urls("https://i.example:8443/team"),
            [
                "https://i.example:8443/.well-known/oauth-authorization-server/team",
                "https://i.example:8443/.well-known/openid-configuration/team",
                "https://i.example:8443/team/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn keys_are_fresh_for_minutes_whatever_an_issuer_says() {
        for (control, minutes) in [
            (None, 15),
            (Some("public, max-age=1200"), 20),
            (Some("max-age=0, must-revalidate"), 5),
            (Some("no-store"), 15),
            (Some("max-age=31536000"), 60),
            (Some("max-age=x"), 15),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(control) = control {
                headers.insert(CACHE_CONTROL, control.parse().unwrap());
            }
            let expected = Duration::from_secs(minutes * 60);
            assert_eq!(fresh_for(&headers), expected, "{control:?}");
        }
    }
}
