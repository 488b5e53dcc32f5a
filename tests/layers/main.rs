//! Holds the rules about the source that the compiler does not: who imports whom, how large a type and the whole may
//! get, who sees its fields, and which calls are made in one room only.

#![allow(unreachable_pub, reason = "no other package uses what is here")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the source has failed"
)]

mod imports;
mod layers;
mod size;
mod source;
mod types;
mod walls;

use source::{Files, Source, files};

/// A rule: what it is about, how often it may be broken, and what breaks it.
type Rule = (&'static str, usize, fn(&Source, &Files) -> Vec<String>);

/// There are two circles of files, inside `git` and inside `runs`; there is to be no third.
const RULES: [Rule; 7] = [
    ("imports of what is not below", 0, |source, _| {
        layers::forbidden_imports(source)
    }),
    (
        "calls that belong elsewhere",
        0,
        layers::calls_out_of_their_room,
    ),
    ("crowded types", 0, |source, _| walls::crowds(source)),
    ("types with fields in sight", 0, |source, _| {
        walls::unguarded_fields(source)
    }),
    ("names of many types", 0, |source, _| {
        walls::shared_names(source)
    }),
    ("circles of imports", 2, |source, _| {
        walls::import_circles(source)
    }),
    ("code beyond its ceiling", 0, size::excess),
];

/// One test, since to parse all of it takes seconds.
#[test]
fn the_source_keeps_its_rules() {
    let files = files();
    let source = Source::parse(&files);
    let mut broken = String::new();
    for (rule, allowed, find) in RULES {
        let found = find(&source, &files);
        if found.len() != allowed {
            broken.push_str(&format!(
                "\n{rule}: {} where {allowed} are expected\n{}\n",
                found.len(),
                found.join("\n")
            ));
        }
    }
    assert!(broken.is_empty(), "{broken}");
}
