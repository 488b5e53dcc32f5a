use std::collections::BTreeSet;

use super::*;
use crate::http::route::{name_of, parameters_of};
use crate::http::routes;
use axum::routing::MethodRouter;
use branchyard_reference::{Table, check, heading};

fn sections() -> Vec<Section> {
    routes::all(MethodRouter::new())
}

/// Every operation of the document, with its path and method.
fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (path.clone(), method.clone(), operation))
        })
        .collect()
}

#[test]
fn every_route_has_one_operation_and_there_is_no_other() {
    let document = document(sections());
    let described: BTreeSet<_> = operations(&document)
        .into_iter()
        .map(|(path, method, _)| (path, method))
        .collect();
    let routes: Vec<_> = sections()
        .into_iter()
        .flat_map(|section| section.routes)
        .map(|route| {
            let method = route.method.as_str().to_ascii_lowercase();
            (template(&route.path), method)
        })
        .collect();
    assert_eq!(routes.len(), described.len());
    assert_eq!(described, routes.into_iter().collect());
}

#[test]
fn every_operation_says_what_it_is_and_what_it_asks() {
    let document = document(sections());
    let tags: BTreeSet<_> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| &tag["name"])
        .map(Value::to_string)
        .collect();
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let what = format!("{method} {path}: {operation}");
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id.to_owned()), "{what}");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{what}");
        assert!(tags.contains(&operation["tags"][0].to_string()), "{what}");
        let is_open = operation["x-right"] == "open";
        assert_eq!(is_open, operation["security"] == json!([]), "{what}");
        let responses = operation["responses"].as_object().unwrap();
        assert!(
            responses.contains_key("default") && responses.len() > 1,
            "{what}"
        );
        assert!(responses.values().all(|response| response["description"].is_string() || response["$ref"].is_string()), "{what}");
    }
}

#[test]
fn parameters_are_those_of_the_path_and_have_a_schema() {
    let document = document(sections());
    for (path, method, operation) in operations(&document) {
        let mut seen = BTreeSet::new();
        let mut in_path = BTreeSet::new();
        for parameter in operation["parameters"].as_array().unwrap() {
            let (name, place) = (
                parameter["name"].as_str().unwrap(),
                parameter["in"].as_str().unwrap(),
            );
            let what = format!("{method} {path}: {parameter}");
            assert!(seen.insert((place, name)), "{what}");
            assert!(parameter["description"].is_string(), "{what}");
            assert!(parameter["schema"].is_object(), "{what}");
            if place == "path" {
                assert_eq!(parameter["required"], true, "{what}");
                in_path.insert(name);
            }
        }
        assert_eq!(in_path, parameters_of(&path).collect(), "{method} {path}");
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_referred_to() {
    let document = document(sections());
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for reference in &found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let named: BTreeSet<_> = document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    let used = found
        .iter()
        .filter_map(|reference| name_of(reference))
        .map(ToOwned::to_owned)
        .collect();
    assert_eq!(named, used);
    // A number behind a name stands for two types that have the same.
    assert!(
        named
            .iter()
            .all(|name| name.chars().all(char::is_alphabetic)),
        "{named:?}"
    );
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.insert(reference.clone());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn what_is_taken_and_given_under_one_name_is_the_same() {
    let mut schemas = Schemas::new();
    paths(sections(), &mut schemas);
    let (taken, given) = schemas.into_parts();
    for (name, schema) in taken {
        assert!(
            given.get(&name).is_none_or(|known| *known == schema),
            "{name}: {schema}"
        );
    }
}

#[test]
fn the_reference_page_of_events_is_up_to_date() {
    let document = document(sections());
    let schemas = &document["components"]["schemas"];
    let mut page = heading("Events");
    page.push_str(
        "The events of every stream, with their fields. With server-sent events, `event` is the type and\n\
         `data` the fields. With NDJSON, each line is one object with `type` and `id` inside. Pass over\n\
         types and fields that you do not know: a later version may add some.\n\
         [API.md](../API.md#streams) explains the streams.\n",
    );
    let of_runs = schemas["Event"]["oneOf"].as_array().unwrap().iter();
    let output = &schemas["Output"];
    let of_yard = schemas["YardEvent"]["oneOf"].as_array().unwrap().iter();
    let streams = [
        (
            "Runs and groups",
            "`GET /stream/runs/{run}`, `GET /stream/groups/{group}`, and each POST that starts a run or a group.",
            of_runs.chain([output]).collect::<Vec<_>>(),
        ),
        (
            "Changes in the yard",
            "`GET /stream/events`.",
            of_yard.collect(),
        ),
    ];
    for (title, about, events) in streams {
        page.push_str(&format!("\n## {title}\n\n{about}\n"));
        for event in events {
            page.push_str(&described_event(event, schemas));
        }
    }
    check("docs/reference/events.md", &page);
}

fn described_event(event: &Value, schemas: &Value) -> String {
    let kind = &event["properties"]["type"];
    let kinds = match kind["enum"].as_array() {
        Some(kinds) => kinds.iter().collect(),
        None => vec![&kind["const"]],
    };
    let kinds: Vec<_> = kinds
        .iter()
        .map(|kind| format!("`{}`", kind.as_str().unwrap()))
        .collect();
    let base = [event, &event["allOf"][0]];
    let base = base.into_iter().find_map(|schema| schema["$ref"].as_str());
    let base = base.map_or(&Value::Null, |name| &schemas[name_of(name).unwrap()]);
    let about = [event, base]
        .into_iter()
        .find_map(|schema| schema["description"].as_str());
    let mut table = Table::new(&["field", "type", "meaning"]);
    for schema in [event, base] {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if name == "type" {
                continue;
            }
            let required = schema["required"].as_array();
            let is_required = required.is_some_and(|all| all.iter().any(|known| known == name));
            let optional = if is_required { "" } else { ", optional" };
            let kind = format!("{}{optional}", type_of(field, schemas));
            let meaning = field["description"].as_str().unwrap_or_default();
            table.row(&[&format!("`{name}`"), &kind, meaning]);
        }
    }
    let table = table.to_string();
    let about = about.map_or_else(String::new, |about| format!("{about}\n\n"));
    match table.lines().count() {
        2 => format!("\n### {}\n\n{about}It has no fields.\n", kinds.join(", ")),
        _ => format!("\n### {}\n\n{about}{table}", kinds.join(", ")),
    }
}

fn type_of(schema: &Value, schemas: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(name_of) {
        return match type_of(&schemas[name], schemas) {
            object if object == "object" => format!("object (`{name}`)"),
            plain => plain,
        };
    }
    let words = |values: &[Value]| {
        let words = values.iter().filter_map(Value::as_str);
        words
            .map(|word| match word {
                "" => "`\"\"`".to_owned(),
                word => format!("`{}`", word.escape_default()),
            })
            .collect::<Vec<_>>()
            .join(", ")
    };
    if let Some(values) = schema["enum"].as_array() {
        return words(values);
    }
    if schema["const"].is_string() {
        return words(std::slice::from_ref(&schema["const"]));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[keyword].as_array() {
            let choices = choices.iter().filter(|choice| choice["type"] != "null");
            let mut choices: Vec<_> = choices.map(|choice| type_of(choice, schemas)).collect();
            choices.dedup();
            return choices.join(", ");
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[0].as_str(),
        kind => kind.as_str(),
    };
    match kind {
        Some("array") => format!("array of {}", type_of(&schema["items"], schemas)),
        Some("string") if schema["format"] == "date-time" => "time".to_owned(),
        kind => kind.unwrap_or("any").to_owned(),
    }
}
