//! Pipelines of what is not committed yet.

use serde_json::json;

use crate::support::{Yard, problem_of};

/// What the job sees is what it prints.
const JOBS: &str = "
  see:
    runs-on: linux
    steps: [{run: 'echo saw >> MARK; ls; cat name.txt'}]
";

#[tokio::test]
async fn a_snapshot_has_the_work_and_its_result_answers_the_commit() {
    let mut yard = Yard::new().await;
    let mark = yard.mark("ran").display().to_string();
    yard.jobs(&JOBS.replace("MARK", &mark));
    let none = yard.post(
        "/api/repos/demo/pipelines",
        json!({"branch": "main", "source": "workspace"}),
    );
    assert_eq!(problem_of(none.await).await.1["code"], "no_workspace");
    yard.put("/api/repos/demo/branches/main", json!({})).await;
    let workspace = yard.workspace("main");
    let write = |name: &str, text: &str| std::fs::write(workspace.join(name), text).unwrap();
    write("name.txt", "edited\n");
    write("new.txt", "new\n");
    write(".gitignore", "ignored.txt\n");
    write("ignored.txt", "ignored\n");
    let before = std::fs::read(yard.store().join("worktrees/main/index")).unwrap();

    let asked = json!({"branch": "main", "source": "workspace"});
    let snapshot = yard.pipeline(asked.clone()).await.green();
    assert_eq!(snapshot.0["source"], "workspace");
    let log = yard.step_log(&snapshot, "see", 1).await;
    assert!(log.contains("edited\n") && log.contains("new.txt"), "{log}");
    assert!(!log.contains("ignored.txt\n"), "{log}");
    // Nothing of the workspace was touched.
    let after = std::fs::read(yard.store().join("worktrees/main/index")).unwrap();
    assert!(before == after, "the index is another one");
    let status = yard.verb("main", "status", json!({})).await;
    assert_eq!(
        (
            &status["counts"]["unstaged"],
            &status["counts"]["untracked"]
        ),
        (&json!(2), &json!(1)),
        "{status:#}"
    );

    let wrong = json!({"branch": "main", "source": "workspace", "commit": snapshot.0["commit"]});
    let (status, problem) = problem_of(yard.post("/api/repos/demo/pipelines", wrong).await).await;
    assert_eq!((status, &problem["field"]), (422, &json!("commit")));

    yard.verb("main", "add", json!({"all": true})).await;
    yard.verb("main", "commit", json!({"message": "the same"}))
        .await;
    let commit = yard.pipeline(json!({"branch": "main"})).await.green();
    assert_eq!(commit.0["tree"], snapshot.0["tree"]);
    assert_eq!(commit.states(), ["see reused"]);
    assert_eq!(commit.job("see")["answered_by"]["pipeline"], snapshot.id());
    assert_eq!(yard.marked("ran"), ["saw"]);
    yard.stop().await;
}
