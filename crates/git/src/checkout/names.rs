//! Which names of a tree are certainly harmless. Git knows exactly which are not, and on which file systems; here
//! whatever comes near is left to it.

/// The longest name that file systems take.
const MAX_NAME: usize = 255;

/// Whether a file or directory may have this name for sure, on every file system.
pub fn is_plain_name(name: &[u8]) -> bool {
    is_plain(name, false)
}

/// Whether a file, directory or, with `is_link`, a symbolic link may have this name for sure.
pub(super) fn is_plain(name: &[u8], is_link: bool) -> bool {
    if name.is_empty() || name.len() > MAX_NAME || name == b"." || name == b".." {
        return false;
    }
    if name.iter().any(|byte| matches!(byte, b'/' | b'\\' | 0)) {
        return false;
    }
    // HFS+ overlooks some characters, none of which is ASCII.
    let seen: Vec<u8> = name.iter().copied().filter(u8::is_ascii).collect();
    let seen = seen.to_ascii_lowercase();
    if seen.starts_with(b"git~") {
        return false;
    }
    if let Some(rest) = seen.strip_prefix(b".git") {
        // NTFS overlooks dots and spaces at the end, and whatever follows a colon.
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        return !is_link && name.is_ascii() && rest.first().is_some_and(goes_on);
    }
    // Windows may call `.gitmodules` something with one in short; git refuses links of such names.
    !(is_link && name.contains(&b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_plain() {
        for name in [
            "a",
            ".gitignore",
            ".gitattributes",
            ".gitmodules",
            ".github",
            ".git-blame-ignore-revs",
            "git",
            "a b",
            "...",
            "ä",
            "a:b",
            "gitmodern",
        ] {
            assert!(is_plain(name.as_bytes(), false), "{name}");
        }
        assert!(is_plain(b"link", true));
    }

    #[test]
    fn what_some_file_system_takes_for_another_is_not() {
        for name in [
            "",
            ".",
            "..",
            ".git",
            ".GIT",
            ".gIt ",
            ".git.",
            ".git::$INDEX_ALLOCATION",
            "git~1",
            "GIT~2",
            ".g\u{200c}it",
            "\u{200c}.git",
            ".git\u{200d}",
            "a/b",
            "a\\b",
            ".git\\x",
        ] {
            assert!(!is_plain(name.as_bytes(), false), "{name}");
        }
        assert!(!is_plain(&[b'a'; 256], false));
        for name in [
            ".gitmodules",
            ".gitattributes",
            "GITMOD~1",
            "gi7eba~1",
            "~1000000",
        ] {
            assert!(!is_plain(name.as_bytes(), true), "{name}");
        }
    }
}
