//! The options of GNU make 4.3 that a caller may give, in every whole spelling that make knows.

/// One option: all its spellings, each with its dashes (`-k`, `--keep-going`), and what follows it.
pub(super) type MakeOption = (&'static [&'static str], Takes);

/// Only for callers of an operator who allows one of the spellings.
pub(super) const RESTRICTED: [&str; 3] = ["-e", "-E", "-I"];

/// What follows an option. Make takes the next word too where the value is not attached; for the
/// optional ones only `Jobs` and `Load` do that, and only if it looks like a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Jobs,
    Load,
    SyncType,
    DebugFlags,
    /// A directory to change to before anything else; several add up.
    Directory,
    /// A path that make reads or stats, from the last of those directories.
    Path,
    Text,
}

pub(super) fn find(spelling: &str) -> Option<&'static MakeOption> {
    OPTIONS
        .iter()
        .find(|(spellings, _)| spellings.contains(&spelling))
}

/// What an abbreviation could have meant.
pub(super) fn starting_with(prefix: &str) -> Option<&'static str> {
    OPTIONS
        .iter()
        .flat_map(|(spellings, _)| *spellings)
        .find(|spelling| prefix.len() > 2 && spelling.starts_with(prefix))
        .copied()
}

const OPTIONS: &[MakeOption] = &[
    (&["-B", "--always-make"], Takes::Nothing),
    (&["-C", "--directory"], Takes::Directory),
    (&["-d"], Takes::Nothing),
    (&["--debug"], Takes::DebugFlags),
    (&["-f", "--file", "--makefile"], Takes::Path),
    (&["-h", "--help"], Takes::Nothing),
    (&["-i", "--ignore-errors"], Takes::Nothing),
    (&["-j", "--jobs"], Takes::Jobs),
    (&["-k", "--keep-going"], Takes::Nothing),
    (&["-l", "--load-average", "--max-load"], Takes::Load),
    (&["-L", "--check-symlink-times"], Takes::Nothing),
    (
        &["-n", "--just-print", "--dry-run", "--recon"],
        Takes::Nothing,
    ),
    (&["-o", "--old-file", "--assume-old"], Takes::Path),
    (&["-O", "--output-sync"], Takes::SyncType),
    (&["-p", "--print-data-base"], Takes::Nothing),
    (&["-q", "--question"], Takes::Nothing),
    (&["-r", "--no-builtin-rules"], Takes::Nothing),
    (&["-R", "--no-builtin-variables"], Takes::Nothing),
    (&["-s", "--silent", "--quiet"], Takes::Nothing),
    (&["--no-silent"], Takes::Nothing),
    (&["-S", "--no-keep-going", "--stop"], Takes::Nothing),
    (&["-t", "--touch"], Takes::Nothing),
    (&["--trace"], Takes::Nothing),
    (&["-v", "--version"], Takes::Nothing),
    (&["-w", "--print-directory"], Takes::Nothing),
    (&["--no-print-directory"], Takes::Nothing),
    (
        &["-W", "--what-if", "--new-file", "--assume-new"],
        Takes::Path,
    ),
    (&["--warn-undefined-variables"], Takes::Nothing),
    (&["-e", "--environment-overrides"], Takes::Nothing),
    (&["-E", "--eval"], Takes::Text),
    (&["-I", "--include-dir"], Takes::Path),
];
