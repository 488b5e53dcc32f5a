//! Holds the rules that ARCHITECTURE.md states about the source: which layer may import which, and
//! which calls are allowed in one room only.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the source has failed"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A module imports only from layers below its own, and never from a module of the same layer.
const LAYERS: [(u32, &[&str]); 11] = [
    (0, &["model", "config", "database", "background", "clock"]),
    (
        1,
        &[
            "telemetry",
            "journal",
            "store",
            "trust",
            "diagnostics",
            "disk",
            "news",
        ],
    ),
    (2, &["process"]),
    (3, &["git"]),
    (4, &["repos", "auth"]),
    (5, &["workspace"]),
    (6, &["runs"]),
    (7, &["app"]),
    (8, &["http", "mcp"]),
    (9, &["server"]),
    (10, &["cli"]),
];

/// The one exception to "never from the same layer": configuration holds names, which `model` parses.
const SAME_LAYER: [(&str, &str); 1] = [("config", "model")];

/// Calls that belong in one room each, and the files that are that room.
const ROOMS: [(&str, &[&str]); 5] = [
    (
        "Command::new(",
        &[
            "process/spawn.rs",
            "process/sandbox/init.rs",
            "process/standby.rs",
            "process/capture.rs",
            "cli/doctor.rs",
        ],
    ),
    (
        "env::var",
        &[
            "config/environment.rs",
            "config/crash.rs",
            "cli/endpoint.rs",
        ],
    ),
    ("env::set_var", &[]),
    ("unsafe {", &["git/isolation.rs"]),
    ("worktree\", \"prune", &[]),
];

#[test]
fn layers_import_only_from_below() {
    let broken: Vec<_> = sources()
        .iter()
        .flat_map(|(file, text)| forbidden_imports(file, text))
        .collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn every_module_has_a_layer() {
    let lib = std::fs::read_to_string(src().join("lib.rs")).unwrap();
    let declared: Vec<_> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect();
    let mut known: Vec<_> = LAYERS
        .iter()
        .flat_map(|(_, modules)| modules.iter().copied())
        .collect();
    known.sort_unstable();
    let mut sorted = declared.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, known);
    let layers: Vec<_> = declared
        .iter()
        .map(|module| layer_of(module).unwrap())
        .collect();
    assert!(
        layers.is_sorted(),
        "lib.rs lists the modules in the order of their layers"
    );
}

#[test]
fn some_calls_are_made_in_one_room_only() {
    for (call, rooms) in ROOMS {
        for (file, text) in sources() {
            if file.ends_with("tests.rs") {
                continue;
            }
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            assert!(
                rooms.contains(&file.as_str()) || !code.contains(call),
                "{call} in src/{file}"
            );
        }
    }
}

#[test]
fn a_forbidden_import_is_found_however_it_is_written() {
    for line in [
        "use crate::http::router;",
        "    use crate::{model, runs::Runs};",
        "pub(super) use crate::workspace::Turn;",
        "let x = crate::app::App::new();",
        "use crate::{\n    git::Git,\n    server,\n};",
    ] {
        assert_eq!(forbidden_imports("git/store.rs", line).len(), 1, "{line}");
    }
    for line in [
        "use crate::model::RunId;",
        "use super::Error;",
        "//! see crate::http",
        "use crate::git::Git;",
    ] {
        assert_eq!(
            forbidden_imports("git/store.rs", line),
            Vec::<String>::new(),
            "{line}"
        );
    }
    assert_eq!(
        forbidden_imports("auth/mod.rs", "use crate::repos::Repo;").len(),
        1,
        "not within a layer either"
    );
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn layer_of(module: &str) -> Option<u32> {
    LAYERS
        .iter()
        .find(|(_, modules)| modules.contains(&module))
        .map(|(layer, _)| *layer)
}

/// Every source file by its path below `src/`.
fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![src()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path
                    .strip_prefix(src())
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(found.len() > 50, "the source was found");
    found
}

fn forbidden_imports(file: &str, text: &str) -> Vec<String> {
    let own = file.split(['/', '.']).next().unwrap_or_default();
    let Some(layer) = layer_of(own) else {
        return Vec::new();
    };
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    imported(&code)
        .into_iter()
        .filter(|other| other != own && !SAME_LAYER.contains(&(own, other.as_str())))
        .filter(|other| layer_of(other).is_some_and(|below| below >= layer))
        .map(|other| format!("src/{file} (layer {layer}) imports crate::{other}"))
        .collect()
}

/// The modules of this crate that a text names: `crate::x` and the heads inside `crate::{…}`.
fn imported(code: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let mut modules = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => modules.push(word(rest)),
            Some(group) => {
                let mut depth = 0;
                let mut head = true;
                for (i, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => head = true,
                        c if head && c.is_alphabetic() => {
                            modules.push(word(&group[i..]));
                            head = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    modules.sort();
    modules.dedup();
    modules
}
