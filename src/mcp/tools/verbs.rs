//! Verbs as tools.

use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

use crate::app::verbs::{At, Common, ErasedOutput, Verb, VerbFamily, verbs};
use crate::mcp::call::Call;
use crate::mcp::reply::{CONTENT, Reply};
use crate::mcp::tool::{Tool, ToolEntry, read};
use crate::mcp::{portable, schema};
use branchyard_config::Toolset;
use branchyard_model::{BranchName, Problem, RepoName};

/// Less is no page.
const LEAST_PAGE: usize = 200;

/// Where a verb is to be done; the rest of the arguments is the verb's own.
#[derive(Debug, Deserialize, JsonSchema)]
struct VerbTarget {
    repo: RepoName,
    branch: BranchName,
}

pub(super) fn tools() -> Vec<Tool> {
    verbs().iter().map(tool).collect()
}

fn tool(verb: &'static Verb) -> Tool {
    let effect = verb.entry().effect;
    let name = verb.full_name();
    let entry = ToolEntry {
        name: &name,
        title: verb.entry().title,
        description: verb.entry().description,
        set: match (verb.family(), effect.writes) {
            (VerbFamily::Git, true) => Toolset::GitWrite,
            (VerbFamily::Git, false) => Toolset::GitRead,
            (VerbFamily::Files, _) => Toolset::Code,
        },
        right: verb.right(),
        effect,
    };
    let target = schema::taken(SchemaGenerator::into_root_schema_for::<VerbTarget>);
    let takes = schema::joined(target, schema::taken(verb.takes()));
    let common = schema::given(SchemaGenerator::into_root_schema_for::<Common>);
    let gives = schema::joined(common, schema::given(verb.gives()));
    let (takes, gives) = (portable::taken(takes), portable::given(gives));
    Tool::untyped(&entry, takes, gives, move |call, arguments| {
        run(call, verb, arguments)
    })
}

async fn run(call: Call, verb: &'static Verb, arguments: Value) -> Result<Reply, Problem> {
    let Value::Object(mut given) = arguments else {
        return Err(Problem::unprocessable("arguments", "they are no object"));
    };
    let mut place = serde_json::Map::new();
    for field in ["repo", "branch"] {
        place.extend(given.remove_entry(field));
    }
    let VerbTarget { repo, branch } = read(Value::Object(place))?;
    let at = At { repo, branch };
    let said = call.in_time(verb.call(call.app(), at, Value::Object(given)));
    fitting(&call, said.await?)
}

/// The answer, by its own pages where it has any.
pub(super) fn fitting(call: &Call, mut said: ErasedOutput) -> Result<Reply, Problem> {
    let mut room = CONTENT;
    loop {
        let reply = call.reply(&said.json()?, said.text())?;
        if reply.fits() || room < LEAST_PAGE || !said.page(room) {
            return Ok(reply.of_verb(said));
        }
        room = room * 2 / 3;
    }
}
