//! The `branchyard` program. All of it is in the library, so that tests can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    branchyard::cli::main()
}
