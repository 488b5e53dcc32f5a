//! The command line, as types. The help is part of the product: every command says what it does,
//! what it does not, and shows an example.

mod audit;
mod client;
mod look;
mod make;
mod mcp;
mod run;
mod salvage;
mod serve;
mod token;
mod values;
mod yard;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

pub(super) use serve::{CheckConfigArgs, ServeArgs};

pub(super) use audit::AuditArgs;
pub(super) use client::ClientCommand;
pub(super) use look::{CancelArgs, DiagnosticsArgs, FollowArgs, LogArgs, OpenArgs, RunsArgs};
pub(super) use make::{MakeArgs, Wanted};
pub(super) use mcp::{AgentClient, ConfigArgs, McpAction, McpArgs, ScopeArgs};
pub(super) use run::{GitArgs, RerunArgs, RunFlags, TaskArgs};
pub(super) use salvage::SalvageAction;
pub(super) use token::{CreateTokenArgs, TokenAction};
pub(super) use values::EitherId;
pub(super) use yard::{
    BranchesArgs, CatArgs, CompletionsArgs, DoctorArgs, EnvArgs, LsArgs, PinArgs, PrepareArgs,
    ReapArgs, RepoAction, RmArgs, UnpinArgs,
};

const EXAMPLES: &str = "\
Examples:
  branchyard serve                                   start the daemon
  branchyard repos add app https://example.org/app   tell it about a repository
  branchyard make app main -- -j8 test               build a branch, here and now
  branchyard make app feature/login --detach         build another meanwhile
  branchyard make app 'release/*' main -- test       build several at the same time
  branchyard runs --repo app                         see how they went

Finding the daemon, in this order:
  --url, --key-file and --ca-file; BRANCHYARD_URL, BRANCHYARD_KEY_FILE and BRANCHYARD_CA_FILE;
  branchyard/endpoint.json in $XDG_RUNTIME_DIR or in ~/.local/state;
  ~/build-workspaces/.branchyard/endpoint.json

Exit codes: the command's own; 2 wrong usage; 124 timed out; 125 the daemon refused, failed
or is not there; 128+n ended by signal n; 130 cancelled.";

/// Build every branch of every repository at the same time
///
/// Branchyard clones a repository once, gives each branch a git worktree of its own, and runs
/// make, git and declared tasks there. This command starts the daemon and speaks to it.
#[derive(Debug, Parser)]
#[command(name = "branchyard", version, arg_required_else_help = true)]
#[command(max_term_width = 100, after_long_help = EXAMPLES)]
pub(super) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads a command line, the program's name first.
    pub(super) fn read(words: Vec<OsString>) -> Result<Self, clap::Error> {
        let ends_in_hyphens = words.last().is_some_and(|word| word == "--");
        let mut cli = Self::try_parse_from(words)?;
        if let Command::Client(ClientCommand::Make(args)) = &mut cli.command {
            args.settle(ends_in_hyphens).map_err(|why| {
                let mut command = Self::command();
                command.build();
                let command = command.find_subcommand_mut("make").cloned();
                let mut command = command.unwrap_or_else(Self::command);
                command.error(ErrorKind::ValueValidation, why)
            })?;
        }
        Ok(cli)
    }
}

/// What every command understands.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct Global {
    /// The daemon's address, such as http://127.0.0.1:3344, https://yard.example.org or unix:/path
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// A file that holds the key, or the line "Authorization: Bearer KEY"
    #[arg(long, global = true, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Certificate authorities to trust in place of the system's, PEM
    #[arg(long, global = true, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Print the daemon's JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
    /// Say nothing but what was asked for, warnings and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Start the daemon
    ///
    /// Serves until it is stopped with Ctrl-C or SIGTERM. Then it takes no new runs and waits for
    /// those under way, up to `timeouts.shutdown` or a second signal. What has not ended by then
    /// goes on, and the next daemon takes it back.
    #[command(after_long_help = "\
Examples:
  branchyard serve
  branchyard serve --config workspaces.toml --listen 127.0.0.1:4000")]
    Serve(ServeArgs),

    /// Say whether the daemon would start with a configuration
    ///
    /// Reads and checks the configuration and changes nothing. Errors name file, line and column.
    #[command(after_long_help = "\
