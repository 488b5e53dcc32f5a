//! The functions of expressions that need nothing but their arguments.

use std::fmt::Write;

use super::coerce::{equal, number_text, to_text, upper};
use super::value::ExprValue;

/// No text that an expression makes is longer: `format` in `format` would double it without end.
pub(crate) const MAX_TEXT: usize = 1024 * 1024;

pub(crate) fn contains(search: &ExprValue, item: &ExprValue) -> bool {
    match search {
        ExprValue::List(items) => items.iter().any(|other| equal(item, other)),
        ExprValue::Object(_) => false,
        _ if !item.is_primitive() => false,
        _ => to_text(search)
            .to_lowercase()
            .contains(&to_text(item).to_lowercase()),
    }
}

pub(crate) fn starts_with(text: &ExprValue, prefix: &ExprValue) -> bool {
    both_texts(text, prefix).is_some_and(|(text, prefix)| text.starts_with(&prefix))
}

pub(crate) fn ends_with(text: &ExprValue, suffix: &ExprValue) -> bool {
    both_texts(text, suffix).is_some_and(|(text, suffix)| text.ends_with(&suffix))
}

fn both_texts(left: &ExprValue, right: &ExprValue) -> Option<(String, String)> {
    let are_texts = left.is_primitive() && right.is_primitive();
    are_texts.then(|| (upper(&to_text(left)), upper(&to_text(right))))
}

pub(crate) fn join(items: &ExprValue, separator: Option<&ExprValue>) -> Result<String, String> {
    match items {
        ExprValue::List(items) => {
            let separator = match separator {
                Some(separator) if separator.is_primitive() => to_text(separator),
                _ => ",".to_owned(),
            };
            let mut joined = String::new();
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    push(&mut joined, &separator)?;
                }
                push(&mut joined, &to_text(item))?;
            }
            Ok(joined)
        }
        ExprValue::Object(_) => Ok(String::new()),
        _ => Ok(to_text(items)),
    }
}

pub(crate) fn format(arguments: &[ExprValue]) -> Result<String, String> {
    let (template, values) = match arguments {
        [template, values @ ..] => (to_text(template), values),
        [] => (String::new(), arguments),
    };
    let broken =
        || format!("the text of format is not valid: {template}; write {{{{ and }}}} for braces");
    let mut made = String::new();
    let mut rest = template.as_str();
    while let Some(at) = rest.find(['{', '}']) {
        push(&mut made, &rest[..at])?;
        let brace = &rest[at..=at];
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix(brace) {
            push(&mut made, brace)?;
            rest = after;
            continue;
        }
        if brace == "}" {
            return Err(broken());
        }
        let end = after.find('}').ok_or_else(broken)?;
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || digits > end {
            return Err(broken());
        }
        let number = after[..digits].parse().unwrap_or(usize::MAX);
        let value = values
            .get(number)
            .ok_or_else(|| format!("format has no argument for {{{}}}", &after[..digits]))?;
        push(&mut made, &to_text(value))?;
        rest = &after[end + 1..];
    }
    push(&mut made, rest)?;
    Ok(made)
}

pub(crate) fn push(text: &mut String, part: &str) -> Result<(), String> {
    if text.len() + part.len() > MAX_TEXT {
        return Err(format!("the text is longer than {MAX_TEXT} bytes"));
    }
    text.push_str(part);
    Ok(())
}

pub(crate) fn from_json(text: &ExprValue) -> Result<ExprValue, String> {
    let text = to_text(text);
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    if text.trim().is_empty() {
        return Err("fromJSON was given an empty text".to_owned());
    }
    serde_json::from_str(text)
        .map_err(|error| format!("fromJSON was given a text that is no JSON: {error}"))
}

pub(crate) fn to_json(value: &ExprValue) -> Result<String, String> {
    let mut json = String::new();
    write_json(value, 0, &mut json)?;
    Ok(json)
}

/// With two spaces a level, as `JSON.stringify` writes it.
fn write_json(value: &ExprValue, level: usize, json: &mut String) -> Result<(), String> {
    match value {
        ExprValue::Null => push(json, "null"),
        ExprValue::Bool(value) => push(json, if *value { "true" } else { "false" }),
        ExprValue::Number(value) if value.is_finite() => push(json, &number_text(*value)),
        ExprValue::Number(_) => push(json, "null"),
        ExprValue::Text(text) => push(json, &quoted(text)),
        ExprValue::List(items) => {
            let items = items.iter().map(|item| (None, item));
            write_items(items, ['[', ']'], level, json)
        }
        ExprValue::Object(object) => {
            let entries = object.iter().map(|(name, value)| (Some(name), value));
            write_items(entries, ['{', '}'], level, json)
        }
    }
}

