//! Trees to check out, of every kind that git takes.

use std::collections::BTreeMap;

use git2::Oid;
use proptest::prelude::*;

use crate::Repository;

const NAMES: [&str; 12] = [
    "a",
    "a.c",
    "a-b",
    "b",
    "B.bat",
    "lib",
    "lib.c",
    "x.TXT",
    "ä",
    "with space",
    "-n",
    ".github",
];
/// The absolute one leads to a file that no process can write, in case a defect follows the link.
const TARGETS: [&str; 4] = ["a", "../b", "/proc/version", "lib/a.c"];
const CONTENTS: [&[u8]; 6] = [
    b"",
    b"one\ntwo\n",
    b"one\r\ntwo\r\n",
    b"$Id$\nmixed\r\nends",
    b"\0binary\r\n\xff",
    &[b'x'; 10_000],
];
const ATTRIBUTES: [&str; 12] = [
    "* text=auto",
    "* -text",
    "*.bat eol=crlf",
    "*.bat text eol=crlf",
    "*.TXT ident",
    "* text eol=crlf",
    "a.c filter=nobody",
    "[attr]dos text eol=crlf",
    "B.bat dos",
    "lib/** text eol=crlf",
    "/a ident",
    "x.TXT text working-tree-encoding=UTF-16LE",
];

#[derive(Debug, Clone)]
pub(crate) enum Item {
    File(Vec<u8>),
    Program(Vec<u8>),
    Link(String),
    Submodule,
    Directory(BTreeMap<String, Item>),
}

impl Item {
    pub(crate) fn file(content: &str) -> Self {
        Self::File(content.into())
    }

    pub(crate) fn program(content: &str) -> Self {
        Self::Program(content.into())
    }

    pub(crate) fn link(target: &str) -> Self {
        Self::Link(target.to_owned())
    }

    pub(crate) fn directory<const N: usize>(items: [(&str, Self); N]) -> Self {
        Self::Directory(items.map(|(name, item)| (name.to_owned(), item)).into())
    }

    /// Writes it into the repository, and returns its object.
    pub(crate) fn write(&self, repo: &Repository) -> Oid {
        match self {
            Self::File(content) | Self::Program(content) => repo.git2().blob(content).unwrap(),
            Self::Link(target) => repo.git2().blob(target.as_bytes()).unwrap(),
            Self::Submodule => Oid::from_str(&"1".repeat(40)).unwrap(),
            Self::Directory(items) => {
                let mut tree = repo.git2().treebuilder(None).unwrap();
                for (name, item) in items {
                    tree.insert(name, item.write(repo), item.mode()).unwrap();
                }
                tree.write().unwrap()
            }
        }
    }

    /// Whether its files hold what git would make of them again. Where they do not, git calls a file changed or
    /// not as it happens to look at its content or at the index alone.
    pub(crate) fn is_settled(&self) -> bool {
        !(self.any(&|name, _| name == ".gitattributes")
            && self.any(&|_, content| content.contains(&b'\r')))
    }

    fn any(&self, wanted: &dyn Fn(&str, &[u8]) -> bool) -> bool {
        let Self::Directory(items) = self else {
            return false;
        };
        items.iter().any(|(name, item)| match item {
            Self::File(content) | Self::Program(content) => wanted(name, content),
            _ => item.any(wanted),
        })
    }

    fn mode(&self) -> i32 {
        match self {
            Self::File(_) => 0o100_644,
            Self::Program(_) => 0o100_755,
            Self::Link(_) => 0o120_000,
            Self::Submodule => 0o160_000,
            Self::Directory(_) => 0o040_000,
        }
    }
}

/// The root of a tree with at least one file.
pub(crate) fn tree() -> impl Strategy<Value = Item> {
    let content = || prop::sample::select(CONTENTS.to_vec()).prop_map(<[u8]>::to_vec);
    let leaf = prop_oneof![
        6 => content().prop_map(Item::File),
        2 => content().prop_map(Item::Program),
        1 => prop::sample::select(TARGETS.to_vec()).prop_map(Item::link),
        1 => Just(Item::Submodule),
    ];
    let any = leaf.prop_recursive(3, 40, 6, |inner| directory(inner.boxed()));
    directory(any.boxed())
}

fn directory(inner: BoxedStrategy<Item>) -> impl Strategy<Value = Item> {
    let name = prop::sample::select(NAMES.to_vec()).prop_map(str::to_owned);
    let items = prop::collection::btree_map(name, inner, 1..7);
    let lines = prop::collection::vec(prop::sample::select(ATTRIBUTES.to_vec()), 1..3);
    (items, prop::option::weighted(0.3, lines)).prop_map(|(mut items, lines)| {
        if let Some(lines) = lines {
            items.insert(".gitattributes".to_owned(), Item::file(&lines.join("\n")));
        }
        Item::Directory(items)
    })
}