Example:
  branchyard check-config --config workspaces.toml")]
    CheckConfig(CheckConfigArgs),

    #[command(flatten)]
    Client(ClientCommand),

    /// Serve a coding agent over stdio, as an MCP server
    ///
    /// Passes messages of the Model Context Protocol between stdin and stdout and the daemon's /mcp.
    /// Agents start it by themselves; `branchyard mcp config` prints what their configuration needs.
    /// It goes on when the daemon is started anew, and ends when stdin is closed; builds go on,
    /// but for those whose call asked to end with it. What --repo and --branch fix, a call may leave out.
    #[command(after_long_help = "\
Examples:
  branchyard mcp
  branchyard mcp --repo app --branch main
  branchyard mcp --toolsets yard,build,git_read --read-only
  branchyard mcp config claude --repo app")]
    Mcp(McpArgs),

    /// Check that this machine and the daemon are in order
    ///
    /// Looks for git, make and a C compiler, finds the daemon, asks it whether it is well and
    /// whether it takes the key and what it finds amiss on disk, and measures free disk. Exits with 1 if
    /// something fails.
    #[command(after_long_help = "\
Examples:
  branchyard doctor
  branchyard doctor --fix
  branchyard doctor --json")]
    Doctor(DoctorArgs),

    /// Print completions for a shell
    ///
    /// Put the output where the shell looks for completions.
    #[command(after_long_help = "\
