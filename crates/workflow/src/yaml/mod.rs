//! YAML as a tree in which each part knows its place.

mod lines;
mod node;
mod parse;
mod place;

pub(crate) use lines::LineIndex;
pub(crate) use node::{YamlKind, YamlNode};
pub(crate) use parse::parse;
pub(crate) use place::place_in_text;
