//! A tree of a hundred million paths in nine objects. What would list or write them all refuses it.

use serde_json::{Value, json};

use crate::support::{Yard, kib, problem_of};

/// More than a daemon with small repositories takes, and far less than all of those paths would.
const MUCH_KIB: u64 = 600 * 1024;

impl Yard {
    /// Has the origin have such a tree on `branch`.
    fn push_tree_bomb(&self, branch: &str) {
        let dir = self.dir.path().join("origin-work");
        let mut id = self.origin.git(&["rev-parse", "HEAD:name.txt"]);
        for level in 0..8 {
            let kind = if level == 0 {
                "100644 blob"
            } else {
                "040000 tree"
            };
            let lines = (0..10).map(|n| format!("{kind} {id}\td{n}\n"));
            let listing = dir.join(".git/listing");
            std::fs::write(&listing, lines.collect::<String>()).unwrap();
            let made = std::process::Command::new("git")
                .arg("mktree")
                .current_dir(&dir)
                .stdin(std::fs::File::open(&listing).unwrap())
                .output()
                .unwrap();
            id = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        }
        let commit = self
            .origin
            .git(&["commit-tree", "-p", "HEAD", "-m", "bomb", &id]);
        let refspec = format!("{commit}:refs/heads/{branch}");
        self.origin.git(&["push", "-q", "origin", &refspec]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_of_a_hundred_million_paths_is_refused() {
    let mut yard = Yard::asleep(Default::default());
    yard.push_tree_bomb("bomb");
    yard.start().await;
    let (status, problem) =
        problem_of(yard.put("/api/repos/demo/branches/bomb", json!({})).await).await;
    assert_eq!((status, &problem["code"]), (422, &json!("too_many_paths")));
    yard.verb("main", "fetch", json!({ "branches": ["bomb"] }))
        .await;
    let asked: [(&str, Value); 5] = [
        ("diff", json!({ "from": "HEAD", "to": "origin/bomb" })),
        ("diff", json!({ "from": "origin/bomb" })),
        ("show", json!({ "revision": "origin/bomb", "stat": true })),
        ("merge", json!({ "from": "origin/bomb" })),
        (
            "checkout",
            json!({ "from": "origin/bomb", "paths": ["d1"], "confirm": true }),
        ),
    ];
    for (verb, body) in asked {
        let (status, problem) = problem_of(yard.try_verb("main", verb, body.clone()).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (422, &json!("too_many_paths")),
            "{verb} {body}: {problem}"
        );
    }
    // Git tries this by itself, within its bounds.
    let preview = json!({ "from": "origin/bomb" });
    let tried = yard
        .try_verb("main", "merge_preview", preview)
        .await
        .status();
    assert_ne!(tried, 500);
    assert!(kib(std::process::id(), "status", "VmRSS") < MUCH_KIB);
    assert!(yard.get("/healthz").await.status().is_success());
    yard.stop().await;
}
