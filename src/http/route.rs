//! One row of the table of routes: its address, the scope that it asks for, its name in the audit log, its operation in
//! the OpenAPI document, and its handler. There is no other way to add a route.

mod handler;
mod schemas;

use std::borrow::Cow;

use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{self, MethodRouter};
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::app::App;
use branchyard_model::Scope;
use handler::Described;

pub(super) use handler::With;
#[cfg(test)]
pub(super) use schemas::name_of;
pub(super) use schemas::{Schemas, Shape, of, reference, whole};

pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: Cow<'static, str>,
    pub(super) access: Access,
    /// The name that the audit has for it, unless it changes nothing: then only refusals are recorded.
    pub(super) action: Option<Cow<'static, str>>,
    pub(super) operation: Operation,
    pub(super) handler: MethodRouter<App>,
}

/// What a route asks of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Open,
    /// A credential, whatever its scopes.
    Known,
    Needs(Scope),
}

impl Access {
    /// As the OpenAPI document says it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Known => "a key",
            Self::Needs(scope) => scope.as_str(),
        }
    }
}

/// The routes under one tag of the OpenAPI document.
pub(super) struct Section {
    pub(super) tag: &'static str,
    pub(super) about: &'static str,
    pub(super) routes: Vec<Route>,
}

pub(super) const JSON: &str = "application/json";
pub(super) const NDJSON: &str = "application/x-ndjson";
pub(super) const PROBLEM: &str = "application/problem+json";
pub(super) const SSE: &str = "text/event-stream";
pub(super) const TEXT: &str = "text/plain";

/// A header that a request may have: its name, what it says, and what its values look like.
pub(super) type Header = (&'static str, &'static str, fn() -> Value);

pub(super) const RANGE: Header = (
    "Range",
    "Those bytes alone: `bytes=0-99`, `bytes=100-` or `bytes=-100`.",
    text,
);
pub(super) const IF_RANGE: Header = ("If-Range", "The `ETag` that a part is to be of.", text);

/// What a body is, once there are schemas to refer to.
pub(super) type Content = Box<dyn FnOnce(&mut Schemas) -> Value>;

/// The schema of one event of a stream.
pub(super) type Item = fn(&mut Schemas) -> Value;

/// A row on its way to a [`Route`]: what it says before its address and its handler are known.
#[derive(Default)]
pub(super) struct Operation {
    action: Option<Cow<'static, str>>,
    id: Cow<'static, str>,
    summary: &'static str,
    description: &'static str,
    query: Option<Shape>,
    headers: Vec<Header>,
    body: Option<Content>,
    /// Fields that are not needed everywhere where such a body is taken.
    needs: &'static [&'static str],
    /// The status of the handler's own answer, and what is said of it.
    gives: (u16, &'static str),
    answers: Vec<(u16, &'static str, Media)>,
    /// What the stream is a stream of, where there is one.
    item: Option<Item>,
}

/// What an answer may be, by content type.
type Media = Vec<(&'static str, Content)>;

/// Begins the row of a route that changes nothing.
pub(super) fn reads(id: impl Into<Cow<'static, str>>, summary: &'static str) -> Operation {
    Operation {
        id: id.into(),
        summary,
        gives: (200, ""),
        ..Operation::default()
    }
}

/// Begins the row of a route that changes the yard: every call is in the audit log, under the name `action`
/// (see [`crate::app::audit::ACTIONS`]).
pub(super) fn does(
    action: impl Into<Cow<'static, str>>,
    id: impl Into<Cow<'static, str>>,
    summary: &'static str,
) -> Operation {
    Operation {
        action: Some(action.into()),
        ..reads(id, summary)
    }
}

macro_rules! ends_row {
    ($($name:ident $method:ident;)*) => {$(
        pub(super) fn $name<T: 'static, A>(
            mut self,
            path: impl Into<Cow<'static, str>>,
            access: Access,
            handler: impl Handler<T, App> + Described<A>,
        ) -> Route {
            handler.describe(&mut self);
            Route {
                method: Method::$method,
                path: path.into(),
                access,
                action: self.action.take(),
                operation: self,
                handler: routing::$name(handler),
            }
        }
    )*};
}

impl Operation {
    ends_row! { get GET; post POST; put PUT; delete DELETE; }

    /// More than fits into the summary.
    pub(super) fn says(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// The query has the fields of `T`.
    fn asks<T: JsonSchema>(&mut self) {
        self.query = Some(T::json_schema);
    }

    pub(super) fn headers(mut self, headers: &[Header]) -> Self {
        self.headers.extend(headers);
        self
    }

    /// The body is a `T`, unless the route says more exactly what it is.
    fn takes<T: JsonSchema>(&mut self) {
        let taken = |schemas: &mut Schemas| schemas.taken(of::<T>());
        self.body.get_or_insert(Box::new(taken));
    }

    pub(super) fn takes_content(mut self, content: Content) -> Self {
        self.body = Some(content);
        self
    }

    /// Fields of the body that may be left out elsewhere, but not here.
    pub(super) fn needs(mut self, fields: &'static [&'static str]) -> Self {
        self.needs = fields;
        self
    }

    /// Says what the handler's own answer is.
    pub(super) fn gives(mut self, says: &'static str) -> Self {
        self.gives.1 = says;
        self
    }

    /// The handler's own answer has these contents.
    fn answered(&mut self, media: Media) {
        let (status, says) = self.gives;
        self.answers.push((status, says, media));
    }

    /// Answers with a `T` as well.
    pub(super) fn or<T: JsonSchema>(self, status: u16, says: &'static str) -> Self {
        self.answers(status, says, vec![(JSON, given::<T>())])
    }

    /// Answers with text, bytes or events, of these kinds.
    pub(super) fn writes(self, status: u16, says: &'static str, kinds: &[&'static str]) -> Self {
        let media = kinds.iter().map(|kind| (*kind, is(text_of(kind))));
        self.answers(status, says, media.collect())
    }

    /// Answers with a stream of these events, where it is of a kind that has some.
    pub(super) fn streams(self, says: &'static str, kinds: &[&'static str], item: Item) -> Self {
        let mut streams = self.writes(200, says, kinds);
        streams.item = Some(item);
        streams
    }

    /// Answers with nothing but a status.
    pub(super) fn only(self, status: u16, says: &'static str) -> Self {
        self.answers(status, says, Vec::new())
    }

    pub(super) fn answers(mut self, status: u16, says: &'static str, media: Media) -> Self {
        self.answers.push((status, says, media));
        self
    }

    #[cfg(test)]
    pub(super) fn summary(&self) -> &'static str {
        self.summary
    }

    /// The operation as the document has it.
    pub(super) fn write(
        self,
        tag: &str,
        path: &str,
        access: Access,
        schemas: &mut Schemas,
    ) -> Value {
        let mut parameters: Vec<_> = parameters_of(path)
            .map(|name| path_parameter(name, schemas))
            .collect();
        if let Some(query) = self.query {
            parameters.extend(schemas.parameters(query));
        }
        parameters.extend(self.headers.iter().map(|(name, description, schema)| {
            json!({ "name": name, "in": "header", "description": description, "schema": schema() })
        }));
        let security = match access {
            Access::Open => json!([]),
            _ => json!([{ "bearer": [] }, { "session": [] }]),
        };
        let mut written = json!({
            "operationId": self.id,
            "summary": self.summary,
            "tags": [tag],
            "x-right": access.as_str(),
            "security": security,
            "parameters": parameters,
            "responses": responses(self.answers, self.item, schemas),
        });
        if !self.description.is_empty() {
            written["description"] = self.description.into();
        }
        if let Some(body) = self.body {
            let body = body(schemas);
            written["requestBody"] = request_body(body, self.needs, schemas);
        }
        written
    }
}

