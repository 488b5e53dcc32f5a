//! The files of composite actions, as a commit has them. Nothing but a regular file of it is one: no link is followed.

use std::path::Path;

use branchyard_git::CommitTree;
use branchyard_workflow::ActionFiles;

/// What the reader of files takes.
const MAX_FILE: usize = 256 << 10;

pub(crate) struct CommitFiles<'repo>(pub(crate) CommitTree<'repo>);

impl ActionFiles for CommitFiles<'_> {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        let read = self.0.read(Path::new(path), MAX_FILE);
        let bytes = read.map_err(|error| error.to_string())?;
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|_| "it is not UTF-8".to_owned())
    }
}
