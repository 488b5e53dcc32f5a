//! A new workspace, from the request to files that can be worked with, beside `git worktree add`.
//!
//! The yard's time has all of a request in it: asking the remote, fetching the branch, the checkout. The
//! plain tool is timed without the fetch, which is what the targets are about, with it, and with as many workers as
//! there are cores.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use crate::measure::{Aim, Report, Row, Series, Unit, interleave};
use crate::setting::{ByHand, Served, Site, same_files};
use crate::support::git;

const AT_ONCE: usize = 32;

/// Where there are fewer files, the processes that git is made of are most of the time.
const LARGE: usize = 4_000;

pub async fn measure(report: &mut Report) {
    // Nothing is deleted before all is measured: ext4 is slow for minutes to make files where many went.
    let mut kept = Vec::new();
    for (make, rounds) in Site::each(report, |rounds| 2 * rounds) {
        let mut site = make();
        let by_hand = site.by_hand();
        site.start_cold();
        let served = site.serve().await;
        // Whatever is done once per repository has been done.
        served.prepare("main").await;
        let branches = 0..rounds;
        compare(report, &served, &by_hand, "no sibling", branches, 0.55).await;
        let mut site = served.end().await;
        site.start_warm();
        let served = site.serve().await;
        let branches = rounds..2 * rounds;
        compare(report, &served, &by_hand, "a sibling", branches, 0.35).await;
        kept.push(served.end().await);
    }
    at_once(report).await;
}

/// New workspaces of these branches.
async fn compare(
    report: &mut Report,
    served: &Served,
    by_hand: &ByHand,
    beside: &str,
    branches: Range<usize>,
    most: f64,
) {
    let mut with_fetch = Series::default();
    let [plain, parallel, yard] = interleave(branches.len(), async |method, round| {
        let branch = format!("bench-{}", branches.start + round);
        match method {
            0 => {
                let fetch = by_hand.fetch(&branch);
                let add = by_hand.add(&branch);
                with_fetch.push(fetch + add);
                add
            }
            1 => by_hand.add_in_parallel(&branch),
            _ => served.prepare(&branch).await,
        }
    })
    .await;
    for (round, number) in branches.enumerate() {
        let branch = format!("bench-{number}");
        let (own, other) = (served.workspace(&branch), by_hand.path(&branch));
        same_commit(&own, &other);
        if round == 0 {
            same_files(&own, &other);
        }
    }
    let name = format!("new workspace, {beside}, {}", served.site.label);
    let row = Row::new(&name, Unit::Seconds, &yard).beside("worktree add", &plain);
    report.add(match served.site.files {
        LARGE.. => row.aiming(Aim::RatioAtMost(most)),
        _ => row,
    });
    let row = Row::new(&name, Unit::Seconds, &yard);
    report.add(row.beside("worktree add, checkout.workers=0", &parallel));
    report.add(Row::new(&name, Unit::Seconds, &yard).beside("fetch, worktree add", &with_fetch));
}

fn same_commit(own: &Path, other: &Path) {
    let commit = |dir| git(dir, &["rev-parse", "HEAD"]);
    assert_eq!(commit(own), commit(other));
    assert_eq!(git(own, &["status", "--porcelain", "--ignored"]), "");
}

/// Many new branches: all at once, and one after another, by hand and by the yard. One alone has all cores to itself
/// already where the yard makes it, so that there is less to gain.
async fn at_once(report: &mut Report) {
    let count = report.scale.of(AT_ONCE, 3);
    let site = Site::generated(report.scale.of(1_000, 30), count);
    let by_hand = site.by_hand();
    let served = site.serve().await;
    served.prepare("main").await;
    let branches: Vec<_> = (0..count).map(|n| format!("bench-{n}")).collect();
    for branch in &branches {
        by_hand.fetch(branch);
    }
    let rounds = report.scale.rounds(5);
    let [plain, serial, at_once] = interleave(rounds, async |method, _| {
        let began = Instant::now();
        match method {
            0 => {
                for branch in &branches {
                    by_hand.add(branch);
                }
                let took = began.elapsed().as_secs_f64();
                for branch in &branches {
                    by_hand.remove(branch);
                }
                return count as f64 / took;
            }
            1 => {
                for branch in &branches {
                    served.prepare(branch).await;
                }
            }
            _ => {
                let asked = branches.iter().cloned().map(|branch| {
                    let asker = (*served).clone();
                    tokio::spawn(async move { asker.prepare(&branch).await })
                });
                // All of them are under way before the first is waited for.
                let asked: Vec<_> = asked.collect();
                for answer in asked {
                    answer.await.unwrap();
                }
            }
        }
        let took = began.elapsed().as_secs_f64();
        for branch in &branches {
            assert_eq!(
                git(&served.workspace(branch), &["status", "--porcelain"]),
                ""
            );
            served.remove(branch).await;
        }
        count as f64 / took
    })
    .await;
    let row = || {
        let name = format!("{count} new branches at once");
        Row::new(name, Unit::PerSecond, &at_once)
    };
    report.add(
        row()
            .beside("worktree add, one after another", &plain)
            .aiming(Aim::RatioAtLeast(1.9)),
    );
    report.add(row().beside("the yard, one after another", &serial));
    served.stop().await;
}
