//! What a table says about a verb.

use super::GitAccess;
use super::parsed::Parsed;
use branchyard_model::{ErrorKind, Problem};

/// A verb and all that may follow it.
pub(super) struct Verb {
    pub name: &'static str,
    pub access: GitAccess,
    /// Words that always follow the verb, whatever the caller says.
    pub always: &'static [&'static str],
    /// Tables of options as [`super::options`] reads them.
    pub options: &'static [&'static str],
    /// Options that git has and the yard keeps from callers, and what to do instead.
    pub forbidden: Forbidden,
    /// What holds for the words together; may put them into a form that has one reading.
    pub check: fn(&mut Parsed) -> Result<(), Problem>,
}

pub(super) struct Forbidden {
    pub options: &'static str,
    pub help: &'static str,
}

impl Verb {
    /// A verb of which only the name, the access and the options need saying.
    pub(super) const fn new(
        name: &'static str,
        access: GitAccess,
        options: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            access,
            always: &[],
            options,
            forbidden: Forbidden {
                options: "",
                help: "",
            },
            check: |_| Ok(()),
        }
    }
}

/// Refuses what git could do and the yard keeps from callers: 403 in HTTP.
pub(super) fn forbidden(field: &str, detail: impl Into<String>, help: &str) -> Problem {
    Problem::new(ErrorKind::Forbidden, "git_forbidden", detail)
        .field(field)
        .help(help)
}
