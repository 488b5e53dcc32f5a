//! `completions`: a script that teaches a shell the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Cli;
use super::exit::{self, Failure};
use super::render::Console;

pub(super) fn print(console: &Console, shell: Shell) -> Result<u8, Failure> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "branchyard", &mut script);
    console.print(&script)?;
    Ok(exit::OK)
}
