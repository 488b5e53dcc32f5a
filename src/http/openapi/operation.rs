//! One operation: a method at an address, what it takes and what it answers.

use std::borrow::Cow;

use axum::http::Method;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::events::{self, Item, SSE};
use super::schemas::{Schemas, Shape, of, reference};
use crate::http::routes::{Address, Asks};

pub(super) const JSON: &str = "application/json";
pub(super) const TEXT: &str = "text/plain";
pub(super) const PROBLEM: &str = "application/problem+json";

pub(super) struct Operation {
    method: Method,
    path: Cow<'static, str>,
    id: Cow<'static, str>,
    tag: &'static str,
    summary: Cow<'static, str>,
    description: Cow<'static, str>,
    query: Option<Shape>,
    headers: Vec<Header>,
    body: Option<Body>,
    answers: Vec<Answer>,
}

/// A header that a request may have: its name, what it says, and what its values look like.
pub(super) type Header = (&'static str, &'static str, fn() -> Value);

struct Body {
    content: Content,
    /// Fields that are not needed everywhere where such a body is taken.
    needs: &'static [&'static str],
}

struct Answer {
    status: u16,
    says: &'static str,
    media: Vec<(&'static str, Content)>,
    /// What it is a stream of.
    item: Option<Item>,
}

/// What a body is.
pub(super) enum Content {
    Of(Shape),
    Is(Value),
}

/// Where a row of the tables begins: its tag, address, id and summary.
macro_rules! begins {
    ($($name:ident $method:ident;)*) => {$(
        pub(super) fn $name(
            tag: &'static str,
            path: impl Into<Cow<'static, str>>,
            id: impl Into<Cow<'static, str>>,
            summary: impl Into<Cow<'static, str>>,
        ) -> Operation {
            Operation {
                method: Method::$method,
                path: path.into(),
                id: id.into(),
                tag,
                summary: summary.into(),
                description: "".into(),
                query: None,
                headers: Vec::new(),
                body: None,
                answers: Vec::new(),
            }
        }
    )*};
}
begins! { get GET; post POST; put PUT; delete DELETE; }

impl Operation {
    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// More than fits into the summary.
    pub(super) fn says(mut self, description: impl Into<Cow<'static, str>>) -> Self {
        self.description = description.into();
        self
    }

    /// The query has the fields of `T`.
    pub(super) fn asks<T: JsonSchema>(mut self) -> Self {
        self.query = Some(T::json_schema);
        self
    }

    pub(super) fn headers(mut self, headers: &[Header]) -> Self {
        self.headers.extend(headers);
        self
    }

    /// The body is a `T`.
    pub(super) fn takes<T: JsonSchema>(self) -> Self {
        self.takes_content(Content::Of(of::<T>()))
    }

    pub(super) fn takes_content(mut self, content: Content) -> Self {
        self.body = Some(Body {
            content,
            needs: &[],
        });
        self
    }

    /// Fields of the body that may be left out elsewhere, but not here.
    pub(super) fn needs(mut self, fields: &'static [&'static str]) -> Self {
        if let Some(body) = &mut self.body {
            body.needs = fields;
        }
        self
    }

    /// Answers with a `T`.
    pub(super) fn gives<T: JsonSchema>(self, status: u16, says: &'static str) -> Self {
        self.answers(status, says, vec![(JSON, Content::Of(of::<T>()))])
    }

