//! Tags, pull requests and single commits: built by every route that starts something, pushed to by none.

use serde_json::{Value, json};

use crate::support::remotes::{Auth, Fault, HttpRemote};
use crate::support::{Agent, Options, Yard, events_of, git, json_of, problem_of};

const WORKFLOW: &str = "on: push\njobs: {test: {runs-on: linux, steps: [{run: \"true\"}]}}\n";

fn say(yard: &Yard, word: &str) -> String {
    let makefile = format!("say:\n\t@echo {word} on $$BRANCHYARD_BRANCH\n");
    yard.origin.write("Makefile", makefile);
    yard.origin.commit(word)
}

/// A tag, a commit that no branch has, and the head of a pull request, each with a Makefile that says which it is.
struct Made {
    tag: String,
    commit: String,
    pull: String,
}

fn made(yard: &Yard) -> Made {
    let origin = &yard.origin;
    origin.workflow("ci.yml", WORKFLOW);
    let tag = say(yard, "tagged");
    origin.git(&["tag", "-a", "-m", "one", "v1.2"]);
    origin.git(&["push", "-q", "origin", "v1.2"]);
    let commit = say(yard, "alone");
    let pull = say(yard, "pulled");
    origin.git(&["push", "-q", "origin", "HEAD:refs/pull/7/head"]);
    Made { tag, commit, pull }
}

/// The last event of a run of `make say` there, and its log.
async fn built(yard: &Yard, name: &str) -> (Value, String) {
    let mut run = yard
        .start_run("make", name, json!({ "args": ["say"] }))
        .await;
    let end = run.end().await;
    (end.data, yard.log(&run.run_id()).await)
}

