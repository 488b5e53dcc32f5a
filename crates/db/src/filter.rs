//! The conditions of a list, of which a caller may name any.

use rusqlite::types::Value;

/// `WHERE` and all conditions that have a value, which stands for each `?` in its condition; and those values.
pub(crate) fn conditions<const N: usize>(
    conditions: [(&str, Option<Value>); N],
) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let mut sql = String::new();
    for (condition, value) in conditions {
        if let Some(value) = value {
            values.push(value);
            sql += if sql.is_empty() { "WHERE " } else { " AND " };
            sql += &condition.replace('?', &format!("?{}", values.len()));
        }
    }
    (sql, values)
}

pub(crate) fn text(text: &impl ToString) -> Value {
    Value::Text(text.to_string())
}
