//! What it costs to save changed and untracked files before they are discarded.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::measure::{Report, Row, Unit, interleave, timed};
use crate::setting::{ByHand, Served, Site, quiet};
use crate::support::git;

const BRANCH: &str = "main";
const API: &str = "/api/repos/demo/branches/main";

pub async fn measure(report: &mut Report) {
    let (rounds, changes) = (report.scale.rounds(15), report.scale.of(100, 3));
    let site = Site::generated(report.scale.of(1_000, 30), 0);
    let by_hand = site.by_hand();
    by_hand.add(BRANCH);
    let served = site.serve().await;
    served.make(BRANCH, &["who"], "auto").await;
    let bench = Bench {
        files: git(&served.workspace(BRANCH), &["ls-files", "area*"])
            .lines()
            .take(changes)
            .map(str::to_owned)
            .collect(),
        by_hand,
        served,
        rounds,
    };
    let deeds = [
        Deed {
            what: "reset, clean, make",
            plain: "stash -u, reset, make",
            tracked: true,
            new: true,
            by_hand: |_, home| {
                quiet(home, "git", &["stash", "push", "-q", "-u"]);
                quiet(home, "git", &["fetch", "-q", "origin", BRANCH]);
                quiet(home, "git", &["reset", "-q", "--hard", "FETCH_HEAD"]);
                quiet(home, "make", &["who"]);
            },
            method: Method::POST,
            path: "/stream/repos/demo/branches/main/make".to_owned(),
            body: json!({ "args": ["who"], "sync": "reset", "clean": true }),
        },
        Deed {
            what: "git/reset",
            plain: "stash, reset",
            tracked: true,
            new: false,
            by_hand: |_, home| {
                quiet(home, "git", &["stash", "push", "-q"]);
                quiet(home, "git", &["reset", "-q", "--hard"]);
            },
            method: Method::POST,
            path: format!("{API}/git/reset"),
            body: json!({ "mode": "hard", "confirm": true }),
        },
        Deed {
            what: "git/clean",
            plain: "stash -u, clean",
            tracked: false,
            new: true,
            by_hand: |_, home| {
                quiet(home, "git", &["stash", "push", "-q", "-u"]);
                quiet(home, "git", &["clean", "-qfd"]);
            },
            method: Method::POST,
            path: format!("{API}/git/clean"),
            body: json!({ "dry_run": false, "confirm": true }),
        },
        Deed {
            what: "forced removal",
            plain: "stash -u, worktree remove",
            tracked: true,
            new: true,
            by_hand: |by_hand, home| {
                quiet(home, "git", &["stash", "push", "-q", "-u"]);
                by_hand.remove(BRANCH);
            },
            method: Method::DELETE,
            path: format!("{API}?force=true"),
            body: Value::Null,
        },
    ];
    let expected = deeds.len() * rounds;
    for deed in deeds {
        report.add(bench.row(deed).await);
    }
    let saved: Value = serde_json::from_slice(&bench.served.get("/api/salvage").await).unwrap();
    assert_eq!(saved["items"].as_array().unwrap().len(), expected);
    bench.served.stop().await;
}

/// Something that discards work, by hand with a stash and as a request.
struct Deed {
    what: &'static str,
    plain: &'static str,
    /// Of which kinds the work is.
    tracked: bool,
    new: bool,
    by_hand: fn(&ByHand, &Path),
    method: Method,
    path: String,
    body: Value,
}

struct Bench {
    by_hand: ByHand,
    served: Served,
    files: Vec<String>,
    rounds: usize,
}

impl Bench {
    async fn row(&self, deed: Deed) -> Row {
        let (home, own) = (self.by_hand.path(BRANCH), self.served.workspace(BRANCH));
        let [plain, yard] = interleave(self.rounds, async |method, round| match method {
            0 => {
                self.dirty(&home, &deed, round);
                let took = timed(|| (deed.by_hand)(&self.by_hand, &home));
                if !home.exists() {
                    self.by_hand.add(BRANCH);
                }
                git(&home, &["stash", "drop", "-q"]);
                took
            }
            _ => {
                self.dirty(&own, &deed, round);
                let body = (!deed.body.is_null()).then_some(&deed.body);
                let asked = self.served.timed(deed.method.clone(), &deed.path, body);
                let (took, said) = asked.await;
                let said = String::from_utf8_lossy(&said);
                let is_run = deed.path.starts_with("/stream");
                assert!(
                    !is_run || said.contains("\"state\":\"succeeded\""),
                    "{said}"
                );
                if !own.exists() {
                    self.served.prepare(BRANCH).await;
                }
                assert_eq!(git(&own, &["status", "--porcelain"]), "");
                took
            }
        })
        .await;
        let count = self.files.len();
        let work = match (deed.tracked, deed.new) {
            (true, true) => format!("{count} changed, {count} new"),
            (true, false) => format!("{count} changed"),
            _ => format!("{count} new"),
        };
        let name = format!("{}; {work}", deed.what);
        Row::new(name, Unit::Seconds, &yard).beside(deed.plain, &plain)
    }

    fn dirty(&self, dir: &Path, deed: &Deed, round: usize) {
        for (n, file) in self.files.iter().enumerate() {
            if deed.tracked {
                std::fs::write(dir.join(file), format!("edited {round}\n")).unwrap();
            }
            if deed.new {
                std::fs::write(dir.join(format!("new-{n}.c")), format!("new {round} {n}\n"))
                    .unwrap();
            }
        }
    }
}
