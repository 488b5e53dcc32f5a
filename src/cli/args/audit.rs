//! The arguments of what looks at the audit.

use clap::{Args, ValueEnum};

use super::values;
use branchyard_model::{BranchName, RepoName};

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Only what this principal did, such as session or token:ci
    #[arg(long, value_name = "NAME")]
    pub principal: Option<String>,
    /// Only this action, such as make, git.push or branch.remove
    #[arg(long, value_name = "ACTION")]
    pub action: Option<String>,
    /// Only what was done in this repository
    #[arg(long, value_name = "REPO", value_parser = values::repo)]
    pub repo: Option<RepoName>,
    /// Only what was done on this branch
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    pub branch: Option<BranchName>,
    /// Only what made or touched this run, group, salvage or token
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// Only what came to this end
    #[arg(long, value_parser = ["allowed", "refused", "failed", "unknown"])]
    pub outcome: Option<String>,
    /// Only since then, such as 2h or 2026-11-15T08:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = values::since)]
    pub since: Option<String>,
    /// Only before then, written as --since is
    #[arg(long, value_name = "WHEN", value_parser = values::since)]
    pub until: Option<String>,
    /// Only records with a greater id, for whoever has all up to it
    #[arg(long, value_name = "ID")]
    pub after: Option<i64>,
    /// Only records with a smaller id: the next page
    #[arg(long, value_name = "ID")]
    pub before: Option<i64>,
    /// How many at most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        conflicts_with = "export"
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print all of them, the oldest first, each as a line of JSON
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub export: Option<ExportFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    Ndjson,
}
