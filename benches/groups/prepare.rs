//! Making a workspace ready that is up to date already, beside the two commands that do so by hand.

use crate::measure::{Aim, Report, Row, Series, Unit, interleave};
use crate::setting::{Site, git_in};
use crate::support::git;

pub async fn measure(report: &mut Report) {
    for (make, rounds) in Site::each(report, |_| 0) {
        let site = make();
        let by_hand = site.by_hand();
        by_hand.add("main");
        let home = by_hand.path("main");
        let served = site.serve().await;
        served.prepare("main").await;
        let mut faults = Series::default();
        let [plain, yard] = interleave(rounds, async |method, _| match method {
            0 => {
                git_in(&home, &["fetch", "-q", "origin", "main"])
                    + git_in(&home, &["reset", "-q", "--hard", "FETCH_HEAD"])
            }
            _ => {
                let before = served.faults_of_children();
                let took = served.prepare("main").await;
                faults.push(served.faults_of_children() - before);
                took
            }
        })
        .await;
        let [own, other] = [&served.workspace("main"), &home].map(|dir| {
            assert_eq!(git(dir, &["status", "--porcelain", "--ignored"]), "");
            git(dir, &["rev-parse", "HEAD"])
        });
        assert_eq!(own, other);
        let label = &served.site.label;
        report.add(
            Row::new(format!("up to date, {label}"), Unit::Seconds, &yard)
                .beside("fetch, reset --hard", &plain)
                .aiming(Aim::RatioAtMost(0.1)),
        );
        let name = format!("page faults of processes started, {label}");
        report.add(Row::new(name, Unit::Count, &faults).aiming(Aim::AtMost(0.0)));
        served.stop().await;
    }
}