    /// Answers with text, bytes or events, of these kinds.
    pub(super) fn writes(self, status: u16, says: &'static str, media: &[&'static str]) -> Self {
        let media = media.iter().map(|kind| (*kind, Content::Is(text_of(kind))));
        self.answers(status, says, media.collect())
    }

    /// Answers with a stream of these events, where it is of a kind that has some.
    pub(super) fn streams(
        mut self,
        status: u16,
        says: &'static str,
        media: &[&'static str],
        item: Item,
    ) -> Self {
        self = self.writes(status, says, media);
        if let Some(answer) = self.answers.last_mut() {
            answer.item = Some(item);
        }
        self
    }

    /// Answers with nothing but a status.
    pub(super) fn only(self, status: u16, says: &'static str) -> Self {
        self.answers(status, says, Vec::new())
    }

    pub(super) fn answers(
        mut self,
        status: u16,
        says: &'static str,
        media: Vec<(&'static str, Content)>,
    ) -> Self {
        self.answers.push(Answer {
            status,
            says,
            media,
            item: None,
        });
        self
    }

    /// The operation as the document has it.
    pub(super) fn write(self, address: &Address, schemas: &mut Schemas) -> Value {
        let mut parameters = self.path_parameters(schemas);
        if let Some(query) = self.query {
            parameters.extend(schemas.parameters(query));
        }
        parameters.extend(self.headers.iter().map(|(name, description, schema)| {
            json!({ "name": name, "in": "header", "description": description, "schema": schema() })
        }));
        let (right, security) = match address.asks {
            Asks::Nothing => ("open", json!([])),
            Asks::ForACredential => ("a key", secured()),
            Asks::ForRight(right) => (right.as_str(), secured()),
        };
        let mut written = json!({
            "operationId": self.id,
            "summary": self.summary,
            "tags": [self.tag],
            "x-right": right,
            "security": security,
            "parameters": parameters,
            "responses": responses(self.answers, schemas),
        });
        if !self.description.is_empty() {
            written["description"] = self.description.into();
        }
        if let Some(body) = self.body {
            written["requestBody"] = body.write(schemas);
        }
        written
    }

    fn path_parameters(&self, schemas: &mut Schemas) -> Vec<Value> {
        let parameters = parameters_of(&self.path).map(|name| {
            let (description, schema) = path_parameter(name, schemas);
            json!({
                "name": name,
                "in": "path",
                "required": true,
                "description": description,
                "schema": schema,
            })
        });
        parameters.collect()
    }
}

impl Body {
    /// An empty body is an empty object.
    fn write(self, schemas: &mut Schemas) -> Value {
        let mut schema = match self.content {
            Content::Of(shape) => schemas.taken(shape),
            Content::Is(schema) => schema,
        };
        let is_needed = !self.needs.is_empty()
            || schemas.resolved(&schema)["required"]
                .as_array()
                .is_some_and(|required| !required.is_empty());
        if !self.needs.is_empty() {
            schema["required"] = json!(self.needs);
        }
        json!({ "required": is_needed, "content": { JSON: { "schema": schema } } })
    }
}

/// To some programs a stream of events is text, to others it is each of the events.
pub(super) fn text_of(kind: &str) -> Value {
    match kind {
        SSE => json!({ "type": ["string", "object"] }),
        _ => json!({ "type": "string" }),
    }
}

fn secured() -> Value {
    json!([{ "bearer": [] }, { "session": [] }])
}

/// The answers, and the problem that there may be in place of any of them.
fn responses(answers: Vec<Answer>, schemas: &mut Schemas) -> Value {
    let mut responses = Map::new();
    for Answer {
        status,
        says,
        media,
        item,
    } in answers
    {
        let mut response = json!({ "description": says });
        let item = item.map(|item| item(schemas));
        for (kind, content) in media {
            response["content"][kind]["schema"] = match content {
                Content::Of(shape) => schemas.given(shape),
                Content::Is(schema) => schema,
            };
            if let Some(item) = item.as_ref().filter(|_| events::are_in(kind)) {
                response["content"][kind]["x-item-schema"] = item.clone();
            }
        }
        if status >= 400 {
            response["content"][PROBLEM]["schema"] = reference("Problem");
        }
        responses.insert(status.to_string(), response);
    }
    responses.insert(
        "default".to_owned(),
        json!({ "$ref": "#/components/responses/Problem" }),
    );
    Value::Object(responses)
}

/// The names in braces. Of `{*file}`, which takes slashes too, it is `file`.
pub(super) fn parameters_of(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split('{').skip(1);
    parts
        .filter_map(|part| part.split('}').next())
        .map(|name| name.trim_start_matches('*'))
}

fn path_parameter(name: &str, schemas: &mut Schemas) -> (&'static str, Value) {
    use branchyard_model::{BranchName, GroupId, RepoName, RunId, SalvageId};
    let text = json!({ "type": "string", "minLength": 1 });
    match name {
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
    }
}
