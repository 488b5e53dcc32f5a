//! `WWW-Authenticate`: what a refused caller would have to show, and where it is had (RFC 6750, RFC 9728).

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use branchyard_config::{Config, SecureUrl};
use branchyard_model::{ErrorKind, Problem};

pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Gives every refusal for want of a credential or a right its challenge.
pub(super) async fn challenged(State(app): State<App>, request: Request, next: Next) -> Response {
    let was_shown = shows_bearer(request.headers());
    let mut response = next.run(request).await;
    let problem = response.extensions().get::<Problem>();
    if let Some(words) = problem.and_then(|problem| words(problem, app.config(), was_shown))
        && let Ok(words) = HeaderValue::from_str(&words)
    {
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, words);
    }
    response
}

fn words(problem: &Problem, config: &Config, was_shown: bool) -> Option<String> {
    let error = match (problem.kind, problem.missing) {
        // Who showed nothing has made no mistake that could be named.
        (ErrorKind::Unauthorized, _) if !was_shown => String::new(),
        (ErrorKind::Unauthorized, _) => {
            let detail = quotable(&problem.detail);
            format!(r#", error="invalid_token", error_description="{detail}""#)
        }
        (ErrorKind::Forbidden, Some(right)) => {
            let right = right.as_str();
            format!(r#", error="insufficient_scope", scope="{right}""#)
        }
        _ => return None,
    };
    let metadata = config.auth.oauth.as_ref().map(|oauth| {
        let url = metadata_url(&oauth.audience);
        format!(r#", resource_metadata="{url}""#)
    });
    let metadata = metadata.unwrap_or_default();
    Some(format!(r#"Bearer realm="branchyard"{metadata}{error}"#))
}

fn shows_bearer(headers: &HeaderMap) -> bool {
    let shown = headers.get(header::AUTHORIZATION);
    let start = shown.and_then(|value| value.as_bytes().get(..7));
    start.is_some_and(|start| start.eq_ignore_ascii_case(b"bearer "))
}

/// What RFC 6750 lets stand between the quotes.
fn quotable(text: &str) -> String {
    let allowed = |c: char| match c {
        '"' | '\\' => '\'',
        ' '..='~' => c,
        _ => '?',
    };
    text.chars().map(allowed).collect()
}

/// Where the metadata of a resource are: its path comes behind the well-known part.
fn metadata_url(audience: &SecureUrl) -> String {
    let mut url = audience.url().clone();
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{WELL_KNOWN}{path}"));
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_resource_comes_behind_the_well_known_part() {
        for (audience, url) in [
            (
                "https://y.example",
                "https://y.example/.well-known/oauth-protected-resource",
            ),
            (
                "https://y.example/",
                "https://y.example/.well-known/oauth-protected-resource",
            ),
            (
                "https://y.example:8443/mcp",
                "https://y.example:8443/.well-known/oauth-protected-resource/mcp",
            ),
        ] {
            let audience = SecureUrl::parse(audience).unwrap();
            assert_eq!(metadata_url(&audience), url);
        }
    }
}
