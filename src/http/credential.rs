//! What a request shows of its sender: a bearer token, or the cookie of a session.

use axum::http::{HeaderMap, header};

use branchyard_auth::unauthorized;
use branchyard_model::Problem;

/// What a request shows, and how.
pub(super) enum Credential<'a> {
    Bearer(&'a str),
    /// The session of somebody who logged in to the page.
    Cookie(&'a str),
}

impl<'a> Credential<'a> {
    pub(super) fn text(&self) -> &'a str {
        match self {
            Self::Bearer(text) | Self::Cookie(text) => text,
        }
    }
}

/// The credential, if the request has one.
pub(super) fn credential(headers: &HeaderMap) -> Result<Option<Credential<'_>>, Problem> {
    let bearer = bearer(headers)?.map(Credential::Bearer);
    Ok(bearer.or_else(|| of_cookie(headers).map(Credential::Cookie)))
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    value
        .to_str()
        .ok()
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| Some(token.trim()))
        .ok_or_else(|| unauthorized("the Authorization header is not of the form `Bearer KEY`"))
}

/// The session that a browser shows.
fn of_cookie(headers: &HeaderMap) -> Option<&str> {
    let name = cookie_name(headers);
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}

/// Browsers keep cookies by host, whatever the port: daemons on one machine have each their own.
pub(super) fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    let (_, port) = host.split_at(without_port(host).len());
    format!("branchyard{}", port.replace(':', "-"))
}

/// `host`, `host:port`, `[v6]`, `[v6]:port`.
pub(super) fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|b| b.is_ascii_digit())
                && !name.ends_with(':')
                && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(host: &'static str, cookie: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static(host));
        headers.append(header::COOKIE, HeaderValue::from_static(cookie));
        headers
    }

    #[test]
    fn each_daemon_reads_its_own_cookie() {
        let both = "a=1; branchyard-1=one;branchyard-2=two; branchyard=none";
        for (host, expected) in [
            ("localhost:1", Some("one")),
            ("127.0.0.1:2", Some("two")),
            ("[::1]:2", Some("two")),
            ("yard.example", Some("none")),
            ("localhost:3", None),
        ] {
            assert_eq!(of_cookie(&headers(host, both)), expected, "{host}");
        }
    }
}
