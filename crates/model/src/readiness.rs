//! How it is known that a command in the background is ready to be used.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of port, line and file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Readiness {
    /// A TCP port that accepts connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// A part of a line that it prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// A file of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How long it may take; a minute, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self {
                port: Some(port), ..
            } => write!(f, "port {port} accepts no connection"),
            Self {
                line: Some(line), ..
            } => write!(f, "no line with {line:?} was printed"),
            Self {
                file: Some(file), ..
            } => write!(f, "there is no file {file}"),
            _ => f.write_str("nothing was said to wait for"),
        }
    }
}
