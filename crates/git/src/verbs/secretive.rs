//! New files that look like secrets: nobody means to publish them by saying "everything".

use std::io::Read;
use std::path::Path;

use regex::bytes::{Regex, RegexBuilder};
use std::sync::LazyLock;

use crate::open_plain;

/// A key or a token stands near the beginning of a file that is made for it.
const LOOKED_AT: u64 = 64 * 1024;

/// Whole names, lower-case.
const NAMES: &[&str] = &[
    ".env",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "_netrc",
    "credentials",
    "credentials.json",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "service-account.json",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
];

const ENDINGS: &[&str] = &[
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".ovpn",
    ".p12",
    ".pem",
    ".pfx",
    ".ppk",
    ".tfstate",
];

/// Made to be shown.
const HARMLESS_ENDINGS: &[&str] = &[".example", ".sample", ".template", ".dist", ".pub"];

static CONTENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    RegexBuilder::new(
        r"-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----|\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_[A-Za-z0-9_]{60}|\bglpat-[A-Za-z0-9_-]{20}|\bAKIA[A-Z0-9]{16}\b|\bxox[abprs]-[A-Za-z0-9-]{20}|\bsk-(ant-|proj-)?[A-Za-z0-9_-]{32}",
    )
    .unicode(false)
    .build()
    .ok()
});

/// Why this file, which lies in `dir`, looks like a secret; `None` if it does not. Blocks.
pub fn suspicion(dir: &Path, path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    if is_harmless(&name) {
        return None;
    }
    if is_secretive(&name) {
        return Some("it is named as files with secrets are".to_owned());
    }
    looks_inside(&dir.join(path)).then(|| "it holds what looks like a key or a token".to_owned())
}

/// Whether the name alone, of a file at `path`, says that it holds secrets.
pub fn is_named_as_secret(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let name = name.to_string_lossy().to_lowercase();
    !is_harmless(&name) && is_secretive(&name)
}

fn is_harmless(name: &str) -> bool {
    HARMLESS_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn is_secretive(name: &str) -> bool {
    NAMES.contains(&name)
        || name.starts_with(".env.")
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn looks_inside(file: &Path) -> bool {
    // A link is only a name.
    let mut start = Vec::new();
    let read = open_plain(file)
        .ok()
        .flatten()
        .and_then(|file| file.take(LOOKED_AT).read_to_end(&mut start).ok());
    read.is_some() && CONTENT.as_ref().is_some_and(|regex| regex.is_match(&start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_contents_give_secrets_away() {
        let dir = tempfile::tempdir().unwrap();
        let token = format!("token = \"ghp_{}\"\n", "a1B2".repeat(9));
        let key = format!("-----BEGIN {} KEY-----\nabc\n", "OPENSSH PRIVATE");
        for (name, content, expected) in [
            (".env", "A=1", true),
            (".env.local", "A=1", true),
            (".env.example", "A=1", false),
            ("Server.PEM", "x", true),
            ("id_ed25519.pub", "ssh-ed25519 AAAA", false),
            ("notes.txt", &token, true),
            ("deploy", &key, true),
            ("main.c", "int main() { return 0; }", false),
            ("sk-learn.txt", "sk-learn is a library", false),
        ] {
            std::fs::write(dir.path().join(name), content).unwrap();
            let found = suspicion(dir.path(), Path::new(name));
            assert_eq!(found.is_some(), expected, "{name}: {found:?}");
        }
        assert!(CONTENT.is_some());
    }
}