Examples:
  branchyard completions bash > ~/.local/share/bash-completion/completions/branchyard
  branchyard completions zsh > ~/.zfunc/_branchyard
  branchyard completions fish > ~/.config/fish/completions/branchyard.fish")]
    Completions(CompletionsArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    fn parse(words: &[&str]) -> Cli {
        let words = ["branchyard"].iter().chain(words);
        Cli::read(words.map(Into::into).collect()).unwrap()
    }

    fn refusal(words: &[&str]) -> clap::Error {
        let words = ["branchyard"].iter().chain(words);
        Cli::read(words.map(Into::into).collect()).unwrap_err()
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_teaches_by_example() {
        for mut command in Cli::command().get_subcommands().cloned() {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Example"), "{} has none", command.get_name());
            assert!(help.contains("  branchyard "), "{}", command.get_name());
        }
    }

    #[test]
    fn git_gets_what_follows_its_operation_as_it_is() {
        let Command::Client(ClientCommand::Git(args)) = parse(&[
            "git", "app", "main", "--clean", "--env", "A=b", "log", "--json", "-q", "--help", "--",
            "--sync", "src",
        ])
        .command
        else {
            panic!("not git");
        };
        assert_eq!(
            args.command,
            ["log", "--json", "-q", "--help", "--", "--sync", "src"]
        );
        assert!(args.flags.clean);
        assert_eq!(args.flags.env, [("A".to_owned(), "b".to_owned())]);
    }

    fn wanted(words: &[&str]) -> Wanted {
        let words = [&["make", "app"], words].concat();
        match parse(&words).command {
            Command::Client(ClientCommand::Make(args)) => args.wanted(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_hyphens_part_branches_from_what_make_gets() {
        let strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let one = |branch: &str, args: &[&str]| {
            Wanted::One(
                branchyard_model::BranchName::parse(branch).unwrap(),
                strings(args),
            )
        };
        let many =
            |branches: &[&str], args: &[&str]| Wanted::Many(strings(branches), strings(args));
        for (words, meant) in [
            (&["main"][..], one("main", &[])),
            (&["main", "test", "V=1"], one("main", &["test", "V=1"])),
            (&["main", "--"], one("main", &[])),
            (
                &["main", "--stale", "--", "-j8", "--clean"],
                one("main", &["-j8", "--clean"]),
            ),
            (&["main", "--", "test", "--"], one("main", &["test", "--"])),
            (
                &["main", "next", "--", "test"],
                many(&["main", "next"], &["test"]),
            ),
            (&["main", "next", "--"], many(&["main", "next"], &[])),
            (&["release/*"], many(&["release/*"], &[])),
            (&["release/*", "test"], many(&["release/*"], &["test"])),
            (
                &["main", "v[12]", "--", "test"],
                many(&["main", "v[12]"], &["test"]),
            ),
            // What git allows in a name is a name.
            (&["a{b}"], one("a{b}", &[])),
        ] {
            assert_eq!(wanted(words), meant, "{words:?}");
        }
        let refused = |words| refusal(words).to_string();
        assert!(refused(&["make", "app", "main", "-j8"]).contains("-- -j"));
        let target = refused(&["make", "app", "main", "-s", "--", "test"]);
        assert!(target.contains("-s"), "{target}");
        let branch = refused(&["make", "app", "main", "V=a b", "--", "-j8"]);
        assert!(branch.contains("goes to make"), "{branch}");
        assert!(branch.contains("Usage: branchyard make "), "{branch}");
        let output = refused(&["make", "app", "main", "--output"]);
        assert!(output.contains("several branches"), "{output}");
    }

    #[test]
    fn names_and_values_are_refused_before_anyone_is_asked() {
        for words in [
            &["make", "../app", "main"][..],
            &["make", "app", "-x"],
            &["make", "app", "a..b"],
            &["make", "app", "main", "--commit", "abc"],
            &["make", "app", "main", "--timeout", "soon"],
            &["make", "app", "main", "--env", "A"],
            &["make", "app", "main", "--sync", "commit"],
            &["cancel", "../repos"],
            &["cancel"],
            &["runs", "--since", "yesterday"],
            &["log", RUN, "-C", "3"],
            &["cat", "app", "main", "x", "--lines", "9-3"],
            &["mcp", "--repo", "../app"],
            &["mcp", "--branch", "a..b"],
            &["mcp", "--toolsets", "yard,everything"],
            &["mcp", "--toolsets", ","],
            &["mcp", "--role", "a\nb"],
            &["mcp", "config", "emacs"],
            &["token", "create"],
            &["token", "create", "--role", "dev", "--scopes", "ops"],
            &["token", "create", "--scopes", "repo:write"],
            &["token", "create", "--role", "dev", "--expires", "soon"],
            &[
                "token",
                "create",
                "--role",
                "dev",
                "--toolsets",
                "everything",
            ],
            &["token", "revoke", "a/b"],
            &["mcp", "config", "codex", "--stdio", "--http"],
        ] {
            let refusal = refusal(words);
            assert_eq!(refusal.exit_code(), 2, "{words:?}");
            assert_ne!(refusal.kind(), ErrorKind::DisplayHelp, "{words:?}");
        }
    }

    #[test]
    fn a_commit_and_another_sync_exclude_each_other() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        let refusal = refusal(&["make", "app", "main", "--commit", sha, "--sync", "none"]);
        assert_eq!(refusal.kind(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn global_flags_stand_before_and_after_the_command() {
        let before = parse(&["--url", "http://h:1", "--json", "runs"]);
        let after = parse(&["runs", "--url", "http://h:1", "--json"]);
        for cli in [before, after] {
            assert_eq!(cli.global.url.as_deref(), Some("http://h:1"));
            assert!(cli.global.json);
        }
    }

    #[test]
    fn the_key_file_of_serve_is_its_own_flag() {
        for words in [
            &["serve", "--key-file", "k"][..],
            &["--key-file", "k", "serve"],
        ] {
            let Command::Serve(args) = parse(words).command else {
                panic!("not serve");
            };
            assert_eq!(args.key_file, Some(PathBuf::from("k")));
        }
    }

    #[test]
    fn no_argument_shares_its_id_with_a_global_flag() {
        fn check(command: &clap::Command, globals: &[String]) {
            for argument in command.get_arguments() {
                let id = argument.get_id().as_str();
                // That of `serve` means the same file.
                let is_serves = (command.get_name(), id) == ("serve", "key_file");
                let is_shared =
                    !argument.is_global_set() && globals.iter().any(|global| global == id);
                assert!(is_serves || !is_shared, "{id} of {}", command.get_name());
            }
            for command in command.get_subcommands() {
                check(command, globals);
            }
        }
        let cli = Cli::command();
        let globals: Vec<String> = cli
            .get_arguments()
            .filter(|argument| argument.is_global_set())
            .map(|argument| argument.get_id().to_string())
            .collect();
        assert!(globals.len() >= 5);
        check(&cli, &globals);
    }

    #[test]
    fn runs_and_repos_need_nothing_more() {
        let Command::Client(ClientCommand::Repos(args)) = parse(&["repos"]).command else {
            panic!("not repos");
        };
        assert!(args.action.is_none());
        let Command::Client(ClientCommand::Follow(args)) =
            parse(&["follow", RUN, "--from", "17.3"]).command
        else {
            panic!("not follow");
        };
        assert_eq!(args.from.as_deref(), Some("17.3"));
    }
}
