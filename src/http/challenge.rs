//! `WWW-Authenticate`: what a refused caller would have to show, and where it is had (RFC 6750, RFC 9728).

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use branchyard_config::{Config, SecureUrl};
use branchyard_model::{ErrorKind, Problem, Scope};

pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// What a response leaves behind for [`challenged`] to put into words.
#[derive(Debug, Clone)]
pub(super) enum Challenge {
    /// Nobody that is known asked.
    Credential { detail: String },
    /// Somebody asked who may not.
    Scope(Scope),
}

impl Challenge {
    pub(super) fn of(problem: &Problem) -> Option<Self> {
        match problem.kind {
            ErrorKind::Unauthorized => Some(Self::Credential {
                detail: problem.detail.clone(),
            }),
            ErrorKind::Forbidden => problem.missing.map(Self::Scope),
            _ => None,
        }
    }

    fn words(&self, config: &Config, was_shown: bool) -> String {
        let mut words = vec![r#"Bearer realm="branchyard""#.to_owned()];
        if let Some(oauth) = &config.auth.oauth {
            let url = metadata_url(&oauth.audience);
            words.push(format!(r#"resource_metadata="{url}""#));
        }
        match self {
            // Who showed nothing has made no mistake that could be named.
            Self::Credential { .. } if !was_shown => {}
            Self::Credential { detail } => {
                let detail = quotable(detail);
                words.push(r#"error="invalid_token""#.to_owned());
                words.push(format!(r#"error_description="{detail}""#));
            }
            Self::Scope(right) => {
                words.push(r#"error="insufficient_scope""#.to_owned());
                words.push(format!(r#"scope="{}""#, right.as_str()));
            }
        }
        words.join(", ")
    }
}

/// Gives every refusal for want of a credential or a right its challenge.
pub(super) async fn challenged(State(app): State<App>, request: Request, next: Next) -> Response {
    let was_shown = shows_bearer(request.headers());
    let mut response = next.run(request).await;
    if let Some(challenge) = response.extensions_mut().remove::<Challenge>() {
        let words = challenge.words(app.config(), was_shown);
        if let Ok(words) = HeaderValue::from_str(&words) {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, words);
        }
    }
    response
}

fn shows_bearer(headers: &HeaderMap) -> bool {
    let shown = headers.get(header::AUTHORIZATION);
    let shown = shown.map(|value| value.as_bytes());
    shown.is_some_and(|shown| {
        shown
            .get(..7)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"bearer "))
    })
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
