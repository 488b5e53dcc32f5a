//! How large a type may get, who sees its fields, what it may be called, and which files may import each other.

use std::collections::BTreeMap;

use crate::imports::{circles, graph};
use crate::source::{Source, files};
use crate::types::types;

const MOST_METHODS: usize = 40;
const MOST_IMPL_FILES: usize = 4;
const MOST_CIRCLES: usize = 7;
const MOST_OF_ONE_NAME: usize = 3;

/// What is not yet as it should be. These only go down, to none.
const CROWDS_LEFT: usize = 8;
const UNGUARDED_LEFT: usize = 75;
const NAMES_LEFT: usize = 15;

/// What a request, an answer and the arguments of a command are called in each module that has them.
const SHARED_NAMES: [&str; 3] = ["Answer", "Args", "Request"];

#[test]
fn no_type_is_a_crowd() {
    let found = types(&Source::parse(&files()))
        .into_iter()
        .filter(|(_, facts)| {
            facts.methods > MOST_METHODS || facts.impl_files.len() > MOST_IMPL_FILES
        })
        .map(|((path, name), facts)| {
            let (methods, files) = (facts.methods, facts.impl_files.len());
            format!(
                "{}::{name}: {methods} methods in {files} files",
                path.join("::")
            )
        });
    assert_at_most(CROWDS_LEFT, found);
}

#[test]
fn no_field_is_reached_past_the_methods_that_guard_it() {
    let found = types(&Source::parse(&files()))
        .into_iter()
        .filter(|(_, facts)| !facts.unguarded().is_empty())
        .map(|((path, name), facts)| {
            format!(
                "{}::{name}: {}",
                path.join("::"),
                facts.unguarded().join(", ")
            )
        });
    assert_at_most(UNGUARDED_LEFT, found);
}

#[test]
fn few_types_share_a_name() {
    let mut places = BTreeMap::<_, Vec<_>>::new();
    for ((path, name), _) in types(&Source::parse(&files())) {
        places.entry(name).or_default().push(path.join("::"));
    }
    let found = places
        .into_iter()
        .filter(|(name, paths)| {
            paths.len() > MOST_OF_ONE_NAME && !SHARED_NAMES.contains(&name.as_str())
        })
        .map(|(name, paths)| {
            format!(
                "{} types are called {name}: {}",
                paths.len(),
                paths.join(", ")
            )
        });
    assert_at_most(NAMES_LEFT, found);
}

#[test]
fn few_files_import_each_other() {
    let graph = graph(&Source::parse(&files()));
    let circles = circles(&graph);
    let mut shown = String::new();
    for circle in &circles {
        shown.push_str(&format!("\na circle of {} files:\n", circle.len()));
        for (file, to) in circle
            .iter()
            .flat_map(|file| graph[file].iter().map(move |to| (file, to)))
        {
            if circle.contains(to) {
                shown.push_str(&format!("  {file} -> {to}\n"));
            }
        }
    }
    assert!(
        circles.len() <= MOST_CIRCLES,
        "{} circles{shown}",
        circles.len()
    );
}

fn assert_at_most(left: usize, found: impl Iterator<Item = String>) {
    let found: Vec<_> = found.collect();
    assert!(
        found.len() <= left,
        "{}:\n{}",
        found.len(),
        found.join("\n")
    );
}
