//! What a caller gave, into what it stands for.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Problem;

/// The arguments, or which of them is wrong and why.
pub fn arguments<T: DeserializeOwned>(given: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(given).map_err(|error| {
        let path = error.path().to_string();
        let why = error.inner().to_string();
        // A field that is missing or unknown is named by the message alone.
        let named = why.split('`').nth(1).filter(|_| path == ".");
        let field = named.unwrap_or(&path).to_owned();
        Problem::unprocessable(&field, why)
    })
}
