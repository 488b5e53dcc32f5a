//! Schemas in words that every client and model understands. Many know one type for each value only, and
//! some of them drop or refuse a tool whose schema says more.

use rmcp::model::JsonObject;
use schemars::Schema;
use schemars::transform::transform_subschemas;
use serde_json::{Value, json};

/// What is said of fields that nearly every tool has, and whose names say as much.
const TOLD_BY_NAME: [&str; 5] = [
    "A repository, by its name.",
    "Such as main or feature/login.",
    "How much the answer tells.",
    "How much to tell.",
    "What to do.",
];

/// How deep answers are described.
const TOLD_DEPTH: usize = 2;

/// What a tool takes: a field that may be left out need not be null besides, though we take that too.
pub(super) fn taken(schema: JsonObject) -> JsonObject {
    let mut schema = Schema::from(schema);
    name_choices(&mut schema);
    leave_out_in_place_of_null(&mut schema);
    split_types(&mut schema);
    leave_out_what_goes_without_saying(&mut schema);
    let mut taken = object(schema.into());
    // Some clients look for the fields also of a tool that takes none.
    taken
        .entry("properties")
        .or_insert_with(|| Value::Object(JsonObject::new()));
    taken
}

/// What a tool gives. Names tell what is what, and nothing is null: what there is none of is left out. Every word more,
/// and what lies deep within, would be paid for by every client that lists the tools.
pub(super) fn given(schema: JsonObject) -> JsonObject {
    let mut schema = Schema::from(schema);
    name_choices(&mut schema);
    drop_words(&mut schema);
    forget_nulls(&mut schema);
    split_types(&mut schema);
    let mut schema = schema.into();
    flatten(&mut schema, TOLD_DEPTH);
    object(schema)
}

fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// A choice of constants becomes a list of them, which every client knows.
fn name_choices(schema: &mut Schema) {
    transform_subschemas(&mut name_choices, schema);
    let Some(Value::Array(choices)) = schema.get("oneOf") else {
        return;
    };
    let mut names = Vec::new();
    for choice in choices {
        match (choice.get("const"), choice.get("enum")) {
            (Some(name @ Value::String(_)), None) => names.push(name.clone()),
            (None, Some(Value::Array(more))) if more.iter().all(Value::is_string) => {
                names.extend(more.iter().cloned());
            }
            _ => return,
        }
    }
    schema.remove("oneOf");
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), names.into());
}

/// The server says what it takes besides, and what it assumes where nothing is said is mostly nothing.
fn leave_out_what_goes_without_saying(schema: &mut Schema) {
    transform_subschemas(&mut leave_out_what_goes_without_saying, schema);
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let is_choice = fields.contains_key("enum");
    fields.retain(|keyword, value| match keyword.as_str() {
        "additionalProperties" => *value != json!(false),
        "default" => {
            !is_choice && ![json!(0), json!(false), json!(""), json!([]), json!({})].contains(value)
        }
        "minimum" => ![json!(0), json!(1)].contains(value),
        // A caller who goes beyond is told.
        "maximum" | "maxItems" => false,
        "description" => !TOLD_BY_NAME.iter().any(|known| value == known),
        _ => true,
    });
    // Words in a string are for people, who have shells.
    let words = json!([{ "type": "array", "items": { "type": "string" } }, { "type": "string" }]);
    if fields.get("anyOf") == Some(&words) {
        fields.remove("anyOf");
        fields.insert("type".to_owned(), "array".into());
        fields.insert("items".to_owned(), json!({ "type": "string" }));
    }
}

fn forget_nulls(schema: &mut Schema) {
    transform_subschemas(&mut forget_nulls, schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(forget_null);
    }
}

/// Leaves out what is deeper than so many objects, and what each of them has to have.
fn flatten(schema: &mut Value, depth: usize) {
    let Value::Object(fields) = schema else {
        return;
    };
    for keyword in ["required", "minimum", "format", "default"] {
        fields.remove(keyword);
    }
    if depth == 0 {
        for keyword in ["properties", "items", "additionalProperties"] {
            fields.remove(keyword);
        }
    }
    for (keyword, value) in fields {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(named)) => {
                named
                    .values_mut()
                    .for_each(|below| flatten(below, depth - 1));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|below| flatten(below, depth));
            }
            ("items" | "additionalProperties", below) => flatten(below, depth),
            _ => {}
        }
    }
}

fn drop_words(schema: &mut Schema) {
    schema.remove("description");
    schema.remove("title");
    transform_subschemas(&mut drop_words, schema);
}

