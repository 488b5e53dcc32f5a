//! Files that may not be there, and JSON in files.

use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;

/// What was done with a file; `None` where that is not there.
pub fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

/// What a file says; `None` where it is not there.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let Some(json) = if_there(fs::read(path))? else {
        return Ok(None);
    };
    Ok(Some(serde_json::from_slice(&json)?))
}
