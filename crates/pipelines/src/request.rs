//! What a caller asks for when it starts a pipeline.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_model::{BranchName, CommitId, PipelineSource, Problem};
use branchyard_workflow::EventKind;

/// The body of a request for a pipeline. Unknown fields are refused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PipelineRequest {
    /// The branch; the default branch if left out.
    pub branch: Option<BranchName>,
    /// A commit of that branch; its newest if left out.
    pub commit: Option<CommitId>,
    /// The workflow file, as its path or its name alone. Needed where the commit has several.
    pub file: Option<String>,
    /// The event that it is run for: `workflow_dispatch` where the file has that, else the first that it has. Its filters of
    /// branches and paths do not count.
    pub event: Option<String>,
    /// The inputs of `workflow_dispatch`: texts, numbers, true or false.
    pub inputs: BTreeMap<String, InputText>,
    /// `commit`; or `workspace`, for a snapshot of the files in the workspace of the branch.
    pub source: PipelineSource,
}

/// The value of an input, as a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenInput", into = "String")]
pub struct InputText(pub String);

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenInput {
    Text(String),
    Flag(bool),
    Number(serde_json::Number),
}

impl From<WrittenInput> for InputText {
    fn from(written: WrittenInput) -> Self {
        Self(match written {
            WrittenInput::Text(text) => text,
            WrittenInput::Flag(flag) => flag.to_string(),
            WrittenInput::Number(number) => number.to_string(),
        })
    }
}

impl From<InputText> for String {
    fn from(text: InputText) -> Self {
        text.0
    }
}

impl JsonSchema for InputText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "InputText".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        WrittenInput::json_schema(generator)
    }
}

impl PipelineRequest {
    pub(crate) fn event(&self) -> Result<Option<EventKind>, Problem> {
        let Some(name) = &self.event else {
            return Ok(None);
        };
        let found = EventKind::ALL.into_iter().find(|kind| kind.name() == name);
        found.map(Some).ok_or_else(|| {
            let names = EventKind::ALL.map(EventKind::name).join(", ");
            Problem::unprocessable("event", format!("{name:?} is no event of workflows"))
                .help(format!("choose one of {names}"))
        })
    }
}
