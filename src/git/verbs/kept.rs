//! Work that was saved before a verb discarded it, as its answer tells it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Salvage, SalvageId};

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Kept {
    pub salvage_id: SalvageId,
    /// What there was to lose, a reason each.
    pub work: Vec<String>,
    /// How to have it back.
    pub restore: String,
}

impl From<&Salvage> for Kept {
    fn from(salvage: &Salvage) -> Self {
        let id = salvage.id;
        Self {
            salvage_id: id,
            work: salvage.work.clone(),
            restore: format!(
                "POST /api/salvage/{id}/restore, or the tool `salvage` with action restore; with `branch` into a new one"
            ),
        }
    }
}
