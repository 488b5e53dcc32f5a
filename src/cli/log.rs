//! `log`: what the daemon has of a run's output, or of some of its lines. Into a pipe it goes byte for byte.

use super::Context;
use super::args::LogArgs;
use super::client::Query;
use super::exit::Failure;

pub(super) async fn log(context: &Context, args: &LogArgs) -> Result<u8, Failure> {
    let response = context.client.text(&path(args)).await?;
    let broke_off = |cause| {
        Failure::daemon(format!("the log broke off: {cause}"))
            .help("`branchyard follow` goes on by itself when a connection breaks")
    };
    context.print_as_it_comes(response, broke_off).await
}

fn path(args: &LogArgs) -> String {
    let mut query = Query::default();
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    for (name, value) in [
        ("tail", number(args.tail)),
        ("lines", args.lines.clone()),
        ("grep", args.grep.clone()),
        ("context", number(args.context)),
        ("limit", number(args.limit)),
    ] {
        query.add_some(name, value.as_deref());
    }
    for (name, is_set) in [
        ("ignore_case", args.ignore_case),
        ("strip_ansi", args.strip_ansi),
    ] {
        if is_set {
            query.add(name, "true");
        }
    }
    query.after(&format!("/api/runs/{}/log", args.run))
}

#[cfg(test)]
mod tests {
    use super::super::args::{Cli, ClientCommand, Command};
    use super::*;

    const RUN: &str = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";

    #[test]
    fn only_what_was_asked_for_is_in_the_address() {
        let query = |words: &[&str]| {
            let words = ["branchyard", "log", RUN].iter().chain(words);
            match Cli::read(words.map(Into::into).collect()).unwrap().command {
                Command::Client(ClientCommand::Log(args)) => {
                    let path = path(&args);
                    let rest = path.strip_prefix(&format!("/api/runs/{RUN}/log"));
                    rest.unwrap().to_owned()
                }
                other => panic!("{other:?}"),
            }
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
