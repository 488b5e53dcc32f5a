//! The types of the project, and where their methods are.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Attribute, FnArg, ImplItem, Item, Receiver, Signature, Type, Visibility};

use crate::source::{ModulePath, Source, Target, is_for_tests};

#[derive(Default, Debug)]
pub struct Facts {
    pub methods: usize,
    pub impl_files: BTreeSet<String>,
    pub has_methods: bool,
    /// Whether a method changes a value of the type, or waits on its behalf.
    pub acts: bool,
    /// Whether it is read or written as JSON or TOML.
    pub is_message: bool,
    pub visible_fields: Vec<String>,
    pub hidden_fields: usize,
}

impl Facts {
    /// Fields that others can reach past the methods that guard them. Plain data has none: it hides nothing, and its
    /// methods only tell what is in it, or it is a message, all of which is there for others to read.
    pub fn unguarded(&self) -> &[String] {
        let hides = self.hidden_fields > 0;
        let has_behaviour = self.acts || (self.has_methods && hides);
        let is_message = self.is_message && !hides;
        if has_behaviour && !is_message {
            &self.visible_fields
        } else {
            &[]
        }
    }
}

pub type Types = BTreeMap<(ModulePath, String), Facts>;

pub fn types(source: &Source) -> Types {
    let mut types = declared(source);
    let traits = implementors(source);
    for (path, module) in &source.modules {
        for item in &module.items {
            let Item::Impl(item) = item else { continue };
            let Some(key) = type_of(source, path, &item.self_ty) else {
                continue;
            };
            let Some(facts) = types.get_mut(&key) else {
                continue;
            };
            let extension = item.trait_.as_ref().map(|(_, name, _)| {
                let found = resolve(source, path, name);
                found.filter(|found| traits.get(found).is_some_and(|types| types.len() == 1))
            });
            // A trait that several types have, or one from elsewhere, is no method of this type's own.
            if let Some(None) = extension {
                continue;
            }
            facts.impl_files.insert(module.file.clone());
            for inner in &item.items {
                if let ImplItem::Fn(method) = inner
                    && !is_for_tests(&method.attrs)
                {
                    facts.methods += 1;
                    facts.has_methods |= receiver(&method.sig).is_some();
                    facts.acts |= receiver(&method.sig).is_some_and(|receiver| {
                        method.sig.asyncness.is_some()
                            || (receiver.reference.is_some() && receiver.mutability.is_some())
                    });
                }
            }
        }
    }
    types
}

fn declared(source: &Source) -> Types {
    let mut types = Types::new();
    for (path, module) in &source.modules {
        for item in &module.items {
            let mut facts = Facts::default();
            let name = match item {
                Item::Struct(item) => {
                    for (number, field) in item.fields.iter().enumerate() {
                        if matches!(field.vis, Visibility::Inherited) {
                            facts.hidden_fields += 1;
                        } else {
                            let name = field.ident.as_ref().map(ToString::to_string);
                            facts
                                .visible_fields
                                .push(name.unwrap_or_else(|| number.to_string()));
                        }
                    }
                    facts.is_message = is_message(&item.attrs);
                    item.ident.to_string()
                }
                Item::Enum(item) => item.ident.to_string(),
                _ => continue,
            };
            types.insert((path.clone(), name), facts);
        }
    }
    types
}

/// Which types of the project have each of its traits.
fn implementors(source: &Source) -> BTreeMap<(ModulePath, String), BTreeSet<(ModulePath, String)>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (path, module) in &source.modules {
        for item in &module.items {
            if let Item::Impl(item) = item
                && let Some((_, name, _)) = &item.trait_
                && let Some(key) = resolve(source, path, name)
                && let Some(of) = type_of(source, path, &item.self_ty)
            {
                found.entry(key).or_default().insert(of);
            }
        }
    }
    found
}

fn is_message(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        let words = list.tokens.to_string();
        list.path.is_ident("derive")
            && (words.contains("Serialize") || words.contains("Deserialize"))
    })
}

fn receiver(signature: &Signature) -> Option<&Receiver> {
    match signature.inputs.first() {
        Some(FnArg::Receiver(receiver)) => Some(receiver),
        _ => None,
    }
}

fn type_of(source: &Source, from: &ModulePath, of: &Type) -> Option<(ModulePath, String)> {
    match of {
        Type::Path(path) => resolve(source, from, &path.path),
        Type::Reference(reference) => type_of(source, from, &reference.elem),
        _ => None,
    }
}

fn resolve(source: &Source, from: &ModulePath, path: &syn::Path) -> Option<(ModulePath, String)> {
    let names: Vec<_> = path
        .segments
        .iter()
        .map(|part| part.ident.to_string())
        .collect();
    match source.resolve(from, &names)? {
        Target::Item(module, name) => Some((module, name)),
        Target::Module(_) => None,
    }
}
