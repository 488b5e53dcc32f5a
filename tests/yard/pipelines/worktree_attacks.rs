//! Steps that do to their worktree what they can: the next job finds a whole one, and nobody else anything else.

use std::path::Path;

use serde_json::json;

use super::contained;
use crate::support::{Options, Yard, git};

/// What a job may leave behind. Afterwards its worktree is in a state that no other should see.
const HARM: [(&str, &str); 12] = [
    (
        "closed",
        "mkdir -p a/b; touch a/b/c; chmod 000 a/b a; chmod 000 .",
    ),
    (
        "sealed",
        "mkdir a; touch a/b; chmod 500 a; chmod 444 name.txt; chmod 555 .",
    ),
    ("no-git", "rm -rf .git"),
    (
        "own-git",
        "rm -rf .git; git init -q .; git config core.fsmonitor \"touch $PWD/../fsmonitor-ran\"; git config core.hooksPath $PWD",
    ),
    ("linked-git", "rm -f .git; echo 'gitdir: /etc' > .git"),
    ("git-link", "rm -f .git; ln -s /etc .git"),
    (
        "gone",
        "cd /; rm -rf \"$GITHUB_WORKSPACE\" 2>/dev/null || true; rm -rf \"$GITHUB_WORKSPACE\"/* \"$GITHUB_WORKSPACE\"/.[a-z]* 2>/dev/null || true",
    ),
    (
        "replaced",
        "rm -f name.txt; ln -s /etc/passwd name.txt; mkdir Makefile.d; rm -f Makefile; mkdir Makefile; touch Makefile/x",
    ),
    ("fifo", "rm -f name.txt; mkfifo name.txt; mkfifo other"),
    (
        "attributes",
        "echo '* filter=evil' > .gitattributes; printf 'evil\\n' > name.txt",
    ),
    (
        "same-times",
        "cp -p name.txt old; printf 'evil\\n' > name.txt; touch -r old name.txt; rm old",
    ),
    (
        "deep",
        "python3 -c \"import os\nfor i in range(600): os.mkdir('d'*50); os.chdir('d'*50)\"",
    ),
];

/// A branch for each of them.
fn push_harm(yard: &Yard) {
    for (name, harm) in HARM {
        let harm = harm.replace('\n', "\n          ");
        yard.jobs(&format!(
            r#"
  harm:
    runs-on: linux
    reuse: "off"
    steps:
      - run: |
          {harm}
        continue-on-error: true
        working-directory: .
  look:
    needs: harm
    if: always()
    runs-on: linux
    reuse: "off"
    steps:
      - run: |
          test "$(cat name.txt)" = main
          test -f Makefile; test ! -L name.txt
          git status --porcelain --ignored | tee /dev/stderr | wc -l
          git rev-parse HEAD
"#
        ));
        yard.origin.push(name);
    }
}

/// Of every pair of jobs in turn, the second one looks at what it was given.
async fn see_whole_worktrees(yard: &Yard) {
    for (name, _) in HARM {
        let ended = yard.pipeline(json!({"branch": name})).await;
        assert_eq!(
            ended.job("look")["state"],
            "succeeded",
            "{name}: {:#}",
            ended.0
        );
        let log = yard.step_log(&ended, "look", 1).await;
        let commit = super::text(&ended.0["commit"]);
        assert_eq!(log, format!("0\n{commit}\n"), "{name}");
        see_nothing_outside(yard, name);
    }
}

fn see_nothing_outside(yard: &Yard, name: &str) {
    assert!(
        !yard.workspaces.join("demo/fsmonitor-ran").exists(),
        "{name}"
    );
    assert_eq!(yard.scratch_worktrees().len(), 1, "{name}");
    let store = yard.store();
    git(&store, &["rev-list", "--quiet", "--objects", "--all"]);
    let listed = git(&store, &["worktree", "list"]);
    assert_eq!(listed.matches("@scratch-").count(), 1, "{name}: {listed}");
}

fn one_worktree(options: Options) -> Options {
    Options {
        tables: format!(
            "{}\n[limits]\nmax_concurrent_runs_per_repo = 1\n",
            options.tables
        ),
        ..options
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_finds_a_whole_worktree_whatever_the_one_before_did() {
    let mut yard = Yard::with(one_worktree(contained())).await;
    push_harm(&yard);
    see_whole_worktrees(&yard).await;
    yard.stop().await;
}

/// For root, no mode of a file is an obstacle.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_an_ordinary_user_finds_one_too() {
    let mut yard = Yard::asleep(one_worktree(Options::default()));
    push_harm(&yard);
    let mut daemon = yard.start_ordinary().await;
    see_whole_worktrees(&yard).await;
    daemon.stop().await;
}

/// After a restart too: its worktree is gone, so the job is lost, and a retry has another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_worktree_that_went_while_no_daemon_was_there_loses_its_job_alone() {
    let mut yard = Yard::asleep(Options::default());
    let dir = yard.dir.path().display().to_string();
    yard.jobs(&format!(
        "  one:\n    runs-on: linux\n    steps:\n      - run: \"cd /; touch {dir}/up; while [ ! -e {dir}/go ]; do sleep 0.01; done\"\n      \
         - run: cat name.txt\n  two: {{runs-on: linux, steps: [{{run: cat name.txt}}]}}\n"
    ));
    let mut daemon = yard.start_binary(&[]).await;
    let id = yard.start_pipeline(json!({})).await;
    crate::support::until("the step is there", || Path::new(&dir).join("up").exists()).await;
    let record = yard.until_job(&id, "one", "running").await;
    let number = &record["scratch"].as_u64().or_else(|| {
        let jobs = record["jobs"].as_array()?;
        jobs.iter().find(|job| job["job"] == "one")?["scratch"].as_u64()
    });
    let number = number.unwrap();
    daemon.kill().await;
    let worktree = yard.workspaces.join(format!("demo/@scratch-{number}"));
    std::fs::remove_dir_all(&worktree).unwrap();
    std::fs::write(yard.mark("go"), "").unwrap();
    let mut daemon = yard.start_binary(&[]).await;
    let ended = yard.pipeline_ended(&id).await;
    assert_eq!(
        ended.states(),
        ["one lost", "two succeeded"],
        "{:#}",
        ended.0
    );
    let retry = format!("/api/pipelines/{id}/retry");
    yard.post_json(&retry, json!({})).await;
    yard.pipeline_ended(&id).await.green();
    daemon.stop().await;
}
