//! Names and ids as JSON schemas, for all who describe what they take and give.
//!
//! A parser may refuse more than its pattern does, and says why; no pattern refuses what is legal.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{BranchName, CommitId, DeliveryId, GroupId, PipelineId, RepoName, RunId, SalvageId};

const UUID: &str = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

macro_rules! is_text {
    ($($type:ty, $name:literal, $pattern:expr, $longest:literal, $description:literal;)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": $description,
                    "pattern": $pattern,
                    "maxLength": $longest,
                })
            }
        }
    )*};
}

is_text! {
    RepoName, "RepoName", "^[A-Za-z0-9][A-Za-z0-9._-]*$", 63, "A repository, by its name.";
    BranchName, "BranchName", r"^[^-./ ~^:?*\[\\\x00-\x1f\x7f][^ ~^:?*\[\\\x00-\x1f\x7f]*$", 240, "Such as main or feature/login.";
    RunId, "RunId", UUID, 36, "A run's id.";
    GroupId, "GroupId", UUID, 36, "A group's id, as its runs name it.";
    PipelineId, "PipelineId", UUID, 36, "A pipeline's id, as `pipelines` lists it.";
    DeliveryId, "DeliveryId", UUID, 36, "The id of a message to a forge or webhook.";
    SalvageId, "SalvageId", UUID, 36, "A salvage's id, as `salvage` lists it.";
    CommitId, "CommitId", "^[0-9a-f]{40}$", 40, "A commit: 40 hex digits.";
}
