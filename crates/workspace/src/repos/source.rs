//! Where a repo comes from.

/// Where a repo was declared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The configuration file or the environment.
    Config,
    /// `POST /api/repos`.
    Registered,
    /// A store that was found on disk.
    Found,
}
