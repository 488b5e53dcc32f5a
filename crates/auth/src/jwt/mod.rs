//! Callers who show a JWT: signed with a key that is kept here (`[auth.jwt]`), or by an OAuth issuer who
//! publishes its keys (`[auth.oauth]`). A token is looked at here and goes nowhere else.

mod claims;
mod file;
mod issuer;
mod jwks;
mod keys;
mod refusal;
mod rules;
mod token;

use std::sync::Arc;

use jiff::Timestamp;

use super::{Principal, Verifier};
use branchyard_config::AuthConfig;
use branchyard_model::Problem;
use file::KeyFile;
use issuer::Issuer;
use jwks::Jwks;
use keys::Keys;
use refusal::Refusal;
use rules::Rules;
use token::{Token, UNKNOWN_ALGORITHM};

/// Tokens of the configured issuers.
#[derive(Debug)]
pub struct Jwts {
    by_file: Option<(Rules, KeyFile)>,
    by_issuer: Option<(Rules, Arc<Jwks>)>,
}

impl Jwts {
    /// Those of the configuration, if it has any; or what in it cannot work.
    pub fn open(config: &AuthConfig) -> Result<Option<Self>, String> {
        let by_file = config.jwt.as_ref().map(|jwt| {
            let file = KeyFile::open(jwt).map_err(|fault| format!("auth.jwt.key_file: {fault}"))?;
            Ok::<_, String>((Rules::of_jwt(jwt, config), file))
        });
        let by_issuer = config.oauth.as_ref().map(|oauth| {
            let issuer = Issuer::new(oauth).map_err(|fault| format!("auth.oauth: {fault}"))?;
            let jwks = Arc::new(Jwks::new(issuer, oauth.refetch));
            Ok::<_, String>((Rules::of_oauth(oauth, config), jwks))
        });
        let jwts = Self {
            by_file: by_file.transpose()?,
            by_issuer: by_issuer.transpose()?,
        };
        let are_any = jwts.by_file.is_some() || jwts.by_issuer.is_some();
        Ok(are_any.then_some(jwts))
    }

    /// Asks the issuer for its keys, so that the first caller need not wait for them.
    pub fn prepare(&self) {
        if let Some((_, jwks)) = &self.by_issuer {
            tokio::spawn(jwks.clone().prepare());
        }
    }

    async fn who(&self, credential: &str) -> Result<Principal, Refusal> {
        let token = Token::read(credential)?;
        let (rules, keys) = self.meant(&token).await?;
        keys.prove(&token)?;
        rules.principal(&token.claims, Timestamp::now())
    }

    /// Whose token it says it is: what counts for those, and their keys.
    async fn meant(&self, token: &Token<'_>) -> Result<(&Rules, Arc<Keys>), Refusal> {
        let issuer = token.claims.text("iss")?;
        if let Some((rules, jwks)) = &self.by_issuer
            && issuer == Some(rules.issuer())
        {
            rules.check_algorithm(token.algorithm)?;
            let keys = jwks.keys(token).await;
            return Ok((rules, keys.ok_or(Refusal::IssuerUnreachable)?));
        }
        if let Some((rules, file)) = &self.by_file {
            let keys = file.keys();
            return match keys.has_one_for(token.algorithm) {
                true => Ok((rules, keys)),
                false => Err(UNKNOWN_ALGORITHM),
            };
        }
        Err(Refusal::Token("is of another issuer"))
    }
}

#[async_trait::async_trait]
impl Verifier for Jwts {
    async fn verify(&self, credential: &str) -> Result<Option<Principal>, Problem> {
        if credential.matches('.').count() != 2 {
            return Ok(None);
        }
        let who = self.who(credential).await;
        who.map(Some).map_err(Refusal::into_problem)
    }
}

#[cfg(test)]
mod tests;
