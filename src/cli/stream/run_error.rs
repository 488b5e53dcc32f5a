//! Why a run ended without its command, as the daemon tells it.

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct RunError {
    pub detail: String,
    #[serde(default)]
    pub help: Option<String>,
}
