//! What becomes of the cost of a request when there is ten and a hundred times as much: of workspaces, of
//! runs in the history, of files. The small yard and the large ones take turns.

mod planted;

use reqwest::Method;

use crate::measure::{Aim, Report, Row, Series, Unit, interleave, thousands};
use crate::setting::{Asker, Served, Site};

/// What is asked of each yard. A request may cost a fifth more where there is a hundred times as much.
const FLAT: f64 = 1.2;

pub async fn measure(report: &mut Report) {
    let scale = &report.scale;
    let sizes = |full: [usize; 3], smoke: [usize; 3]| if scale.is_smoke() { smoke } else { full };
    let workspaces = sizes([10, 100, 1_000], [2, 3, 4]);
    let runs = sizes([100, 10_000, 100_000], [5, 10, 20]);
    let files = sizes([1_000, 10_000, 60_000], [10, 20, 30]);

    let mut yards = Vec::new();
    for count in workspaces {
        yards.push(with_workspaces(count).await);
    }
    compare(report, yards, workspaces, "workspaces").await;

    let (mut yards, mut starts) = (Vec::new(), Vec::new());
    for count in runs {
        let (served, took) = with_history(count).await;
        yards.push(served);
        starts.push(Series::from(took));
    }
    for (count, took) in runs.into_iter().zip(&starts) {
        let name = format!("start without an index, {} runs", thousands(count));
        report.add(Row::new(name, Unit::Seconds, took));
    }
    compare(report, yards, runs, "runs").await;

    let mut yards = Vec::new();
    for count in files {
        let served = Site::generated(count, 0).serve().await;
        served.make("main", &["who"], "auto").await;
        yards.push(served);
    }
    compare(report, yards, files, "files").await;
}

/// A yard with so many workspaces, of few files each.
async fn with_workspaces(count: usize) -> Served {
    let served = Site::generated(30, count).serve().await;
    served.make("main", &["who"], "auto").await;
    for first in (1..count).step_by(8) {
        let some: Vec<_> = (first..count.min(first + 8))
            .map(|n| {
                let asker: Asker = (*served).clone();
                tokio::spawn(async move { asker.prepare(&format!("bench-{n}")).await })
            })
            .collect();
        for one in some {
            one.await.unwrap();
        }
    }
    served
}

/// A yard with so many runs in its history, and how long its daemon took to find them.
async fn with_history(count: usize) -> (Served, f64) {
    let site = Site::with("[history]\nmax_runs = 1000000\n");
    let served = site.serve().await;
    served.make("main", &["who"], "auto").await;
    let site = served.end().await;
    planted::plant(&site.yard.workspaces, count);
    Served::start_timed(site).await
}

/// The same questions to all three, in turns; then each is started anew.
async fn compare(report: &mut Report, yards: Vec<Served>, sizes: [usize; 3], what: &str) {
    let questions = [
        ("GET /api/repos", "/api/repos".to_owned()),
        (
            "a page of branches",
            page(&yards[0], "/api/repos/demo/branches").await,
        ),
        (
            "describe a workspace",
            "/api/repos/demo/branches/main".to_owned(),
        ),
        ("a page of runs", "/api/runs?limit=20".to_owned()),
    ];
    for served in &yards {
        served.until_idle().await;
    }
    for (name, path) in &questions {
        let costs = interleave(report.scale.rounds(15), async |size, _| {
            yards[size].timed(Method::GET, path, None).await.0
        })
        .await;
        tell(report, name, &costs, sizes, what);
    }
    let costs = interleave(report.scale.rounds(15), async |size, _| {
        yards[size].make("main", &["who"], "none").await
    })
    .await;
    tell(report, "no-op make", &costs, sizes, what);

    let mut memory = [const { None }; 3];
    for (size, served) in yards.into_iter().enumerate() {
        let (mut served, mut restarts) = (served, Series::default());
        for _ in 0..report.scale.rounds(3) {
            let took;
            (served, took) = served.restart().await;
            restarts.push(took);
        }
        memory[size] = Some(Series::from(served.memory()));
        let name = format!("restart until an answer, {} {what}", thousands(sizes[size]));
        let row = Row::new(name, Unit::Seconds, &restarts);
        report.add(row.aiming(Aim::AtMost(3.0)));
        served.stop().await;
    }
    for (memory, size) in memory.into_iter().flatten().zip(sizes) {
        let name = format!("idle daemon, {} {what}", thousands(size));
        let row = Row::new(name, Unit::Bytes, &memory);
        report.add(row.aiming(Aim::AtMost(30.0 * 1024.0 * 1024.0)));
    }
}

/// A row for each of the larger sizes, beside the smallest.
fn tell(report: &mut Report, name: &str, costs: &[Series; 3], sizes: [usize; 3], what: &str) {
    for (cost, size) in costs.iter().zip(sizes).skip(1) {
        let name = format!("{name}, {} {what}", thousands(size));
        let row = Row::new(name, Unit::Seconds, cost).beside(thousands(sizes[0]), &costs[0]);
        report.add(row.aiming(Aim::RatioAtMost(FLAT)));
    }
}

/// Ten items of a list, or all of them where it has no pages.
async fn page(asker: &Asker, path: &str) -> String {
    let paged = format!("{path}?limit=10");
    match asker.knows(&paged).await {
        true => paged,
        false => path.to_owned(),
    }
}
