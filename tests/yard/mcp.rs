//! The yard as agents have it: through `/mcp`, in both eras of the protocol.

mod agents;
mod builds;
mod completion;
mod doors;
mod files;
mod grep;
mod hostile;
mod large_logs;
mod list;
mod manners;
mod memory;
mod offered;
mod ops;
mod patient;
mod prompts;
mod resources;
mod restarts;
mod roles;
mod salvage;
mod schemas;
mod secrets;
mod sessions;
mod tasks;
mod told;
mod updates;
mod workspace;
