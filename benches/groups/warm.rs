//! The first build of a new branch, from the request to the end of the build, beside the incremental build
//! that somebody gets who changes branches in one directory, and beside a cold one.

use std::path::Path;

use crate::measure::{Aim, Report, Row, Unit, interleave, timed};
use crate::setting::{CProject, Site, quiet};

const BUILD: [&str; 2] = ["-j2", "program"];

pub async fn measure(report: &mut Report) {
    let rounds = report.scale.rounds(7);
    let project = CProject::new(report.scale.of(300, 5));
    let site = Site::small();
    project.put_on(&site.yard.origin);
    for round in 0..rounds {
        project.branch(&site.yard.origin, &format!("bench-{round}"), round);
    }
    let by_hand = site.by_hand();
    for round in 0..rounds {
        by_hand.fetch(&format!("bench-{round}"));
    }
    by_hand.add("main");
    let home = by_hand.path("main");
    build(&home);
    let served = site.serve().await;
    served.make("main", &BUILD, "auto").await;
    let mut made = 0;
    let [incremental, cold, yard] = interleave(rounds, async |method, round| {
        let branch = format!("bench-{round}");
        let took = match method {
            0 => timed(|| {
                quiet(&home, "git", &["checkout", "-q", "--detach", &branch]);
                build(&home);
            }),
            1 => by_hand.add(&branch) + timed(|| build(&by_hand.path(&branch))),
            _ => served.make(&branch, &BUILD, "auto").await,
        };
        made += 1;
        // All three are there.
        if made % 3 == 0 {
            let cold = by_hand.path(&branch);
            project.same_output(&cold, &home);
            project.same_output(&cold, &served.workspace(&branch));
            quiet(&home, "git", &["checkout", "-q", "main"]);
            build(&home);
        }
        took
    })
    .await;
    let name = format!("first build of a new branch, {} C files", project.sources);
    report.add(
        Row::new(&name, Unit::Seconds, &yard)
            .beside("incremental", &incremental)
            .aiming(Aim::RatioAtMost(1.1)),
    );
    report.add(Row::new(&name, Unit::Seconds, &yard).beside("worktree add, cold", &cold));
    served.stop().await;
}

fn build(dir: &Path) {
    quiet(dir, "make", &BUILD);
}
