//! Work that was saved before a verb discarded it, as its answer tells it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_model::{Salvage, SalvageId};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    pub salvage_id: SalvageId,
    /// What there was to lose, a reason each.
    pub work: Vec<String>,
    /// What could not be saved, by path: sockets and devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_saved: Vec<String>,
    /// How to have it back.
    pub restore: String,
}

impl Kept {
    pub(super) fn line(&self) -> String {
        format!("\nsaved as salvage {}: {}", self.salvage_id, self.restore)
    }
}

impl From<&Salvage> for Kept {
    fn from(salvage: &Salvage) -> Self {
        let id = salvage.id;
        Self {
            salvage_id: id,
            work: salvage.work.clone(),
            not_saved: salvage.not_saved.clone(),
            restore: format!(
                "POST /api/salvage/{id}/restore, or the tool `salvage` with action restore; with `branch` into a new one"
            ),
        }
    }
}