#[tokio::test]
async fn each_is_built_at_its_commit() {
    let mut yard = Yard::asleep(Options::default());
    let made = made(&yard);
    yard.start().await;
    let by_id = format!("commits/{}", made.commit);
    for (name, commit, word) in [
        ("tags/v1.2", &made.tag, "tagged"),
        (&by_id, &made.commit, "alone"),
        ("pull/7", &made.pull, "pulled"),
    ] {
        let (end, log) = built(&yard, name).await;
        assert_eq!(
            (&end["state"], &end["commit"]),
            (&json!("succeeded"), &json!(commit)),
            "{name}"
        );
        assert_eq!(log, format!("{word} on {name}\n"));
        let body = json!({ "branch": name });
        let started = json_of(yard.post("/api/repos/demo/pipelines", body).await).await;
        assert_eq!(
            (&started["commit"], &started["branch"]),
            (&json!(commit), &json!(name))
        );
    }
    // The request moves on, by force.
    yard.origin.at("main");
    let moved = say(&yard, "again");
    yard.origin
        .git(&["push", "-q", "-f", "origin", "HEAD:refs/pull/7/head"]);
    let (end, log) = built(&yard, "pull/7").await;
    assert_eq!(
        (end["commit"].as_str(), &*log),
        (Some(&*moved), "again on pull/7\n")
    );

    let agent = Agent::new(&yard);
    let done = agent
        .call(
            "make",
            json!({ "repo": "demo", "branch": "tags/v1.2", "args": ["say"] }),
        )
        .await;
    assert_eq!(done["state"], "succeeded", "{done:#}");
    let both = json!({ "branches": ["tags/v1.2", "pull/7"], "args": ["say"] });
    let events = events_of(yard.post("/stream/repos/demo/make", both).await).await;
    assert_eq!(
        events.last().unwrap().data["counts"],
        json!({ "succeeded": 2 })
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_repository_of_tags_alone_is_built() {
    let mut yard = Yard::asleep(Options::default());
    let made = made(&yard);
    git(&yard.origin.bare, &["update-ref", "-d", "refs/heads/main"]);
    yard.start().await;
    let (end, _) = built(&yard, "tags/v1.2").await;
    assert_eq!(
        (&end["state"], &end["commit"]),
        (&json!("succeeded"), &json!(made.tag))
    );
    let (end, _) = built(&yard, "tags/v1.2").await;
    assert_eq!(end["state"], "succeeded");
    yard.stop().await;
}

#[tokio::test]
async fn they_are_worked_on_but_not_pushed_to_and_branches_start_from_them() {
    let mut yard = Yard::asleep(Options::default());
    let made = made(&yard);
    yard.start().await;
    built(&yard, "pull/7").await;
    yard.verb(
        "pull/7",
        "commit",
        json!({ "message": "Mine", "allow_empty": true }),
    )
    .await;
    let before = git(&yard.origin.bare, &["for-each-ref"]);
    for (verb, body) in [("push", json!({})), ("push", json!({ "dry_run": true }))] {
        let (status, problem) = problem_of(yard.try_verb("pull/7", verb, body).await).await;
        assert_eq!((status, &problem["code"]), (422, &json!("not_a_branch")));
    }
    let raw = yard
        .post(
            "/stream/repos/demo/branches/pull%2F7/git",
            json!({ "operation": "push" }),
        )
        .await;
    assert_eq!(problem_of(raw).await.1["code"], "not_a_branch");
    let deliver = json!({ "into": "tags/v1.2" });
    let (_, refused) = problem_of(yard.try_verb("pull/7", "deliver", deliver).await).await;
    assert_eq!(refused["code"], "not_a_branch", "{refused:#}");
    assert_eq!(git(&yard.origin.bare, &["for-each-ref"]), before);

    let new = yard
        .put(
            "/api/repos/demo/branches/tags%2Fv2",
            json!({ "from": "main" }),
        )
        .await;
    assert_eq!(problem_of(new).await.1["code"], "not_a_branch");
    let from = json!({ "from": "tags/v1.2" });
    let new = json_of(yard.put("/api/repos/demo/branches/fix%2Fit", from).await).await;
    assert_eq!(new["commit"], json!(made.tag));
    yard.verb("fix/it", "push", json!({})).await;
    yard.stop().await;
}

#[tokio::test]
async fn what_is_not_there_and_what_is_there_twice_are_refused() {
    let mut yard = Yard::asleep(Options::default());
    let made = made(&yard);
    yard.start().await;
    let nowhere = format!("commits/{}", "0123456789".repeat(4));
    for name in ["tags/v9", "pull/8", "merge-requests/7", &nowhere] {
        let path = format!(
            "/stream/repos/demo/branches/{}/make",
            name.replace('/', "%2F")
        );
        let (status, problem) = problem_of(yard.post(&path, json!({})).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (404, &json!("branch_not_found")),
            "{name}"
        );
    }
    let bare = format!("/stream/repos/demo/branches/{}/make", made.commit);
    let (status, problem) = problem_of(yard.post(&bare, json!({})).await).await;
    assert!(
        status == 400 && problem["help"].as_str().unwrap().contains("commits/"),
        "{problem:#}"
    );
    built(&yard, "tags/v1.2").await;
    yard.origin
        .git(&["push", "-q", "origin", "HEAD:refs/heads/tags/v1.2"]);
    let make = "/stream/repos/demo/branches/tags%2Fv1.2/make";
    let mut run = yard.start_run("make", "tags/v1.2", json!({})).await;
    let refused = run.end().await;
    assert_eq!(refused.data["code"], "ambiguous_ref", "{:#}", refused.data);
    yard.delete("/api/repos/demo/branches/tags%2Fv1.2").await;
    let (status, problem) = problem_of(yard.post(make, json!({})).await).await;
    assert_eq!((status, &problem["code"]), (409, &json!("ambiguous_ref")));
    yard.stop().await;
}

#[tokio::test]
async fn nothing_of_one_stays_once_its_workspace_and_pipelines_are_gone() {
    let mut yard = Yard::asleep(Options {
        tables: "[pipelines]\nmax_pipelines = 1".to_owned(),
        ..Options::default()
    });
    made(&yard);
    yard.start().await;
    built(&yard, "pull/7").await;
    for branch in ["tags/v1.2", "main"] {
        let body = json!({ "branch": branch });
        let started = yard.post_json("/api/repos/demo/pipelines", body).await;
        let id = started["pipeline_id"].as_str().unwrap();
        let ended = yard
            .get_json(&format!("/api/pipelines/{id}?wait=50s"))
            .await;
        assert_eq!(ended["state"], "succeeded", "{ended:#}");
    }
    let store = yard.store();
    let all = || git(&store, &["for-each-ref", "--format=%(refname)"]);
    assert!(all().contains("refs/remotes/origin/pull/7"), "{}", all());
    assert!(all().contains("refs/branchyard/fetched/"), "{}", all());
    let gone = yard.delete("/api/repos/demo/branches/pull%2F7").await;
    assert_eq!(gone.status(), 204);
    assert!(!all().contains("pull/7"), "{}", all());
    yard.stop().await;
    // What was fetched just now stays, so it is older.
    git(&yard.store(), &["pack-refs", "--all"]);
    yard.start().await;
    for _ in 0..600 {
        if !all().contains("refs/branchyard/fetched/") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(!all().contains("refs/branchyard/fetched/"), "{}", all());
    yard.stop().await;
}

#[tokio::test]
async fn none_is_given_a_secret() {
    let mut yard = Yard::asleep(Options::default());
    let made = made(&yard);
    let file = yard.dir.path().join("token");
    std::fs::write(&file, "S3CRET-of-all").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    yard.configure(Options {
        tables: format!("[secrets.all]\nfile = {file:?}\nbranches = [\"**\"]"),
        repo: "[repos.demo.secrets.make]\nTOKEN = \"all\"".to_owned(),
        ..Options::default()
    });
    yard.start().await;
    for name in ["tags/v1.2", "pull/7", &format!("commits/{}", made.commit)] {
        let (end, _) = built(&yard, name).await;
        assert_eq!(end["state"], "succeeded");
        let run = yard
            .get_json(&format!("/api/runs?branch={}", name.replace('/', "%2F")))
            .await;
        let warnings = &run["items"][0]["warnings"];
        assert_eq!(warnings[0]["code"], "secret_withheld", "{name}: {run:#}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_web_page_in_the_place_of_the_remote_has_none_deleted() {
    let mut yard = Yard::asleep(Options::default());
    made(&yard);
    let bare = yard.origin.bare.clone();
    // Of tags alone, no list of branches tells.
    git(&bare, &["update-ref", "-d", "refs/heads/main"]);
    let remote = HttpRemote::start(&yard.origin, Auth::Anyone).await;
    yard.configure(remote.options(""));
    yard.start().await;
    let (end, _) = built(&yard, "tags/v1.2").await;
    assert_eq!(end["state"], "succeeded");
    remote.fail(Fault::Page("<html>Back soon.</html>"));
    let (end, _) = built(&yard, "tags/v1.2").await;
    assert_eq!(end["code"], "remote_not_found", "{end:#}");
    let kept = git(&yard.store(), &["for-each-ref", "refs/remotes/origin/tags"]);
    assert!(kept.contains("tags/v1.2"), "{kept:?}");
    remote.fail(Fault::None);
    // What is gone there is gone.
    git(&bare, &["tag", "-d", "v1.2"]);
    git(&bare, &["tag", "v2", "refs/pull/7/head"]);
    let (end, _) = built(&yard, "tags/v1.2").await;
    assert_eq!(end["code"], "gone_upstream", "{end:#}");
    let path = "/stream/repos/demo/branches/tags%2Fv3/make";
    let (status, _) = problem_of(yard.post(path, json!({})).await).await;
    assert_eq!(status, 404);
    yard.stop().await;
}

#[tokio::test]
async fn a_name_below_one_that_is_gone_is_built() {
    let mut yard = Yard::asleep(Options::default());
    made(&yard);
    yard.origin.git(&[
        "push",
        "-q",
        "origin",
        "HEAD:refs/heads/pull",
        "HEAD:refs/tags/v1",
    ]);
    yard.start().await;
    for name in ["pull", "tags/v1"] {
        let (end, _) = built(&yard, name).await;
        assert_eq!(end["state"], "succeeded", "{name}");
        let path = format!("/api/repos/demo/branches/{}", name.replace('/', "%2F"));
        assert_eq!(yard.delete(&path).await.status(), 204);
    }
    let (_, log) = refused(&yard, "pull/7").await;
    assert_eq!(log["code"], "branch_collides", "{log:#}");
    yard.origin.delete("pull");
    yard.origin.git(&["push", "-q", "origin", ":refs/tags/v1"]);
    yard.origin
        .git(&["push", "-q", "origin", "HEAD:refs/tags/v1/x"]);
    for name in ["pull/7", "tags/v1/x"] {
        let (end, _) = built(&yard, name).await;
        assert_eq!(end["state"], "succeeded", "{name}");
    }
    yard.stop().await;
}

/// The status and the problem that `make` is refused with, before or after its stream began.
async fn refused(yard: &Yard, name: &str) -> (u16, Value) {
    let path = format!(
        "/stream/repos/demo/branches/{}/make",
        name.replace('/', "%2F")
    );
    let request = yard.request(reqwest::Method::POST, &path);
    let answer = request
        .header("accept", "application/x-ndjson")
        .json(&json!({}));
    let answer = answer.send().await.unwrap();
    if answer.status() != 200 {
        return problem_of(answer).await;
    }
    let events = events_of(answer).await;
    (200, events.last().unwrap().data.clone())
}
