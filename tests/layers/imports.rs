//! Which file takes names from which, and the circles in that.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use crate::source::{ModulePath, Source, Target, is_for_tests};

pub type Graph = BTreeMap<String, BTreeSet<String>>;

pub fn graph(source: &Source) -> Graph {
    let mut graph = Graph::new();
    for (path, module) in &source.modules {
        let mut paths = Paths::default();
        for item in &module.items {
            paths.visit_item(item);
        }
        let private = module
            .imports
            .values()
            .filter(|import| !import.re_export)
            .map(|import| import.path.clone());
        for names in paths.0.into_iter().chain(private) {
            if let Some(file) = file_of(source, path, &names)
                && file != module.file
                && !is_part_of(&module.file, &file)
            {
                graph.entry(module.file.clone()).or_default().insert(file);
            }
        }
    }
    graph
}

fn file_of(source: &Source, from: &ModulePath, names: &[String]) -> Option<String> {
    match source.resolve(from, names)? {
        Target::Item(module, _) => Some(source.modules[&module].file.clone()),
        // The names that are taken from the module say which file it is.
        Target::Module(_) => None,
    }
}

/// Whether a file is a part of the module that another is the front of. A part may use its front.
fn is_part_of(file: &str, front: &str) -> bool {
    let dir = front
        .strip_suffix("/mod.rs")
        .or_else(|| front.strip_suffix("/lib.rs"))
        .or_else(|| front.strip_suffix(".rs"));
    dir.is_some_and(|dir| {
        file.strip_prefix(dir)
            .is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Every path in the code of a module.
#[derive(Default)]
struct Paths(BTreeSet<Vec<String>>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|part| part.ident.to_string());
        self.0.insert(names.collect());
        visit::visit_path(self, path);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }
}

/// The files that import each other, in groups: strongly connected ones of more than one file.
pub fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let mut search = Search {
        graph,
        ..Search::default_for(graph)
    };
    for file in graph.keys() {
        search.visit(file);
    }
    let mut found: Vec<_> = search
        .found
        .into_iter()
        .filter(|files| files.len() > 1)
        .collect();
    for files in &mut found {
        files.sort();
    }
    found.sort();
    found
}

/// Tarjan's search.
struct Search<'a> {
    graph: &'a Graph,
    order: BTreeMap<&'a str, usize>,
    low: BTreeMap<&'a str, usize>,
    stack: Vec<&'a str>,
    found: Vec<Vec<String>>,
}

impl<'a> Search<'a> {
    fn default_for(graph: &'a Graph) -> Self {
        Self {
            graph,
            order: BTreeMap::new(),
            low: BTreeMap::new(),
            stack: Vec::new(),
            found: Vec::new(),
        }
    }

    fn visit(&mut self, file: &'a str) {
        if self.order.contains_key(file) {
            return;
        }
        let number = self.order.len();
        self.order.insert(file, number);
        self.low.insert(file, number);
        self.stack.push(file);
        for next in self.graph.get(file).into_iter().flatten() {
            if !self.order.contains_key(next.as_str()) {
                self.visit(next);
                let low = self.low[file].min(self.low[next.as_str()]);
                self.low.insert(file, low);
            } else if self.stack.contains(&next.as_str()) {
                let low = self.low[file].min(self.order[next.as_str()]);
                self.low.insert(file, low);
            }
        }
        if self.low[file] == number {
            let at = self.stack.iter().position(|name| *name == file).unwrap();
            let group = self.stack.split_off(at);
            self.found
                .push(group.into_iter().map(str::to_owned).collect());
        }
    }
}
