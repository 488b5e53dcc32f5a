//! Taking secrets out of text that is about to be shown. It judges by the text alone, since that
//! may not be TOML at all, and rather hides too much. Lengths in characters stay the same, so that
//! a mark under a line still points at the right place.

use std::ops::Range;

/// The value, with what stands where a URL has its credentials, query and fragment blanked out.
pub(super) fn value(text: &str) -> String {
    let scheme = text.find("://").map(|at| at + 3);
    let mut shown = text.to_owned();
    if let Some(scheme) = scheme
        && let Some(from) = text[scheme..].find(['?', '#'])
    {
        let from = scheme + from + 1;
        let ends = |c: char| c.is_whitespace() || "\"'`".contains(c);
        let to = text[from..].find(ends).map_or(text.len(), |at| from + at);
        shown = blank(&shown, from..to);
    }
    let from = scheme.unwrap_or(0);
    match text.rfind('@') {
        Some(at) if at > from && (scheme.is_some() || text[..at].contains(':')) => {
            blank_same(&shown, text, from..at)
        }
        _ => shown,
    }
}

/// A parser's message, which may quote values before it says what was expected.
pub(super) fn message(text: &str, in_env: bool) -> String {
    let (found, expected) = text.split_at(text.find("expected ").unwrap_or(text.len()));
    let found = if in_env && found.starts_with("invalid type: ") {
        "invalid type, ".to_owned()
    } else if found.contains("://") {
        value(found)
    } else {
        found.split_inclusive(' ').map(value).collect()
    };
    found + expected
}

/// A line of a TOML file, fit to be shown: without the values of `env`, credential and secret tables, where
/// somebody may have put the secret itself, and what [`value`] finds.
pub(super) fn line(text: &str, number: usize) -> String {
    let line = text.split('\n').nth(number).unwrap_or("").trim_end();
    let header = line.trim_start().starts_with('[');
    if is_env(text, number) {
        let keep = line.find(if header { ']' } else { '=' });
        let keep = keep.map_or(0, |at| at + 1);
        let (key, rest) = line.split_at(keep);
        return value(key) + &blank(rest, 0..rest.len());
    }
    let start = line.find(['"', '\'']).or_else(|| line.find('='));
    let keep = start.map_or(0, |at| at + 1);
    let (key, rest) = line.split_at(keep);
    key.to_owned() + &value(rest)
}

/// Whether the line lies in a table of environment variables, credentials or secrets: under `[….env]`, on a
/// line that gives `env` its value, or within the braces that such a line opens.
pub(super) fn is_env(text: &str, number: usize) -> bool {
    let names_env = |key: &str| {
        key.split('.').any(|part| {
            let part = part.trim().trim_matches(['"', '\'']);
            matches!(part, "env" | "credential" | "credentials" | "secrets")
        })
    };
    let above: Vec<_> = text.split('\n').take(number + 1).map(str::trim).collect();
    for (at, line) in above.into_iter().enumerate().rev() {
        if let Some(header) = line.strip_prefix('[') {
            return names_env(header.split(']').next().unwrap_or(""));
        }
        let opens = line.matches('{').count() > line.matches('}').count();
        if (at == number || opens) && names_env(line.split('=').next().unwrap_or("")) {
            return true;
        }
    }
    false
}

fn blank(text: &str, hidden: Range<usize>) -> String {
    blank_same(text, text, hidden)
}

/// Blanks `shown`, which has as many characters as `text`, where `text` has the hidden bytes.
fn blank_same(shown: &str, text: &str, hidden: Range<usize>) -> String {
    let hide = |((at, _), c)| match hidden.contains(&at) && c != ' ' {
        true => '*',
        false => c,
    };
    text.char_indices().zip(shown.chars()).map(hide).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_values_are_blanked_out() {
        for (text, shown) in [
            ("https://host/a", "https://host/a"),
            ("https://u:pw@host/a", "https://****@host/a"),
            ("https://u:p@w@host/a", "https://*****@host/a"),
            ("https://u:p\"'w,é@host/a", "https://********@host/a"),
            ("https://é:é@host/a?t=é", "https://***@host/a?***"),
            ("u:pw@host:a", "****@host:a"),
            ("git@host:a", "git@host:a"),
            ("me@example.org", "me@example.org"),
        ] {
            assert_eq!(value(text), shown);
        }
    }

    #[test]
    fn messages_keep_what_was_expected() {
        for (text, shown) in [
            (
                "\"a..b\" is no name: '..' and '@{'",
                "\"a..b\" is no name: '..' and '@{'",
            ),
            (
                "invalid type: string \"u:p@h\", expected x:y@z",
                "invalid type: string ****@h\", expected x:y@z",
            ),
            (
                "unknown `ssh://u:p@h`, expected x",
                "unknown `ssh://***@h`, expected x",
            ),
        ] {
            assert_eq!(message(text, false), shown);
        }
        assert_eq!(
            message("invalid type: string \"a\", expected b", true),
            "invalid type, expected b"
        );
    }

    #[test]
    fn values_of_variables_are_blanked_out() {
        let lines = [
            ("a = \"u:p@h\"", "a = \"***@h\""),
            ("a = u:p@h", "a = ***@h"),
            ("[repos.x.env] A = 1", "[repos.x.env] * * *"),
            ("TOKEN = \"s3 cret\"", "TOKEN = *** *****"),
            ("loose", "*****"),
            ("[repos.\"y\"]", "[repos.\"y\"]"),
            ("url = 'u'", "url = 'u'"),
            ("env = { A = \"b\" }", "env = * * * *** *"),
            ("prewarm = 1", "prewarm = 1"),
            ("\"env\" = {", "\"env\" = *"),
            ("B = \"c\",", "B = ****"),
            ("}", "*"),
            ("env.C = 5", "env.C = *"),
            ("[secrets.npm]", "[secrets.npm]"),
            ("env = \"TOKEN\"", "env = *******"),
            ("file = \"s3cret\"", "file = ********"),
            ("[repos.x.secrets.lint]", "[repos.x.secrets.lint]"),
            ("TOKEN = \"s3cret\"", "TOKEN = ********"),
        ];
        let text = lines.map(|(line, _)| line).join("\n");
        for (number, (_, shown)) in lines.into_iter().enumerate() {
            assert_eq!(line(&text, number), shown);
        }
    }
}
