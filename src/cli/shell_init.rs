//! `shell-init`: a function for the shell, which a program cannot be: it changes the directory.

use clap::ValueEnum;

use super::exit::{self, Failure};
use super::render::Console;

/// For bash and zsh.
const BY: &str = r#"by() {
    if [ "${1-}" = cd ]; then
        shift
        local dir
        dir="$(command branchyard prepare "$@")" && cd -- "$dir"
    else
        command branchyard "$@"
    fi
}
"#;
const BY_IN_FISH: &str = r#"function by --description "branchyard, and cd into workspaces"
    if test "$argv[1]" = cd
        set -e argv[1]
        set -l dir (command branchyard prepare $argv)
        and cd -- $dir
    else
        command branchyard $argv
    end
end
"#;

/// Print a function for the shell: `by`, short for branchyard, which can also change the directory
///
/// `by cd REPO BRANCH` changes into the workspace of a branch, which is made if there is none yet.
/// In the directory of a workspace `by cd` changes to its top. All else is passed on: `by runs` is
/// `branchyard runs`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  eval \"$(branchyard shell-init bash)\"          in ~/.bashrc
  eval \"$(branchyard shell-init zsh)\"           in ~/.zshrc
  branchyard shell-init fish | source           in ~/.config/fish/config.fish
  by cd app feature/login")]
pub(crate) struct Args {
    /// The shell
    shell: InitShell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InitShell {
    Bash,
    Zsh,
    Fish,
}

pub(super) fn run(console: &Console, args: &Args) -> Result<u8, Failure> {
    let function = match args.shell {
        InitShell::Bash | InitShell::Zsh => BY,
        InitShell::Fish => BY_IN_FISH,
    };
    console.print(function.as_bytes())?;
    Ok(exit::OK)
}
