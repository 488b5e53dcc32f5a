//! A git verb as the faces see it: what it is called, what it does to the yard, and how it is called
//! without its types being known.

use std::future::Future;
use std::pin::Pin;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::AuthorizedApp;
use branchyard_model::{
    About, BranchName, ErrorKind, Problem, RepoName, Scope, Warning, arguments,
};

type BoxFuture = Pin<Box<dyn Future<Output = Result<ErasedOutput, Problem>> + Send>>;
type Action = dyn Fn(AuthorizedApp, At, Value) -> BoxFuture + Send + Sync;
/// The schema of a type, for whoever has a generator.
type Shape = fn(SchemaGenerator) -> Schema;

/// Where a verb is done.
#[derive(Debug, Clone)]
pub struct At {
    pub repo: RepoName,
    pub branch: BranchName,
}

/// Everything about a verb but what it takes, gives and does.
#[derive(Debug, Clone, Copy)]
pub struct VerbEntry {
    /// One word for addresses, such as `cherry_pick`; agents know it as `git_cherry_pick`.
    pub name: &'static str,
    pub title: &'static str,
    /// What it does, when to use it, what to do next: for agents, in one to three sentences.
    pub description: &'static str,
    pub effect: Effect,
}

/// What a verb does to the yard, which also decides the right that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    pub writes: bool,
    /// It may discard something, though what is work is saved first.
    pub destroys: bool,
    /// To do it twice is to do it once.
    pub repeats: bool,
    /// It may talk to the remote.
    pub reaches_out: bool,
}

impl Effect {
    pub const READS: Self = Self {
        writes: false,
        destroys: false,
        repeats: true,
        reaches_out: false,
    };
    pub const WRITES: Self = Self {
        writes: true,
        destroys: false,
        repeats: false,
        reaches_out: false,
    };
    pub const DESTROYS: Self = Self {
        destroys: true,
        ..Self::WRITES
    };
}

pub struct Verb {
    entry: VerbEntry,
    /// What it takes, besides repo and branch.
    takes: Shape,
    /// What it gives, besides what every answer says.
    gives: Shape,
    /// Its actions that only look, where it has others too; the first is meant where none is named.
    looks: &'static [&'static str],
    action: Box<Action>,
}

/// What a verb answers, and what that is about.
#[derive(Debug, Clone)]
pub struct VerbOutput<T> {
    pub about: About,
    pub warnings: Vec<Warning>,
    pub answer: T,
}

/// The answer of a verb. Its fields must not be called as those of [`Common`] are.
pub trait Render: Serialize + JsonSchema + Send + 'static {
    /// The same in a few lines, for people and models.
    fn text(&self) -> String;

    /// Makes it fit into about `room` bytes of JSON, by leaving out the ends of long lists and texts, and
    /// says so in the answer: nothing is cut in silence. Asked again with less where that was not enough.
    fn cut(&mut self, _room: usize) {}
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

/// An answer whose type is not known any more.
pub struct ErasedOutput {
    common: Common,
    answer: Box<dyn Untyped>,
}

trait Untyped: Send {
    fn json(&self) -> serde_json::Result<Value>;
    fn text(&self) -> String;
    fn cut(&mut self, room: usize);
}

impl<T: Render> Untyped for T {
    fn json(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }

    fn text(&self) -> String {
        Render::text(self)
    }

    fn cut(&mut self, room: usize) {
        Render::cut(self, room);
    }
}

impl Verb {
    pub(super) fn new<In, Out, BoxFuture>(
        entry: VerbEntry,
        action: impl Fn(AuthorizedApp, At, In) -> BoxFuture + Clone + Send + Sync + 'static,
    ) -> Self
    where
        In: JsonSchema + DeserializeOwned + Send + 'static,
        Out: Render,
        BoxFuture: Future<Output = Result<VerbOutput<Out>, Problem>> + Send + 'static,
    {
        Self {
            entry,
            takes: SchemaGenerator::into_root_schema_for::<In>,
            gives: SchemaGenerator::into_root_schema_for::<Out>,
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
                    })
                })
            }),
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

    pub fn right(&self) -> Scope {
        match self.entry.effect.writes {
            true => Scope::GitWrite,
            false => Scope::GitRead,
        }
    }

    /// What some calls of it need no more than.
    pub fn least_right(&self) -> Scope {
        match self.looks {
            [] => self.right(),
            _ => Scope::GitRead,
        }
    }

    fn right_for(&self, given: &Value) -> Scope {
        let only_looks = match given.get("action") {
            None => !self.looks.is_empty(),
            Some(action) => self.looks.iter().any(|look| action == look),
        };
        match only_looks {
            true => Scope::GitRead,
            false => self.right(),
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
    /// The whole answer, as one object.
    pub fn json(&self) -> Result<Value, Problem> {
        let unwritable = |error: serde_json::Error| {
            let detail = format!("an answer cannot be written: {error}");
            Problem::new(ErrorKind::Internal, "answer_unwritable", detail)
        };
        let mut whole = serde_json::to_value(&self.common).map_err(unwritable)?;
        let answer = self.answer.json().map_err(unwritable)?;
        if let (Value::Object(whole), Value::Object(answer)) = (&mut whole, answer) {
            whole.extend(answer);
        }
        Ok(whole)
    }

    pub fn text(&self) -> String {
        let mut text = self.answer.text();
        for warning in &self.common.warnings {
            text.push_str("\nwarning: ");
            text.push_str(&warning.message);
        }
        text
    }

    /// See [`Render::cut`].
    pub fn cut(&mut self, room: usize) {
        self.answer.cut(room);
    }
}
