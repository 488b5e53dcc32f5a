use std::collections::BTreeSet;

use super::*;
use crate::http::openapi::operation::parameters_of;
use crate::http::openapi::schemas::name_of;

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
    let document = document();
    let described: BTreeSet<_> = operations(&document)
        .into_iter()
        .map(|(path, method, _)| (path, method))
        .collect();
    let routes: Vec<_> = addresses()
        .into_iter()
        .flat_map(|address| {
            let methods = address.methods.into_iter();
            let path = template(&address.path);
            methods.map(move |method| (path.clone(), method.as_str().to_ascii_lowercase()))
        })
        .collect();
    assert_eq!(routes.len(), routes.iter().collect::<BTreeSet<_>>().len());
    assert_eq!(described, routes.into_iter().collect());
    // What stands in the tables and is no route would be left out of the document in silence.
    let in_tables = operations::all(&mut Schemas::new()).len();
    assert_eq!(in_tables, described.len());
}

#[test]
fn every_operation_says_what_it_is_and_what_it_asks() {
    let document = document();
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
    let document = document();
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
    let document = document();
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
    paths(&mut schemas);
    let (taken, given) = schemas.into_parts();
    for (name, schema) in taken {
        assert!(
            given.get(&name).is_none_or(|known| *known == schema),
            "{name}: {schema}"
        );
    }
}
