//! A verb as the faces see it: what it is called, what it does to the yard, and how it is called
//! without its types being known.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::run_verb::{self, At, ChangeContext, VerbOutput};
use crate::app::AuthorizedApp;
use branchyard_git::Repository;
use branchyard_git::verbs::{Render, VerbEntry};
use branchyard_model::{
    About, BranchName, ErrorKind, Problem, RepoName, Scope, Warning, arguments,
};
use branchyard_workspace::{Error, Files, Workspace};

type BoxFuture = Pin<Box<dyn Future<Output = Result<ErasedOutput, Problem>> + Send>>;
/// Refuses what makes no sense, before anything is looked at or waited for.
pub(super) type Check<In> = fn(&In) -> Result<(), Problem>;
type Action = dyn Fn(AuthorizedApp, At, Value) -> BoxFuture + Send + Sync;
/// The schema of a type, for callers that have a generator.
type Shape = fn(SchemaGenerator) -> Schema;
/// Tells an answer in words that was truncated as JSON.
type Retell = fn(&Value) -> serde_json::Result<String>;

/// What a verb is about, which decides where callers find it and what they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerbFamily {
    Git,
    /// Single files of a workspace.
    Files,
}

pub struct Verb {
    entry: VerbEntry,
    family: VerbFamily,
    /// What it takes, besides repo and branch.
    takes: Shape,
    /// What it gives, besides what every answer says.
    gives: Shape,
    /// Its actions that only look, where it has others too; the first is meant where none is named.
    looks: &'static [&'static str],
    action: Box<Action>,
}

/// What every answer says.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Common {
    pub repo: RepoName,
    pub branch: BranchName,
    #[serde(flatten)]
    pub about: About,
    /// What one should know, though it was done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// An answer whose type is not known any more. The fields of the answer itself are not called as those of [`Common`] are.
pub struct ErasedOutput {
    common: Common,
    answer: Box<dyn Untyped>,
    retell: Retell,
}

trait Untyped: Send + Sync {
    fn json(&self) -> serde_json::Result<Value>;
    fn text(&self) -> String;
    fn page(&mut self, room: usize) -> bool;
}

impl<T: Render> Untyped for T {
    fn json(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }

    fn text(&self) -> String {
        Render::text(self)
    }

    fn page(&mut self, room: usize) -> bool {
        Render::page(self, room)
    }
}

impl Verb {
    pub(super) fn new<In, Out, F>(
        entry: VerbEntry,
        action: impl Fn(AuthorizedApp, At, In) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        In: JsonSchema + DeserializeOwned + Send + 'static,
        Out: Render,
        F: Future<Output = Result<VerbOutput<Out>, Problem>> + Send + 'static,
    {
        Self {
            entry,
            family: VerbFamily::Git,
            takes: SchemaGenerator::into_root_schema_for::<In>,
            gives: shape_of_answer::<Out>,
            looks: &[],
            action: Box::new(move |app, at, given| {
                let action = action.clone();
                Box::pin(async move {
                    let (repo, branch) = (at.repo.clone(), at.branch.clone());
                    let told = action(app, at, arguments(given)?).await?;
                    Ok(ErasedOutput {
                        common: Common {
                            repo,
                            branch,
                            about: told.about,
                            warnings: told.warnings,
                        },
                        answer: Box::new(told.answer),
                        retell: |answer| Ok(Out::deserialize(answer)?.text()),
                    })
                })
            }),
        }
    }

    /// A verb that reads a workspace, once its request was checked.
    pub(super) fn reads<In, Out, F>(
        entry: VerbEntry,
        check: Check<In>,
        read: fn(Arc<Workspace>, In) -> F,
    ) -> Self
    where
        In: JsonSchema + DeserializeOwned + Clone + Send + Sync + 'static,
        Out: Render,
        F: Future<Output = Result<(About, Out), Error>> + Send + 'static,
    {
        Self::new(entry, move |app, at, request: In| async move {
            check(&request)?;
            run_verb::read(&app, &at, |workspace| read(workspace, request.clone())).await
        })
    }

    /// The same of its repository, in-process.
    pub(super) fn looks<In, Out>(
        entry: VerbEntry,
        check: Check<In>,
        look: fn(&Workspace, &Repository, &In) -> Result<Out, Error>,
    ) -> Self
    where
        In: JsonSchema + DeserializeOwned + Clone + Send + Sync + 'static,
        Out: Render,
    {
        Self::new(entry, move |app, at, request: In| async move {
            check(&request)?;
            let look = move |workspace: &_, repo: &_| look(workspace, repo, &request);
            run_verb::look(&app, &at, look).await
        })
    }

    /// A verb that changes a workspace, once its request was checked.
    pub(super) fn changes<In, Out, F>(
        entry: VerbEntry,
        check: Check<In>,
        files: Files,
        work: fn(ChangeContext, In) -> F,
    ) -> Self
    where
        In: JsonSchema + DeserializeOwned + Send + Sync + 'static,
        Out: Render,
        F: Future<Output = Result<Out, Error>> + Send + 'static,
    {
        Self::new(entry, move |app, at, request: In| async move {
            check(&request)?;
            let work = move |it| work(it, request);
            let beside = matches!(files, Files::Untouched | Files::Stay);
            run_verb::change(&app, &at, entry, (files, beside), work).await
        })
    }

    /// The same of single files.
    pub(super) fn of_files(self) -> Self {
        Self {
            family: VerbFamily::Files,
            ..self
        }
    }

    /// The same, of which these actions only look.
    pub(super) fn looking(self, looks: &'static [&'static str]) -> Self {
        Self { looks, ..self }
    }

