//! `completions`: a script that teaches a shell the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use super::exit::{self, Failure};
use super::render::Console;

/// Print completions for a shell
///
/// Put the output where the shell looks for completions.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard completions bash > ~/.local/share/bash-completion/completions/branchyard
  branchyard completions zsh > ~/.zfunc/_branchyard
  branchyard completions fish > ~/.config/fish/completions/branchyard.fish")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(console: &Console, args: &Args) -> Result<u8, Failure> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "branchyard", &mut script);
    console.print(&script)?;
    Ok(exit::OK)
}
