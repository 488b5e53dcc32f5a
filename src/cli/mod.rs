//! The `branchyard` command: `serve`, which is the daemon, and the client commands, which speak
//! HTTP to one.
//!
//! A client command promises three things to a script: its stdout holds what was asked for and
//! nothing else (notes, progress and errors go to stderr); a run's output comes out byte for byte;
//! and the exit code says how it ended (see [`exit`]). It never prints the key, and it reads the
//! environment in [`endpoint`] only.

mod artifact;
mod audit;
mod bisect;
mod board;
mod branches;
mod cancel;
mod cat;
mod check_config;
mod client;
mod completions;
mod deliveries;
mod diagnostics;
mod doctor;
mod endpoint;
mod env;
mod exec;
mod exit;
mod follow;
mod git;
mod global_options;
mod here;
mod id_name;
mod left_out;
mod live_lines;
mod log;
mod ls;
mod machine;
mod make;
mod mcp;
mod open;
mod outlet;
mod pin;
mod pipeline;
mod prepare;
mod progress;
mod reap;
mod redeliver;
mod render;
mod repos;
mod rerun;
mod rm;
mod rows;
mod run;
mod run_name;
mod runs;
mod salvage;
mod screen;
mod serve;
mod shell_init;
mod signals;
mod stream;
mod subject;
mod task;
mod terminal;
mod test;
mod test_history;
mod test_results;
mod token;
mod top;
mod unpin;
mod values;
mod verdict;
mod watch;
mod whoami;

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use serde::de::DeserializeOwned;

use client::{Answer, Client};
use endpoint::{Lookup, Named, Surroundings};
use exit::Failure;
use left_out::CommandLineError;
use pipeline::PipelineAction;
use render::{Cell, Console, Listing};

use branchyard::http::Listed;
use branchyard_git::{CREDENTIAL_COMMAND, credential_helper_main};
use branchyard_process::{INIT_COMMAND, SUPERVISOR_COMMAND, init_main, supervisor_main};

const EXAMPLES: &str = "\
Examples:
  branchyard serve                                   start the daemon
  branchyard repos add app https://example.org/app   tell it about a repository
  branchyard make app main -- -j8 test               build a branch, here and now
  branchyard make app feature/login --detach         build another meanwhile
  branchyard make app 'release/*' main -- test       build several at the same time
  branchyard runs --repo app                         see how they went
  branchyard pipeline run app main                   run its workflow file

In the directory of a workspace REPO and BRANCH may be left out: `branchyard make test`.

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
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// Reads a command line, the program's name first.
    fn read(words: Vec<OsString>) -> Result<Self, clap::Error> {
        let ends_in_hyphens = words.last().is_some_and(|word| word == "--");
        let mut command = global_options::last(Self::command());
        let matches = command.try_get_matches_from_mut(words)?;
        let cli = Self::from_arg_matches(&matches);
        let mut cli = cli.map_err(|error| error.format(&mut command))?;
        // What only several words together tell.
        let (name, checked) = match &mut cli.command {
            Command::Client(ClientCommand::Make(args)) => ("make", args.settle(ends_in_hyphens)),
            Command::Client(ClientCommand::Log(args)) => ("log", args.of.name().map(drop)),
            Command::Client(ClientCommand::Follow(args)) => ("follow", args.of.name().map(drop)),
            Command::Client(ClientCommand::Diagnostics(args)) => {
                ("diagnostics", args.of.name().map(drop))
            }
            _ => return Ok(cli),
        };
        checked.map_err(|why| {
            let mut command = Self::command();
            command.build();
            let command = command.find_subcommand_mut(name).cloned();
            let mut command = command.unwrap_or_else(Self::command);
            command.error(ErrorKind::ValueValidation, why)
        })?;
        Ok(cli)
    }
}

/// What every command understands.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    #[command(flatten)]
    named: Named,
    /// Print the daemon's JSON
    #[arg(long, global = true)]
    json: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    /// Say nothing but what was asked for, warnings and errors
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

/// Each command is a file with its arguments, its help and what it does. They stand here in the order of the help.
#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
    CheckConfig(check_config::Args),
    Pipeline(pipeline::Args),
    #[command(flatten)]
    Client(ClientCommand),
    Mcp(mcp::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    ShellInit(shell_init::Args),
}

