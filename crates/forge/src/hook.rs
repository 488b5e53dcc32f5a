//! What a webhook that came in is about. It is only a hint after which the remote is asked, so few fields are read, and
//! all else that a payload has is passed over.

mod github;
mod gitlab;
mod pull;

use serde::Deserialize;

use crate::payload;

pub use pull::PullNews;

/// Gogs was first and is imitated by Gitea, which Forgejo imitates, and both name the event as GitHub does, too. So
/// the header of the forge itself comes before those that it sends for compatibility.
const EVENT_HEADERS: [&str; 5] = [
    "x-forgejo-event",
    "x-gitea-event",
    "x-gogs-event",
    "x-github-event",
    "x-gitlab-event",
];

const LONGEST_EVENT: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// As the forge names it: `push`, `Merge Request Hook`.
    pub event: String,
    pub news: HookNews,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookNews {
    /// Branches or tags are new, moved or gone.
    Refs,
    Pull(PullNews),
    /// Nothing that the daemon acts on.
    Nothing,
}

/// Why a webhook cannot be read. No text of the payload is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error(
        "no header names the event; forges send X-GitHub-Event, X-GitLab-Event, X-Gitea-Event or X-Forgejo-Event"
    )]
    NoEvent,
    #[error("the event is named by 1 to 100 printable ASCII characters")]
    Event,
    #[error("the form does not begin with the field `payload`")]
    NoPayload,
    #[error("the payload is not UTF-8")]
    NotUtf8,
    #[error("the payload is not JSON: see line {line}, column {column}")]
    NotJson { line: usize, column: usize },
    #[error("{0} is missing, there twice, or not of the kind that the forge documents")]
    Field(String),
    #[error("the branch in `{0}` is empty, longer than 244 bytes, or has a control character")]
    Branch(&'static str),
}

/// The webhook with these headers and this body. `header` gives a header's value by its name in lower case.
///
/// Only events of which more has to be known have their body read: any may be that of an event without news.
pub fn read<'h>(header: impl Fn(&str) -> Option<&'h str>, body: &[u8]) -> Result<Hook, Unreadable> {
    let (name, event) = EVENT_HEADERS
        .iter()
        .find_map(|name| Some((*name, header(name)?)))
        .ok_or(Unreadable::NoEvent)?;
    let is_printable = event.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if event.is_empty() || event.len() > LONGEST_EVENT || !is_printable {
        return Err(Unreadable::Event);
    }
    let payload = Payload {
        content_type: header("content-type"),
        body,
    };
    let news = match name {
        "x-gitlab-event" => gitlab::news(event, &payload)?,
        _ => github::news(event, &payload)?,
    };
    let event = event.to_owned();
    Ok(Hook { event, news })
}

/// The JSON of a webhook, not yet looked at.
struct Payload<'a> {
    content_type: Option<&'a str>,
    body: &'a [u8],
}

impl Payload<'_> {
    fn read<T: for<'de> Deserialize<'de>>(&self) -> Result<T, Unreadable> {
        let json = payload::json(self.content_type, self.body).ok_or(Unreadable::NoPayload)?;
        // Strings that are passed over would not be checked.
        let json = str::from_utf8(&json).map_err(|_| Unreadable::NotUtf8)?;
        // What stands in an array would be taken for fields by their order.
        if json.trim_start().starts_with('[') {
            return Err(Unreadable::Field("the payload's object".to_owned()));
        }
        let mut json = serde_json::Deserializer::from_str(json);
        let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            if error.inner().is_data() {
                return Unreadable::Field(place(error.path()));
            }
            not_json(error.inner())
        })?;
        json.end().map_err(|error| not_json(&error))?;
        Ok(value)
    }
}

fn place(path: &serde_path_to_error::Path) -> String {
    match path.iter().len() {
        0 => "a field of the payload".to_owned(),
        _ => format!("`{path}` of the payload, or a field of it,"),
    }
}

fn not_json(error: &serde_json::Error) -> Unreadable {
    let (line, column) = (error.line(), error.column());
    Unreadable::NotJson { line, column }
}
