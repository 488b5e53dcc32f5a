//! Which keys there are, asked of the structs themselves, so that no list of them can go stale.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::values::Values;

/// A section of the file.
pub(super) struct Section {
    /// As it is written between brackets, with capitals for what the operator names; empty for the top of the file.
    pub name: String,
    /// Of the struct. Its `x-order` names the fields in the order in which they are declared.
    pub schema: Value,
}

/// The top of the file first.
pub(super) fn sections() -> Vec<Section> {
    let schema = |settings: SchemaSettings| {
        let settings = settings.with(|settings| settings.inline_subschemas = true);
        let generator = settings.into_generator();
        generator.into_root_schema_for::<Values>().to_value()
    };
    let read = schema(SchemaSettings::default());
    let written = schema(SchemaSettings::default().for_serialize());
    let mut sections = Vec::new();
    visit(String::new(), read, &written, &mut sections);
    sections
}

/// `written` is the schema of what would be written: all fields of a struct are required there, which is the one place
/// where their order is kept.
fn visit(name: String, mut schema: Value, written: &Value, sections: &mut Vec<Section>) {
    schema["x-order"] = written["required"].clone();
    let mut below = Vec::new();
    let keys = schema["x-order"].as_array().into_iter().flatten();
    for key in keys.filter_map(Value::as_str) {
        let schema = schema["properties"][key].clone();
        let written = &written["properties"][key];
        let path = match name.as_str() {
            "" => key.to_owned(),
            name => format!("{name}.{key}"),
        };
        let named = of_map(&schema);
        if is_struct(named) {
            let placeholder = schema["x-name"].as_str().unwrap_or("NAME");
            let mut fields = named.clone();
            // What is said of the key is more than what is said of its type.
            for told in ["description", "example"] {
                if schema[told].is_string() {
                    fields[told] = schema[told].clone();
                }
            }
            below.push((format!("{path}.{placeholder}"), fields, of_map(written)));
        } else if is_struct(&schema) {
            below.push((path, schema, written));
        }
    }
    sections.push(Section { name, schema });
    for (name, schema, written) in below {
        visit(name, schema, written, sections);
    }
}

/// Whether it is a struct, with keys of its own; a duration, whose schema has two fields, is written as text.
pub(super) fn is_struct(schema: &Value) -> bool {
    schema["properties"].is_object() && schema["properties"]["nanos"].is_null()
}

/// The schema of a map's values; they stand below a pattern where the schema of the names has one.
pub(super) fn of_map(schema: &Value) -> &Value {
    let patterns = schema["patternProperties"].as_object();
    let of_pattern = patterns.and_then(|patterns| patterns.values().next());
    of_pattern.unwrap_or(&schema["additionalProperties"])
}

/// Where a key that stands in the wrong place belongs, for the end of a refusal.
pub(super) fn hint(key: &str) -> Option<String> {
    let homes: Vec<_> = sections()
        .iter()
        .filter(|section| section.schema["properties"][key].is_object())
        .map(|section| match section.name.as_str() {
            "" => "at the top, before the first section".to_owned(),
            name => format!("in [{name}]"),
        })
        .collect();
    (!homes.is_empty()).then(|| format!("{key} belongs {}", homes.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_its_keys() {
        for section in sections() {
            let keys = section.schema["x-order"].as_array().unwrap();
            assert!(keys.len() > 1, "[{}]", section.name);
        }
        let top = sections().swap_remove(0).schema;
        assert_eq!(
            (&top["x-order"][0], &top["x-order"][27]),
            (&"listen".into(), &"repos".into())
        );
    }

    #[test]
    fn a_misplaced_key_is_shown_its_home() {
        assert_eq!(hint("max_jobs").unwrap(), "max_jobs belongs in [limits]");
        assert_eq!(
            hint("allow_env").unwrap(),
            "allow_env belongs in [build] or in [repos.NAME]"
        );
        assert_eq!(
            hint("listen").unwrap(),
            "listen belongs at the top, before the first section"
        );
        assert_eq!(hint("nonsense"), None);
    }
}
