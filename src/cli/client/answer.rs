//! Answers of the daemon, which may be of another version: what this one does not understand is left out.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use crate::cli::exit::Failure;

/// A JSON answer, kept as it came for `--json`.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// What the daemon has nothing to say about: a deletion, a check on this side.
    pub(crate) fn ours(value: &Value) -> Self {
        Self {
            body: value.to_string().into_bytes(),
        }
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.read(|_| {})
    }

    /// Reads it; `left_out` hears of each value that was not understood.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        left_out: impl FnMut(&str),
    ) -> Result<T, Failure> {
        lenient(&self.body, left_out).map_err(|error| {
            Failure::daemon(format!("the daemon's answer makes no sense: {error}"))
                .help("compare `branchyard --version` with the daemon's: `branchyard doctor`")
        })
    }
}

/// Reads JSON. A value that is not understood, such as a word of a later version, is left out, and so is the entry of a
/// list that cannot do without it.
pub(crate) fn lenient<T: DeserializeOwned>(
    json: &[u8],
    mut left_out: impl FnMut(&str),
) -> Result<T, serde_json::Error> {
    let strange = match serde_json::from_slice(json) {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    let mut value: Value = serde_json::from_slice(json)?;
    loop {
        match serde_path_to_error::deserialize(&value) {
            Ok(read) => return Ok(read),
            Err(error) => match remove(&mut value, error.path()) {
                Some(()) => left_out(&error.to_string()),
                None => return Err(strange),
            },
        }
    }
}

/// Takes away what stands at a path; `None` where that is everything.
fn remove(mut value: &mut Value, path: &Path) -> Option<()> {
    let known = |segment: &&Segment| matches!(segment, Segment::Seq { .. } | Segment::Map { .. });
    let segments: Vec<_> = path.iter().take_while(known).collect();
    let (last, before) = segments.split_last()?;
    for segment in before {
        value = match segment {
            Segment::Seq { index } => value.get_mut(index)?,
            Segment::Map { key } => value.get_mut(key)?,
            _ => return None,
        };
    }
    match (last, value) {
        (Segment::Seq { index }, Value::Array(items)) if *index < items.len() => {
            items.remove(*index);
            Some(())
        }
        (Segment::Map { key }, Value::Object(fields)) => fields.remove(key).map(drop),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_model::{Phase, Status};
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Page {
        items: Vec<Status>,
        next: Option<u64>,
    }

    #[test]
    fn what_is_of_another_version_is_left_out() {
        let json = br#"{"items":[{"state":"queued","phase":"teleport"},{"state":7},{"state":"running","phase":"sync"}],
            "next":"tomorrow","more":1}"#;
        let mut missed = Vec::new();
        let page: Page = lenient(json, |what| missed.push(what.to_owned())).unwrap();
        let states: Vec<_> = page
            .items
            .iter()
            .map(|item| (&*item.state, item.phase))
            .collect();
        assert_eq!(states, [("queued", None), ("running", Some(Phase::Sync))]);
        assert_eq!(page.next, None);
        assert_eq!(missed.len(), 4, "{missed:?}");
        assert!(missed[0].contains("teleport"), "{missed:?}");
        assert!(lenient::<Page>(br#"{"items":7}"#, |_| {}).is_err());
        assert!(lenient::<Page>(b"<html>", |_| {}).is_err());
    }
}