pub(super) fn is(schema: Value) -> Content {
    Box::new(|_| schema)
}

pub(super) fn given<T: JsonSchema>() -> Content {
    Box::new(|schemas| schemas.given(of::<T>()))
}

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

/// To some programs a stream of events is text, to others it is each of the events.
pub(super) fn text_of(kind: &str) -> Value {
    match kind {
        SSE => json!({ "type": ["string", "object"] }),
        _ => text(),
    }
}

/// An empty body is an empty object.
fn request_body(mut schema: Value, needs: &[&str], schemas: &Schemas) -> Value {
    let required = schemas.resolved(&schema)["required"].as_array();
    let is_needed = !needs.is_empty() || required.is_some_and(|required| !required.is_empty());
    if !needs.is_empty() {
        schema["required"] = json!(needs);
    }
    json!({ "required": is_needed, "content": { JSON: { "schema": schema } } })
}

/// The answers, and the problem that there may be in place of any of them.
fn responses(
    answers: Vec<(u16, &'static str, Media)>,
    item: Option<Item>,
    schemas: &mut Schemas,
) -> Value {
    let mut responses = json!({ "default": { "$ref": "#/components/responses/Problem" } });
    for (status, says, media) in answers {
        let mut response = json!({ "description": says });
        for (kind, content) in media {
            response["content"][kind]["schema"] = content(schemas);
            if let Some(item) = item.filter(|_| kind == SSE || kind == NDJSON) {
                response["content"][kind]["x-item-schema"] = item(schemas);
            }
        }
        if status >= 400 {
            response["content"][PROBLEM]["schema"] = reference("Problem");
        }
        responses[status.to_string()] = response;
    }
    responses
}

/// The names in braces. Of `{*file}`, which takes slashes too, it is `file`.
pub(super) fn parameters_of(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split('{').skip(1);
    parts
        .filter_map(|part| part.split('}').next())
        .map(|name| name.trim_start_matches('*'))
}

fn path_parameter(name: &str, schemas: &mut Schemas) -> Value {
    use branchyard_model::{BranchName, GroupId, RepoName, RunId, SalvageId};
    let text = json!({ "type": "string", "minLength": 1 });
    let (description, schema) = match name {
        "repo" => ("The repository's name.", schemas.taken(of::<RepoName>())),
        "branch" => (
            "The branch as `git branch` shows it, as one segment: `feature/login` is `feature%2Flogin`.",
            schemas.taken(of::<BranchName>()),
        ),
        "run" => ("The run's id.", schemas.taken(of::<RunId>())),
        "group" => ("The group's id.", schemas.taken(of::<GroupId>())),
        "salvage" => ("The salvage's id.", schemas.taken(of::<SalvageId>())),
        "token" => ("The token's id or name.", text),
        "ticket" => ("What `POST /api/session/ticket` gave.", text),
        _ => ("A path, which may have slashes.", text),
    };
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": description,
        "schema": schema,
    })
}
