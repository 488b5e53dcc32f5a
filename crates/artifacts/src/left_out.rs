//! What was found and left out, for warnings of a bounded size.

use std::path::Path;

use branchyard_model::Warning;

use crate::error::shown;

/// So many are named; of the others it is said how many they are.
const MAX_NAMED: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Link,
    /// A pipe, a socket or a device.
    Special,
    Hidden,
    Git,
    /// It was there when it was looked for, and not any more.
    Changed,
}

const REASONS: [(Reason, &str, &str); 5] = [
    (
        Reason::Link,
        "links_left_out",
        "links are not followed, and left out",
    ),
    (
        Reason::Special,
        "special_files_left_out",
        "pipes, sockets and devices are left out",
    ),
    (
        Reason::Hidden,
        "hidden_files_left_out",
        "hidden files are left out unless `include-hidden-files` is set",
    ),
    (Reason::Git, "git_left_out", "git's own files are left out"),
    (
        Reason::Changed,
        "changed_files_left_out",
        "what changed while it was copied is left out",
    ),
];

#[derive(Debug, Default)]
pub(crate) struct LeftOut([NamedPaths; REASONS.len()]);

#[derive(Debug, Default)]
struct NamedPaths {
    first: Vec<String>,
    count: usize,
}

impl LeftOut {
    pub(crate) fn add(&mut self, reason: Reason, path: &Path) {
        let named = &mut self.0[reason as usize];
        named.count += 1;
        if named.first.len() < MAX_NAMED {
            named
                .first
                .push(shown(&path.to_string_lossy().escape_debug().to_string()));
        }
    }

    pub(crate) fn warnings(self) -> Vec<Warning> {
        let told = REASONS
            .iter()
            .zip(self.0)
            .filter(|(_, named)| named.count > 0);
        let told = told.map(|((_, code, what), named)| {
            let more = match named.count - named.first.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Warning::new(code, format!("{what}: {}{more}", named.first.join(", ")))
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_named_and_the_others_counted() {
        let mut left_out = LeftOut::default();
        for n in 0..12 {
            left_out.add(Reason::Special, Path::new(&format!("pipe\n{n}")));
        }
        left_out.add(Reason::Changed, Path::new("x"));
        let warnings = left_out.warnings();
        assert_eq!(warnings.len(), 2);
        assert_eq!(warnings[0].code, "special_files_left_out");
        assert!(
            warnings[0].message.ends_with(r"pipe\n9 and 2 more"),
            "{warnings:?}"
        );
        assert_eq!(warnings[1].code, "changed_files_left_out");
    }
}
