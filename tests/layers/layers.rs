//! Which part of a package may import which, where the compiler does not hold it: between packages it does.

use std::collections::BTreeSet;

use crate::imports::graph;
use crate::source::{Files, Source};

/// A part, and those of its package that it must not import.
const APART: [(&str, &[&str]); 8] = [
    ("src/app/", &["src/http/", "src/mcp/", "src/server/"]),
    ("src/http/", &["src/mcp/", "src/server/"]),
    ("src/mcp/", &["src/http/", "src/server/"]),
    ("crates/db/src/run_index/", &["crates/db/src/security_db/"]),
    ("crates/db/src/security_db/", &["crates/db/src/run_index/"]),
    ("crates/journal/src/diagnostics/", &["crates/journal/src/"]),
    ("crates/runtime/src/background/", &["crates/runtime/src/"]),
    ("crates/workspace/src/repos/", &["crates/workspace/src/"]),
];

/// Calls that belong in one room each, and the files that are that room.
const ROOMS: [(&str, &[&str]); 6] = [
    (
        "Command::new(",
        &[
            "crates/process/src/spawn.rs",
            "crates/process/src/sandbox/init.rs",
            "crates/process/src/supervisor_pool.rs",
            "crates/process/src/capture.rs",
            "src/cli/doctor.rs",
        ],
    ),
    (
        "env::var",
        &[
            "crates/config/src/environment.rs",
            "crates/config/src/crash.rs",
            "crates/reference/src/lib.rs",
            "src/cli/endpoint.rs",
        ],
    ),
    ("env::set_var", &[]),
    ("unsafe {", &["crates/git/src/isolation.rs"]),
    ("worktree\", \"prune", &[]),
    ("git2::", &["crates/git/"]),
];

/// What calls something outside of its room.
pub fn calls_out_of_their_room(source: &Source, files: &Files) -> Vec<String> {
    let shipped: BTreeSet<_> = source.modules.values().map(|module| &module.file).collect();
    let mut found = Vec::new();
    for (call, rooms) in ROOMS {
        for file in &shipped {
            let code = files[*file].split("#[cfg(test)]").next();
            if code.unwrap_or_default().contains(call)
                && !rooms.iter().any(|room| file.starts_with(room))
            {
                found.push(format!("{call} in {file}"));
            }
        }
    }
    found
}

#[test]
fn a_forbidden_import_is_found_however_it_is_written() {
    for line in [
        "use crate::http::router;",
        "use crate::{app, http::router};",
        "pub(super) use crate::http::router; fn f() { router() }",
        "fn f() { crate::http::router() }",
        "use super::http; fn f() { http::router() }",
        "use crate::http::*; fn f() { router() }",
        "use crate::http::passed_on;",
    ] {
        assert_eq!(forbidden_imports(&mcp_that_says(line)).len(), 1, "{line}");
    }
    for line in [
        "use crate::app::App;",
        "//! see crate::http",
        "#[cfg(test)] mod tests { use crate::http::router; }",
    ] {
        assert_eq!(
            forbidden_imports(&mcp_that_says(line)),
            Vec::<String>::new(),
            "{line}"
        );
    }
}

fn mcp_that_says(line: &str) -> Source {
    let files = [
        ("src/lib.rs", "pub mod app; pub mod http; pub mod mcp;"),
        ("src/app/mod.rs", "pub struct App;"),
        (
            "src/http/mod.rs",
            "mod inner; pub fn router() {} pub use inner::passed_on;",
        ),
        ("src/http/inner.rs", "pub fn passed_on() {}"),
        ("src/mcp/mod.rs", line),
    ]
    .map(|(file, text)| (file.to_owned(), text.to_owned()));
    Source::parse(&files.into())
}

pub fn forbidden_imports(source: &Source) -> Vec<String> {
    let mut broken = Vec::new();
    for (file, imported) in graph(source) {
        for (part, others) in APART {
            let forbidden = |to: &&String| {
                !to.starts_with(part) && others.iter().any(|other| to.starts_with(other))
            };
            if file.starts_with(part) {
                let found = imported.iter().filter(forbidden);
                broken.extend(found.map(|to| format!("{file} imports {to}")));
            }
        }
    }
    broken
}
