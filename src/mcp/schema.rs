//! JSON schemas as clients of every kind take them: no references, no formats that only Rust knows.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use super::scope::ToolScope;

/// The schema of what a tool takes, which is an object.
pub(super) fn taken(shape: fn(SchemaGenerator) -> Schema) -> JsonObject {
    object(SchemaSettings::draft2020_12(), shape)
}

/// The schema of what a tool gives: other than in what it takes, a field that may be left out says so.
pub(super) fn given(shape: fn(SchemaGenerator) -> Schema) -> JsonObject {
    object(SchemaSettings::draft2020_12().for_serialize(), shape)
}

/// One object with the fields of both.
pub(super) fn joined(mut one: JsonObject, other: JsonObject) -> JsonObject {
    for (keyword, more) in other {
        match (one.get_mut(&keyword), more) {
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
            (_, more) => {
                one.insert(keyword, more);
            }
        }
    }
    one
}

fn object(settings: SchemaSettings, shape: fn(SchemaGenerator) -> Schema) -> JsonObject {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = Value::from(shape(settings.into_generator()));
    strip(&mut schema);
    let Value::Object(mut object) = schema else {
        return JsonObject::new();
    };
    for noise in ["title", "description"] {
        object.remove(noise);
    }
    object
}

/// `uint32` and the like are no formats of JSON Schema, and some clients say so at every start. How a name
/// is spelled would be told for each of its many fields, and whoever gets it wrong is told then.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // A field of that name has a schema, which is no text and no number.
            object.retain(|keyword, value| match (keyword.as_str(), value) {
                ("format", Value::String(format)) => {
                    !format.starts_with("int") && !format.starts_with("uint") && format != "double"
                }
                ("pattern", Value::String(_)) | ("maxLength", Value::Number(_)) => false,
                _ => true,
            });
            object.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The input schema as this client sees it: what its configuration fixed may be left out.
pub(super) fn with_defaults(schema: &Arc<JsonObject>, scope: &ToolScope) -> Arc<JsonObject> {
    let mut fixed = JsonObject::new();
    fill_in(&mut fixed, schema, scope);
    let mut schema = schema.clone();
    for (name, value) in fixed {
        let schema = Arc::make_mut(&mut schema);
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|field| *field != name);
        }
        if let Some(properties) = schema.get_mut("properties") {
            properties[&name]["default"] = value;
        }
    }
    schema
}

/// The arguments with what the client's configuration fixed.
pub(super) fn fill_in(arguments: &mut JsonObject, schema: &JsonObject, scope: &ToolScope) {
    let repo = scope.repo().map(ToString::to_string);
    // A branch that was fixed beside a repo is that repo's.
    let is_elsewhere = repo.is_some()
        && arguments.contains_key("repo")
        && arguments.get("repo").and_then(Value::as_str) != repo.as_deref();
    let branch = scope.branch().filter(|_| !is_elsewhere);
    let fixed = [("repo", repo), ("branch", branch.map(ToString::to_string))];
    for (name, value) in fixed {
        if let Some(value) = value
            && requires(schema, name)
            && !arguments.contains_key(name)
        {
            arguments.insert(name.to_owned(), value.into());
        }
    }
}

/// Where a field may be left out anyway, that means something of its own, such as all repos.
fn requires(schema: &JsonObject, property: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|field| field == property))
}
