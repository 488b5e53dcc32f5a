//! The schemas of what is taken and given: every type once, under its name, and referred to by that.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The schema of a type, for whoever has a generator.
pub(in crate::http) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// A field that may be left out is described one way where it is read and another where it is written.
pub(in crate::http) struct Schemas {
    taken: SchemaGenerator,
    given: SchemaGenerator,
    /// Those of types that are not known here.
    named: Map<String, Value>,
}

impl Schemas {
    pub(in crate::http) fn new() -> Self {
        Self {
            taken: in_components(SchemaSettings::draft2020_12()).into_generator(),
            given: in_components(SchemaSettings::draft2020_12().for_serialize()).into_generator(),
            named: Map::new(),
        }
    }

    pub(in crate::http) fn taken(&mut self, shape: Shape) -> Value {
        clean(shape(&mut self.taken))
    }

    pub(in crate::http) fn given(&mut self, shape: Shape) -> Value {
        clean(shape(&mut self.given))
    }

    /// Keeps a schema under a name; the reference to it.
    pub(in crate::http) fn named(&mut self, name: &str, schema: Value) -> Value {
        self.named.insert(name.to_owned(), schema);
        reference(name)
    }

    /// What was kept under a name while something taken was described.
    pub(in crate::http) fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str().and_then(name_of);
        let known = name.and_then(|name| {
            let taken = self.taken.definitions().get(name);
            taken.or_else(|| self.named.get(name))
        });
        known.unwrap_or(schema)
    }

    /// The fields of a type as parameters of the query.
    pub(in crate::http) fn parameters(&mut self, shape: Shape) -> Vec<Value> {
        let mut object = self.taken(shape);
        let required = object["required"].take();
        let is_required = |name: &String| {
            let required = required.as_array();
            required.is_some_and(|required| required.iter().any(|field| field == name))
        };
        let Value::Object(fields) = object["properties"].take() else {
            return Vec::new();
        };
        fields
            .into_iter()
            .map(|(name, mut schema)| {
                let description = schema["description"].take();
                forget_null(&mut schema);
                json!({
                    "name": name,
                    "in": "query",
                    "required": is_required(&name),
                    "description": description,
                    "schema": schema,
                })
            })
            .collect()
    }

    /// All that has a name: first what is taken, then what is given. What is in both is the same.
    pub(in crate::http) fn into_parts(mut self) -> (Map<String, Value>, Map<String, Value>) {
        let mut taken = self.taken.take_definitions(false);
        let mut given = self.given.take_definitions(false);
        taken.values_mut().chain(given.values_mut()).for_each(strip);
        given.extend(self.named);
        (taken, given)
    }
}

/// The schema of a type that is described as a whole: without references, so that it needs no names.
pub(in crate::http) fn whole(
    settings: SchemaSettings,
    shape: fn(SchemaGenerator) -> Schema,
) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = clean(shape(settings.into_generator()));
    if let Value::Object(fields) = &mut schema {
        fields.remove("title");
    }
    schema
}

pub(in crate::http) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{COMPONENTS}{name}") })
}

pub(in crate::http) fn of<T: JsonSchema>() -> Shape {
    SchemaGenerator::subschema_for::<T>
}

const COMPONENTS: &str = "#/components/schemas/";

pub(in crate::http) fn name_of(reference: &str) -> Option<&str> {
    reference.strip_prefix(COMPONENTS)
}

fn in_components(settings: SchemaSettings) -> SchemaSettings {
    settings.with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    })
}

fn clean(schema: Schema) -> Value {
    let mut schema = Value::from(schema);
    strip(&mut schema);
    schema
}

/// `uint32` and the like are formats that only Rust knows.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.retain(|keyword, value| {
                let is_foreign = |format: &str| format.starts_with("uint");
                keyword != "format" || !value.as_str().is_some_and(is_foreign)
            });
            object.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// A parameter is there or is not, but it is never null. Its description stands beside its schema.
fn forget_null(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        return;
    };
    fields.retain(|keyword, value| {
        keyword != "description" && !(keyword == "default" && value.is_null())
    });
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    for keyword in ["type", "anyOf"] {
        let Some(Value::Array(choices)) = fields.get_mut(keyword) else {
            continue;
        };
        choices.retain(|choice| choice != "null" && choice["type"] != "null");
        if let [only] = &choices[..] {
            let only = only.clone();
            fields.remove(keyword);
            match only {
                Value::Object(only) => fields.extend(only),
                only => {
                    fields.insert(keyword.to_owned(), only);
                }
            }
        }
    }
}
