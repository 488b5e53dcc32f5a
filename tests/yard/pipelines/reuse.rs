//! Jobs that are answered by earlier ones, and those that are not: whatever a job can see decides.

use serde_json::{Value, json};

use super::{Ended, text};
use crate::support::{Options, Yard};

/// A job that says how often it ran, and makes an artifact. `{more}` is of the job, and `{step}` of its step.
fn workflow(yard: &Yard, more: &str, script: &str) -> String {
    let ran = yard.mark("ran");
    yard.jobs(&format!(
        r#"
  build:
    runs-on: linux
{more}
    outputs: {{word: "${{{{ steps.make.outputs.word }}}}"}}
    steps:
      - id: make
        run: |
          echo ran >> {}; cat name.txt > made.txt; echo word=out >> "$GITHUB_OUTPUT"
          {script}
      - uses: actions/upload-artifact@v4
        with: {{name: made, path: made.txt}}
  use:
    needs: build
    runs-on: linux
    steps:
      - {{run: "echo used ${{{{ needs.build.outputs.word }}}} >> {}"}}
"#,
        ran.display(),
        ran.display(),
    ))
}

async fn ran(yard: &Yard) -> (Ended, Vec<String>) {
    let _ = std::fs::remove_file(yard.mark("ran"));
    let ended = yard.pipeline(json!({})).await.green();
    let ran = yard.marked("ran");
    (ended, ran)
}

const ALL: [&str; 2] = ["ran", "used out"];

#[tokio::test]
async fn the_same_tree_is_answered_with_outputs_and_artifacts() {
    let mut yard = Yard::new().await;
    workflow(&yard, "", "");
    let (first, all) = ran(&yard).await;
    assert_eq!(all, ALL);
    yard.origin
        .git(&["commit", "-q", "--amend", "-m", "another message"]);
    yard.origin.push("main");
    let (second, none) = ran(&yard).await;
    assert_eq!(none, [""; 0]);
    assert_ne!(first.0["commit"], second.0["commit"]);
    assert_eq!(second.states(), ["build reused", "use reused"]);
    let answered = &second.job("build")["answered_by"];
    assert_eq!(answered["pipeline"], first.id());
    assert_eq!(answered["job"], "build");
    assert_eq!(answered["commit"], first.0["commit"]);
    assert_eq!(second.job("build")["artifacts"], json!(["made"]));
    assert_eq!(second.job("build")["steps"], first.job("build")["steps"]);
    assert_eq!(
        yard.artifact_file(second.id(), "made", "made.txt").await,
        "main\n"
    );
    // The answer outlives the one who gave it, and a daemon.
    yard.stop().await;
    yard.start().await;
    let (third, none) = ran(&yard).await;
    assert_eq!((third.states(), none), (second.states(), vec![]));
    assert_eq!(
        third.job("build")["answered_by"]["commit"],
        first.0["commit"]
    );
    assert_eq!(
        yard.artifact_file(third.id(), "made", "made.txt").await,
        "main\n"
    );
    yard.stop().await;
}

#[tokio::test]
async fn inputs_say_which_files_count() {
    let mut yard = Yard::new().await;
    yard.origin.write("src/a.c", "one\n");
    let inputs = "    inputs: [\"src/**\", \"*.lock\"]";
    workflow(&yard, inputs, "");
    let push = |yard: &Yard, path: &str, content: &str| {
        yard.origin.write(path, content);
        yard.origin.commit(path);
        yard.origin.push("main");
    };
    assert_eq!(ran(&yard).await.1, ALL);
    push(&yard, "README", "outside\n");
    let (ended, all) = ran(&yard).await;
    // `use` has no `inputs`, and so sees the whole tree.
    assert_eq!(
        (ended.states(), all),
        (
            vec!["build reused".into(), "use succeeded".into()],
            vec!["used out".into()]
        )
    );
    for (path, content) in [
        ("src/a.c", "two\n"),
        ("src/new.c", "new\n"),
        ("x.lock", "1\n"),
    ] {
        push(&yard, path, content);
        assert_eq!(ran(&yard).await.1, ALL, "{path}");
    }
    // The mode of a file counts, and what it is called.
    yard.origin.git(&["update-index", "--chmod=+x", "src/a.c"]);
    yard.origin.git(&["commit", "-q", "-m", "mode"]);
    yard.origin.push("main");
    assert_eq!(ran(&yard).await.1, ALL);
    yard.origin.git(&["mv", "-f", "src/new.c", "src/newer.c"]);
    yard.origin.git(&["commit", "-q", "-m", "name"]);
    yard.origin.push("main");
    assert_eq!(ran(&yard).await.1, ALL);
    // And going back to what was before is answered.
    yard.origin.git(&["mv", "src/newer.c", "src/new.c"]);
    yard.origin.git(&["commit", "-q", "-m", "name"]);
    yard.origin.push("main");
    let (ended, _) = ran(&yard).await;
    assert_eq!(ended.states(), ["build reused", "use reused"]);
    yard.stop().await;
}