fn write_items<'v>(
    items: impl Iterator<Item = (Option<&'v str>, &'v ExprValue)>,
    [open, close]: [char; 2],
    level: usize,
    json: &mut String,
) -> Result<(), String> {
    json.push(open);
    let mut is_empty = true;
    for (name, value) in items {
        push(json, if is_empty { "\n" } else { ",\n" })?;
        is_empty = false;
        push(json, &"  ".repeat(level + 1))?;
        if let Some(name) = name {
            push(json, &quoted(name))?;
            push(json, ": ")?;
        }
        write_json(value, level + 1, json)?;
    }
    if !is_empty {
        push(json, "\n")?;
        push(json, &"  ".repeat(level))?;
    }
    json.push(close);
    Ok(())
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if u32::from(c) < 0x20 => {
                // A `String` takes whatever is written to it.
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format_of(arguments: &[&str]) -> Result<String, String> {
        let arguments: Vec<_> = arguments
            .iter()
            .map(|text| ExprValue::text(*text))
            .collect();
        format(&arguments)
    }

    #[test]
    fn format_takes_numbers_and_doubled_braces() {
        assert_eq!(format_of(&["{0} {1} {0}", "a", "b"]).unwrap(), "a b a");
        assert_eq!(format_of(&["{{0}} {{{0}}}", "a"]).unwrap(), "{0} {a}");
        assert_eq!(format_of(&["é{0:x}", "a"]).unwrap(), "éa");
        for broken in [
            "{",
            "}",
            "{}",
            "{x}",
            "{1}",
            "{0",
            "a}b",
            "{99999999999999999999999}",
        ] {
            assert!(format_of(&[broken, "a"]).is_err(), "{broken}");
        }
    }

    #[test]
    fn texts_have_a_bound() {
        let long = "x".repeat(MAX_TEXT / 2 + 1);
        assert!(format_of(&["{0}{0}", &long]).is_err());
        let list = ExprValue::list([ExprValue::text(&*long), ExprValue::text(&*long)]);
        assert!(join(&list, None).is_err());
        assert!(to_json(&list).is_err());
    }

    #[test]
    fn json_is_written_as_in_javascript() {
        let value = from_json(&ExprValue::text(r#"{"b":[1,{},[]],"a":"\u0001\n\"é"}"#)).unwrap();
        let written =
            "{\n  \"b\": [\n    1,\n    {},\n    []\n  ],\n  \"a\": \"\\u0001\\n\\\"é\"\n}";
        assert_eq!(to_json(&value).unwrap(), written);
        assert_eq!(to_json(&ExprValue::Number(f64::NAN)).unwrap(), "null");
        assert_eq!(to_json(&ExprValue::Number(-0.0)).unwrap(), "0");
    }

    #[test]
    fn a_list_contains_what_is_equal_to_an_item() {
        let list = ExprValue::list([ExprValue::Number(1.0), ExprValue::text("Push")]);
        assert!(contains(&list, &ExprValue::text("1")));
        assert!(contains(&list, &ExprValue::text("PUSH")));
        assert!(!contains(&list, &ExprValue::text("pus")));
        assert!(contains(&ExprValue::text("Push"), &ExprValue::text("us")));
        assert!(contains(&ExprValue::Number(123.0), &ExprValue::Number(2.0)));
    }

    #[test]
    fn join_takes_a_list_or_a_text() {
        let list = ExprValue::list([ExprValue::Number(1.0), ExprValue::Null, ExprValue::list([])]);
        assert_eq!(join(&list, None).unwrap(), "1,,Array");
        assert_eq!(
            join(&list, Some(&ExprValue::text("-"))).unwrap(),
            "1--Array"
        );
        assert_eq!(join(&list, Some(&list)).unwrap(), "1,,Array");
        assert_eq!(join(&ExprValue::Bool(true), None).unwrap(), "true");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", " ", "{", "nul", "'a'", "1 2"] {
            assert!(from_json(&ExprValue::text(text)).is_err(), "{text}");
        }
        assert_eq!(
            from_json(&ExprValue::Bool(true)).unwrap(),
            ExprValue::Bool(true)
        );
    }
}
