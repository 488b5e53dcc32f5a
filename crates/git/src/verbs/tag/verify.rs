//! Whether the signature of a tag holds, and whose it is.

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Git, ObjectId};

/// A signature is a few hundred bytes, and what is said about it not much more.
const MOST: usize = 256 * 1024;
/// It costs milliseconds; an agent that gpg starts may hang.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// By a known signer, and over exactly this tag.
    Good,
    /// It was not made over this tag, or not by this key.
    Bad,
    /// It holds, but whose key it is nobody knows, or the key is not there to check it by.
    UnknownKey,
    /// It was good once: the signature or the key has expired or was revoked.
    Expired,
    /// There is no signature.
    Unsigned,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    pub verdict: Verdict,
    pub signer: Option<String>,
    /// The key's fingerprint or id.
    pub key: Option<String>,
}

/// Has the signature of the tag object `tag` checked.
pub async fn verify(git: &Git, store: &Path, tag: ObjectId) -> Result<Verification, Error> {
    let done = git
        .at(store)
        .with_signers()
        .args(["verify-tag", "--raw"])
        .arg(tag.to_string())
        .read_only(PATIENCE)
        .capture(MOST, |_| {})
        .await?;
    let said = String::from_utf8_lossy(&done.stderr);
    let mut found = read(&said);
    // Git's own word counts, whatever was read from what the programs said.
    if found.verdict == Verdict::Good && !done.status.success() {
        found.verdict = Verdict::Bad;
    }
    Ok(found)
}

/// What the programs said: gpg in lines for machines, `ssh-keygen` in the sentences that git reads, too.
fn read(said: &str) -> Verification {
    let mut found = Verification {
        verdict: Verdict::Bad,
        signer: None,
        key: None,
    };
    for line in said.lines() {
        if let Some(status) = line.strip_prefix("[GNUPG:] ") {
            read_gpg(status, &mut found);
        } else if let Some(rest) = line.strip_prefix("Good \"git\" signature ") {
            // A signer's name may hold any word, a key's description none of ours.
            let (who, key) = rest
                .rsplit_once(" with ")
                .unwrap_or(("", rest.trim_start_matches("with ")));
            found.key = key.rsplit(' ').next().map(str::to_owned);
            found.signer = who.strip_prefix("for ").map(str::to_owned);
            found.verdict = match found.signer {
                Some(_) => Verdict::Good,
                None => Verdict::UnknownKey,
            };
        }
    }
    found
}

fn read_gpg(status: &str, found: &mut Verification) {
    let mut words = status.splitn(3, ' ');
    let (what, key, who) = (words.next(), words.next(), words.next());
    found.verdict = match what {
        Some("GOODSIG") => Verdict::Good,
        Some("EXPSIG" | "EXPKEYSIG" | "REVKEYSIG") => Verdict::Expired,
        Some("BADSIG") => Verdict::Bad,
        Some("ERRSIG") => Verdict::UnknownKey,
        // A good signature of a key that nobody vouches for.
        Some("TRUST_UNDEFINED" | "TRUST_NEVER") if found.verdict == Verdict::Good => {
            found.verdict = Verdict::UnknownKey;
            return;
        }
        _ => return,
    };
    found.key = key.map(str::to_owned);
    found.signer = who.filter(|_| what != Some("ERRSIG")).map(str::to_owned);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(said: &str) -> (Verdict, Option<String>, Option<String>) {
        let found = read(said);
        (found.verdict, found.signer, found.key)
    }

    #[test]
    fn what_programs_say_becomes_a_verdict() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            verdict("Good \"git\" signature for a with b@x with ED25519 key SHA256:abc\n"),
            (Verdict::Good, some("a with b@x"), some("SHA256:abc"))
        );
        assert_eq!(
            verdict("Good \"git\" signature with ED25519 key SHA256:abc\nNo principal matched.\n"),
            (Verdict::UnknownKey, None, some("SHA256:abc"))
        );
        assert_eq!(verdict("Could not verify signature.\n").0, Verdict::Bad);
        assert_eq!(
            verdict(
                "[GNUPG:] NEWSIG\n[GNUPG:] GOODSIG AB Ada <a@x>\n[GNUPG:] TRUST_ULTIMATE 0 pgp\n"
            ),
            (Verdict::Good, some("Ada <a@x>"), some("AB"))
        );
        assert_eq!(
            verdict("[GNUPG:] GOODSIG AB Ada\n[GNUPG:] TRUST_UNDEFINED 0 pgp").0,
            Verdict::UnknownKey
        );
        assert_eq!(
            verdict("[GNUPG:] ERRSIG AB 22 8 00 1 9 -\n[GNUPG:] NO_PUBKEY AB").0,
            Verdict::UnknownKey
        );
        assert_eq!(verdict("[GNUPG:] BADSIG AB Ada").0, Verdict::Bad);
        assert_eq!(verdict("").0, Verdict::Bad);
    }
}
