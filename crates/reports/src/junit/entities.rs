//! Text with references to characters, read as well as it goes: what is none stays as it is written.

/// What `&name;` stands for. A document's own entities are never expanded.
pub(super) fn resolved(name: &str) -> String {
    match character(name) {
        Some(c) => c.to_string(),
        None => format!("&{name};"),
    }
}

fn character(name: &str) -> Option<char> {
    let code = match name {
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "amp" => return Some('&'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => name.strip_prefix('#')?,
    };
    let code = match code.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => code.parse(),
    };
    // A reference to no character at all is shown as one that cannot be shown.
    Some(char::from_u32(code.ok()?).unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// The value of an attribute.
pub(super) fn unescaped(text: &str) -> String {
    /// `#x10FFFF` is the longest there is.
    const LONGEST: usize = 10;
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let near = &rest.as_bytes()[1..rest.len().min(LONGEST + 2)];
        let end = memchr::memchr(b';', near).map(|end| end + 1);
        match end.and_then(|end| Some((end, character(rest.get(1..end)?)?))) {
            Some((end, c)) => {
                plain.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_and_all_else_stays() {
        for (text, expected) in [
            ("a &lt;b&gt; &amp;&quot;&apos;", "a <b> &\"'"),
            ("&#10;&#x0A;&#x1F600;", "\n\n😀"),
            ("&#x110000;&#xD800;", "\u{fffd}\u{fffd}"),
            ("a & b &nbsp; &am", "a & b &nbsp; &am"),
            ("&#;&#x;&;&#-1;", "&#;&#x;&;&#-1;"),
            ("&日本;日", "&日本;日"),
        ] {
            assert_eq!(unescaped(text), expected, "{text}");
        }
    }
}
