//! Branchyard: a build yard with one clone per repository and one git worktree per branch.
//! ARCHITECTURE.md is the map; the modules below stand in the order of its layers.

pub mod background;
pub mod clock;
pub mod config;
pub mod database;
pub mod model;

pub mod diagnostics;
pub mod disk;
pub mod journal;
pub mod news;
pub mod store;
pub mod telemetry;
pub mod trust;

pub mod process;

pub mod git;

pub mod auth;
pub mod repos;

pub mod workspace;

pub mod runs;

pub mod app;

pub mod http;
pub mod mcp;

pub mod server;

pub mod cli;
