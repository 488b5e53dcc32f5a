//! `completions`: a script that teaches a shell the command line. In bash, zsh and fish it asks this program at each
//! tab, so that it knows what the daemon has; see [`answer`].

mod known;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{CompletionCandidate, Shell, engine};

use super::Cli;
use super::exit::{self, Failure};
use super::render::{Console, printable};

/// What the scripts call: which of the words is to be completed, and all of them, the program first. Not for people.
pub(super) const COMPLETE_COMMAND: &str = "__complete";

const IN_BASH: &str = r#"_branchyard() {
    local value
    COMPREPLY=()
    while IFS=$'\t' read -r value _; do
        # A name may hold what the shell would execute.
        printf -v value %q "$value"
        COMPREPLY+=("$value")
    done < <(command branchyard __complete "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null)
}
complete -o bashdefault -o default -F _branchyard branchyard by
"#;
const IN_ZSH: &str = r#"#compdef branchyard by
_branchyard() {
    local -a values shown
    local value help
    while IFS=$'\t' read -r value help; do
        values+=("$value")
        shown+=("$value${help:+  $help}")
    done < <(command branchyard __complete "$((CURRENT - 1))" "${(Q)words[@]}" 2>/dev/null)
    if (( ${#values} )); then
        compadd -l -d shown -a -- values
    else
        _files
    fi
}
if [ "${funcstack[1]}" = _branchyard ]; then
    _branchyard "$@"
else
    compdef _branchyard branchyard by
fi
"#;
const IN_FISH: &str = r#"function __branchyard_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    command branchyard __complete (count $words) $words "$current" 2>/dev/null
end
complete --command branchyard --arguments '(__branchyard_complete)'
complete --command by --arguments '(__branchyard_complete)'
"#;

/// Print completions for a shell
///
/// Put the output where the shell looks for completions. In bash, zsh and fish repositories,
/// branches, tasks and runs are completed as well, while the daemon answers.
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
    let script = match args.shell {
        Shell::Bash => IN_BASH.as_bytes().to_vec(),
        Shell::Zsh => IN_ZSH.as_bytes().to_vec(),
        Shell::Fish => IN_FISH.as_bytes().to_vec(),
        other => {
            // Into memory first: the generator panics where it cannot write.
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Cli::command(), "branchyard", &mut script);
            script
        }
    };
    console.print(&script)?;
    Ok(exit::OK)
}

/// Prints what the word could become, a line each, with a tab and a help behind it. It says nothing else, whatever is
/// wrong.
pub(super) fn answer(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let at = words.next();
    let at = at.and_then(|at| at.to_str()?.parse::<usize>().ok());
    let words: Vec<OsString> = words.collect();
    let Some(at) = at.filter(|at| *at < words.len()) else {
        return ExitCode::from(exit::USAGE);
    };
    let typed = words[at].to_string_lossy().into_owned();
    let mut command = known::taught(Cli::command(), &words);
    let here = std::env::current_dir().ok();
    let found = engine::complete(&mut command, words, at, here.as_deref());
    let found = found.unwrap_or_default();
    let found = found
        .iter()
        .filter(|candidate| is_wanted(candidate, &typed));
    let lines: String = found.filter_map(line).collect();
    // A shell that has gone needs no answer.
    let _ = std::io::stdout().write_all(lines.as_bytes());
    ExitCode::SUCCESS
}

/// Options are offered to those who begin to type one: they would hide the names.
fn is_wanted(candidate: &CompletionCandidate, typed: &str) -> bool {
    let is_option = candidate.get_value().to_string_lossy().starts_with('-');
    !is_option || typed.starts_with('-')
}

fn line(candidate: &CompletionCandidate) -> Option<String> {
    let value = candidate.get_value().to_str()?;
    if printable(value) != value {
        return None;
    }
    let help = candidate.get_help().map(ToString::to_string);
    let help = help.as_deref().and_then(|help| help.lines().next());
    let help = help.map_or_else(String::new, |help| format!("\t{}", printable(help)));
    Some(format!("{value}{help}\n"))
}
