//! The arguments of what looks at and changes repositories and workspaces.

use clap::{Args, Subcommand};
use clap_complete::Shell;

use super::values::{self, LineRange};
use branchyard_model::{BranchName, RepoName};

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = values::branch)]
    pub branch: BranchName,
    /// A directory or file of the workspace
    #[arg(default_value = ".")]
    pub path: String,
    /// Also what is below
    #[arg(short = 'R', long)]
    pub recursive: bool,
    /// Also names that start with a dot
    #[arg(short, long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CatArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = values::branch)]
    pub branch: BranchName,
    /// A file of the workspace
    pub path: String,
    /// Only these lines, counted from 1: 10-40, 10-, -40 or 10
    #[arg(long, value_name = "A-B", allow_hyphen_values = true, value_parser = values::lines)]
    pub lines: Option<LineRange>,
}

#[derive(Debug, Args)]
pub(crate) struct EnvArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = values::branch)]
    pub branch: BranchName,
}

#[derive(Debug, Args)]
pub(crate) struct ReposArgs {
    #[command(subcommand)]
    pub action: Option<RepoAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RepoAction {
    /// List the repositories
    List,
    /// Register a repository
    Add {
        /// A name of your choice: letters, digits, '.', '_' and '-'
        #[arg(value_parser = values::repo)]
        name: RepoName,
        // Its own id: `url` is the global flag's.
        /// Where git finds it
        #[arg(id = "remote_url", value_name = "URL")]
        url: String,
        /// The branch that counts as the default one
        #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
        default_branch: Option<BranchName>,
    },
    /// Forget a repository that was registered
    Rm {
        /// The repository's name
        #[arg(value_parser = values::repo)]
        name: RepoName,
    },
}

#[derive(Debug, Args)]
pub(crate) struct BranchesArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// Also the remote's branches that have no workspace
    #[arg(long)]
    pub remote: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PrepareArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = values::branch)]
    pub branch: BranchName,
    /// Create the branch from this branch or commit
    #[arg(long, value_name = "START")]
    pub from: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = values::branch)]
    pub branch: BranchName,
    /// Also if there is work in it, which is saved first
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReapArgs {
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Only the workspaces of this repository
    #[arg(long, value_name = "REPO", value_parser = values::repo)]
    pub repo: Option<RepoName>,
}

#[derive(Debug, Args)]
pub(crate) struct PinArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = values::branch)]
    pub branch: BranchName,
    /// Why, for those who wonder
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct UnpinArgs {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    pub repo: RepoName,
    /// The branch, as git shows it: main, feature/login
    #[arg(value_parser = values::branch)]
    pub branch: BranchName,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Have the daemon mend what it finds amiss; nothing of anybody's is deleted
    #[arg(long)]
    pub fix: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}
