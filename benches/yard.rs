//! `make bench`: what the yard costs beside the plain tool, as ratios measured side by side in one run.
//! `make bench BENCH=reads` runs one group. Results are checked before a time counts.

#![allow(unreachable_pub, reason = "no other package uses what is here")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has failed")]

mod groups;
mod measure;
mod setting;

#[path = "../tests/yard/support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the benchmark needs a part of what the tests need"
)]
mod support;

use groups::instructions;
use measure::{Report, Scale};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = args.iter().position(|arg| arg == instructions::ARGUMENT) {
        return instructions::drive(&args[at + 1..]);
    }
    raise_open_files();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(measure_all(&args));
}

async fn measure_all(args: &[String]) {
    // Cargo says `--bench`.
    let wanted: Vec<_> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let scale = match std::env::var_os("BENCH_SMOKE") {
        Some(_) => Scale::smoke(),
        None => Scale::full(),
    };
    let mut report = Report::new(scale);
    if wanted.is_empty() {
        for name in groups::NAMES {
            groups::run(name, &mut report).await;
        }
    }
    for name in wanted {
        groups::run(name, &mut report).await;
    }
    report.conclude();
    report.write();
}

/// A thousand viewers and those who serve them are more files than a shell allows a program.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}
