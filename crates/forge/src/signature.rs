//! Whether a webhook that came in was sent by a forge that knows the secret.

use std::borrow::Cow;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::mac::hmac_sha256;
use crate::{payload, standard_webhooks};

/// Headers with an HMAC-SHA256 in hexadecimal digits, and what stands before these. Gitea and Forgejo send GitHub's
/// beside their own, and Gogs' too.
const HEX_SIGNATURES: [(&str, &str); 4] = [
    ("x-hub-signature-256", "sha256="),
    ("x-forgejo-signature", ""),
    ("x-gitea-signature", ""),
    ("x-gogs-signature", ""),
];

/// Their senders sign the JSON, also where they send it as a field of a form. GitHub signs the body as it is.
const SIGNS_JSON: [&str; 3] = ["x-forgejo-event", "x-gitea-event", "x-gogs-event"];

/// Whether every signature of the webhook is right, and there is one. `header` gives a header's value by its name in
/// lower case. `now` is the time in seconds since 1970: a signature of the Standard Webhooks form, which GitLab makes
/// with a signing token, counts for five minutes.
///
/// The time that it takes does not tell about the secret, so a caller can hide which repositories there are: it
/// verifies with any secret for one that there is not. SHA-1 signatures are not looked at.
pub fn is_authentic<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
    secret: &[u8],
    now: i64,
) -> bool {
    let mut verdicts = Vec::new();
    let signatures: Vec<_> = HEX_SIGNATURES
        .iter()
        .filter_map(|(name, prefix)| Some((header(name)?, prefix)))
        .collect();
    if !signatures.is_empty() {
        let expected = hex(hmac_sha256(secret, &[&signed(&header, body)]));
        let verdict = |(value, prefix): (&str, &&str)| {
            let digits = value.strip_prefix(*prefix).unwrap_or_default();
            digits.as_bytes().ct_eq(expected.as_bytes())
        };
        verdicts.extend(signatures.into_iter().map(verdict));
    }
    if let Some(token) = header("x-gitlab-token") {
        // Digests are of one length, whatever the secret's is.
        verdicts.push(Sha256::digest(token).ct_eq(&Sha256::digest(secret)));
    }
    if let Some(signatures) = header("webhook-signature") {
        let id = header("webhook-id").unwrap_or_default();
        let timestamp = header("webhook-timestamp").unwrap_or_default();
        verdicts.push(standard_webhooks::is_signed(
            secret, id, timestamp, now, body, signatures,
        ));
    }
    let is_right = verdicts.iter().fold(Choice::from(1), |all, one| all & *one);
    !verdicts.is_empty() && !secret.is_empty() && bool::from(is_right)
}

fn signed<'h, 'b>(header: impl Fn(&str) -> Option<&'h str>, body: &'b [u8]) -> Cow<'b, [u8]> {
    if SIGNS_JSON.iter().all(|name| header(name).is_none()) {
        return Cow::Borrowed(body);
    }
    payload::json(header("content-type"), body).unwrap_or(Cow::Borrowed(body))
}

fn hex(digest: [u8; 32]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        // A string takes whatever is written to it.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "It's a Secret to Everybody";
    const BODY: &str = "Hello, World!";
    /// GitHub publishes this signature of these two.
    const DIGITS: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    const NOW: i64 = 1_700_000_000;

    fn judge(headers: &[(&str, &str)], body: &str, secret: &str) -> bool {
        let header = |name: &str| {
            let mut found = headers.iter().filter(|(header, _)| *header == name);
            found.next().map(|(_, value)| *value)
        };
        is_authentic(header, body.as_bytes(), secret.as_bytes(), NOW)
    }

    #[test]
    fn the_published_signature_is_right_and_every_flipped_bit_of_it_is_wrong() {
        let name = "x-hub-signature-256";
        let signature = format!("sha256={DIGITS}");
        assert!(judge(&[(name, &signature)], BODY, SECRET));
        assert!(!judge(&[(name, &signature)], "Hello, World?", SECRET));
        assert!(!judge(
            &[(name, &signature)],
            BODY,
            "It's a secret to Everybody"
        ));
        for bit in 0..signature.len() * 8 {
            let mut bytes = signature.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(changed) = String::from_utf8(bytes) {
                assert!(!judge(&[(name, &changed)], BODY, SECRET), "{changed}");
            }
        }
    }

    #[test]
    fn a_signature_has_its_prefix_and_all_its_digits() {
        let whole = format!("sha256={DIGITS}");
        for value in [
            "",
            "sha256=",
            "sha256",
            DIGITS,
            &whole[..70],
            &format!("{whole}0"),
        ] {
            assert!(
                !judge(&[("x-hub-signature-256", value)], BODY, SECRET),
                "{value}"
            );
        }
        for name in [
            "x-gitea-signature",
            "x-forgejo-signature",
            "x-gogs-signature",
        ] {
            assert!(judge(&[(name, DIGITS)], BODY, SECRET), "{name}");
            assert!(!judge(&[(name, &whole)], BODY, SECRET), "{name}");
            assert!(!judge(&[(name, "")], BODY, SECRET), "{name}");
        }
    }

    #[test]
    fn one_wrong_signature_among_right_ones_is_enough() {
        let whole = format!("sha256={DIGITS}");
        let mut headers = vec![
            ("x-hub-signature-256", &*whole),
            ("x-gitea-signature", DIGITS),
            ("x-gitlab-token", SECRET),
        ];
        assert!(judge(&headers, BODY, SECRET));
        for at in 0..headers.len() {
            let mut wrong = headers.clone();
            wrong[at].1 = "wrong";
            assert!(!judge(&wrong, BODY, SECRET), "{wrong:?}");
        }
        headers.push(("webhook-signature", "v1,wrong"));
        assert!(!judge(&headers, BODY, SECRET));
    }

    #[test]
    fn a_token_is_the_secret_itself() {
        for (token, is_right) in [(SECRET, true), ("It's", false), ("", false)] {
            assert_eq!(judge(&[("x-gitlab-token", token)], BODY, SECRET), is_right);
        }
    }

    #[test]
    fn nothing_is_authentic_without_a_secret_or_a_signature() {
        assert!(!judge(&[], BODY, SECRET));
        assert!(!judge(
            &[(
                "x-hub-signature",
                "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59"
            )],
            BODY,
            SECRET
        ));
        assert!(!judge(&[("x-gitlab-token", "")], BODY, ""));
        let of_empty = hex(hmac_sha256(b"", &[BODY.as_bytes()]));
        assert!(!judge(&[("x-gitea-signature", &of_empty)], BODY, ""));
    }

    #[test]
    fn gitea_signs_the_json_within_a_form_and_github_the_form() {
        let form = "payload=Hello%2C+World%21";
        let content_type = ("content-type", "application/x-www-form-urlencoded");
        let of_json = ("x-gitea-signature", DIGITS);
        assert!(judge(
            &[content_type, of_json, ("x-gitea-event", "push")],
            form,
            SECRET
        ));
        assert!(!judge(&[content_type, of_json], form, SECRET));
        let of_form = hex(hmac_sha256(SECRET.as_bytes(), &[form.as_bytes()]));
        let of_form = format!("sha256={of_form}");
        let of_form = ("x-hub-signature-256", &*of_form);
        assert!(judge(
            &[content_type, of_form, ("x-github-event", "push")],
            form,
            SECRET
        ));
        assert!(!judge(
            &[content_type, of_form, ("x-gitea-event", "push")],
            form,
            SECRET
        ));
    }
}
