//! The `branchyard` program.

mod cli;

use std::process::ExitCode;

/// The system's keeps for good what a crowd of viewers took; this one gives it back (`serve` has it do so).
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    cli::main()
}
