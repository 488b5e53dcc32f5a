//! The arguments of `token`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::values;

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub action: TokenAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenAction {
    /// Make a token, and print it: once, and never again
    ///
    /// The token alone goes to stdout. It is good for what the credential that this command uses is
    /// good for, or less, and for no longer. When that one is revoked or expires, this one is over too.
    #[command(after_long_help = "\
Examples:
  branchyard token create --role dev --repos 'app-*' --branches 'agent-7-*' --expires 12h
  branchyard token create --role ui --name wall-screen --expires 90d --output screen.key
  branchyard --key-file screen.key runs")]
    Create(Box<CreateTokenArgs>),
    /// List tokens: what each is good for, who made it, when it was last used
    List {
        /// Also those that expired or were revoked, for a week after that
        #[arg(long)]
        all: bool,
    },
    /// Take a token back at once, with all that were made with it
    Revoke {
        /// The token's name or id
        #[arg(value_name = "NAME|ID", value_parser = values::token)]
        token: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateTokenArgs {
    /// What it may do: dev, ops, admin, ui, or a role of the daemon's configuration
    #[arg(long, value_name = "ROLE", value_parser = values::role, required_unless_present = "scopes")]
    pub role: Option<String>,
    /// What it may do, in place of a role: repo:read, build:run, git:read, git:write, code:run, ops, admin
    #[arg(long, value_name = "SCOPES", value_delimiter = ',', conflicts_with = "role", value_parser = values::scope)]
    pub scopes: Vec<String>,
    /// The sets of MCP tools that it gets at most, with commas between them
    #[arg(long, value_name = "SETS", value_delimiter = ',', value_parser = values::toolset)]
    pub toolsets: Vec<String>,
    /// Only repos that match this glob; may be given several times
    #[arg(long, value_name = "GLOB")]
    pub repos: Vec<String>,
    /// Only branches that match this glob; may be given several times
    #[arg(long, value_name = "GLOB")]
    pub branches: Vec<String>,
    /// How long it is good: 12h, 30d, a time, or never (which takes an admin)
    ///
    /// Without it 30 days if you are an admin, else 12 hours, and never longer than your own.
    #[arg(long, value_name = "WHEN", value_parser = values::expiry)]
    pub expires: Option<String>,
    /// What it is called in lists and in the audit; given once and for ever
    #[arg(long, value_name = "NAME", value_parser = values::token)]
    pub name: Option<String>,
    /// Write the token to this new file, which only you can read, in place of stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
