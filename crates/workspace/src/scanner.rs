//! Looks at all files of a workspace, each shared by those who ask together.

use std::sync::Arc;

use super::Error;
use super::single_flight::SingleFlight;
use branchyard_git::{For, MetadataStatus, Repository};

#[derive(Debug, Default)]
pub(super) struct Scanner {
    tracked: SingleFlight<Option<MetadataStatus>>,
    all: SingleFlight<Option<MetadataStatus>>,
}

impl Scanner {
    pub(super) fn tracked(&self, repo: &Repository) -> Result<Arc<Option<MetadataStatus>>, Error> {
        self.tracked
            .ask(|| Ok(MetadataStatus::at(repo, For::Suspects)?))
    }

    pub(super) fn all(&self, repo: &Repository) -> Result<Arc<Option<MetadataStatus>>, Error> {
        self.all.ask(|| Ok(MetadataStatus::at(repo, For::Both)?))
    }
}