#[tokio::test]
async fn what_else_a_job_sees_counts() {
    let tool = |yard: &Yard, version: &str| std::fs::write(yard.mark("tool"), version).unwrap();
    let options = |yard: &Yard, env: &str| Options {
        repo: format!(
            "toolchain = [[\"cat\", {:?}]]\n[repos.demo.env]\nLEVEL = {env:?}",
            yard.mark("tool")
        ),
        ..Options::default()
    };
    let mut yard = Yard::asleep(Options::default());
    tool(&yard, "1");
    yard.configure(options(&yard, "low"));
    yard.start().await;
    let inputs = "    inputs: [\"src/**\"]";
    workflow(&yard, inputs, "");
    assert_eq!(ran(&yard).await.1, ALL);
    assert_eq!(ran(&yard).await.1, [""; 0]);
    // The workflow's own file, which has the scripts.
    workflow(&yard, inputs, "true");
    assert_eq!(ran(&yard).await.1, ALL);
    tool(&yard, "2");
    yard.stop().await;
    yard.start().await;
    assert_eq!(ran(&yard).await.1, ALL);
    yard.stop().await;
    yard.configure(options(&yard, "high"));
    yard.start().await;
    assert_eq!(ran(&yard).await.1, ALL);
    assert_eq!(ran(&yard).await.1, [""; 0]);
    yard.stop().await;
}

#[tokio::test]
async fn jobs_that_name_their_commit_or_want_no_answer_run() {
    let mut yard = Yard::new().await;
    let cases = [
        ("", "echo ${{ github.sha }}"),
        ("", "echo $GITHUB_SHA"),
        ("    env: {COMMIT: \"${{ github.sha }}\"}", ""),
        ("    env: {ALL: \"${{ toJSON(github) }}\"}", ""),
        ("", "echo ${{ github['sha'] }}"),
        ("", "echo ${{ github.run_id }}"),
        ("    reuse: \"off\"", ""),
        ("    reuse: false", ""),
        ("    warm: true", ""),
    ];
    for (more, script) in cases {
        workflow(&yard, more, script);
        let first = ran(&yard).await.0;
        assert_eq!(first.job("build")["state"], "succeeded", "{more}{script}");
        yard.origin
            .git(&["commit", "-q", "--amend", "-m", "amended"]);
        yard.origin.push("main");
        let (second, _) = ran(&yard).await;
        assert_eq!(second.job("build")["state"], "succeeded", "{more}{script}");
    }
    yard.stop().await;
}

/// What a job downloads it sees too, whichever job made it.
#[tokio::test(flavor = "multi_thread")]
async fn artifacts_that_a_job_takes_count() {
    let mut yard = Yard::asleep(Options::default());
    let mut daemon = yard.start_binary(&[]).await;
    let ran = yard.mark("ran");
    let jobs = |content: &str, needs: &str| {
        format!(
            r#"
  make:
    runs-on: linux
    reuse: "off"
    steps:
      - run: cat {} > made.txt
      - uses: actions/upload-artifact@v4
        with: {{name: made, path: made.txt}}
  between:
    needs: make
    runs-on: linux
    inputs: [none]
    steps: [{{run: "true"}}]
  take:
    needs: {needs}
    runs-on: linux
    inputs: [none]
    steps:
      - uses: actions/download-artifact@v4
        with: {{name: made, path: in}}
      - run: cat in/made.txt >> {}
"#,
            yard.mark(content).display(),
            ran.display()
        )
    };
    for needs in ["make", "between", "[between, make]"] {
        let _ = std::fs::remove_file(&ran);
        yard.jobs(&jobs("content", needs));
        for content in ["one", "one", "two"] {
            std::fs::write(yard.mark("content"), format!("{content}\n")).unwrap();
            yard.pipeline(json!({})).await.green();
        }
        assert_eq!(yard.marked("ran"), ["one", "two"], "needs: {needs}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn failures_answer_for_nothing_and_a_lost_artifact_is_made_anew() {
    let mut yard = Yard::new().await;
    let dir = yard.dir.path().display().to_string();
    yard.jobs(&format!(
        "  bad: {{runs-on: linux, steps: [{{run: \"echo ran >> {dir}/ran; test -e {dir}/mended\"}}]}}\n"
    ));
    for _ in 0..2 {
        let ended = yard.pipeline(json!({})).await;
        assert_eq!(ended.states(), ["bad failed"]);
    }
    assert_eq!(yard.marked("ran").len(), 2);

    workflow(&yard, "", "");
    let (first, _) = ran(&yard).await;
    assert_eq!(first.job("build")["artifacts"], json!(["made"]));
    let blobs = yard.workspaces.join(".branchyard/artifacts/blobs");
    std::fs::remove_dir_all(&blobs).unwrap();
    std::fs::create_dir(&blobs).unwrap();
    let (second, all) = ran(&yard).await;
    let states: Value = json!(second.states());
    assert_eq!(text(&states[0]), "build succeeded");
    assert_eq!(all[0], "ran");
    assert_eq!(
        yard.artifact_file(second.id(), "made", "made.txt").await,
        "main\n"
    );
    yard.stop().await;
}
