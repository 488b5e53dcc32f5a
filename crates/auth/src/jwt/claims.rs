//! What a token says. A claim of the wrong shape is never taken for one that is not there.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::refusal::Refusal;

/// Of the patterns that a token may be bound to.
const MOST_GLOBS: usize = 100;

#[derive(Debug)]
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    pub(super) fn new(claims: Map<String, Value>) -> Self {
        Self(claims)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(NO_TEXT),
        }
    }

    /// A list, or a text with spaces between its words.
    pub(super) fn words(&self, name: &str) -> Result<Vec<&str>, Refusal> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(text.split_whitespace().collect()),
            Some(Value::Array(list)) => texts(list),
            Some(_) => Err(NO_LIST),
        }
    }

    /// Where it counts, if it says so. An empty list is nowhere.
    pub(super) fn globs(&self, name: &str) -> Result<Option<Vec<&str>>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Array(list)) if list.len() <= MOST_GLOBS => texts(list).map(Some),
            Some(_) => Err(NO_LIST),
        }
    }

    pub(super) fn is_for(&self, audience: &str) -> bool {
        match self.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(all)) => all.iter().any(|one| one == audience),
            _ => false,
        }
    }

    /// A point in time, in seconds since 1970 and perhaps fractions of them.
    pub(super) fn time(&self, name: &str) -> Result<Option<Timestamp>, Refusal> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let refused = Refusal::Token("has a time that is none");
        let seconds = match (value.as_i64(), value.as_f64()) {
            (Some(seconds), _) => seconds,
            (None, Some(seconds)) if seconds.abs() < 1e15 => whole(seconds),
            _ => return Err(refused),
        };
        Timestamp::from_second(seconds)
            .map(Some)
            .map_err(|_| refused)
    }
}

const NO_TEXT: Refusal = Refusal::Token("has a claim that ought to be text and is not");
const NO_LIST: Refusal = Refusal::Token("has a claim that ought to be a list of texts and is not");

#[expect(
    clippy::cast_possible_truncation,
    reason = "the fraction is to go, and the caller has looked at the size"
)]
fn whole(seconds: f64) -> i64 {
    seconds.floor() as i64
}

fn texts(list: &[Value]) -> Result<Vec<&str>, Refusal> {
    let texts = list.iter().map(Value::as_str);
    texts.collect::<Option<_>>().ok_or(NO_LIST)
}
