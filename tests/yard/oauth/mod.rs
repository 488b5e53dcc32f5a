//! Callers with tokens that others make: JWTs by a key file, and those of an OAuth issuer.

mod believed;
mod files;
mod forged;
mod issuer;
mod pairs;
mod rotation;
mod wire;

use branchyard_auth::{Jwts, Principal, Verifier};
use branchyard_config::AuthConfig;
use branchyard_model::Problem;
use serde_json::{Value, json};

use crate::support::{Options, Yard};
use issuer::TestIssuer;

/// By which clients would know the daemon; it is nowhere, and nobody asks there.
pub const AUDIENCE: &str = "https://yard.example.org/mcp";

/// What counts for ten minutes, with these changes; `null` takes a claim away.
pub fn claims(issuer: &str, changes: Value) -> Value {
    let now = jiff::Timestamp::now().as_second();
    let mut claims = json!({
        "iss": issuer, "aud": AUDIENCE, "sub": "alice", "exp": now + 600, "scope": "repo:read",
    });
    let all = claims.as_object_mut().unwrap();
    let Value::Object(changes) = changes else {
        panic!("{changes} is no set of claims");
    };
    all.extend(changes);
    all.retain(|_, value| !value.is_null());
    claims
}

/// A daemon that takes the tokens of an issuer, and has no repo.
pub async fn yard_of(issuer: &TestIssuer, more: &str) -> Yard {
    let options = Options {
        tables: tables_of(issuer, more),
        bare: true,
        ..Options::default()
    };
    Yard::with(options).await
}

pub fn tables_of(issuer: &TestIssuer, more: &str) -> String {
    let issuer = &issuer.url;
    format!("[auth.oauth]\nissuer = {issuer:?}\naudience = {AUDIENCE:?}\n{more}\n")
}

/// What `/api/repos` answers to the holder of a token: the status, and why.
pub async fn shown(yard: &Yard, token: &str) -> (u16, String) {
    let request = yard.client.get(format!("{}/api/repos", yard.url));
    let response = request.bearer_auth(token).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.text().await.unwrap())
}

/// Verifiers of an `[auth]`, without a daemon around them.
pub fn open(auth: &str) -> Result<Jwts, String> {
    let config: AuthConfig = toml::from_str(auth).unwrap();
    Jwts::open(&config).map(|jwts| jwts.expect("an issuer is configured"))
}

pub async fn who(jwts: &Jwts, token: &str) -> Result<Principal, Problem> {
    let who = jwts.verify(token).await?;
    Ok(who.expect("it is taken for a JWT"))
}
