//! The arguments of `salvage`.

use clap::{Args, Subcommand};

use super::values;
use branchyard_model::{BranchName, RepoName, SalvageId};

#[derive(Debug, Args)]
pub(crate) struct SalvageArgs {
    #[command(subcommand)]
    pub action: SalvageAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SalvageAction {
    /// List what was saved, the newest first
    List {
        /// Only of this repository
        #[arg(long, value_name = "REPO", value_parser = values::repo)]
        repo: Option<RepoName>,
        /// Only of this branch
        #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
        branch: Option<BranchName>,
    },
    /// Show what one salvage holds, or print one file of it
    Show {
        /// The salvage's id
        #[arg(value_parser = values::salvage)]
        id: SalvageId,
        /// Print this file, byte for byte
        path: Option<String>,
    },
    /// Bring a salvage back: files, index, commits and all
    ///
    /// Without --branch it goes into the workspace of the branch that it was saved from, which is
    /// made if it is not there. It is kept after that until it is dropped or expires.
    Restore {
        /// The salvage's id
        #[arg(value_parser = values::salvage)]
        id: SalvageId,
        /// As a new branch of this name
        #[arg(long, value_name = "NAME", value_parser = values::branch)]
        branch: Option<BranchName>,
        /// Also if there is other work in the workspace, which is saved first
        #[arg(long)]
        force: bool,
    },
    /// Let go of a salvage for good
    Drop {
        /// The salvage's id
        #[arg(value_parser = values::salvage)]
        id: SalvageId,
    },
}
