//! Signatures as <https://www.standardwebhooks.com> has them: of the hooks that go out, and of GitLab's that come in.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use subtle::{Choice, ConstantTimeEq};

use crate::mac::hmac_sha256;

/// An older message could be a copy that was recorded on its way. So many seconds clocks may differ, too.
const TOLERANCE: u64 = 5 * 60;

/// The key that sender and receiver of webhooks share, written as `whsec_` and its bytes in base64.
pub struct WebhookSecret {
    key: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWebhookSecret {
    #[error("a webhook secret starts with `whsec_`")]
    Prefix,
    #[error("a webhook secret is `whsec_` and standard base64 with its padding, and nothing else")]
    Base64,
    #[error("the key in a webhook secret has 24 to 64 bytes, and this one has {0}")]
    Length(usize),
}

impl WebhookSecret {
    /// The value of the header `webhook-signature` for a message whose `webhook-id` and `webhook-timestamp` are these.
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let timestamp = timestamp.to_string();
        let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
        let signature = hmac_sha256(&self.key, &signed);
        format!("v1,{}", STANDARD.encode(signature))
    }
}

impl FromStr for WebhookSecret {
    type Err = InvalidWebhookSecret;

    fn from_str(text: &str) -> Result<Self, InvalidWebhookSecret> {
        let encoded = text.strip_prefix("whsec_");
        let key = STANDARD
            .decode(encoded.ok_or(InvalidWebhookSecret::Prefix)?)
            .map_err(|_| InvalidWebhookSecret::Base64)?;
        match key.len() {
            24..=64 => Ok(Self { key }),
            length => Err(InvalidWebhookSecret::Length(length)),
        }
    }
}

/// Without the key: what is printed for debugging ends up in logs.
impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

/// Whether one of the signatures is right, which are several while a sender changes its key.
pub(crate) fn is_signed(
    secret: &[u8],
    id: &str,
    timestamp: &str,
    now: i64,
    body: &[u8],
    signatures: &str,
) -> Choice {
    let parsed = str::from_utf8(secret)
        .ok()
        .and_then(|text| text.parse().ok());
    let is_key = Choice::from(u8::from(parsed.is_some()));
    // What is no key signs too, so that the time does not tell which it is.
    let secret = parsed.unwrap_or_else(|| WebhookSecret {
        key: secret.to_vec(),
    });
    let Ok(timestamp) = timestamp.parse::<i64>() else {
        return Choice::from(0);
    };
    let is_recent = Choice::from(u8::from(now.abs_diff(timestamp) <= TOLERANCE));
    let expected = secret.sign(id, timestamp, body);
    let is_one_right = signatures
        .split(' ')
        .map(|signature| signature.as_bytes().ct_eq(expected.as_bytes()))
        .fold(Choice::from(0), |any, one| any | one);
    is_key & is_recent & is_one_right
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000;
    const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSB3ZWJob29rIHRlc3RzISE=";
    const ID: &str = "msg_1";
    const BODY: &[u8] = b"{\"a\": 1}";

    fn is_right(secret: &str, timestamp: &str, signatures: &str) -> bool {
        is_signed(secret.as_bytes(), ID, timestamp, NOW, BODY, signatures).into()
    }

    fn signature(secret: &str, timestamp: i64) -> String {
        let secret: WebhookSecret = secret.parse().unwrap();
        secret.sign(ID, timestamp, BODY)
    }

    /// As the project's own libraries for JavaScript and Python do.
    #[test]
    fn messages_are_signed_as_the_reference_does() {
        for (secret, id, timestamp, body, signature) in [
            (
                "whsec_YnJhbmNoeWFyZCBzaWducyB0aGlzIG1lc3NhZ2U=",
                "msg_01a2",
                NOW,
                r#"{"type":"pipeline.succeeded"}"#,
                "v1,WhN0IfLhDZTl38du868pO5IxHo68mi2K6k0t9bzNv2M=",
            ),
            (
                "whsec_//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=",
                "ünï.cödé",
                0,
                "ä\n",
                "v1,RCsrEs7aeky6uT3WVKQMDnAnR1BeGAoNjCEkC09eq3A=",
            ),
        ] {
            let secret: WebhookSecret = secret.parse().unwrap();
            assert_eq!(secret.sign(id, timestamp, body.as_bytes()), signature);
        }
    }

    #[test]
    fn what_is_signed_is_accepted_for_five_minutes() {
        for (timestamp, accepted) in [
            (NOW, true),
            (NOW - 300, true),
            (NOW + 300, true),
            (NOW - 301, false),
            (NOW + 301, false),
            (i64::MIN, false),
            (i64::MAX, false),
        ] {
            let text = timestamp.to_string();
            let signature = signature(SECRET, timestamp);
            assert_eq!(is_right(SECRET, &text, &signature), accepted, "{text}");
        }
        // The time is signed, too.
        let before = signature(SECRET, NOW - 1);
        assert!(!is_right(SECRET, &NOW.to_string(), &before));
    }

    #[test]
    fn one_of_several_signatures_has_to_be_right() {
        let right = signature(SECRET, NOW);
        let other = signature("whsec_YW5vdGhlciBzZWNyZXQgb2YgdGhlIHRlc3RzIQ==", NOW);
        let now = NOW.to_string();
        assert!(is_right(SECRET, &now, &format!("{other} v1a,x {right}")));
        for wrong in ["", "v1,", &right[3..], &right.replace("v1", "v2"), &other] {
            assert!(!is_right(SECRET, &now, wrong), "{wrong}");
        }
        assert!(!is_right(SECRET, "", &right));
        assert!(!is_right(SECRET, "soon", &right));
    }

    #[test]
    fn text_that_is_no_secret_verifies_nothing() {
        let now = NOW.to_string();
        let key = b"not a secret".to_vec();
        let right = WebhookSecret { key }.sign(ID, NOW, BODY);
        assert!(!is_right("not a secret", &now, &right));
    }

    #[test]
    fn a_secret_is_prefix_and_key_of_24_to_64_bytes() {
        let of = |length| format!("whsec_{}", STANDARD.encode(vec![7; length]));
        for length in [24, 25, 26, 32, 64] {
            assert!(of(length).parse::<WebhookSecret>().is_ok(), "{length}");
        }
        for (text, refusal) in [
            (String::new(), InvalidWebhookSecret::Prefix),
            (STANDARD.encode([7; 32]), InvalidWebhookSecret::Prefix),
            (
                format!("WHSEC_{}", STANDARD.encode([7; 32])),
                InvalidWebhookSecret::Prefix,
            ),
            (format!("{}\n", of(32)), InvalidWebhookSecret::Base64),
            (of(25).replace('=', ""), InvalidWebhookSecret::Base64),
            ("whsec_".to_owned(), InvalidWebhookSecret::Length(0)),
            (of(23), InvalidWebhookSecret::Length(23)),
            (of(65), InvalidWebhookSecret::Length(65)),
        ] {
            assert_eq!(
                text.parse::<WebhookSecret>().unwrap_err(),
                refusal,
                "{text}"
            );
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        let secret: WebhookSecret = SECRET.parse().unwrap();
        assert_eq!(format!("{secret:?}"), "WebhookSecret");
    }
}
