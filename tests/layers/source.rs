//! The project's own source, parsed: every module of every crate, without what only tests compile.

use std::collections::BTreeMap;
use std::path::Path;

use syn::{Attribute, Item, UseTree, Visibility};

/// A module's place: the crate, then the modules down to it.
pub type ModulePath = Vec<String>;

pub struct Module {
    pub file: String,
    pub items: Vec<Item>,
    /// Names that `use` brings in, with the path that each stands for.
    pub imports: BTreeMap<String, Import>,
    pub globs: Vec<Vec<String>>,
}

pub struct Import {
    pub path: Vec<String>,
    /// Whether it only passes a name on to others.
    pub re_export: bool,
}

/// Text by path from the project's root.
pub type Files = BTreeMap<String, String>;

pub struct Source {
    pub modules: BTreeMap<ModulePath, Module>,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    Module(ModulePath),
    Item(ModulePath, String),
}

/// Every source file of the project by its path.
pub fn files() -> Files {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Files::new();
    let mut pending = vec![root.join("src"), root.join("crates")];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                found.insert(name.to_owned(), std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(found.len() > 50, "the source was found");
    found
}

impl Source {
    pub fn parse(files: &Files) -> Self {
        let mut source = Self {
            modules: BTreeMap::new(),
        };
        for file in files.keys() {
            let name = match file.as_str() {
                "src/lib.rs" => "branchyard".to_owned(),
                "src/main.rs" => "main".to_owned(),
                other => match other
                    .strip_prefix("crates/")
                    .and_then(|rest| rest.strip_suffix("/src/lib.rs"))
                {
                    Some(dir) => format!("branchyard_{dir}"),
                    None => continue,
                },
            };
            let dir = Path::new(file).parent().unwrap();
            source.add_file(files, &vec![name], file, dir);
        }
        source
    }

    fn add_file(&mut self, files: &Files, module: &ModulePath, file: &str, dir: &Path) {
        let parsed =
            syn::parse_file(&files[file]).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.add_items(files, module, file, dir, parsed.items);
    }

    fn add_items(
        &mut self,
        files: &Files,
        module: &ModulePath,
        file: &str,
        dir: &Path,
        items: Vec<Item>,
    ) {
        let mut own = Module {
            file: file.to_owned(),
            items: Vec::new(),
            imports: BTreeMap::new(),
            globs: Vec::new(),
        };
        for item in items {
            if is_for_tests(attributes(&item)) {
                continue;
            }
            match item {
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    let mut path = module.clone();
                    path.push(name.clone());
                    match inner.content {
                        Some((_, items)) => {
                            self.add_items(files, &path, file, &dir.join(&name), items);
                        }
                        None => {
                            let inner = dir.join(&name);
                            let plain = format!("{}.rs", inner.display());
                            let front = format!("{}/mod.rs", inner.display());
                            let file = if files.contains_key(&plain) {
                                plain
                            } else {
                                front
                            };
                            self.add_file(files, &path, &file, &inner);
                        }
                    }
                }
                Item::Use(import) => {
                    let re_export = !matches!(import.vis, Visibility::Inherited);
                    own.add_use(&mut Vec::new(), &import.tree, re_export);
                }
                other => own.items.push(other),
            }
        }
        self.modules.insert(module.clone(), own);
    }

    /// Where a path that is written in a module leads, if that is within the project.
    pub fn resolve(&self, from: &ModulePath, path: &[String]) -> Option<Target> {
        self.resolve_within(from, path, 0)
    }

    fn resolve_within(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<Target> {
        if depth > 12 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let mut at = from.clone();
        let start = match first.as_str() {
            "crate" => Target::Module(vec![from[0].clone()]),
            "self" => Target::Module(at),
            "super" => {
                at.pop();
                Target::Module(at)
            }
            name => match self.named(from, name, depth) {
                Some(found) => found,
                None if self.modules.contains_key(&vec![name.to_owned()]) => {
                    Target::Module(vec![name.to_owned()])
                }
                None => return None,
            },
        };
        self.descend(start, rest, depth)
    }

    fn descend(&self, start: Target, rest: &[String], depth: usize) -> Option<Target> {
        let mut at = start;
        for name in rest {
            let Target::Module(module) = &at else {
                // An associated item or a variant: it is where its type is.
                return Some(at);
            };
            at = if name == "super" {
                let mut up = module.clone();
                up.pop();
                Target::Module(up)
            } else {
                self.named(module, name, depth)?
            };
        }
        Some(at)
    }

    /// What a name means in a module.
    fn named(&self, module: &ModulePath, name: &str, depth: usize) -> Option<Target> {
        let own = self.modules.get(module)?;
        let mut child = module.clone();
        child.push(name.to_owned());
        if self.modules.contains_key(&child) {
            return Some(Target::Module(child));
        }
        if own.items.iter().any(|item| defines(item, name)) {
            return Some(Target::Item(module.clone(), name.to_owned()));
        }
        if let Some(import) = own.imports.get(name)
            && import.path.first().map(String::as_str) != Some(name)
        {
            return self.resolve_within(module, &import.path, depth + 1);
        }
        if let Some(import) = own.imports.get(name) {
            // `use name::…` of another crate.
            let start = Target::Module(vec![import.path[0].clone()]);
            return self.descend(start, &import.path[1..], depth + 1);
        }
        own.globs.iter().find_map(|glob| {
            let mut path = glob.clone();
            path.push(name.to_owned());
            self.resolve_within(module, &path, depth + 1)
        })
    }
}

impl Module {
    fn add_use(&mut self, prefix: &mut Vec<String>, tree: &UseTree, re_export: bool) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_use(prefix, &path.tree, re_export);
                prefix.pop();
            }
            UseTree::Name(name) => {
                let ident = name.ident.to_string();
                if ident == "self" {
                    let alias = prefix.last().unwrap().clone();
                    self.import(alias, prefix.clone(), re_export);
                } else {
                    let mut path = prefix.clone();
                    path.push(ident.clone());
                    self.import(ident, path, re_export);
                }
            }
            UseTree::Rename(rename) => {
                let mut path = prefix.clone();
                if rename.ident != "self" {
                    path.push(rename.ident.to_string());
                }
                self.import(rename.rename.to_string(), path, re_export);
            }
            UseTree::Glob(_) => self.globs.push(prefix.clone()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(prefix, tree, re_export);
                }
            }
        }
    }

    fn import(&mut self, alias: String, path: Vec<String>, re_export: bool) {
        self.imports.insert(alias, Import { path, re_export });
    }
}

fn defines(item: &Item, name: &str) -> bool {
    match item {
        Item::Const(item) => item.ident == name,
        Item::Enum(item) => item.ident == name,
        Item::Fn(item) => item.sig.ident == name,
        Item::Static(item) => item.ident == name,
        Item::Struct(item) => item.ident == name,
        Item::Trait(item) => item.ident == name,
        Item::Type(item) => item.ident == name,
        Item::Macro(item) => item.ident.as_ref().is_some_and(|ident| ident == name),
        _ => false,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return attribute.path().is_ident("test");
        };
        let words = list.tokens.to_string();
        list.path.is_ident("cfg") && (words == "test" || words.contains("\"testing\""))
    })
}
