//! Which files git may convert on their way to the disk otherwise than it did before: those keep their entries in the
//! index, and would hold something else.

use std::collections::BTreeMap;

use git2::Oid;

use crate::attributes::{Convertible, FILE_NAME};
use crate::checkout::{CheckoutEntry, convertible};
use crate::index_file::IndexFile;
use crate::{Error, Repository};

/// By path.
type AttributeFiles<'a> = BTreeMap<&'a [u8], Oid>;

/// Files that may have been converted in another way than they are now.
#[derive(Debug, Default)]
pub(super) struct Reconverted(Vec<Convertible>);

impl Reconverted {
    pub(super) fn between(
        repo: &Repository,
        before: &IndexFile,
        entries: &[CheckoutEntry],
    ) -> Result<Self, Error> {
        let now = entries.iter().filter(|entry| entry.name() == FILE_NAME);
        let now: AttributeFiles<'_> = now.map(|entry| (entry.path(), entry.id())).collect();
        let indexed = before.entries().iter();
        let then = indexed.filter_map(|entry| {
            let path = before.path(entry);
            let is_meant = path.rsplit(|byte| *byte == b'/').next() == Some(FILE_NAME);
            is_meant.then(|| Some((path, before.id(entry)?.git2())))?
        });
        let then: AttributeFiles<'_> = then.collect();
        if now == then {
            return Ok(Self::default());
        }
        let mut files = convertible(repo, then.into_iter())?;
        files.extend(convertible(repo, now.into_iter())?);
        Ok(Self(files))
    }

    pub(super) fn includes(&self, path: &[u8]) -> bool {
        self.0.iter().any(|files| files.includes(path))
    }
}
