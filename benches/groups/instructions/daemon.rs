//! Instructions of the daemon for one request, from the first byte to the last; those of the processes that it
//! starts are not among them.
//!
//! A daemon below valgrind is asked so many times, and another one three times as often. The difference is the
//! requests alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::total_in;
use crate::measure::{Aim, Report, Row, Series, Unit};
use crate::setting::{Ask, Site};
use crate::support::PROGRAM;

const FEW: usize = 40;
/// So much of what an earlier program takes.
const MOST_OF_BEFORE: f64 = 1.02;

pub async fn measure(report: &mut Report) {
    if report.scale.is_smoke() {
        let served = Site::small().serve().await;
        served.prepare("main").await;
        for ask in Ask::ALL {
            ask.once(&served).await;
        }
        return served.stop().await;
    }
    for ask in Ask::ALL {
        let own = each(Path::new(PROGRAM), ask).await;
        let name = format!("daemon, {}", ask.name());
        let mut row = Row::new(name, Unit::Instructions, &Series::from(own));
        if let Some(before) = &report.scale.before {
            let earlier = each(before, ask).await;
            row = row
                .beside("the program before", &Series::from(earlier))
                .aiming(Aim::RatioAtMost(MOST_OF_BEFORE));
        }
        report.add(row);
    }
}

async fn each(program: &Path, ask: Ask) -> f64 {
    let few = counted(program, ask, FEW).await;
    let many = counted(program, ask, 3 * FEW).await;
    (many - few) / (2 * FEW) as f64
}

/// How many instructions a daemon takes that is asked so many times.
async fn counted(program: &Path, ask: Ask, times: usize) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let [file, counting] = ["callgrind", "counting"].map(|name| dir.path().join(name));
    let script = format!(
        "#!/bin/sh\nexec valgrind --tool=callgrind --quiet --callgrind-out-file={} {} \"$@\"\n",
        file.display(),
        program.display(),
    );
    fs::write(&counting, script).unwrap();
    fs::set_permissions(&counting, fs::Permissions::from_mode(0o755)).unwrap();
    let served = Site::small().serve_by(&counting).await;
    served.prepare("main").await;
    for _ in 0..times {
        ask.once(&served).await;
    }
    served.stop().await;
    total_in(&file)
}
