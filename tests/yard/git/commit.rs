//! commit.

use serde_json::json;

use super::local::{at_work, paths, refused};
use crate::support::work::{commit_in, write};
use crate::support::{Agent, Yard, git, try_git};

#[tokio::test]
async fn a_commit_is_what_was_asked_for() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    write(&workspace, "name.txt", "mine\n");
    write(&workspace, "new.txt", "one\ntwo\n");
    write(&workspace, "later.txt", "later\n");
    let message = "Say whose it is\n\n# not a comment\n- $(id) `id`\n";
    let body = json!({
        "message": message,
        "author": "Ada Lovelace <ada@example.org>",
        "paths": ["name.txt", "new.txt"],
        "signoff": true,
        "verbosity": "full",
    });
    let made = yard.verb("main", "commit", body).await;
    assert_eq!(made["commit"], made["id"]);
    assert_eq!(made["subject"], "Say whose it is");
    assert_eq!(paths(&made["files"]), ["name.txt", "new.txt"]);
    assert_eq!(
        (&made["additions"], &made["deletions"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(made["untracked"], json!(["later.txt"]));
    assert_eq!(
        (&made["ahead"], &made["signed"]),
        (&json!(1), &json!(false))
    );
    let said = git(&workspace, &["log", "-1", "--format=%an <%ae>|%cn|%B"]);
    let expected = format!(
        "Ada Lovelace <ada@example.org>|Branchyard|{message}\nSigned-off-by: Branchyard <branchyard@localhost>"
    );
    assert_eq!(said, expected);

    write(&workspace, "name.txt", "mine again\n");
    let agent = Agent::of_git(&yard, "main");
    let amended = agent
        .call("git_commit", json!({ "amend": true, "all": true }))
        .await;
    assert_eq!(amended["amended"], made["id"]);
    assert_eq!(amended.get("warnings"), None, "nobody has it yet");
    assert_eq!(
        git(&workspace, &["log", "-1", "--format=%an"]),
        "Ada Lovelace"
    );
    assert_eq!(
        git(&workspace, &["rev-list", "--count", "origin/main..HEAD"]),
        "1"
    );
    let empty = json!({ "message": "nothing", "allow_empty": true, "verbosity": "minimal" });
    let empty = yard.verb("main", "commit", empty).await;
    assert_eq!(
        (&empty["files_changed"], empty.get("files")),
        (&json!(0), None)
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_commit_that_makes_no_sense_is_refused_with_the_mend() {
    let mut yard = at_work().await;
    let workspace = yard.workspace("main");
    for (body, field) in [
        (json!({}), "message"),
        (json!({ "message": " \n" }), "message"),
        (json!({ "message": "a\0b" }), "message"),
        (json!({ "message": "m", "author": "--amend" }), "author"),
        (json!({ "message": "m", "author": "A <a>\n" }), "author"),
        (json!({ "message": "m", "sign": true }), "sign"),
        (json!({ "message": "m", "no_verify": true }), "no_verify"),
    ] {
        let (status, _, problem) = refused(&yard, "main", "commit", body.clone()).await;
        assert!([400, 409, 422].contains(&status), "{body}: {status}");
        assert_eq!(problem["field"], field, "{body}");
    }
    write(&workspace, "name.txt", "mine\n");
    write(&workspace, "new/file", "new\n");
    let (status, code, problem) = refused(&yard, "main", "commit", json!({ "message": "m" })).await;
    assert_eq!((status, code.as_str()), (409, "nothing_to_commit"));
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("name.txt") && detail.contains("new/"),
        "{detail}"
    );
    // What the remote has can be amended, but that is told.
    let amended = yard
        .verb("main", "commit", json!({ "amend": true, "all": true }))
        .await;
    assert_eq!(amended["warnings"][0]["code"], "rewrites_published");
    assert_eq!(
        (&amended["ahead"], &amended["behind"]),
        (&json!(1), &json!(1))
    );
    git(&workspace, &["reset", "-q", "--hard", "origin/main"]);
    write(&workspace, "name.txt", "mine\n");
    commit_in(&workspace, "empty");
    let (_, code, _) = refused(&yard, "main", "commit", json!({ "amend": true })).await;
    assert_eq!(code, "nothing_to_commit");
    yard.stop().await;
}

#[tokio::test]
async fn conflicts_and_rebases_stop_a_commit() {
    let mut yard = Yard::new().await;
    yard.origin.branch("clash");
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    git(
        &workspace,
        &["fetch", "-q", "origin", "clash:refs/remotes/origin/clash"],
    );
    write(&workspace, "name.txt", "mine\n");
    yard.verb("main", "commit", json!({ "message": "mine", "all": true }))
        .await;
    assert!(
        !try_git(&workspace, &["merge", "-q", "origin/clash"])
            .status
            .success()
    );
    for body in [
        json!({ "message": "m" }),
        json!({ "message": "m", "all": true }),
    ] {
        let (status, code, problem) = refused(&yard, "main", "commit", body).await;
        assert_eq!((status, code.as_str()), (409, "unresolved"));
        assert!(problem["detail"].as_str().unwrap().contains("name.txt"));
    }
    let (_, code, _) = refused(&yard, "main", "commit", json!({ "amend": true })).await;
    assert_eq!(code, "operation_under_way");
    // Named, the file is taken for resolved, and the merge is concluded.
    write(&workspace, "name.txt", "both\n");
    let body = json!({ "message": "both", "paths": ["name.txt"] });
    yard.verb("main", "commit", body).await;
    assert_eq!(
        git(&workspace, &["log", "-1", "--format=%p"])
            .split(' ')
            .count(),
        2
    );

    git(&workspace, &["reset", "-q", "--hard", "HEAD^1"]);
    assert!(
        !try_git(&workspace, &["rebase", "-q", "origin/clash"])
            .status
            .success()
    );
    let body = json!({ "message": "m", "paths": ["name.txt"] });
    let (status, code, problem) = refused(&yard, "main", "commit", body).await;
    assert_eq!((status, code.as_str()), (409, "operation_under_way"));
    assert!(problem["help"].as_str().unwrap().contains("git_rebase"));
    yard.stop().await;
}