/// The commands that speak to a daemon.
#[derive(Debug, Subcommand)]
enum ClientCommand {
    Make(make::Args),
    Git(git::Args),
    Task(task::Args),
    Exec(exec::Args),
    Test(test::Args),
    Bisect(bisect::Args),
    Ls(ls::Args),
    Cat(cat::Args),
    Env(env::Args),
    Repos(repos::Args),
    Branches(branches::Args),
    Prepare(prepare::Args),
    Rm(rm::Args),
    Salvage(salvage::Args),
    Token(token::Args),
    Whoami(whoami::Args),
    Reap(reap::Args),
    Pin(pin::Args),
    Unpin(unpin::Args),
    Rerun(rerun::Args),
    Runs(runs::Args),
    Cancel(cancel::Args),
    Follow(follow::Args),
    Log(log::Args),
    Diagnostics(diagnostics::Args),
    Tests(test_results::Args),
    TestHistory(test_history::Args),
    Artifact(artifact::Args),
    Deliveries(deliveries::Args),
    Redeliver(redeliver::Args),
    Open(open::Args),
    Top(top::Args),
    Machine(machine::Args),
    Audit(audit::Args),
}

/// Parses the command line and does what it says.
pub(crate) fn main() -> ExitCode {
    // Not for people, and on every run's way: nothing else is looked at first.
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(word) if word == SUPERVISOR_COMMAND => return supervisor_main(),
        Some(word) if word == INIT_COMMAND => return init_main(),
        Some(word) if word == CREDENTIAL_COMMAND => {
            let operation = words.next();
            return credential_helper_main(operation.as_deref().and_then(OsStr::to_str));
        }
        Some(word) if word == completions::COMPLETE_COMMAND => return completions::answer(words),
        _ => {}
    }
    let surroundings = Surroundings::from_env();
    let cli = match left_out::read(&std::env::args_os().collect::<Vec<_>>()) {
        Ok(cli) => cli,
        Err(CommandLineError::Words(refusal)) => {
            // Help and version come this way too, with 0. A closed pipe is nobody's concern here.
            let _ = refusal.print();
            return ExitCode::from(u8::try_from(refusal.exit_code()).unwrap_or(exit::USAGE));
        }
        Err(CommandLineError::Failure(failure)) => {
            Console::new(&Global::default(), &surroundings).failure(&failure);
            return ExitCode::from(failure.exit);
        }
    };
    let console = Console::new(&cli.global, &surroundings);
    match dispatch(cli, surroundings, console) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            console.failure(&failure);
            ExitCode::from(failure.exit)
        }
    }
}

/// What every client command is given.
struct Context {
    console: Console,
    client: Client,
}

impl Context {
    /// Prints the daemon's JSON where that is wanted; else `show` does what people want to see of it.
    fn show<T: DeserializeOwned>(
        &self,
        answer: &Answer,
        show: impl FnOnce(T) -> Result<(), Failure>,
    ) -> Result<u8, Failure> {
        if self.console.json {
            self.console.print_json(answer)?;
        } else {
            let left_out = |what: &str| {
                let note = format!("left out what this version does not know: {what}");
                self.console.warning(&note);
            };
            show(answer.read(left_out)?)?;
        }
        Ok(exit::OK)
    }

    /// The same of something that was done: a note is enough.
    fn done(&self, answer: &Answer, note: &str) -> Result<u8, Failure> {
        match self.console.json {
            true => self.console.print_json(answer)?,
            false => self.console.note(note),
        }
        Ok(exit::OK)
    }

    /// The same of a list, which may be empty.
    fn list<T: DeserializeOwned>(
        &self,
        answer: &Answer,
        none: &str,
        titles: &'static str,
        row: impl Fn(T) -> Vec<Cell>,
    ) -> Result<u8, Failure> {
        self.page(answer, none, titles, row, |()| String::new())
    }

    /// The same of a page; `more` is the command that shows the next one.
    fn page<T: DeserializeOwned, N: DeserializeOwned>(
        &self,
        answer: &Answer,
        none: &str,
        titles: &'static str,
        row: impl Fn(T) -> Vec<Cell>,
        more: impl FnOnce(N) -> String,
    ) -> Result<u8, Failure> {
        self.show(answer, |page: Listed<T, N>| {
            if page.items.is_empty() {
                self.console.note(none);
            }
            self.console
                .print_listing(Listing::of(titles, page.items, row))?;
            if let Some(next) = page.next {
                let note = format!("there are more: `{}`", more(next));
                self.console.note(&note);
            }
            Ok(())
        })
    }

