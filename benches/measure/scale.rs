//! How much is measured: all of it, or just enough to see that every group still works.

use std::path::PathBuf;

#[derive(Debug, Default)]
pub struct Scale {
    small: bool,
    rounds: Option<usize>,
    /// A repository of the caller's, to be measured besides the generated ones.
    pub repository: Option<PathBuf>,
    /// An earlier version of the program, to be measured beside this one.
    pub before: Option<PathBuf>,
}

impl Scale {
    /// As `make bench` measures, with what the environment says.
    pub fn full() -> Self {
        let rounds = std::env::var("BENCH_ROUNDS").ok();
        Self {
            small: false,
            rounds: rounds.map(|rounds| rounds.parse().expect("BENCH_ROUNDS is a number")),
            repository: std::env::var_os("BENCH_REPO").map(PathBuf::from),
            before: std::env::var_os("BENCH_BEFORE").map(PathBuf::from),
        }
    }

    /// One round of everything, of sizes that take no time.
    pub fn smoke() -> Self {
        Self {
            small: true,
            ..Self::default()
        }
    }

    pub fn is_smoke(&self) -> bool {
        self.small
    }

    /// So many rounds, unless the caller wants another number.
    pub fn rounds(&self, usual: usize) -> usize {
        match self.small {
            true => 1,
            false => self.rounds.unwrap_or(usual).max(1),
        }
    }

    /// A size, or the one that is enough for a smoke run.
    pub fn of(&self, full: usize, smoke: usize) -> usize {
        if self.small { smoke } else { full }
    }

    /// Files in the generated repositories, and the rounds that their size leaves time for.
    pub fn repositories(&self) -> Vec<(usize, usize)> {
        match self.small {
            true => vec![(30, 1)],
            false => vec![
                (1_000, self.rounds(15)),
                (10_000, self.rounds(9)),
                (60_000, self.rounds(5)),
            ],
        }
    }
}

/// `60 k` for 60,000.
pub fn thousands(number: usize) -> String {
    match number {
        1_000.. if number.is_multiple_of(1_000) => format!("{} k", number / 1_000),
        _ => number.to_string(),
    }
}
