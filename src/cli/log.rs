//! `log`: what the daemon has of a run's output, or of some of its lines. Into a pipe it goes byte for byte.

use super::Context;
use super::client::Query;
use super::exit::Failure;
use super::run_name::RunArgs;
use super::values;
use branchyard_model::RunId;

/// Print a run's log, or some of its lines
///
/// Prints exactly what the daemon sends: without options, exactly what the run printed. The log
/// of a run that goes on is printed until it ends. Ends with 0 however the run ended.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard log                        the newest run
  branchyard log app main --tail 50     the newest run of a branch
  branchyard log 4f5a6b                 by the start or the end of its id
  branchyard log 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --lines 100-140
  branchyard log 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --grep 'error|warning' -i -C 3")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) of: RunArgs,
    /// Only the last lines
    #[arg(long, value_name = "N")]
    tail: Option<u64>,
    /// Only these lines, such as 10-40; counted from 1, both ends included
    #[arg(long, value_name = "A-B", value_parser = values::span)]
    lines: Option<String>,
    /// Only lines that match this regular expression
    #[arg(long, value_name = "REGEX")]
    grep: Option<String>,
    /// With --grep: lines around each match
    #[arg(short = 'C', long, value_name = "N", requires = "grep")]
    context: Option<u64>,
    /// With --grep: at most this many matches
    #[arg(long, value_name = "N", requires = "grep")]
    limit: Option<u64>,
    /// With --grep: upper and lower case are the same
    #[arg(short, long, requires = "grep")]
    ignore_case: bool,
    /// Without colours and other escape sequences
    #[arg(long)]
    strip_ansi: bool,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let run = args.of.find(context).await?;
    let response = context.client.open(&path(run, args), "text/plain").await?;
    let broke_off = |cause| {
        Failure::daemon(format!("the log broke off: {cause}"))
            .help("`branchyard follow` goes on by itself when a connection breaks")
    };
    context.print_as_it_comes(response, broke_off).await
}

fn path(run: RunId, args: &Args) -> String {
    Query::default()
        .with("tail", args.tail)
        .with("lines", args.lines.as_ref())
        .with("grep", args.grep.as_ref())
        .with("context", args.context)
        .with("limit", args.limit)
        .flag("ignore_case", args.ignore_case)
        .flag("strip_ansi", args.strip_ansi)
        .after(&format!("/api/runs/{run}/log"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::super::{ClientCommand, Command};
    use super::*;

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    #[test]
    fn only_what_was_asked_for_is_in_the_address() {
        let query = |words: &[&str]| match parse(&[&["log", RUN], words].concat()).command {
            Command::Client(ClientCommand::Log(args)) => {
                let path = path(RunId::parse(RUN).unwrap(), &args);
                let rest = path.strip_prefix(&format!("/api/runs/{RUN}/log"));
                rest.unwrap().to_owned()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(query(&[]), "");
        assert_eq!(
            query(&["--tail", "5", "--strip-ansi"]),
            "?tail=5&strip_ansi=true"
        );
        assert_eq!(query(&["--lines", "3-"]), "?lines=3-");
        assert_eq!(
            query(&["--grep", "a&b |c", "-C", "2", "-i", "--limit", "9"]),
            "?grep=a%26b%20%7Cc&context=2&limit=9&ignore_case=true"
        );
    }
}
