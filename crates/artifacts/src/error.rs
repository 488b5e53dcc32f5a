//! Why something was not collected, kept or restored, and how a caller is told.

use std::io;

use branchyard_model::{ErrorKind, Problem};

/// A name or a pattern is repeated up to so many bytes.
const MAX_SHOWN: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// A line of `path` cannot be used.
    #[error("{pattern:?} in `path` cannot be used: {why}")]
    Pattern { pattern: String, why: String },
    /// The name of an artifact breaks a rule.
    #[error("{name:?} is not the name of an artifact: {why}")]
    Name { name: String, why: &'static str },
    /// The key of a cache breaks a rule.
    #[error("{key:?} is not the key of a cache: {why}")]
    Key { key: String, why: &'static str },
    /// A file has a path that no archive could hold.
    #[error("{path} cannot be kept: {why}")]
    FilePath { path: String, why: &'static str },
    #[error("it has more than {limit}, which is what `{setting}` allows")]
    TooLarge {
        limit: String,
        setting: &'static str,
    },
    /// The owner has an artifact of this name, which is not to be replaced.
    #[error("there is an artifact {name:?} already")]
    Exists { name: String },
    #[error("there is no artifact {name:?}")]
    NotFound { name: String },
    /// A blob is gone, or is not what it was.
    #[error("the content of {path} is not there any more")]
    Gone { path: String },
    /// Where something is to be restored is something else.
    #[error("{path} cannot be restored: {why}")]
    InTheWay { path: String, why: &'static str },
    #[error("failed to {what}: {error}")]
    Io { what: String, error: io::Error },
}

impl ArtifactError {
    pub(crate) fn pattern(pattern: &str, why: impl Into<String>) -> Self {
        Self::Pattern {
            pattern: shown(pattern),
            why: why.into(),
        }
    }

    /// What failed, unless a thread passed on why in an [`io::Error`].
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| match error.downcast::<Self>() {
            Ok(inner) => inner,
            Err(error) => Self::Io { what, error },
        }
    }
}

impl From<ArtifactError> for io::Error {
    fn from(error: ArtifactError) -> Self {
        Self::other(error)
    }
}

impl From<ArtifactError> for Problem {
    fn from(error: ArtifactError) -> Self {
        use ArtifactError as E;
        let detail = error.to_string();
        let new = |kind, code| Self::new(kind, code, detail.clone());
        match error {
            E::Pattern { .. } => new(ErrorKind::BadRequest, "artifact_path_invalid")
                .field("path")
                .help("give files, directories or globs beneath the directories of the job, without `..`"),
            E::Name { .. } => new(ErrorKind::BadRequest, "artifact_name_invalid")
                .field("name")
                .help("use 1 to 256 characters without \" : < > | * ? \\ / and line breaks"),
            E::Key { .. } => new(ErrorKind::BadRequest, "cache_key_invalid")
                .field("key")
                .help("use 1 to 512 characters without commas and line breaks"),
            E::FilePath { .. } => new(ErrorKind::BadRequest, "artifact_path_invalid")
                .field("path")
                .help("rename it, or leave it out with a line that begins with `!`"),
            E::TooLarge { .. } => new(ErrorKind::TooLarge, "artifact_too_large")
                .field("path")
                .help("name fewer files, or leave some out with lines that begin with `!`"),
            E::Exists { .. } => new(ErrorKind::Conflict, "artifact_exists")
                .field("name")
                .help("choose another name, or replace it with `overwrite: true`"),
            E::NotFound { .. } => new(ErrorKind::NotFound, "artifact_not_found").field("name"),
            E::Gone { .. } => new(ErrorKind::NotFound, "artifact_gone")
                .help("it has expired or was removed; run the job again"),
            E::InTheWay { .. } => new(ErrorKind::Conflict, "artifact_in_the_way")
                .field("path")
                .help("restore into a directory that has nothing at that path"),
            E::Io { what, error } => {
                Self::unwritten("artifact_io", &format!("failed to {what}"), &error)
            }
        }
    }
}

/// A text as an error repeats it.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = text.to_owned();
    if shown.len() > MAX_SHOWN {
        shown.truncate(shown.floor_char_boundary(MAX_SHOWN));
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_as_such_and_a_reason_survives_a_thread() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let problem = Problem::from(ArtifactError::io("write a blob")(full));
        assert_eq!(
            (problem.kind, &*problem.code),
            (ErrorKind::StorageFull, "disk_full")
        );
        let passed = io::Error::from(ArtifactError::Exists { name: "log".into() });
        let problem = Problem::from(ArtifactError::io("write a blob")(passed));
        assert_eq!(problem.code, "artifact_exists");
    }

    #[test]
    fn a_long_pattern_is_not_repeated_whole() {
        let error = ArtifactError::pattern(&"é".repeat(500), "it is too long");
        assert!(error.to_string().len() < 300);
    }
}
