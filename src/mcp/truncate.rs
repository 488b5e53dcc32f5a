//! Answers that are too long: a little of every list and text is worth more than all of one. Nothing is left out in
//! silence.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fit;

/// An item of a list is not cut below this: less tells nothing.
const LEAST_ITEM: usize = 160;
/// The field that is of use only as it is: half a cursor leads elsewhere.
const CURSOR: &str = "next_cursor";

/// The field that says that something was left out.
pub(super) const TRUNCATED: &str = "truncated";

/// What was left out by field: so many items of a list, or bytes of a text.
pub(super) type Omitted = BTreeMap<String, usize>;

/// The value with about `share` bytes of JSON for each of its lists and texts, and what was left out.
pub(super) fn truncated(value: &Value, share: usize) -> (Value, Omitted) {
    let mut omitted = Omitted::new();
    let left = keep(value, share, "", &mut omitted);
    (left, omitted)
}

fn keep(value: &Value, share: usize, field: &str, omitted: &mut Omitted) -> Value {
    match value {
        Value::String(text) => {
            let head = fit::head(text, share);
            match text.len() - head.len() {
                0 => return value.clone(),
                gone => *omitted.entry(field.to_owned()).or_default() += gone,
            }
            format!("{head}…").into()
        }
        Value::Array(items) if size(value) > share => {
            keep_items(items, share, field, omitted).into()
        }
        Value::Object(fields) => {
            let before: usize = omitted.values().sum();
            let kept = fields.iter().map(|(name, value)| {
                let inner = match field {
                    "" => name.clone(),
                    field => format!("{field}.{name}"),
                };
                let value = match name.as_str() {
                    CURSOR => value.clone(),
                    _ => keep(value, share, &inner, omitted),
                };
                (name.clone(), value)
            });
            let mut kept: Map<_, _> = kept.collect();
            if omitted.values().sum::<usize>() > before
                && let Some(truncated) = kept.get_mut(TRUNCATED)
            {
                *truncated = true.into();
            }
            kept.into()
        }
        _ => value.clone(),
    }
}

/// The first items, shortened so that there are more of them; one at least, for an empty list would say that there is
/// none.
fn keep_items(items: &[Value], share: usize, field: &str, omitted: &mut Omitted) -> Vec<Value> {
    let each = (share / items.len()).max(LEAST_ITEM);
    let of_items = format!("{field}[]");
    let mut left = share;
    let mut kept = Vec::new();
    for item in items {
        let mut gone = Omitted::new();
        let item = keep(item, each.min(share), &of_items, &mut gone);
        let rest = left.checked_sub(size(&item) + ",".len());
        if rest.is_none() && !kept.is_empty() {
            break;
        }
        left = rest.unwrap_or_default();
        kept.push(item);
        for (field, count) in gone {
            *omitted.entry(field).or_default() += count;
        }
    }
    if kept.len() < items.len() {
        omitted.insert(field.to_owned(), items.len() - kept.len());
    }
    kept
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_list_and_text_keeps_its_beginning_and_the_rest_is_counted() {
        let whole = json!({
            "paths": vec!["a/path/to/a/file"; 1000],
            "few": ["one", "two"],
            "conflicts": [{ "path": "x", "hunks": vec!["h".repeat(50); 100], "truncated": false }],
            "patch": "p".repeat(5000),
            "next_cursor": "c".repeat(2000),
            "total": 1000,
        });
        let (left, omitted) = truncated(&whole, 600);
        assert_eq!(
            (&left["few"], &left["total"]),
            (&whole["few"], &whole["total"])
        );
        assert_eq!(left["next_cursor"], whole["next_cursor"]);
        for (list, field) in [
            (&left["paths"], "paths"),
            (&left["conflicts"][0]["hunks"], "conflicts[].hunks"),
        ] {
            let shown = list.as_array().unwrap().len();
            let all = if field == "paths" { 1000 } else { 100 };
            assert!(shown > 1 && size(list) <= 700, "{field}: {shown}");
            assert_eq!(omitted[field], all - shown, "{field}");
        }
        assert_eq!(left["conflicts"][0]["truncated"], true);
        assert_eq!(omitted["patch"], 5000 - 600);
        assert!(left["patch"].as_str().unwrap().ends_with('…'));
        assert_eq!(omitted.len(), 3, "{omitted:?}");
        assert_eq!(truncated(&whole, 1 << 20), (whole, Omitted::new()));
    }

    #[test]
    fn a_list_never_becomes_empty() {
        let (left, omitted) = truncated(&json!({ "list": [["x".repeat(500)], 1] }), 10);
        assert_eq!(left["list"].as_array().unwrap().len(), 1);
        assert_eq!(omitted["list"], 1);
    }
}
