//! Git verbs, each with the schemas that it brings along.

use schemars::generate::SchemaSettings;
use serde_json::json;

use super::GIT;
use crate::app::verbs::{Common, verbs};
use crate::http::openapi::operation::{Content, JSON, Operation, post};
use crate::http::openapi::schemas::{Schemas, of, whole};

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let common = schemas.given(of::<Common>());
    let mut operations = Vec::new();
    for verb in verbs() {
        let name = verb.entry().name;
        let type_name = type_name(name);
        let takes = whole(SchemaSettings::draft2020_12(), verb.takes());
        let takes = schemas.named(&format!("{type_name}Request"), takes);
        let gives = whole(SchemaSettings::draft2020_12().for_serialize(), verb.gives());
        let gives = json!({ "allOf": [common, gives] });
        let gives = schemas.named(&format!("{type_name}Answer"), gives);
        operations.push(
            post(
                GIT,
                format!("/api/repos/{{repo}}/branches/{{branch}}/git/{name}"),
                format!("git_{name}"),
                verb.entry().title,
            )
            .says(verb.entry().description)
            .takes_content(Content::Is(takes))
            .answers(200, "What came of it.", vec![(JSON, Content::Is(gives))]),
        );
    }
    operations
}

/// `cherry_pick` is `GitCherryPick`.
fn type_name(verb: &str) -> String {
    let mut name = "Git".to_owned();
    for word in verb.split('_') {
        let (first, rest) = word.split_at(1);
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name
}