    /// Prints an answer byte for byte, as it comes; `broke_off` says what to do about one that ends early.
    async fn print_as_it_comes(
        &self,
        mut response: reqwest::Response,
        broke_off: impl FnOnce(Failure) -> Failure,
    ) -> Result<u8, Failure> {
        let mut passage = self.console.passage();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => passage.print(&chunk)?,
                Ok(None) => return Ok(exit::OK),
                Err(error) => return Err(broke_off(self.client.unreachable(&error).into())),
            }
        }
    }
}

fn dispatch(cli: Cli, surroundings: Surroundings, console: Console) -> Result<u8, Failure> {
    let lookup = Lookup::new(cli.global.named, surroundings);
    match cli.command {
        // The daemon makes its own runtime.
        Command::Serve(args) => Ok(serve::run(&args)?),
        Command::CheckConfig(args) => check_config::run(&console, &args),
        Command::Pipeline(args) => match args.action {
            PipelineAction::Check(args) => pipeline::check::run(&console, &args),
            PipelineAction::Client(command) => {
                let client = Client::find(lookup)?;
                block_on(pipeline::run(&Context { console, client }, command))
            }
        },
        Command::Completions(args) => completions::run(&console, &args),
        Command::ShellInit(args) => shell_init::run(&console, &args),
        Command::Mcp(args) => mcp::run(console, lookup, &args),
        Command::Doctor(args) => block_on(doctor::run(&console, &lookup, &args)),
        Command::Client(command) => {
            let client = Client::find(lookup)?;
            block_on(ask(&Context { console, client }, command))
        }
    }
}

async fn ask(context: &Context, command: ClientCommand) -> Result<u8, Failure> {
    use ClientCommand as On;
    match command {
        On::Make(args) => make::run(context, &args).await,
        On::Git(args) => git::run(context, &args).await,
        On::Task(args) => task::run(context, args).await,
        On::Exec(args) => exec::run(context, args).await,
        On::Test(args) => test::run(context, args).await,
        On::Bisect(args) => bisect::run(context, args).await,
        On::Ls(args) => ls::run(context, args).await,
        On::Cat(args) => cat::run(context, args).await,
        On::Env(args) => env::run(context, &args).await,
        On::Repos(args) => repos::run(context, &args).await,
        On::Branches(args) => branches::run(context, &args).await,
        On::Prepare(args) => prepare::run(context, args).await,
        On::Rm(args) => rm::run(context, &args).await,
        On::Salvage(args) => salvage::run(context, args).await,
        On::Token(args) => token::run(context, args).await,
        On::Whoami(_) => whoami::run(context).await,
        On::Reap(args) => reap::run(context, &args).await,
        On::Pin(args) => pin::run(context, args).await,
        On::Unpin(args) => unpin::run(context, &args).await,
        On::Rerun(args) => rerun::run(context, &args).await,
        On::Runs(args) => runs::run(context, &args).await,
        On::Cancel(args) => cancel::run(context, &args).await,
        On::Follow(args) => follow::run(context, &args).await,
        On::Log(args) => log::run(context, &args).await,
        On::Diagnostics(args) => diagnostics::run(context, &args).await,
        On::Tests(args) => test_results::run(context, &args).await,
        On::TestHistory(args) => test_history::run(context, &args).await,
        On::Artifact(args) => artifact::run(context, args).await,
        On::Deliveries(args) => deliveries::run(context, &args).await,
        On::Redeliver(args) => redeliver::run(context, &args).await,
        On::Open(args) => open::run(context, &args).await,
        On::Top(_) => top::run(context).await,
        On::Machine(_) => machine::run(context).await,
        On::Audit(args) => audit::run(context, &args).await,
    }
}

