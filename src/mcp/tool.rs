//! A tool: what its list entry says, who may call it, and what it does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{JsonObject, ToolAnnotations};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Declared;
use super::audit::Watched;
use super::call::Call;
use super::portable;
use super::reply::{Content, Reply};
use super::schema;
use super::scope::ToolScope;
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{Problem, Scope, arguments};

type Answer = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;
type Action = dyn Fn(Call, Value) -> Answer + Send + Sync;

pub(super) struct Tool {
    listed: rmcp::model::Tool,
    set: Toolset,
    right: Scope,
    effect: Effect,
    action: Box<Action>,
}

/// Everything about a tool but what it takes, gives and does.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolEntry<'a> {
    /// Short, for it stands beside the server's name in a client's list.
    pub(super) name: &'a str,
    pub(super) title: &'static str,
    /// What it does, when to use it, what to do next.
    pub(super) description: &'static str,
    pub(super) set: Toolset,
    /// What every call needs; a tool that does more for some arguments asks again.
    pub(super) right: Scope,
    /// What a client may tell its user before it calls.
    pub(super) effect: Effect,
}

/// What a tool takes that takes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

impl Tool {
    /// `In` is what it takes, `Out` what its structured content is.
    pub(super) fn new<In, Out, Doing>(
        entry: &ToolEntry<'_>,
        action: impl Fn(Call, In) -> Doing + Clone + Send + Sync + 'static,
    ) -> Self
    where
        In: JsonSchema + DeserializeOwned + Send + 'static,
        Out: JsonSchema,
        Doing: Future<Output = Result<Reply, Problem>> + Send + 'static,
    {
        let takes = portable::taken(schema::taken(SchemaGenerator::into_root_schema_for::<In>));
        let gives = portable::given(schema::given(SchemaGenerator::into_root_schema_for::<Out>));
        Self::untyped(entry, takes, gives, move |call, arguments| {
            let action = action.clone();
            async move { action(call, read(arguments)?).await }
        })
    }

    /// Whose types are known by their schemas alone.
    pub(super) fn untyped<Doing>(
        entry: &ToolEntry<'_>,
        takes: JsonObject,
        gives: JsonObject,
        action: impl Fn(Call, Value) -> Doing + Send + Sync + 'static,
    ) -> Self
    where
        Doing: Future<Output = Result<Reply, Problem>> + Send + 'static,
    {
        let Effect {
            writes,
            destroys,
            repeats,
            reaches_out,
        } = entry.effect;
        let annotations = ToolAnnotations::new()
            .read_only(!writes)
            .destructive(destroys)
            .idempotent(repeats)
            .open_world(reaches_out);
        let listed = rmcp::model::Tool::new(entry.name.to_owned(), entry.description, takes)
            .with_title(entry.title)
            .with_raw_output_schema(Arc::new(gives))
            .with_annotations(annotations);
        Self {
            listed,
            set: entry.set,
            right: entry.right,
            effect: entry.effect,
            action: Box::new(move |call, arguments| Box::pin(action(call, arguments))),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.listed.name
    }

    pub(super) fn declared(&self) -> Declared {
        Declared {
            name: self.name().to_owned(),
            set: self.set,
            right: self.right,
        }
    }

    pub(super) fn is_read_only(&self) -> bool {
        !self.effect.writes
    }

    pub(super) fn is_offered(&self, scope: &ToolScope) -> bool {
        scope.offers(self.name(), self.set, !self.effect.writes)
    }

    /// Its entry in the list that this client gets.
    pub(super) fn listed(&self, scope: &ToolScope) -> rmcp::model::Tool {
        let mut listed = self.listed.clone();
        listed.input_schema = schema::with_defaults(&listed.input_schema, scope);
        if scope.content() == Content::Text {
            listed.output_schema = None;
        }
        listed
    }

    pub(super) async fn call(&self, call: Call, arguments: JsonObject) -> Result<Reply, Problem> {
        let mut arguments = arguments;
        schema::fill_in(&mut arguments, &self.listed.input_schema, call.scope());
        let watched = Watched::begin(&call, self.name(), self.is_read_only(), &arguments).await?;
        let answer = self.answer(call, arguments).await;
        watched.end(&answer).await;
        answer
    }

    async fn answer(&self, call: Call, arguments: JsonObject) -> Result<Reply, Problem> {
        call.app().require(self.right)?;
        let reply = (self.action)(call, Value::Object(arguments)).await?;
        reply.bounded()
    }
}

/// The arguments, or which of them is wrong, why, and what to do about it.
pub(super) fn read<T: DeserializeOwned>(given: Value) -> Result<T, Problem> {
    arguments(given).map_err(|problem| {
        let is_missing = problem.detail.starts_with("missing");
        let help = match problem.field.as_deref() {
            Some("repo" | "branch") if is_missing => {
                "call `list` for the repos and branches there are"
            }
            _ => "the tool's input schema describes every field",
        };
        problem.help(help)
    })
}
