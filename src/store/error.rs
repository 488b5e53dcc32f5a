//! Why the index cannot be read or opened.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the run index {} is damaged: {source}; restart the daemon, which keeps it aside and makes a new one from the runs' directories", .path.display())]
    Damaged {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("failed to use the run index {}: {source}", .path.display())]
    Sqlite {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("failed to make the run index {}: {why}", .path.display())]
    NotMade { path: PathBuf, why: String },
    #[error("failed to set the unusable run index {} aside: {source}; move it away by hand", .path.display())]
    SetAside {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("failed to start the writer of the run index: {source}")]
    Thread { source: std::io::Error },
}

impl Error {
    pub(super) fn of(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match is_damage(&source) {
            true => Self::Damaged { path, source },
            false => Self::Sqlite { path, source },
        }
    }
}

/// Whether the file's content is at fault, not the disk, a lock or a permission.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}