    pub fn entry(&self) -> &VerbEntry {
        &self.entry
    }

    pub fn takes(&self) -> Shape {
        self.takes
    }

    pub fn gives(&self) -> Shape {
        self.gives
    }

    pub fn family(&self) -> VerbFamily {
        self.family
    }

    /// What agents know it by, and the OpenAPI document.
    pub fn full_name(&self) -> String {
        match self.family {
            VerbFamily::Git => format!("git_{}", self.entry.name),
            VerbFamily::Files => self.entry.name.to_owned(),
        }
    }

    /// Where it is, beneath its branch.
    pub fn address(&self) -> String {
        match self.family {
            VerbFamily::Git => format!("git/{}", self.entry.name),
            VerbFamily::Files => self.entry.name.to_owned(),
        }
    }

    pub fn right(&self) -> Scope {
        match (self.family, self.entry.effect.writes) {
            (VerbFamily::Git, true) => Scope::GitWrite,
            (VerbFamily::Files, true) => Scope::CodeRun,
            (_, false) => self.right_to_look(),
        }
    }

    /// What some calls of it need no more than.
    pub fn least_right(&self) -> Scope {
        match self.looks {
            [] => self.right(),
            _ => self.right_to_look(),
        }
    }

    fn right_for(&self, given: &Value) -> Scope {
        let only_looks = match given.get("action") {
            None => !self.looks.is_empty(),
            Some(action) => self.looks.iter().any(|look| action == look),
        };
        match only_looks {
            true => self.right_to_look(),
            false => self.right(),
        }
    }

    fn right_to_look(&self) -> Scope {
        match self.family {
            VerbFamily::Git => Scope::GitRead,
            VerbFamily::Files => Scope::RepoRead,
        }
    }

    /// Does it. `given` is an object with what the verb takes.
    pub async fn call(
        &self,
        app: &AuthorizedApp,
        at: At,
        given: Value,
    ) -> Result<ErasedOutput, Problem> {
        app.require(self.right_for(&given))?;
        app.check(&at.repo, &at.branch)?;
        (self.action)(app.clone(), at, given).await
    }
}

impl ErasedOutput {
    /// The whole answer, as one object. What there is none of is left out.
    pub fn json(&self) -> Result<Value, Problem> {
        let unwritable = |error: serde_json::Error| {
            let detail = format!("an answer cannot be written: {error}");
            Problem::new(ErrorKind::Internal, "answer_unwritable", detail)
        };
        let mut whole = serde_json::to_value(&self.common).map_err(unwritable)?;
        let mut answer = self.answer.json().map_err(unwritable)?;
        leave_out_nulls(&mut answer);
        if let (Value::Object(whole), Value::Object(answer)) = (&mut whole, answer) {
            whole.extend(answer);
        }
        Ok(whole)
    }

    pub fn text(&self) -> String {
        self.with_warnings(self.answer.text())
    }

    /// The same of what is left of [`ErasedOutput::json`].
    pub fn retold(&self, left: &Value) -> Result<String, Problem> {
        let text = (self.retell)(left).map_err(|error| {
            let detail = format!("a truncated answer cannot be read: {error}");
            Problem::new(ErrorKind::Internal, "answer_unreadable", detail)
        })?;
        Ok(self.with_warnings(text))
    }

    /// See [`Render::page`].
    pub fn page(&mut self, room: usize) -> bool {
        self.answer.page(room)
    }

    fn with_warnings(&self, mut text: String) -> String {
        for warning in &self.common.warnings {
            text.push_str("\nwarning: ");
            text.push_str(&warning.message);
        }
        text
    }
}

/// What there is none of is not there: that says as much, and costs nothing.
pub fn leave_out_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(leave_out_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out_nulls),
        _ => {}
    }
}

/// The schema of an answer that leaves out what there is none of.
fn shape_of_answer<T: JsonSchema>(generator: SchemaGenerator) -> Schema {
    let mut schema = generator.into_root_schema_for::<T>();
    RecursiveTransform(|schema: &mut Schema| {
        let nullable: Vec<_> = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter(|(_, property)| is_nullable(property))
            .map(|(name, _)| Value::from(name.as_str()))
            .collect();
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| !nullable.contains(name));
        }
    })
    .transform(&mut schema);
    schema
}

fn is_nullable(property: &Value) -> bool {
    let null = Value::from("null");
    let among_types = property["type"].as_array();
    let among_schemas = property["anyOf"].as_array();
    among_types.is_some_and(|types| types.contains(&null))
        || among_schemas.is_some_and(|any| any.iter().any(|one| one["type"] == null))
}
