//! How large a type may get, who sees its fields, what it may be called, and which files may import each other. Each
//! function names what breaks its rule.

use std::collections::BTreeMap;

use crate::imports::{circles, graph};
use crate::source::Source;
use crate::types::types;

const MOST_METHODS: usize = 40;
const MOST_IMPL_FILES: usize = 4;
const MOST_OF_ONE_NAME: usize = 3;

/// What a request, an answer and the arguments of a command are called in each module that has them.
const SHARED_NAMES: [&str; 3] = ["Answer", "Args", "Request"];

pub fn crowds(source: &Source) -> Vec<String> {
    let types = types(source).into_iter();
    let crowds = types.filter(|(_, facts)| {
        facts.methods > MOST_METHODS || facts.impl_files.len() > MOST_IMPL_FILES
    });
    let named = crowds.map(|((path, name), facts)| {
        let (path, files) = (path.join("::"), facts.impl_files.len());
        format!("{path}::{name}: {} methods in {files} files", facts.methods)
    });
    named.collect()
}

/// Fields that are reached past the methods that guard them.
pub fn unguarded_fields(source: &Source) -> Vec<String> {
    let types = types(source).into_iter();
    let unguarded = types.filter(|(_, facts)| !facts.unguarded().is_empty());
    let named = unguarded.map(|((path, name), facts)| {
        let (path, fields) = (path.join("::"), facts.unguarded().join(", "));
        format!("{path}::{name}: {fields}")
    });
    named.collect()
}

pub fn shared_names(source: &Source) -> Vec<String> {
    let mut places = BTreeMap::<_, Vec<_>>::new();
    for ((path, name), _) in types(source) {
        places.entry(name).or_default().push(path.join("::"));
    }
    let shared = places.into_iter().filter(|(name, paths)| {
        paths.len() > MOST_OF_ONE_NAME && !SHARED_NAMES.contains(&name.as_str())
    });
    let named = shared.map(|(name, paths)| {
        let (count, paths) = (paths.len(), paths.join(", "));
        format!("{count} types are called {name}: {paths}")
    });
    named.collect()
}

/// Sets of files each of which imports all others, through others if not by itself.
pub fn import_circles(source: &Source) -> Vec<String> {
    let graph = graph(source);
    let circles = circles(&graph).into_iter();
    let shown = circles.map(|circle| {
        let mut shown = format!("a circle of {} files:", circle.len());
        for file in &circle {
            for to in graph[file].iter().filter(|to| circle.contains(*to)) {
                shown.push_str(&format!("\n  {file} -> {to}"));
            }
        }
        shown
    });
    shown.collect()
}
