//! The options of GNU make 4.3 that a caller may give, in every whole spelling that make knows.

/// One option with all its spellings.
#[derive(Debug)]
pub(super) struct MakeOption {
    /// Each with its dashes: `-k`, `--keep-going`.
    pub spellings: &'static [&'static str],
    pub takes: Takes,
    /// Only for callers of an operator who allows one of the spellings.
    pub restricted: bool,
}

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
        .find(|option| option.spellings.contains(&spelling))
}

/// What an abbreviation could have meant.
pub(super) fn starting_with(prefix: &str) -> Option<&'static str> {
    OPTIONS
        .iter()
        .flat_map(|option| option.spellings)
        .find(|spelling| prefix.len() > 2 && spelling.starts_with(prefix))
        .copied()
}

const OPTIONS: &[MakeOption] = &[
    open(&["-B", "--always-make"], Takes::Nothing),
    open(&["-C", "--directory"], Takes::Directory),
    open(&["-d"], Takes::Nothing),
    open(&["--debug"], Takes::DebugFlags),
    open(&["-f", "--file", "--makefile"], Takes::Path),
    open(&["-h", "--help"], Takes::Nothing),
    open(&["-i", "--ignore-errors"], Takes::Nothing),
    open(&["-j", "--jobs"], Takes::Jobs),
    open(&["-k", "--keep-going"], Takes::Nothing),
    open(&["-l", "--load-average", "--max-load"], Takes::Load),
    open(&["-L", "--check-symlink-times"], Takes::Nothing),
    open(
        &["-n", "--just-print", "--dry-run", "--recon"],
        Takes::Nothing,
    ),
    open(&["-o", "--old-file", "--assume-old"], Takes::Path),
    open(&["-O", "--output-sync"], Takes::SyncType),
    open(&["-p", "--print-data-base"], Takes::Nothing),
    open(&["-q", "--question"], Takes::Nothing),
    open(&["-r", "--no-builtin-rules"], Takes::Nothing),
    open(&["-R", "--no-builtin-variables"], Takes::Nothing),
    open(&["-s", "--silent", "--quiet"], Takes::Nothing),
    open(&["--no-silent"], Takes::Nothing),
    open(&["-S", "--no-keep-going", "--stop"], Takes::Nothing),
    open(&["-t", "--touch"], Takes::Nothing),
    open(&["--trace"], Takes::Nothing),
    open(&["-v", "--version"], Takes::Nothing),
    open(&["-w", "--print-directory"], Takes::Nothing),
    open(&["--no-print-directory"], Takes::Nothing),
    open(
        &["-W", "--what-if", "--new-file", "--assume-new"],
        Takes::Path,
    ),
    open(&["--warn-undefined-variables"], Takes::Nothing),
    restricted(&["-e", "--environment-overrides"], Takes::Nothing),
    restricted(&["-E", "--eval"], Takes::Text),
    restricted(&["-I", "--include-dir"], Takes::Path),
];

const fn open(spellings: &'static [&'static str], takes: Takes) -> MakeOption {
    MakeOption {
        spellings,
        takes,
        restricted: false,
    }
}

const fn restricted(spellings: &'static [&'static str], takes: Takes) -> MakeOption {
    MakeOption {
        spellings,
        takes,
        restricted: true,
    }
}
