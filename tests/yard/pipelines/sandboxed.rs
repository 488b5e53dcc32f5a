//! What steps see and may change where they have a sandbox.

use serde_json::json;

use super::contained;
use crate::support::{Options, Yard, git};

#[tokio::test(flavor = "multi_thread")]
async fn the_store_and_the_files_of_others_are_out_of_reach() {
    let mut yard = Yard::with(contained()).await;
    yard.put("/api/repos/demo/branches/main", json!({})).await;
    let workspaces = yard.workspaces.display().to_string();
    let config = std::fs::read(yard.store().join("config")).unwrap();
    let script = format!(
        r#"
          w={workspaces}
          test "$PWD" = /yard/demo
          git log -1 --format=%H > /dev/null
          for f in config hooks/post-checkout objects/info/alternates HEAD packed-refs worktrees/@scratch-1/index refs/heads/main; do
            (mkdir -p "$(dirname "$w/demo/.git/$f")" && echo evil >> "$w/demo/.git/$f") 2>/dev/null && echo "wrote $f" || true
          done
          git config core.fsmonitor 'touch evil' 2>/dev/null && echo "configured" || true
          git commit -q --allow-empty -m evil 2>/dev/null && echo "committed" || true
          ls -A "$w/.branchyard/runs" "$w/.branchyard/auth.header" "$w/demo/main" "$w/.branchyard/trust.db" 2>/dev/null && echo "sees" || true
          ls -A "$w/.branchyard/pipelines/$GITHUB_RUN_ID" 2>/dev/null | grep -v jobs || true
          find "$w/.branchyard/pipelines" -name attempt.json -o -name plan.json 2>/dev/null
          (echo evil >> "$0") 2>/dev/null && echo "wrote the script" || true
          rm -rf "$(dirname "$GITHUB_OUTPUT")"/* 2>/dev/null || true
          kill -9 -1 2>/dev/null || true
"#
    );
    let ended = yard
        .run_jobs(&format!(
            "  one:\n    runs-on: linux\n    steps:\n      - run: |{script}\n        continue-on-error: true\n      - run: cat name.txt\n"
        ))
        .await
        .green();
    assert_eq!(yard.step_log(&ended, "one", 1).await, "");
    assert_eq!(yard.step_log(&ended, "one", 2).await, "main\n");
    assert_eq!(std::fs::read(yard.store().join("config")).unwrap(), config);
    git(
        &yard.store(),
        &["rev-list", "--quiet", "--objects", "--all"],
    );
    let branch = git(&yard.store(), &["rev-parse", "refs/heads/main"]);
    assert_ne!(branch, "");
    yard.stop().await;
}

/// Two jobs at once are in two worktrees, at one path, and see nothing of each other.
#[tokio::test(flavor = "multi_thread")]
async fn jobs_beside_each_other_share_nothing() {
    let mut yard = Yard::with(contained()).await;
    let job = |name: &str| {
        format!(
            "  {name}:\n    runs-on: linux\n    steps:\n      - run: |\n          echo {name} | tee here \"$HOME/home\" /tmp/tmp > /dev/null\n          \
             sleep 0.2; pwd; ls -A . \"$HOME\" /tmp | grep -v -e :$ -e ^$ | sort -u | tr '\\n' ' '; cat here \"$HOME/home\" /tmp/tmp\n      \
             - run: cat here \"$HOME/home\" /tmp/tmp; ls /yard\n"
        )
    };
    let ended = yard
        .run_jobs(&[job("one"), job("two")].concat())
        .await
        .green();
    for name in ["one", "two"] {
        let log = yard.step_log(&ended, name, 1).await;
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines[0], "/yard/demo");
        assert!(log.ends_with(&format!("{name}\n{name}\n")), "{log}");
        assert_eq!(
            yard.step_log(&ended, name, 2).await,
            format!("{name}\n{name}\n{name}\ndemo\n")
        );
    }
    // Nothing of it outlives the jobs.
    for id in ["one", "two"] {
        let attempt = yard
            .pipeline_dir(ended.id())
            .join("jobs")
            .join(id)
            .join("1");
        for gone in ["home", "files", "masks"] {
            assert!(!attempt.join(gone).exists(), "{gone}");
        }
    }
    yard.stop().await;
}

/// What daemonises is gone with its step, or its job where it was started in the background.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_step_starts_outlives_it() {
    for options in [Options::default(), contained()] {
        let mut yard = Yard::with(Options {
            timeouts: "drain = \"200ms\"".to_owned(),
            ..options
        })
        .await;
        let daemonise = "(setsid nohup sh -c 'trap \\\"\\\" TERM HUP; exec sleep 987' >/dev/null 2>&1 &); \
             (env -i setsid sleep 986 >/dev/null 2>&1 </dev/null &); echo up";
        let ended = yard
            .run_jobs(&format!(
                "  one:\n    runs-on: linux\n    steps:\n      - {{run: \"{daemonise}\"}}\n      - {{run: \"{daemonise}; exit 1\"}}\n      \
                 - {{if: always(), background: true, run: \"{daemonise}; sleep 985\"}}\n      \
                 - {{if: always(), run: \"{daemonise}; kill -9 $$\"}}\n"
            ))
            .await;
        assert_eq!(ended.state(), "failed");
        for step in 1..=4 {
            let run = ended.run("one", step);
            assert_eq!(crate::support::processes_of(run), [""; 0], "{step}");
        }
        assert_eq!(crate::support::processes_in(&yard.workspaces), [""; 0]);
        yard.stop().await;
    }
}
