//! Why a file cannot be read or opened.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use super::Schema;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the {name} {} is damaged: {source}; restart the daemon, which keeps it aside and {anew}", .path.display())]
    Damaged {
        name: &'static str,
        anew: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("failed to use the {name} {}: {source}", .path.display())]
    Sqlite {
        name: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("failed to make the {name} {}: {why}", .path.display())]
    NotMade {
        name: &'static str,
        path: PathBuf,
        why: String,
    },
    #[error("the {name} {} was made by a newer version of branchyard: start that one, or move the file away", .path.display())]
    Newer { name: &'static str, path: PathBuf },
    #[error("failed to set the unusable {name} {} aside: {source}; move it away by hand", .path.display())]
    SetAside {
        name: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("failed to start the writer of the {name}: {source}")]
    Thread {
        name: &'static str,
        source: std::io::Error,
    },
}

impl Error {
    pub fn of(schema: &Schema, path: &Path, source: rusqlite::Error) -> Self {
        let (name, path) = (schema.name, path.to_owned());
        match is_damage(&source) {
            true => Self::Damaged {
                name,
                anew: schema.anew,
                path,
                source,
            },
            false => Self::Sqlite { name, path, source },
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
