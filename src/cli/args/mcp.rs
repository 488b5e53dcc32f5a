//! The arguments of `mcp` and `mcp config`.

use clap::{Args, Subcommand, ValueEnum};

use super::values;
use branchyard_model::{BranchName, RepoName};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(subcommand)]
    pub action: Option<McpAction>,
}

/// What is fixed for one agent.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ScopeArgs {
    /// The repository that is meant where a call names none
    #[arg(long, value_name = "REPO", value_parser = values::repo)]
    pub repo: Option<RepoName>,
    /// The branch that is meant where a call names none
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    pub branch: Option<BranchName>,
    /// The sets of tools to offer, with commas between them, or all; yard,build if left out
    #[arg(long, value_name = "SETS", value_parser = values::toolsets)]
    pub toolsets: Option<String>,
    /// Offer the sets of tools of this role: dev, ops, admin, ui or one of the daemon's configuration
    #[arg(long, value_name = "ROLE", value_parser = values::role)]
    pub role: Option<String>,
    /// Single tools to offer, with commas between them: beside the sets of --toolsets, or alone
    #[arg(long, value_name = "TOOLS", value_parser = values::tools)]
    pub tools: Option<String>,
    /// Tools to leave out, with commas between them
    #[arg(long, value_name = "TOOLS", value_parser = values::tools)]
    pub exclude_tools: Option<String>,
    /// Offer only tools that change nothing
    #[arg(long)]
    pub read_only: bool,
    /// The form of answers; each counts against their length, so that one alone holds twice as much
    #[arg(long, value_name = "FORM", value_parser = ["both", "text", "structured"])]
    pub content: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpAction {
    /// Print what a coding agent's configuration needs
    ///
    /// Prints what to paste, or the command to run, for stdio and for HTTP; what else is to know goes
    /// to stderr. Over stdio the agent starts `branchyard mcp`, which finds the daemon by itself and
    /// goes on when it is started anew; over HTTP the agent needs the daemon's key, which is never
    /// printed.
    #[command(after_long_help = "\
Examples:
  branchyard mcp config claude
  branchyard mcp config codex --stdio --repo app >> ~/.codex/config.toml
  branchyard mcp config cursor --stdio --repo app --branch main
  branchyard mcp config vscode --http --role dev")]
    Config(ConfigArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// The coding agent
    pub client: AgentClient,
    /// Only the configuration for stdio
    #[arg(long, conflicts_with = "http")]
    pub stdio: bool,
    /// Only the configuration for HTTP
    #[arg(long)]
    pub http: bool,
    #[command(flatten)]
    pub scope: ScopeArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentClient {
    /// Claude Code: commands to run
    Claude,
    /// Codex: ~/.codex/config.toml
    Codex,
    /// Cursor: ~/.cursor/mcp.json, or .cursor/mcp.json of a project
    Cursor,
    /// VS Code: .vscode/mcp.json
    Vscode,
}
