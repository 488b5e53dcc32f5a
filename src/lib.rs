//! Branchyard: a build yard with one clone per repository and one git worktree per branch. This library is the daemon's
//! front: what all faces share, HTTP, MCP, and the server that puts everything together. The layers below it are the
//! packages in `crates/`, the command line is in the program itself. ARCHITECTURE.md is the map.

pub mod app;
pub mod http;
pub mod mcp;
pub mod server;
