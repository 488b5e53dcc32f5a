//! Names of artifacts, and the files that their sets are in.

use branchyard_model::sha256;

use crate::error::{ArtifactError, shown};

const MAX_CHARS: usize = 256;
/// What GitHub refuses too, since archives are unpacked on systems that have no such names.
const FORBIDDEN: &str = "\":<>|*?\r\n\\/";
/// A plain name of up to so many bytes is the name of its file.
const MAX_PLAIN: usize = 100;
/// How much of another name is kept, to recognize it by.
const MAX_READABLE: usize = 40;
/// What no plain name has, before the digest of another.
const DIGEST_MARK: char = '~';

pub(crate) fn check(name: &str) -> Result<(), ArtifactError> {
    let why = match name.chars().count() {
        0 => "it is empty",
        count if count > MAX_CHARS => "it is longer than 256 characters",
        _ if name.contains(|c| FORBIDDEN.contains(c)) => {
            "it has one of \" : < > | * ? \\ / or a line break"
        }
        _ if name.contains(char::is_control) => "it has a control character",
        _ => return Ok(()),
    };
    let name = shown(name);
    Err(ArtifactError::Name { name, why })
}

/// The name of the file; no two names share one.
pub(crate) fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.len() <= MAX_PLAIN && !name.starts_with('.') && name.chars().all(is_plain) {
        return format!("{name}.json");
    }
    let readable = name.chars().filter(char::is_ascii_alphanumeric);
    let readable: String = readable.take(MAX_READABLE).collect();
    format!("{readable}{DIGEST_MARK}{}.json", sha256(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_those_that_github_takes() {
        for name in [
            "log",
            "test report (1)",
            "ü",
            ".",
            "..",
            "-x",
            &"é".repeat(256),
        ] {
            assert!(check(name).is_ok(), "{name}");
        }
        let long = "a".repeat(257);
        for name in [
            "", "a/b", "a\\b", "a:b", "a\nb", "a*", "a?", "\"", "<", ">", "|", "a\0b", "a\x1b",
            &long,
        ] {
            let error = check(name).unwrap_err();
            let problem = branchyard_model::Problem::from(error);
            assert_eq!(problem.field.as_deref(), Some("name"), "{name:?}");
        }
    }

    #[test]
    fn each_name_has_a_file_of_its_own_in_the_directory() {
        let long = "é".repeat(256);
        let names = [
            "log", "Log", "log.json", "a b", "ab", "a  b", ".", "..", "~", &long, "é", "è",
        ];
        let files: HashSet<_> = names.iter().map(|name| file_name(name)).collect();
        assert_eq!(files.len(), names.len());
        for file in files {
            assert!(
                file.len() <= 200 && !file.starts_with('.') && !file.contains('/'),
                "{file}"
            );
        }
    }
}
