//! Which files git might convert on their way to the disk. Attributes are not evaluated here: each line that could
//! convert anything counts for every file that its pattern could match.

pub(crate) const FILE_NAME: &[u8] = b".gitattributes";
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The files that a line could convert: those beneath a directory whose paths end in the last part of its
/// pattern that stands for itself.
#[derive(Debug)]
pub(crate) struct Convertible {
    beneath: Vec<u8>,
    ending: Vec<u8>,
}

impl Convertible {
    /// What these attributes could convert. `directory` is where they stand, with a slash at its end.
    pub(crate) fn by(attributes: &[u8], directory: &[u8]) -> impl Iterator<Item = Self> {
        let text = attributes
            .strip_prefix(BYTE_ORDER_MARK)
            .unwrap_or(attributes);
        text.split(|byte| *byte == b'\n')
            .filter_map(|line| Self::by_line(line, directory))
    }

    fn by_line(line: &[u8], directory: &[u8]) -> Option<Self> {
        let mut words = line.split(is_blank).filter(|word| !word.is_empty());
        let pattern = words.next()?;
        // After a quoted pattern, an attribute may stand without a blank.
        let is_quoted = pattern.starts_with(b"\"");
        if pattern.starts_with(b"#") || !(is_quoted || words.any(may_convert)) {
            return None;
        }
        // A name for such an attribute, which may be used anywhere.
        let is_name = pattern.starts_with(b"[attr]");
        Some(Self {
            beneath: if is_name { &[] } else { directory }.to_vec(),
            ending: if is_name { &[] } else { ending_of(pattern) }.to_vec(),
        })
    }

    pub(crate) fn includes(&self, path: &[u8]) -> bool {
        path.starts_with(&self.beneath) && path.ends_with(&self.ending)
    }
}

/// Whether git may convert the file at `path` by these attributes.
pub(crate) fn may_apply(attributes: &[u8], directory: &[u8], path: &[u8]) -> bool {
    Convertible::by(attributes, directory).any(|files| files.includes(path))
}

/// What git takes for a blank in a line.
fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Whether this word of a line sets an attribute that changes contents, with the settings that we have: `text` by
/// itself changes nothing here, for lines end as they do in the repository.
fn may_convert(word: &[u8]) -> bool {
    if word.starts_with(b"!") {
        return false;
    }
    // To deny this one is an error to git.
    let asserted = word.strip_prefix(b"-").unwrap_or(word);
    let name = asserted.split(|byte| *byte == b'=').next();
    match name {
        Some(b"working-tree-encoding") => true,
        Some(b"filter" | b"ident" | b"crlf") => !word.starts_with(b"-"),
        Some(b"eol") => word != b"eol=lf" && word != b"-eol",
        _ => false,
    }
}

/// What every path that the pattern matches ends in; empty where nothing is certain.
fn ending_of(pattern: &[u8]) -> &[u8] {
    let is_quoted = pattern.starts_with(b"\"");
    let is_for_directories = pattern.ends_with(b"/");
    if is_quoted || is_for_directories {
        return &[];
    }
    let means_more = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\');
    let start = pattern.iter().rposition(means_more).map_or(0, |at| at + 1);
    let ending = &pattern[start..];
    // At the top there is nothing before the slash.
    ending.strip_prefix(b"/").unwrap_or(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(attributes: &str, directory: &str, path: &str) -> bool {
        may_apply(attributes.as_bytes(), directory.as_bytes(), path.as_bytes())
    }

    #[test]
    fn what_changes_no_content_is_nobodys_concern() {
        for line in [
            "* text=auto",
            "* text=auto eol=lf",
            "*.c text diff=c whitespace=tab-in-indent",
            "*.png binary",
            "*.sh -crlf -filter !eol -ident -text",
            "# *.bat eol=crlf",
            "*.po encoding=UTF-8",
            "",
        ] {
            assert!(!left(line, "", "a/b.sh"), "{line}");
        }
    }

    #[test]
    fn what_may_be_converted_is_left() {
        for line in [
            "*.bat eol=crlf",
            "\u{feff}*.bat eol=crlf",
            "*.bat text eol=crlf\r",
            "  *.bat\tfilter=lfs -text",
            "a/b.bat ident",
            "/a/b.bat ident",
            "**/b.bat crlf",
            "a/** working-tree-encoding=UTF-16",
            "b.bat -working-tree-encoding",
            "[ab].bat eol=crlf",
            "\\b.bat eol=crlf",
            "\"b.bat\" eol=crlf",
            "\"b.bat\"eol=crlf",
            "a/ ident",
            "[attr]dos text eol=crlf",
            "*.c text\n*.bat eol=crlf",
        ] {
            assert!(left(line, "", "a/b.bat"), "{line}");
        }
        assert!(left("/b.bat ident", "a/", "a/b.bat"));
        assert!(left("**/b.bat ident", "", "b.bat"));
    }

    #[test]
    fn other_files_are_not() {
        assert!(!left("*.bat eol=crlf", "", "a/b.c"));
        assert!(!left("*.bat eol=crlf", "c/", "a/b.bat"));
        assert!(!left("*.bat eol=crlf", "a/", "ab.bat"));
    }
}
