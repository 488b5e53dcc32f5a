//! Paths as git writes them where they hold unusual bytes.

/// A path as git writes it where it holds unusual bytes: in quotes, with escapes as in C.
pub fn unquoted(path: &[u8]) -> Vec<u8> {
    let inner = path
        .strip_prefix(b"\"")
        .and_then(|path| path.strip_suffix(b"\""));
    let Some(inner) = inner else {
        return path.to_vec();
    };
    let (mut plain, mut rest) = (Vec::new(), inner);
    while let [first, after @ ..] = rest {
        let (byte, after) = match (first, after) {
            (
                b'\\',
                [
                    a @ b'0'..=b'3',
                    b @ b'0'..=b'7',
                    c @ b'0'..=b'7',
                    after @ ..,
                ],
            ) => ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), after),
            (b'\\', [sign, after @ ..]) => (escaped(*sign), after),
            _ => (*first, after),
        };
        plain.push(byte);
        rest = after;
    }
    plain
}

fn escaped(sign: u8) -> u8 {
    match sign {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_paths_are_read_as_they_are() {
        for (quoted, plain) in [
            ("src/main.rs", "src/main.rs"),
            (r#""a\tb\"c\\""#, "a\tb\"c\\"),
            (r#""caf\303\251""#, "café"),
        ] {
            assert_eq!(unquoted(quoted.as_bytes()), plain.as_bytes(), "{quoted}");
        }
    }
}
