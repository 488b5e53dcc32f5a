//! Which entry answers a key.

use std::cmp::Reverse;

use branchyard_model::RepoName;

use super::entry::{CacheAbout, CacheEntry, CacheScope, TrustClass};
use crate::error::{ArtifactError, shown};
use crate::job_dirs::JobDirs;

const MAX_KEY_CHARS: usize = 512;

/// What is kept or wanted, under which key.
#[derive(Debug, Clone, Copy)]
pub struct CacheRequest<'a> {
    pub repo: &'a RepoName,
    pub key: &'a str,
    /// The lines of `path`.
    pub paths: &'a [String],
    pub dirs: &'a JobDirs,
}

impl CacheRequest<'_> {
    /// The lines that say something.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.paths.iter().flat_map(|line| line.lines());
        let lines = lines.map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }
}

pub(super) fn check_key(key: &str) -> Result<(), ArtifactError> {
    let why = match key.chars().count() {
        0 => "it is empty",
        count if count > MAX_KEY_CHARS => "it is longer than 512 characters",
        _ if key.contains(',') => "it has a comma",
        _ if key.contains(char::is_control) => "it has a line break or a control character",
        _ => return Ok(()),
    };
    let key = shown(key);
    Err(ArtifactError::Key { key, why })
}

/// The scopes that the first of them may read. Where that is protected, what was made elsewhere is not trusted.
pub(super) fn readable(scopes: &[CacheScope]) -> impl Iterator<Item = &CacheScope> {
    let is_protected = scopes
        .first()
        .is_some_and(|own| own.trust == TrustClass::Protected);
    scopes
        .iter()
        .filter(move |scope| !is_protected || scope.trust == TrustClass::Protected)
}

/// The entry with the key in the first scope that has one, else the newest whose key begins with the first of
/// `restore_keys` that any begins with.
pub(super) fn best(
    entries: &[CacheEntry],
    scopes: &[CacheScope],
    (key, restore_keys): (&str, &[String]),
    usable: impl Fn(&CacheAbout) -> bool,
) -> Option<CacheEntry> {
    let found = readable(scopes).find_map(|scope| {
        let here = || {
            let entries = entries.iter();
            entries.filter(|entry| entry.about.scope == *scope && usable(&entry.about))
        };
        let exact = here().find(|entry| entry.about.key == key);
        exact.or_else(|| {
            restore_keys.iter().find_map(|prefix| {
                let matching = here().filter(|entry| entry.about.key.starts_with(&**prefix));
                matching.min_by_key(|entry| (Reverse(entry.about.created_at), &entry.about.key))
            })
        })
    });
    found.cloned()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn scope(text: &str) -> CacheScope {
        let (name, trust) = match text.strip_suffix('!') {
            Some(name) => (name, TrustClass::Protected),
            None => (text, TrustClass::Open),
        };
        CacheScope {
            name: name.to_owned(),
            trust,
        }
    }

    /// An entry such as `main! linux-1`, made at its place in the list.
    fn entries(texts: &[&str]) -> Vec<CacheEntry> {
        let entries = texts.iter().zip(0..).map(|(text, at)| {
            let (of, key) = text.split_once(' ').unwrap();
            CacheEntry {
                dir: format!("/{at}").into(),
                about: CacheAbout {
                    scope: scope(of),
                    key: key.to_owned(),
                    paths: Vec::new(),
                    bases: Vec::new(),
                    files: 1,
                    bytes: 1,
                    digest: String::new(),
                    created_at: Timestamp::from_second(at).unwrap(),
                },
            }
        });
        entries.collect()
    }

    #[test]
    fn the_key_comes_before_its_prefixes_and_the_own_scope_before_others() {
        let entries = entries(&[
            "main! linux-1",
            "main! linux-3",
            "main! linux-2",
            "main! mac-1",
            "x linux-2",
            "x mac-2",
            "y linux-9",
            "main linux-7",
        ]);
        let table: [(&str, &str, &str, Option<&str>); 14] = [
            ("x main!", "linux-2", "", Some("x linux-2")),
            ("main!", "linux-2", "", Some("main! linux-2")),
            ("x main!", "linux-1", "", Some("main! linux-1")),
            ("x main!", "linux-1", "linux-", Some("x linux-2")),
            ("main!", "linux-4", "linux-", Some("main! linux-2")),
            (
                "main!",
                "linux-4",
                "windows- mac- linux-",
                Some("main! mac-1"),
            ),
            (
                "x main!",
                "linux-4",
                "windows- linux-3",
                Some("main! linux-3"),
            ),
            ("x main!", "linux-9", "", None),
            ("x main!", "linux", "", None),
            ("x main!", "", "linux-9", None),
            ("z main!", "none", "mac", Some("main! mac-1")),
            // The reverse is never read: not the branches of others, and nothing open by what is protected.
            ("main! x", "mac-2", "", None),
            ("main! main", "linux-7", "", None),
            ("main", "linux-7", "", Some("main linux-7")),
        ];
        for (scopes, key, prefixes, expected) in table {
            let scopes: Vec<_> = scopes.split(' ').map(scope).collect();
            let prefixes: Vec<_> = prefixes.split_whitespace().map(str::to_owned).collect();
            let found = best(&entries, &scopes, (key, &prefixes), |_| true);
            let found = found.map(|entry| {
                let CacheAbout { scope, key, .. } = entry.about;
                let mark = match scope.trust {
                    TrustClass::Protected => "!",
                    TrustClass::Open => "",
                };
                format!("{}{mark} {key}", scope.name)
            });
            assert_eq!(found.as_deref(), expected, "{scopes:?} {key} {prefixes:?}");
        }
        assert!(best(&entries, &[], ("linux-1", &[]), |_| true).is_none());
    }

    #[test]
    fn a_key_is_one_line_without_commas() {
        assert!(check_key("linux-ü (1) / a*").is_ok());
        let long = "a".repeat(513);
        for key in ["", "a,b", "a\nb", "\0", &long] {
            assert!(check_key(key).is_err(), "{key}");
        }
    }
}
