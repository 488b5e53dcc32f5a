//! The options of every command, which stand last and short in the help of each: at length they are in that of
//! `branchyard` itself.

use clap::Command;

/// Below the examples of each command.
const SHORT: &str = "\
Global options, explained by `branchyard --help`:
  --url URL, --key-file FILE, --ca-file FILE, --json, --color WHEN, -q, --quiet";

/// The command line with that in its help.
pub(super) fn last(mut command: Command) -> Command {
    // Only now do the commands below have the global options.
    command.build();
    command.mut_subcommands(shorten)
}

fn shorten(command: Command) -> Command {
    let command = command.mut_args(|argument| match argument.is_global_set() {
        true => argument.hide(true),
        false => argument,
    });
    let text = |before: Option<String>| match before {
        Some(before) => format!("{before}\n\n{SHORT}"),
        None => SHORT.to_owned(),
    };
    let long = command.get_after_long_help().map(ToString::to_string);
    let brief = command.get_after_help().map(ToString::to_string);
    command
        .after_long_help(text(long.or(brief.clone())))
        .after_help(text(brief))
        .mut_subcommands(shorten)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn check(command: &mut Command, path: &str) {
        for help in [command.render_help(), command.render_long_help()] {
            let help = help.to_string();
            assert!(help.trim_end().ends_with(SHORT), "{path}: {help}");
            for option in ["--ca-file <", "--color <", "Print the daemon's JSON"] {
                assert!(!help.contains(option), "{path}: {help}");
            }
        }
        for inner in command.get_subcommands_mut() {
            if inner.get_name() != "help" {
                let path = format!("{path} {}", inner.get_name());
                check(inner, path.trim());
            }
        }
    }

    #[test]
    fn every_command_has_them_last_and_short() {
        let mut command = last(Cli::command());
        for inner in command.get_subcommands_mut() {
            if inner.get_name() != "help" {
                let name = inner.get_name().to_owned();
                check(inner, &name);
            }
        }
        let all = command.render_long_help().to_string();
        assert!(all.contains("Global options:"), "{all}");
        assert!(all.contains("The daemon's address"), "{all}");
    }
}
