//! A new workspace of a repository with submodules, beside git doing the same.

use std::path::Path;

use crate::measure::{Aim, Report, Row, Unit, interleave};
use crate::setting::{Branches, Site, branch_out, generate, git_in, same_files};
use crate::support::beside::{Beside, add, work};
use crate::support::git;

const SUBMODULES: usize = 20;
/// In each of them.
const FILES: usize = 100;

pub async fn measure(report: &mut Report) {
    let rounds = report.scale.rounds(9);
    let submodules = report.scale.of(SUBMODULES, 3);
    let mut site = Site::generated(report.scale.of(1_000, 30), 0);
    let origin = &site.yard.origin;
    origin.git(&["fetch", "-q", "origin"]);
    origin.at("origin/main");
    for n in 0..submodules {
        let name = format!("lib-{n}");
        let bare = site.yard.dir.path().join(format!("{name}.git"));
        Beside::new(&site.yard, &name);
        generate(&bare, report.scale.of(FILES, 5), Branches(0));
        add(&work(&site.yard), &format!("../{name}.git"), &name);
    }
    origin.commit("submodules");
    origin.push("main");
    branch_out(&origin.bare, Branches(rounds));
    site.start_cold();
    let by_hand = site.by_hand();
    // Of 0, its word for as many as there are cores, git makes nothing but an abort.
    let cores = std::thread::available_parallelism().unwrap();
    let at_once = format!("--jobs={cores}");
    let served = site.serve().await;
    // Each is cloned once, which is not what is measured.
    served.prepare("main").await;
    let [plain, parallel, yard] = interleave(rounds, async |method, round| {
        let branch = format!("bench-{round}");
        let update = |dir: &Path, jobs: &str| {
            let allowed = ["-c", "protocol.file.allow=always"];
            let update = ["submodule", "update", "-q", "--init", "--recursive", jobs];
            git_in(dir, &[&allowed[..], &update].concat())
        };
        match method {
            0 => {
                let add = by_hand.fetch(&branch) + by_hand.add(&branch);
                add + update(&by_hand.path(&branch), "--jobs=1")
            }
            1 => {
                let add = by_hand.add_in_parallel(&branch);
                add + update(&by_hand.path(&format!("{branch}-parallel")), &at_once)
            }
            _ => served.prepare(&branch).await,
        }
    })
    .await;
    for round in 0..rounds {
        let branch = format!("bench-{round}");
        let (own, other) = (served.workspace(&branch), by_hand.path(&branch));
        same_files(&own, &other);
        assert_eq!(git(&own, &["status", "--porcelain", "--ignored"]), "");
    }
    let name = format!("new workspace with {submodules} submodules");
    let row = Row::new(&name, Unit::Seconds, &yard);
    report.add(
        row.beside("worktree add, submodule update", &plain)
            .aiming(Aim::RatioAtMost(0.8)),
    );
    let row = Row::new(&name, Unit::Seconds, &yard);
    report.add(
        row.beside("the same, as many at once as cores", &parallel)
            .aiming(Aim::RatioAtMost(0.8)),
    );
    served.stop().await;
}
