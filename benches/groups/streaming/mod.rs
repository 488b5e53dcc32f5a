//! What viewers get: how soon, how fast, and how many of them.

mod flood;
mod latency;
pub mod viewers;

use crate::measure::Report;
use crate::setting::{Served, Site};

pub async fn measure(report: &mut Report) {
    let lines = report.scale.of(5_000_000, 1_000);
    let makefile = format!(
        "first:\n\t@echo first\n\
         flood:\n\t@seq 1 {lines}\n\
         ticks:\n\t@python3 ticks.py\n\
         gate:\n\t@for i in `seq 6000`; do [ -e open ] && break; sleep 0.01; done; cat payload\n"
    );
    let site = Site::small();
    let origin = &site.yard.origin;
    origin.write("Makefile", makefile);
    origin.write("ticks.py", latency::TICKS);
    origin.write(".gitignore", "open\npayload\n");
    origin.commit("print");
    origin.push("main");
    let served = site.serve().await;
    served.make("main", &["first"], "auto").await;
    latency::measure(report, &served).await;
    flood::measure(report, &served, lines).await;
    viewers::measure(report, &served).await;
    served.stop().await;
}

/// The words of a `make` of this target that is followed.
fn make(served: &Served, target: &str, accept: &str) -> String {
    let line = "POST /stream/repos/demo/branches/main/make";
    let body = format!("{{\"args\":[\"{target}\"],\"sync\":\"none\"}}");
    crate::setting::Answer::request(&served.url, &served.key, line, accept, &body)
}