fn block_on(answer: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    // One worker beside this thread: signals are heard while stdout blocks.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::local(format!("cannot start: {error}")))?;
    let answer = runtime.block_on(answer);
    // Nothing that is still under way (a name lookup, say) may hold up the exit.
    runtime.shutdown_background();
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_reference::{Table, check, heading};

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    pub(super) fn parse(words: &[&str]) -> Cli {
        let words = ["branchyard"].iter().chain(words);
        Cli::read(words.map(Into::into).collect()).unwrap()
    }

    pub(super) fn refusal(words: &[&str]) -> clap::Error {
        let words = ["branchyard"].iter().chain(words);
        Cli::read(words.map(Into::into).collect()).unwrap_err()
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    /// Paragraphs of a help, within the width of a page.
    fn wrapped(text: &str) -> String {
        let text = text.replace('*', "\\*");
        let paragraphs = text.split("\n\n").map(|paragraph| {
            let (mut lines, mut width) = (String::new(), 0);
            for word in paragraph.split_whitespace() {
                let letters = word.chars().count();
                let is_full = width + 1 + letters > 100;
                lines.push_str(match (width, is_full) {
                    (0, _) => "",
                    (_, true) => "\n",
                    (_, false) => " ",
                });
                lines.push_str(word);
                width = if is_full {
                    letters
                } else {
                    width + 1 + letters
                };
            }
            lines
        });
        paragraphs.collect::<Vec<_>>().join("\n\n")
    }

    fn meaning(argument: &clap::Arg) -> String {
        let help = argument.get_long_help().or(argument.get_help());
        let mut meaning = help.map(ToString::to_string).unwrap_or_default();
        if !argument.get_action().takes_values() {
            return meaning;
        }
        let values = argument.get_possible_values();
        let values = values.iter().map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        });
        let values: Vec<_> = values.collect();
        if !values.is_empty() {
            meaning.push_str(&format!(". One of: {}", values.join(", ")));
        }
        let defaults = argument.get_default_values().iter();
        for default in defaults.map(|value| value.to_string_lossy()) {
            meaning.push_str(&format!(". Default: `{default}`"));
        }
        meaning
    }

    fn arguments<'a>(arguments: impl Iterator<Item = &'a clap::Arg>) -> String {
        let mut table = Table::new(&["argument", "meaning"]);
        let mut rows = 0;
        for argument in arguments.filter(|argument| argument.get_id() != "help") {
            let short = argument.get_short().map(|short| format!("-{short}, "));
            let name = format!("`{}{argument}`", short.unwrap_or_default());
            table.row(&[name, meaning(argument)]);
            rows += 1;
        }
        match rows {
            0 => String::new(),
            _ => format!("{table}\n"),
        }
    }

    /// A command and those below it.
    fn describe(command: &clap::Command, name: &str, page: &mut String) {
        let help = command.get_long_about().or(command.get_about());
        let help = wrapped(&help.map(ToString::to_string).unwrap_or_default());
        let usage = command.clone().render_usage().to_string();
        let usage = usage
            .trim_start_matches("Usage: ")
            .replace("\n       ", "\n");
        page.push_str(&format!("## {name}\n\n{help}\n\n```text\n{usage}\n```\n\n"));
        let own = command.get_arguments();
        page.push_str(&arguments(own.filter(|argument| !argument.is_global_set())));
        if let Some(examples) = command.get_after_long_help() {
            page.push_str(&format!("```text\n{examples}\n```\n\n"));
        }
        for command in command.get_subcommands() {
            if command.get_name() != "help" {
                describe(command, &format!("{name} {}", command.get_name()), page);
            }
        }
    }

    #[test]
    fn the_command_line_has_a_reference_page() {
        let mut cli = Cli::command();
        cli.build();
        let mut page = heading("Command line");
        page.push_str("`branchyard help COMMAND` prints the same. The [exit codes](exit-codes.md) have a page.\n\n");
        page.push_str("## Options of every command\n\n");
        let globals = cli.get_arguments();
        page.push_str(&arguments(
            globals.filter(|argument| argument.is_global_set()),
        ));
        describe(&cli, "branchyard", &mut page);
        check(
            "docs/reference/command-line.md",
            &format!("{}\n", page.trim_end()),
        );
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
            &["pipeline", "run", "app", "a..b"],
            &["pipeline", "run", "app", "main", "--input", "x"],
            &["pipeline", "run", "app", "main", "--event", "release"],
            &["pipeline", "show", "../runs"],
            &["pipeline", "cancel"],
            &["pipeline", "log", RUN, "--step", "1"],
            &["deliveries", "app", "--state", "lost"],
            &["redeliver", "app"],
            &["redeliver", "app", "../runs"],
            &["artifact", "get", RUN, "../x"],
            &["artifact", "get", RUN, ".."],
            &["artifact", "get", "a/b", "x"],
            &["artifact", "get", RUN, "x", "path", "--archive", "zip"],
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
            assert_eq!(cli.global.named.url.as_deref(), Some("http://h:1"));
            assert!(cli.global.json);
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
}
