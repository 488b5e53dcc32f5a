//! Secrets of jobs: given to the newest commit of their branches, to variables of steps alone, and seen nowhere.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::text;
use crate::support::{Options, Yard, each_file};

const SECRET: &str = "S3cret-of-the-pipeline";

async fn yard() -> Yard {
    let mut yard = Yard::asleep(Options::default());
    let file = yard.dir.path().join("secret");
    std::fs::write(&file, SECRET).unwrap();
    let keep = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, keep).unwrap();
    yard.configure(Options {
        tables: format!("[secrets.deploy]\nfile = {file:?}\nbranches = [\"main\"]\n"),
        repo: "[repos.demo.secrets.\"ci/ship\"]\nDEPLOY_KEY = \"deploy\"\n".to_owned(),
        ..Options::default()
    });
    yard.start().await;
    yard
}

fn job(steps: &str) -> String {
    format!("\n  ship:\n    runs-on: linux\n    hold: 1h\n    steps:\n{steps}")
}

const PRINTS: &str = "      - env: {KEY: '${{ secrets.DEPLOY_KEY }}'}
        run: 'printf %s \"$KEY\" | sha256sum; echo \"is $KEY\"; echo \"sum $KEY\" >> $GITHUB_STEP_SUMMARY; MORE'
";

/// The problem with which the job was rejected.
async fn rejected(yard: &Yard, body: Value) -> String {
    let ended = yard.pipeline(body).await;
    assert_eq!(ended.states(), ["ship rejected"], "{:#}", ended.0);
    text(&ended.job("ship")["error"]["code"]).to_owned()
}

#[tokio::test]
async fn they_are_given_to_the_newest_commit_alone_and_written_nowhere() {
    let mut yard = yard().await;
    let old = yard.jobs(&job(&PRINTS.replace("MORE", "true")));
    let first = yard.pipeline(json!({})).await.green();
    let log = yard.step_log(&first, "ship", 1).await;
    assert!(log.contains("is ***"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
    let summary = format!("/api/pipelines/{}/jobs/ship/summary", first.id());
    let summary = yard.get(&summary).await.text().await.unwrap();
    assert_eq!(summary, "sum ***\n");

    // A failed job that had one is not held.
    yard.jobs(&job(&PRINTS.replace("MORE", "exit 3")));
    let failed = yard.pipeline(json!({})).await;
    assert_eq!(failed.states(), ["ship failed"]);
    assert!(failed.job("ship")["held_until"].is_null(), "{:#}", failed.0);

    // An older commit, another branch, a snapshot, another name.
    assert_eq!(
        rejected(&yard, json!({"commit": old})).await,
        "secret_refused"
    );
    yard.origin.branch("other");
    assert_eq!(
        rejected(&yard, json!({"branch": "other"})).await,
        "secret_refused"
    );
    yard.put("/api/repos/demo/branches/main", json!({})).await;
    let snapshot = json!({"branch": "main", "source": "workspace"});
    assert_eq!(rejected(&yard, snapshot).await, "secret_refused");
    for name in ["OTHER", "GITHUB_TOKEN"] {
        yard.jobs(&job(&PRINTS.replace("DEPLOY_KEY", name)));
        assert_eq!(rejected(&yard, json!({})).await, "secret_refused", "{name}");
    }

    // Whatever would write it down is refused.
    for (steps, state) in [
        (
            "      - {run: 'true # DEPLOY_KEY', working-directory: '/${{ secrets.DEPLOY_KEY }}'}\n",
            "rejected",
        ),
        (
            "      - {name: DEPLOY_KEY, run: 'true', timeout-minutes: '${{ fromJSON(secrets.DEPLOY_KEY) }}'}\n",
            "rejected",
        ),
        (
            "      - run: 'echo ${{ secrets.DEPLOY_KEY }}'\n",
            "rejected",
        ),
        (
            "      - {env: {K: '${{ secrets.DEPLOY_KEY }}'}, run: 'echo \"K2=$K\" >> $GITHUB_ENV'}\n",
            "failed",
        ),
        (
            "      - {env: {K: '${{ secrets.DEPLOY_KEY }}'}, run: 'echo \"k=$K\" >> $GITHUB_OUTPUT'}\n",
            "failed",
        ),
        (
            "      - {name: n, run: 'true', env: {K: '${{ secrets.DEPLOY_KEY }}'}}\n      - {uses: actions/upload-artifact@v4, with: {name: '${{ secrets.DEPLOY_KEY }}', path: name.txt}}\n",
            "failed",
        ),
    ] {
        yard.jobs(&job(steps));
        let ended = yard.pipeline(json!({})).await;
        assert_eq!(
            ended.states(),
            [format!("ship {state}")],
            "{steps} {:#}",
            ended.0
        );
        let said = ended.0.to_string();
        assert!(
            said.contains("DEPLOY_KEY") && !said.contains(SECRET),
            "{said}"
        );
    }
    yard.stop().await;
    let mut with_secret = BTreeSet::new();
    let looked_at = each_file(&yard.workspaces, &mut |path, bytes| {
        if memchr::memmem::find(bytes, SECRET.as_bytes()).is_some() {
            with_secret.insert(path.to_owned());
        }
    });
    assert!(looked_at > 20);
    assert!(with_secret.is_empty(), "{with_secret:?}");
}

#[tokio::test]
async fn another_value_is_another_job() {
    let mut yard = yard().await;
    yard.jobs(&job(&PRINTS.replace("MORE", "true")));
    yard.pipeline(json!({})).await.green();
    let same = yard.pipeline(json!({})).await.green();
    assert_eq!(same.states(), ["ship reused"]);
    std::fs::write(yard.dir.path().join("secret"), "another-value-of-it").unwrap();
    let other = yard.pipeline(json!({})).await.green();
    assert_eq!(other.states(), ["ship succeeded"]);
    yard.stop().await;
}