fn leave_out_in_place_of_null(schema: &mut Schema) {
    let required = schema.get("required").and_then(Value::as_array).cloned();
    let is_required = |name: &str| required.iter().flatten().any(|required| required == name);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            if !is_required(name) {
                forget_null(property);
            }
        }
    }
    transform_subschemas(&mut leave_out_in_place_of_null, schema);
}

fn forget_null(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        return;
    };
    if fields.get("default") == Some(&Value::Null) {
        fields.remove("default");
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [only] = &choices[..] {
            let only = only.clone();
            fields.remove("anyOf");
            // What is said of the field itself is nearer than what is said of its type.
            for (name, value) in object(only) {
                fields.entry(name).or_insert(value);
            }
        }
    }
}

/// `"type": ["string", "null"]` becomes a choice of two.
fn split_types(schema: &mut Schema) {
    transform_subschemas(&mut split_types, schema);
    let Some(Value::Array(types)) = schema.get("type").cloned() else {
        return;
    };
    let fields = object(std::mem::take(schema).into()).into_iter();
    let (about, rest): (JsonObject, JsonObject) = fields
        .filter(|(name, _)| name != "type")
        .partition(|(name, _)| ["title", "description", "default"].contains(&name.as_str()));
    let choices: Vec<_> = types.iter().map(|name| choice(name, &rest)).collect();
    *schema = about.into();
    schema.insert("anyOf".to_owned(), choices.into());
}

/// The branch of one type, with those of the keywords that are about it.
fn choice(name: &Value, keywords: &JsonObject) -> Value {
    let mut choice = json!({ "type": name });
    for (keyword, value) in keywords {
        let is_about = match keyword.as_str() {
            "items" | "minItems" | "maxItems" | "uniqueItems" => name == "array",
            "properties" | "required" | "additionalProperties" => name == "object",
            _ => name != "null",
        };
        if is_about {
            choice[keyword] = match value {
                Value::Array(values) if keyword == "enum" => values
                    .iter()
                    .filter(|value| !value.is_null())
                    .cloned()
                    .collect(),
                value => value.clone(),
            };
        }
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> JsonObject {
        object(json!({
            "type": "object",
            "required": ["given"],
            "properties": {
                "given": { "type": ["string", "null"], "description": "d", "pattern": "p" },
                "open": { "type": ["integer", "null"], "default": null, "minimum": 0 },
                "one": { "type": ["string", "null"], "enum": ["a", "b", null] },
                "deep": { "anyOf": [{ "type": "object", "properties": {
                    "list": { "type": ["array", "string"], "items": { "type": "string" } },
                } }, { "type": "null" }], "description": "outer" },
            },
        }))
    }

    #[test]
    fn what_is_taken_is_left_out_in_place_of_null() {
        let list = json!({ "type": "array", "items": { "type": "string" } });
        assert_eq!(
            Value::Object(taken(schema()))["properties"],
            json!({
                "given": { "description": "d", "anyOf": [
                    { "type": "string", "pattern": "p" }, { "type": "null" },
                ] },
                "open": { "type": "integer" },
                "one": { "type": "string", "enum": ["a", "b"] },
                "deep": { "type": "object", "properties": { "list": list }, "description": "outer" },
            })
        );
    }

    #[test]
    fn a_choice_of_constants_is_a_list() {
        let schema = object(json!({ "type": "object", "properties": {
            "how": { "description": "d", "oneOf": [
                { "const": "a", "type": "string", "description": "one" },
                { "enum": ["b", "c"], "type": "string" },
            ] },
            "what": { "oneOf": [{ "type": "object" }, { "const": "x" }] },
        } }));
        let taken = Value::Object(taken(schema.clone()));
        let how = json!({ "description": "d", "type": "string", "enum": ["a", "b", "c"] });
        assert_eq!(taken["properties"]["how"], how);
        assert!(taken["properties"]["what"]["oneOf"].is_array());
        let given = Value::Object(given(schema));
        assert_eq!(given["properties"]["how"].get("description"), None);
    }

    #[test]
    fn what_is_given_is_never_null_and_not_described_to_its_depth() {
        let given = Value::Object(given(schema()));
        assert_eq!(
            given["properties"],
            json!({
                "given": { "type": "string", "pattern": "p" },
                "open": { "type": "integer" },
                "one": { "type": "string", "enum": ["a", "b"] },
                "deep": { "type": "object", "properties": { "list": { "anyOf": [
                    { "type": "array" }, { "type": "string" },
                ] } } },
            })
        );
        assert_eq!(given.get("required"), None);
    }
}
